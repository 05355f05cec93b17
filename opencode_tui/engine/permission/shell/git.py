"""git: its options before the command, commands that run programs or access servers, and their paths."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.git_needs import record_git_needs
from opencode_tui.engine.permission.shell.naming import names
from opencode_tui.engine.permission.shell.operands import split_options
from opencode_tui.engine.permission.shell.tables import parse_spec
from opencode_tui.engine.permission.shell.words import Word, literal

_KNOWN = names(
    "add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format"
    " checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config count-objects describe"
    " diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep hash-object help index-pack init log"
    " ls-files ls-remote ls-tree mailinfo maintenance merge merge-base merge-file merge-tree mktag mktree mv name-rev notes"
    " pack-objects pack-refs patch-id prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset restore"
    " rev-list rev-parse revert rm shortlog show show-branch show-ref sparse-checkout stage stash status submodule switch"
    " symbolic-ref tag unpack-objects update-index update-ref var verify-commit verify-pack verify-tag version whatchanged worktree"
    " write-tree"
)
_NETWORK = names("clone fetch ls-remote pull push submodule lfs send-email svn p4 imap-send request-pull")
_HARMLESS_SETTING = re.compile(
    r"(?:color|column|advice|log|user|author|committer|push|pull|branch|init|status|blame|tag|rerere|i18n|gc|index|feature|pack)\..*"
    r"|core\.(?:quotepath|autocrlf|eol|safecrlf|filemode|ignorecase|precomposeunicode|abbrev|bare|longpaths|whitespace|symlinks"
    r"|checkstat|untrackedcache|preloadindex|bigfilethreshold|compression)"
    r"|diff\.(?:algorithm|renames|renamelimit|context|interhunkcontext|mnemonicprefix|noprefix|colormoved|submodule|wserrorhighlight)"
    r"|merge\.(?:conflictstyle|ff|log|renames|stat)|commit\.(?:gpgsign|verbose|status|cleanup)|fetch\.(?:prune|prunetags|parallel|writecommitgraph)"
    r"|rebase\.(?:autosquash|autostash|stat|updaterefs|abbreviatecommands)|http\.(?:postbuffer|lowspeedlimit|lowspeedtime|version)"
    r"|safe\.directory|protocol\.version|submodule\.recurse|stash\..*|grep\.(?:linenumber|patterntype|column)|format\.(?:pretty|signoff)",
    re.IGNORECASE,
)
_RUNS = re.compile(
    r"--(?:ext-diff|textconv|open-files-in-pager|upload-pack|receive-pack|exec|config-env|exec-path|tool|extcmd|interactive|edit"
    r"|template|gpg-sign|show-signature|patch-with)(?:=.*)?",
    re.DOTALL,
)
_PROGRAM_OPTIONS = re.compile(r"--(?:upload-pack|receive-pack|exec|extcmd|open-files-in-pager)")
_OPTIONS = parse_spec(
    "b",
    "-o=w --output=w --output-directory=w -F=r --file=r --pathspec-from-file=r --template=r --reference=r --separate-git-dir=b"
    " --git-dir=b --work-tree=b --prefix=t -m=p --message=p --author=t --date=t -S=t -G=t -L=t --format=t --pretty=t --grep=t"
    " --since=t --until=t --before=t --after=t --contains=t --exclude-from=r -X=t --branch=t --depth=t"
    " --trailer=t",
)
_BEFORE: Mapping[str, str] = {
    "--git-dir": "rw",
    "--work-tree": "rw",
    "--namespace": "",
    "--super-prefix": "",
    "--attr-source": "",
}


@dataclass(slots=True)
class _Line:
    """A git command line: the command, its words, and the call in the folder that `-C` names."""

    call: Call
    command: str = ""
    words: list[Word] = field(default_factory=list[Word])


def run_git(call: Call) -> None:
    """Record what a git command does."""
    line = _before_command(call)
    call = line.call
    if not line.command:
        return
    if line.command not in _KNOWN:
        call.opaque()  # an alias in git's config, or another program
    if line.command in _NETWORK or (
        line.command == "remote" and any(w.text in ("update", "show", "prune") for w in line.words)
    ):
        call.network()
    record_git_needs(call, line.command, line.words)
    _note_running_options(call, line)
    special = _SPECIAL.get(line.command)
    if special is not None:
        special(call, line.words)
    _note_paths(call, line)


def _before_command(call: Call) -> _Line:
    waiting = list(call.arguments)
    while waiting:
        word = waiting.pop(0)
        text = word.text
        name, equals, value = text.partition("=")
        if not text.startswith("-"):
            return _Line(call, text, waiting)
        if text in ("-C", "-c", "--config-env") and waiting:
            following = waiting.pop(0)
            call = _enter(call, following) if text == "-C" else _set(call, following, text)
        elif text == "--exec-path" or name in ("--exec-path", "--config-env"):
            call.opaque() if equals else None
        elif name in _BEFORE:
            target = literal(value) if equals else waiting.pop(0) if waiting else literal("")
            call.use(target, "rw") if _BEFORE[name] else None
    return _Line(call)


def _enter(call: Call, folder: Word) -> Call:
    call.use(folder, "rw" if _changes(call) else "r")
    return call.inside(folder)


def _changes(call: Call) -> bool:
    return not any(
        text in ("status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe") for text in call.texts()
    )


def _set(call: Call, word: Word, option: str) -> Call:
    name, _, value = word.text.partition("=")
    if option == "--config-env" or not word.known or not _HARMLESS_SETTING.fullmatch(name):
        call.opaque()
        if value.startswith("!") or re.search(r"\s", value):
            call.run_text(value.lstrip("!"))
    return call


def _note_running_options(call: Call, line: _Line) -> None:
    texts = [word.text for word in line.words]
    for index, text in enumerate(texts):
        if text == "--":
            return
        if not _RUNS.fullmatch(text):
            continue
        if text in ("--interactive", "--edit") and line.command not in ("rebase", "add", "clean", "commit"):
            continue
        if text == "--template" and line.command not in ("init", "clone"):
            continue
        call.opaque()
        value = text.partition("=")[2] or (texts[index + 1] if index + 1 < len(texts) and "=" not in text else "")
        if _PROGRAM_OPTIONS.match(text) and value:
            call.run_text(value)


def _note_paths(call: Call, line: _Line) -> None:
    inner = Call(call.program, line.words, call.state, call.runner)
    operands, _ = split_options(inner, _OPTIONS)
    for word in operands:
        text = word.text
        if re.match(r"[a-z+]+://|[\w.-]+@[\w.-]+:", text):
            call.network()
            if text.startswith("ext::"):
                call.opaque()
            continue
        path = text.rpartition(":")[2]
        if path != text and is_secret(path):
            call.use_text(path, "r")
            continue
        if not word.known and line.command in (
            "show",
            "log",
            "diff",
            "rev-parse",
            "branch",
            "merge-base",
            "describe",
            "blame",
        ):
            continue
        call.use(
            word,
            "r" if line.command in ("diff", "log", "show", "blame", "grep", "hash-object", "apply", "am") else "rw",
        )


def _rebase(call: Call, words: list[Word]) -> None:
    for index, word in enumerate(words):
        if word.text in ("-x", "--exec", "--extcmd") and index + 1 < len(words):
            call.opaque()
            call.run_text(words[index + 1].text)
        elif word.text in ("-i", "--interactive", "--edit-todo"):
            call.opaque()


def _bisect(call: Call, words: list[Word]) -> None:
    if words and words[0].text == "run":
        call.opaque()
        call.run_words(words[1:])


def _submodule(call: Call, words: list[Word]) -> None:
    rest = [word for word in words if not word.text.startswith("-")]
    if rest and rest[0].text == "foreach":
        call.opaque()
        call.run_text(" ".join(word.text for word in rest[1:]))


def _config(call: Call, words: list[Word]) -> None:
    texts = [word.text for word in words]
    names = [text for text in texts if "." in text and not text.startswith("-")]
    reads = any(re.fullmatch(r"--get.*|--list|-l|get|list|--show-.*|--name-only", text) for text in texts)
    values = [
        text for text in texts if not text.startswith("-") and text not in ("set", "get", "list", "unset", *names[:1])
    ]
    if not reads and values and not (names and _HARMLESS_SETTING.fullmatch(names[0])):
        call.opaque()
        call.run_text(values[-1].lstrip("!")) if values[-1].startswith("!") else None
    if "--global" in texts:
        call.use_text(f"{call.state.home}/.gitconfig", "r" if reads else "rw")
    if "--system" in texts:
        call.use_text("/etc/gitconfig", "r" if reads else "rw")


def _grep(call: Call, words: list[Word]) -> None:
    for word in words:
        if word.text.startswith("-O"):
            call.opaque()
            call.run_text(word.text[2:])


def _filter(call: Call, words: list[Word]) -> None:
    call.opaque()
    for index, word in enumerate(words[:-1]):
        if word.text.endswith("-filter"):
            call.run_text(words[index + 1].text)


def _fetch(call: Call, words: list[Word]) -> None:
    for index, word in enumerate(words):
        if word.text.startswith("ext::"):
            call.opaque()
            call.run_text(word.text[5:])
        elif word.text == "-u" and index + 1 < len(words) and len(words) > 2 and call.arguments[0].text == "clone":
            call.opaque()
        elif word.text in ("-c", "--config") and index + 1 < len(words):
            _set(call, words[index + 1], "-c")


def _stash(call: Call, words: list[Word]) -> None:
    if any(re.fullmatch(r"-p|--patch|-e|-i", word.text) for word in words):
        call.opaque()


_SPECIAL = {
    "rebase": _rebase,
    "difftool": _rebase,
    "bisect": _bisect,
    "submodule": _submodule,
    "config": _config,
    "grep": _grep,
    "filter-branch": _filter,
    **dict.fromkeys(("clone", "fetch", "pull", "push", "ls-remote", "remote", "archive"), _fetch),
    **dict.fromkeys(("stash", "add", "checkout", "restore", "reset"), _stash),
}
