"""git: options before the command, what a command runs, reads and writes, what it needs outside, and what it discards at large.

An option or a command that is in no list makes the call opaque.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.findings import Mode
from opencode_tui.engine.permission.shell.operands import given, parse_spec, split_options
from opencode_tui.engine.permission.shell.words import Word, literal, names

_READS = names(
    "annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry column count-objects describe diff"
    " diff-files diff-index diff-tree for-each-ref format-patch fsck grep help log ls-files ls-remote ls-tree mailinfo merge-base"
    " merge-tree name-rev patch-id range-diff reflog rev-list rev-parse shortlog show show-branch show-ref status var"
    " verify-commit verify-pack verify-tag version whatchanged"
)
_RECORDS = names(
    "add bisect branch bundle cherry-pick commit commit-graph commit-tree config fetch gc hash-object index-pack maintenance merge"
    " mktag mktree notes pack-objects pack-refs prune pull push rebase remote repack replace request-pull rerere reset revert"
    " sparse-checkout stage stash submodule switch symbolic-ref tag unpack-objects update-index update-ref write-tree"
)
"""Commands whose operands are read; what they change is the repository, or files that the operands do not name."""

_WRITES = names(
    "am apply archive checkout checkout-index clean clone init merge-file mv read-tree restore rm worktree filter-branch"
)
_NETWORK = names("clone fetch ls-remote pull push submodule lfs send-email svn p4 imap-send request-pull")
_PRINTS = names("diff show log stash whatchanged diff-index format-patch")
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
_PLAIN = names(
    "abbrev abbrev-commit abbrev-ref abort absolute-git-dir add after ahead-behind all all-match allow-empty"
    " allow-empty-message amend ancestry-path anchored and annotate apply author author-date-order autosquash autostash"
    " bare basic-regexp before binary bool boundary branch branches break-rewrites cached cc check cherry cherry-mark"
    " cherry-pick children chmod cleanup color color-moved color-words column combined-all-paths committer"
    " compact-summary conflict contains continue copies copy count create create-reflog cumulative date date-order debug"
    " decorate decorate-refs decorate-refs-exclude deduplicate default delete deleted depth detach diff-algorithm"
    " diff-filter diff-merges directory dirstat discard-changes dry-run dst-prefix email empty-directory encoding eol"
    " error-unmatch exclude exclude-from exclude-per-directory exclude-standard exit-code expire extended-regexp ff"
    " ff-only file files-with-matches files-without-match find-copies find-copies-harder find-object find-renames"
    " first-parent fixed-strings fixup follow force force-if-includes force-with-lease format full-history full-index"
    " full-name fullscreen function-context get get-all get-regexp get-url get-urlmatch global graph grep grep-reflog"
    " guess hard head heading heads help histogram ignore-all-space ignore-blank-lines ignore-case ignore-cr-at-eol"
    " ignore-errors ignore-missing ignore-other-worktrees ignore-removal ignore-revs ignore-revs-file"
    " ignore-skip-worktree-entries ignore-space-at-eol ignore-space-change ignore-submodules ignore-unmatch ignored"
    " include include-untracked incremental indent-heuristic index initial-branch int intent-to-add inter-hunk-context"
    " invert-grep invert-match is-bare-repository is-inside-git-dir is-inside-work-tree ita-invisible-in-index jobs keep"
    " keep-empty keep-index keep-non-patch killed left-only left-right line-number line-porcelain line-prefix list local"
    " local-env-vars log long lost-found match max-count max-depth max-parents merge merge-base merged merges message"
    " minimal minimum mirror mixed mod mode modified move name-only name-status no-abbrev no-abbrev-commit no-all"
    " no-autostash no-checkout no-color no-commit no-decorate no-edit no-expand-tabs no-ext-diff no-ff no-gpg-sign"
    " no-guess no-hardlinks no-ignore-removal no-indent-heuristic no-index no-keep-index no-merged no-merges no-notes"
    " no-optional-locks no-overlay no-patch no-post-rewrite no-prefix no-progress no-quiet no-rebase"
    " no-recurse-submodules no-relative no-rename-empty no-renames no-signoff no-single-branch no-stat no-tags"
    " no-textconv no-track no-verify no-verify-signatures no-walk not notes null numbered numstat object onelin oneline"
    " only only-matching onto ordered origin orphan others ours output output-indicator-context output-indicator-new"
    " output-indicator-old overlay parents patch-with-raw path-format pathspec-file-nul pathspec-from-file patience"
    " perl-regexp pickaxe-all pickaxe-regex points-at porcelain prefix pretty progress prune prune-empty prune-merged"
    " prune-tags quiet quit raw reapply-cherry-picks rebase rebase-merges recurse-submodules recursive"
    " recursive-submodules reedit-message ref reference reflog refresh refs relative relative-date remote remotes"
    " remove-empty rename-empty renormalize replace-all reset-author resolve-git-dir reuse-message reverse revs-only"
    " right-only root score separate-git-dir set-upstream set-upstream-to shallow-exclude shallow-since short shortstat"
    " show-cdup show-current show-function show-linear-break show-notes show-number show-object-format show-origin"
    " show-prefix show-pulls show-root show-scope show-stash show-superproject-working-tree show-toplevel signoff"
    " simplify-by-decoration simplify-merges since single-branch skip skip-empty soft sort source sparse squash"
    " src-prefix stage staged stat stat-count stat-graph-width stat-name-width stat-width status stdin strategy"
    " strategy-option submodule summary symbolic symbolic-full-name system tags text theirs topo-order track trailer type"
    " unified unmerged unset unset-all unset-upstream unshallow until untracked untracked-files update update-head-ok"
    " update-refs use-mailmap verbose verify walk-reflogs word-diff word-diff-regex word-regexp worktree write"
    " ws-error-highlight zero-terminated"
)
"""Long options that run nothing, without their dashes."""

_RUNNING = {
    "rebase": "xi",
    "grep": "O",
    "clone": "uc",
    "difftool": "x",
    "add": "iep",
    "commit": "p",
    "filter-branch": "f",
}
"""Short options of a command that run something or wait for keys."""

_PROGRAMS = re.compile(r"--(?:up(?:l.*)?|rec(?:e.*)?|exe(?:c)?|ext(?:c.*)?|open-.*)")
"""Options whose value is a command line, such as `--upload-pack` and `--exec`, abbreviated too."""

_OPTIONS = parse_spec(
    "b",
    "-o=w --output=w --output-directory=w -F=r --file=r --pathspec-from-file=r --template=r --reference=r --separate-git-dir=b"
    " --git-dir=b --work-tree=b --prefix=t -m=p --message=p --author=t --date=t -S=t -G=t -L=t --format=t --pretty=t --grep=t"
    " --since=t --until=t --before=t --after=t --contains=t --exclude-from=r -X=t --branch=t --depth=t"
    " --trailer=t --ignore-revs-file=r",
)
_BEFORE = names("--git-dir --work-tree --namespace --super-prefix --attr-source --list-cmds")
_BEFORE_PLAIN = names(
    "-p -P --paginate --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs"
    " --icase-pathspecs --no-optional-locks --version --help -v -h --html-path --man-path --info-path --no-advice"
)


def run_git(call: Call) -> None:
    """Record what a git command does."""
    call, command, words = _before_command(call)
    if not command:
        return
    if command not in _READS | _RECORDS | _WRITES:
        call.opaque()  # an alias in git's config, or another program
    if _is_in_other_repository(call):
        call.opaque()
    texts = [word.text for word in words]
    if command in _NETWORK or (command == "remote" and texts[:1] in (["update"], ["show"], ["prune"])):
        call.network()
    _record_needs(call, command, texts)
    _record_options(call, command, texts)
    if special := _SPECIAL.get(command):
        special(call, words)
    _record_secrets(call, command, texts)
    _record_paths(call, command, words)


def _before_command(call: Call) -> tuple[Call, str, list[Word]]:
    """Return the call in the folder that `-C` names, the command, and the words after it."""
    waiting = list(call.arguments)
    while waiting:
        word = waiting.pop(0)
        text = word.text
        name, equals, value = text.partition("=")
        if not text.startswith("-"):
            call.opaque() if not word.known else None
            return call, text, waiting
        if text in ("-C", "-c", "--config-env") and waiting:
            following = waiting.pop(0)
            call = _enter(call, following) if text == "-C" else _set(call, following, text)
        elif name in _BEFORE:
            target = literal(value) if equals else waiting.pop(0) if waiting else literal("")
            if name in ("--git-dir", "--work-tree"):
                call.use(target, "rw")
                call.opaque()
        elif text not in _BEFORE_PLAIN and text != "--exec-path":
            call.opaque()
    return call, "", []


def _enter(call: Call, folder: Word) -> Call:
    call.use(folder, "r" if any(text in _READS for text in call.texts()) else "rw")
    return call.inside(folder)


def _is_in_other_repository(call: Call) -> bool:
    """Return whether the folder may belong to a repository inside the project, whose settings run programs."""
    findings = call.runner.findings
    for folder in call.state.folders or ():
        path = findings.real(folder)
        while path.startswith(findings.root) and len(path) > len(findings.root):
            found = findings.filesystem.names(path)
            if ".git" in found or {"HEAD", "objects"} <= set(found):
                return True
            path = path.rpartition("/")[0]
    return False


def _set(call: Call, word: Word, option: str) -> Call:
    name, _, value = word.text.partition("=")
    if option == "--config-env" or not word.known or not _HARMLESS_SETTING.fullmatch(name):
        call.opaque()
        if value.startswith("!") or re.search(r"\s", value):
            call.run_text(value.lstrip("!"))
    return call


def _record_options(call: Call, command: str, texts: list[str]) -> None:
    """Record options that run something, and those in no list."""
    running = _RUNNING.get(command, "")
    for index, text in enumerate(texts):
        if text == "--":
            return
        following = texts[index + 1] if index + 1 < len(texts) else ""
        name, equals, value = text.partition("=")
        if text.startswith("--"):
            if _PROGRAMS.fullmatch(name):
                call.opaque()
                call.run_text(value if equals else following)
            elif not _is_plain(name):
                call.opaque()
        elif found := re.match(rf"-[A-Za-z]*?([{running}])", text) if running else None:
            call.opaque()
            program = text[found.end() :] or following
            if found.group(1) in "xOu":
                call.run_text(program)
            elif found.group(1) == "c":
                _set(call, literal(program), "-c")
        elif text in ("-i", "-p", "-e") and command in ("stash", "checkout", "restore", "reset"):
            call.opaque()


def _is_plain(name: str) -> bool:
    return name[2:] in _PLAIN or (len(name) > 5 and any(option.startswith(name[2:]) for option in _PLAIN))


_ONLY_NAMES = "--stat --name-only --name-status --shortstat --numstat"


def _record_secrets(call: Call, command: str, texts: list[str]) -> None:
    """Record files with secrets that a command prints: searched without the index, or stored by the same script."""
    findings = call.runner.findings
    prints = command in _PRINTS and (command != "stash" or texts[:1] == ["show"])
    if (
        (prints and findings.stages_all and not given(texts, _ONLY_NAMES))
        or (command == "grep" and given(texts, "--no-index --untracked"))
        or (command == "diff" and given(texts, "--no-index"))
    ):
        call.tree(literal("."))
    elif command in ("add", "stage"):
        findings.stages_all = findings.stages_all or given(texts, "-A --all") or _names_all(texts)
    elif command == "stash":
        findings.stages_all = findings.stages_all or given(texts, "-u -a --include-untracked --all")
    elif command == "ls-files" and given(texts, "-o --others"):
        findings.listed = "*"


def _record_paths(call: Call, command: str, words: list[Word]) -> None:
    operands, _ = split_options(Call(call.program, words, call.state, call.runner), _OPTIONS)
    mode: Mode = "r" if command in _READS or command in _RECORDS else "rw"
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
        if not word.known and command in _READS | {"branch"}:
            continue
        call.use(word, mode)


def _rebase(call: Call, words: list[Word]) -> None:
    if given([word.text for word in words], "-i --interactive --edit-todo"):
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
    operands = [text for text in texts if not text.startswith("-") and text not in ("set", "get", "list", "unset")]
    reads = _reads_config(texts)
    if not reads and not (operands and _HARMLESS_SETTING.fullmatch(operands[0])):
        call.opaque()
        call.run_text(operands[-1][1:]) if operands and operands[-1].startswith("!") else None
    if given(texts, "--global"):
        call.use_text(f"{call.state.home}/.gitconfig", "r" if reads else "rw")
    if given(texts, "--system"):
        call.use_text("/etc/gitconfig", "r" if reads else "rw")


def _filter(call: Call, words: list[Word]) -> None:
    call.opaque()
    for index, word in enumerate(words[:-1]):
        if word.text.endswith("-filter"):
            call.run_text(words[index + 1].text)


def _fetch(call: Call, words: list[Word]) -> None:
    for word in words:
        if word.text.startswith("ext::"):
            call.opaque()
            call.run_text(word.text[5:])


def _make_files(call: Call, words: list[Word]) -> None:
    """Record that later paths are unknown: a patch or an index can hold links."""
    del words
    call.runner.poison()


_SPECIAL: Mapping[str, Callable[[Call, list[Word]], None]] = {
    "rebase": _rebase,
    "bisect": _bisect,
    "submodule": _submodule,
    "config": _config,
    "filter-branch": _filter,
    **dict.fromkeys(("clone", "fetch", "pull", "push", "ls-remote", "remote", "archive"), _fetch),
    **dict.fromkeys(("apply", "am", "update-index"), _make_files),
}


# What commands need outside of the sandbox, and which discard work at large.

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


def _record_needs(call: Call, command: str, texts: list[str]) -> None:
    """Record what a git command needs and discards; the texts follow the command."""
    if "--help" in texts or texts == ["-h"]:
        return
    if sentence := _EXCHANGES.get(command):
        call.need("remote", sentence)
    elif any(re.match(r"--remote=|--rem(?:o|ot|ote)?$", text) for text in texts) and command == "archive":
        call.need("remote", "Reads a remote repository.")
    if check := _CHECKS.get(command):
        check(call, texts)


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


def _change_submodules(call: Call, texts: list[str]) -> None:
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


def _configure(call: Call, texts: list[str]) -> None:
    if not _reads_config(texts):
        call.need("config", "Changes git settings.")


def _reads_config(texts: Sequence[str]) -> bool:
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


def _rewrite(call: Call, texts: list[str]) -> None:
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


def _rewrite_all(call: Call, texts: list[str]) -> None:
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
    "submodule": _change_submodules,
    "lfs": _lfs,
    "config": _configure,
    "branch": _branch,
    "checkout": _checkout,
    "switch": _switch,
    "restore": _restore,
    "reset": _reset,
    "clean": _clean,
    "stash": _stash,
    "rebase": _rewrite,
    "reflog": _reflog,
    "gc": _collect,
    "prune": _prune,
    **dict.fromkeys(("filter-branch", "filter-repo", "replace"), _rewrite_all),
    "update-ref": _update_ref,
    "worktree": _worktree,
    "rm": _remove,
    "read-tree": _read_tree,
    "checkout-index": _checkout_index,
    "sparse-checkout": _sparse,
    **dict.fromkeys(("maintenance", "scalar", "flow"), _maintenance),
}
