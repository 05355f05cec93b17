"""What git commands need outside of the sandbox, and which of them discard work at large."""

import re
from collections.abc import Callable, Mapping, Sequence

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.naming import names
from opencode_tui.engine.permission.shell.words import Word

_EXCHANGES: Mapping[str, str] = {
    "push": "Pushes commits to a remote repository.",
    "clone": "Clones a repository.",
    **dict.fromkeys(("fetch", "pull", "fetch-pack", "http-fetch"), "Fetches commits from a remote repository."),
    **dict.fromkeys(("ls-remote", "request-pull"), "Reads a remote repository."),
    **dict.fromkeys(("send-pack", "http-push"), "Pushes commits to a remote repository."),
    **dict.fromkeys(("svn", "p4", "cvsimport", "cvsserver"), "Exchanges commits with a server."),
    **dict.fromkeys(("send-email", "imap-send"), "Sends patches by mail."),
    **dict.fromkeys(
        ("daemon", "instaweb", "http-backend", "credential", "credential-cache"), "Starts or asks a server."
    ),
}
_WRITES_CONFIG = "Changes the settings of the repository (.git/config)."
_ALL = frozenset({".", "./", ":/", "*", ":", ":(top)", "./*", "**"})
_BRANCH_EDITS = (
    "-d --delete -D -m --move -M -c --copy -C -u --set-upstream-to --unset-upstream --edit-description --track"
)


def record_git_needs(call: Call, command: str, words: Sequence[Word]) -> None:
    """Record what a git command needs and discards; `words` follow the command."""
    texts = [word.text for word in words]
    if "--help" in texts or texts == ["-h"]:
        return
    if sentence := _EXCHANGES.get(command):
        call.need("remote", sentence)
    elif any(re.match(r"--remote=|--rem(?:o|ot|ote)?$", text) for text in texts) and command == "archive":
        call.need("remote", "Reads a remote repository.")
    if check := _CHECKS.get(command):
        check(call, texts)


def given(texts: Sequence[str], options: str) -> bool:
    """Return whether one of the options is given: also abbreviated, with a value attached, or in a cluster of short options."""
    short = "".join(name[1] for name in options.split() if not name.startswith("--"))
    long = [name for name in options.split() if name.startswith("--")]
    for text in texts:
        if text == "--":
            return False
        name = text.partition("=")[0]
        if text.startswith("--"):
            if len(name) > 3 and any(option.startswith(name) for option in long):
                return True
        elif text.startswith("-") and re.match(r"-[A-Za-z]+", text) and set(text[1:]) & set(short):
            return True
    return False


def _operands(texts: Sequence[str]) -> list[str]:
    """Return the words that are no options."""
    if "--" in texts:
        place = list(texts).index("--")
        return [*_operands(texts[:place]), *texts[place + 1 :]]
    return [text for text in texts if not text.startswith("-")]


def _names_all(texts: Sequence[str]) -> bool:
    """Return whether a path of the command is the whole tree."""
    return any(text in _ALL or text.startswith((":!", ":^", ":(exclude)")) for text in _operands(texts))


def _push(call: Call, texts: list[str]) -> None:
    if given(texts, "-f --force --force-with-lease --force-if-includes --mirror") or any(
        t.startswith("+") for t in texts
    ):
        call.need("discard", "Overwrites commits of a remote branch.")
    elif given(texts, "-d --delete --prune") or any(text.startswith(":") for text in texts):
        call.need("discard", "Deletes branches or tags of a remote repository.")
    if given(texts, "-u --set-upstream"):
        call.need("config", _WRITES_CONFIG)


def _clone(call: Call, texts: list[str]) -> None:
    call.need("config", "Creates a repository with its own settings.")


def _remote(call: Call, texts: list[str]) -> None:
    verb = next(iter(_operands(texts)), "")
    if verb in ("show", "update", "prune"):
        call.need("remote", "Reads a remote repository.")
    if verb not in ("", "show", "get-url"):
        call.need("config", _WRITES_CONFIG)


def _submodule(call: Call, texts: list[str]) -> None:
    verb = next(iter(_operands(texts)), "status")
    if verb not in ("status", "summary", "foreach"):
        call.need("remote", "Fetches or changes submodules.")
        call.need("config", _WRITES_CONFIG)


def _lfs(call: Call, texts: list[str]) -> None:
    verb = next(iter(_operands(texts)), "")
    if verb in ("push", "pull", "fetch", "clone", "lock", "unlock", "locks", "migrate"):
        call.need("remote", "Exchanges large files with a server.")
    if verb in ("install", "uninstall", "update"):
        call.need("config", _WRITES_CONFIG)
    if verb == "prune":
        call.need("discard", "Deletes stored large files.")


def _config(call: Call, texts: list[str]) -> None:
    if not reads_config(texts):
        call.need("config", "Changes git settings.")


def reads_config(texts: Sequence[str]) -> bool:
    """Return whether `git config` with these arguments only reads."""
    if given(texts, "--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit"):
        return False
    if given(texts, "-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool"):
        return True
    operands = _operands(
        [text for index, text in enumerate(texts) if not index or texts[index - 1] not in _CONFIG_VALUED]
    )
    if operands[:1] in (["list"], ["get"]):
        return True
    if operands[:1] in (["set"], ["unset"], ["edit"], ["rename-section"], ["remove-section"]):
        return False
    return len(operands) < 2


_CONFIG_VALUED = names("-f --file --type --default --blob --comment --value --url")


def _branch(call: Call, texts: list[str]) -> None:
    if given(texts, _BRANCH_EDITS):
        call.need("config", _WRITES_CONFIG)
    if given(texts, "-D") or (given(texts, "-d --delete") and given(texts, "-f --force")):
        call.need("discard", "Deletes branches even where their commits are in no other branch.")


def _tracks(call: Call, texts: list[str]) -> None:
    if given(texts, "-t --track"):
        call.need("config", _WRITES_CONFIG)


def _checkout(call: Call, texts: list[str]) -> None:
    _tracks(call, texts)
    if _names_all(texts) or given(texts, "-f --force --pathspec-from-file"):
        call.need("discard", "Discards all uncommitted changes.")


def _switch(call: Call, texts: list[str]) -> None:
    _tracks(call, texts)
    if given(texts, "-f --force --discard-changes"):
        call.need("discard", "Discards all uncommitted changes.")


def _restore(call: Call, texts: list[str]) -> None:
    is_index_only = given(texts, "-S --staged") and not given(texts, "-W --worktree")
    if not is_index_only and (_names_all(texts) or given(texts, "--pathspec-from-file")):
        call.need("discard", "Discards all uncommitted changes.")


def _reset(call: Call, texts: list[str]) -> None:
    if given(texts, "--hard --merge --keep"):
        call.need("discard", "Discards all uncommitted changes.")


def _clean(call: Call, texts: list[str]) -> None:
    if not given(texts, "-n --dry-run") and (not _operands(texts) or _names_all(texts) or given(texts, "-x -X")):
        call.need("discard", "Deletes all untracked files.")


def _stash(call: Call, texts: list[str]) -> None:
    if texts[:1] in (["drop"], ["clear"]):
        call.need("discard", "Deletes stashed changes.")


def _rebase(call: Call, texts: list[str]) -> None:
    if given(texts, "-i --interactive --edit-todo"):
        call.need("discard", "Rewrites commits interactively.")


def _reflog(call: Call, texts: list[str]) -> None:
    if texts[:1] in (["expire"], ["delete"]):
        call.need("discard", "Deletes the record of former commits.")


def _collect(call: Call, texts: list[str]) -> None:
    if any(re.match(r"--prun\w*=(?!never)", text) for text in texts):
        call.need("discard", "Deletes commits that no branch contains.")


def _prune(call: Call, texts: list[str]) -> None:
    if not given(texts, "-n --dry-run"):
        call.need("discard", "Deletes commits that no branch contains.")


def _filter(call: Call, texts: list[str]) -> None:
    call.need("discard", "Rewrites the history of the repository.")


def _update_ref(call: Call, texts: list[str]) -> None:
    if given(texts, "-d --stdin"):
        call.need("discard", "Deletes branches or other references.")


def _worktree(call: Call, texts: list[str]) -> None:
    if texts[:1] == ["remove"] and given(texts, "-f --force"):
        call.need("discard", "Deletes a worktree with its uncommitted changes.")


def _remove(call: Call, texts: list[str]) -> None:
    if not given(texts, "--cached -n --dry-run") and _names_all(texts):
        call.need("discard", "Deletes all files of the project.")


def _read_tree(call: Call, texts: list[str]) -> None:
    if given(texts, "--reset") and given(texts, "-u"):
        call.need("discard", "Discards all uncommitted changes.")


def _checkout_index(call: Call, texts: list[str]) -> None:
    if given(texts, "-f --force") and given(texts, "-a --all"):
        call.need("discard", "Discards all uncommitted changes.")


def _sparse(call: Call, texts: list[str]) -> None:
    if texts[:1] != ["list"]:
        call.need("config", _WRITES_CONFIG)


def _maintenance(call: Call, texts: list[str]) -> None:
    if texts[:1] != ["run"]:
        call.need("config", "Changes git settings.")


_CHECKS: Mapping[str, Callable[[Call, list[str]], None]] = {
    "push": _push,
    "clone": _clone,
    "remote": _remote,
    "submodule": _submodule,
    "lfs": _lfs,
    "config": _config,
    "branch": _branch,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "reset": _reset,
    "clean": _clean,
    "stash": _stash,
    "rebase": _rebase,
    "reflog": _reflog,
    "gc": _collect,
    "prune": _prune,
    **dict.fromkeys(("filter-branch", "filter-repo", "replace"), _filter),
    "update-ref": _update_ref,
    "worktree": _worktree,
    "rm": _remove,
    "read-tree": _read_tree,
    "checkout-index": _checkout_index,
    "sparse-checkout": _sparse,
    **dict.fromkeys(("maintenance", "scalar", "flow"), _maintenance),
}
