"""git: options before the command, what a command runs, reads and writes, what it needs outside, and what it discards at large.

An option or a command that is in no list makes the call opaque.
"""

import fnmatch
import glob
import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from opencode_tui.engine.permission.protected import is_secret
from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.filesystem import bounded
from opencode_tui.engine.permission.shell.findings import PATH_LIMIT, Mode
from opencode_tui.engine.permission.shell.losses import discarded_by_git
from opencode_tui.engine.permission.shell.needs import given, names_all, operands_of
from opencode_tui.engine.permission.shell.operands import spec_of, split_options, tail
from opencode_tui.engine.permission.shell.other_side import check_git
from opencode_tui.engine.permission.shell.words import UNKNOWN, Word, listed, literal

_READS = listed("git reads")
_RECORDS = listed("git records")
_WRITES = listed("git writes")
_PLAIN = listed("git options")
_PRINTS = listed("git prints")
_HARMLESS_SETTINGS = listed("git harmless settings")
_RUNNING = {name: letters for name, _, letters in (word.partition("=") for word in listed("git short options"))}
_PROGRAMS = re.compile(
    r"--(?:up(?:l.*)?|rec(?:e.*)?|exe(?:c)?|ext(?:c.*)?|open-.*|(?:tree|env|index|msg|parent|commit|tag-name)-filter)"
)
"""Options whose value is a command line, such as `--upload-pack` and `--exec`, abbreviated too."""

_BEFORE = listed("git options before with a value")
_BEFORE_PLAIN = listed("git options before")


def run_git(call: Call) -> None:
    """Record what a git command does."""
    call, command, words = _before_command(call)
    if not command:
        return
    if command not in _READS | _RECORDS | _WRITES:
        call.opaque()  # an alias in git's config, or another program
    if _is_in_other_repository(call):
        call.steered()
    if command in _RUN_HOOKS and _has_hooks(call):
        call.runs_project()
    texts = [word.text for word in words]
    if "--help" not in texts and texts != ["-h"]:
        call.needs(f"git.{command}", words)
    _record_options(call, command, texts)
    check_git(call, command, words)
    match command:
        case "apply" | "am" | "update-index":
            call.runner.poison(renames=False)  # a patch or an index can hold links
        case "bisect" if texts[:1] == ["run"]:
            call.opaque()
            call.run_words(words[1:])
        case "submodule" if operands_of(texts)[:1] == ["foreach"]:
            call.opaque()
            call.run_text(" ".join(operands_of(texts)[1:]))
        case "config":
            _config(call, texts)
        case _:
            pass
    discarded_by_git(call, command, words)
    _record_secrets(call, command, texts)
    _record_paths(call, command, words)


_RUN_HOOKS = listed("git runs hooks")


def _has_hooks(call: Call) -> bool:
    """Return whether the repository has hooks of its own."""
    findings = call.runner.findings
    folders = ((".git/hooks", ".sample"), (".husky", ".gitignore"), (".githooks", ""))
    return any(
        not (end and name.endswith(end))
        for folder, end in folders
        for name in findings.filesystem.names(f"{findings.root}/{folder}")
    )


def _before_command(call: Call) -> tuple[Call, str, list[Word]]:
    """Return the call in the folder that `-C` names, the command, and the words after it."""
    waiting = list(call.arguments)
    while waiting:
        word = waiting.pop(0)
        text = word.text
        name, equals, value = text.partition("=")
        if not text.startswith("-"):
            call.steered() if not word.known else None
            return call, text, waiting
        if text in ("-C", "-c", "--config-env") and waiting:
            following = waiting.pop(0)
            call = _enter(call, following) if text == "-C" else _set(call, following, text)
        elif name in _BEFORE:
            target = literal(value) if equals else waiting.pop(0) if waiting else literal("")
            if name in ("--git-dir", "--work-tree"):
                call.use(target, "rw")
                call.steered()
        elif text not in _BEFORE_PLAIN and text != "--exec-path":
            call.steered()
    return call, "", []


def _enter(call: Call, folder: Word) -> Call:
    call.use(folder, "r" if any(text in _READS for text in call.texts()) else "rw")
    return call.inside(folder)


def _is_in_other_repository(call: Call) -> bool:
    """Return whether the folder may belong to a repository inside the project, whose settings run programs.

    A folder with `HEAD` may be one: the rest of it can be elsewhere.
    """
    findings = call.runner.findings
    for folder in call.state.folders or ():
        path = findings.real(folder)
        while path.startswith(findings.root) and len(path) > len(findings.root):
            if any(findings.filesystem.exists(f"{path}/{name}") for name in (".git", "HEAD")):
                return True
            path = path.rpartition("/")[0]
    return False


def _set(call: Call, word: Word, option: str) -> Call:
    name, _, value = word.text.partition("=")
    if option == "--config-env" or not word.known or not _is_harmless(name):
        call.steered()
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
                call.steered()
                call.run_text(value if equals else following)
            elif not _is_plain(name):
                call.steered()
        elif found := re.match(rf"-[A-Za-z]*?([{running}])", text) if running else None:
            call.steered()
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
        findings.stages_all = findings.stages_all or given(texts, "-A --all") or names_all(texts)
    elif command == "stash":
        findings.stages_all = findings.stages_all or given(texts, "-u -a --include-untracked --all")
    elif command == "ls-files" and given(texts, "-o --others"):
        findings.listed = "*"


def _record_paths(call: Call, command: str, words: list[Word]) -> None:
    operands, _ = split_options(replace(call, arguments=words), spec_of("git"))
    mode: Mode = "r" if command in _READS or command in _RECORDS else "rw"
    _record_contents(call, command, [word.text for word in words], operands, mode)
    for word in operands:
        text = word.text
        if not word.known and not word.fixed:
            call.steered()  # it may turn out to be an option
        if re.match(r"[\w+.-]+::", text) and not text.startswith("ext::"):
            call.steered()  # a program `git-remote-…` of this name
        if text.startswith("ext::"):
            call.steered()
            call.run_text(text[5:])
            continue
        if re.match(r"[a-z+]+://|[\w.-]+@[\w.-]+:", text):
            call.network()
            continue
        if command in _READS | {"archive"} and (text[:1] == ":" or _names_revision(call, text)):
            continue
        if not word.known and command in _READS | {"branch"}:
            continue
        if command in _ONLY_NAMED and is_secret(text):
            continue
        call.use(word, mode, is_sure=False)


def _names_revision(call: Call, text: str) -> bool:
    """Return whether a text is a path in a revision, not a file with a colon in its name."""
    exists = call.runner.findings.filesystem.exists
    return _REVISION.fullmatch(text) is not None and not any(
        exists(f"{one}/{text}") for one in call.state.folders or ()
    )


_ONLY_NAMED = listed("git names files")
_OTHER_REPOSITORIES = listed("git names other repositories")
_PATHSPECS = listed("git pathspecs")
_REVISION = re.compile(r"(?!:[/!^(])(?:[^:{]|\{[^}]*\})*:(?:(?<=^:)[0-3]:)?(?P<path>.*)", re.DOTALL)
"""A path in a revision or in the index. In braces a colon is one of a date or message. Source: gitrevisions(7)."""

_MAGIC = re.compile(r":(?:\((?P<words>[^)]*)\)|(?P<signs>[/!^]*):?)(?P<path>.*)", re.DOTALL)
"""A path with words or signs that say how it is meant. Source: gitglossary(7), pathspec."""


PATTERN_LIMIT = 40
"""Maximum number of patterns of one command that are compared with the files; more count as a pattern of all files."""


def _record_contents(call: Call, command: str, texts: list[str], operands: list[Word], mode: Mode) -> None:
    """Record the files that a command reads in the repository: of a revision, and those that only git finds by their words."""
    if command in _OTHER_REPOSITORIES:
        return
    if command == "grep" and not any(re.match(r"-e.|--regexp=", text) for text in texts):
        operands = operands[1:]  # what is searched for
    if call.stdin is not None and any(text.startswith(("--batch", "--stdin")) for text in texts):
        operands = [*operands, *(literal(text) for text in call.stdin.split() if UNKNOWN not in text)]
    reads_folders = command in ("archive", "grep")
    for word in operands:
        _record_revision(call, word, reads_folders=reads_folders)
        if reads_folders:
            call.tree(word, shows_hidden=False)
    if command in _PATHSPECS and not given(texts, _ONLY_NAMES):
        _record_pathspecs(call, [word.text for word in operands if word.known], mode)
    for index, text in enumerate(texts if command in ("log", "show", "whatchanged") else ()):
        lines = "".join(texts[index : index + 2]) if text == "-L" else text
        if lines.startswith("-L") and ":" in lines:
            call.use_text(lines.rpartition(":")[2], "r")


def _record_revision(call: Call, word: Word, *, reads_folders: bool) -> None:
    """Record the path that a word names in a revision, from the top of the repository unless it begins with a dot."""
    found = _REVISION.fullmatch(word.text)
    if found is None or not found["path"]:
        return
    path = tail(word, found.start("path"))
    is_relative = re.match(r"\.\.?/", path.text) is not None
    for folder in call.state.folders or () if is_relative else call.runner.findings.tops(call.state.folders):
        full = Word(text=f"{folder}/{path.text}", fixed=f"{folder}/{path.fixed}")
        if path.known or path.fixed:
            call.runner.findings.path(full, "r", call.state.folders, follows=False)
        if reads_folders:
            call.tree(full, shows_hidden=False)


def _record_pathspecs(call: Call, texts: list[str], mode: Mode) -> None:
    """Record the files of words that mean others than for the shell: from the top, with wildcards of git, in any case."""
    findings = call.runner.findings
    wanted: list[str] = []
    for text in texts:
        found = _MAGIC.fullmatch(text)
        signs = {*(found["signs"] or ""), *(found["words"] or "").split(",")} if found else set[str]()
        if signs & {"!", "^", "exclude"}:
            continue
        path = re.sub(r"\\(.)", r"\1", found["path"] if found else text)
        for folder in (
            call.runner.findings.tops(call.state.folders) if signs & {"/", "top"} else sorted(call.state.folders or ())
        ):
            if path != text:
                call.use_text(f"{folder}/{path}", mode)
            if "icase" in signs or ("literal" not in signs and re.search(r"[*?\[]", path)):
                pattern = posixpath.normpath(
                    f"{glob.escape(findings.real(folder))}/{bounded(path.replace('**/', '*'))}"
                )
                wanted += [
                    f"(?i:{one})" if "icase" in signs else one
                    for one in map(fnmatch.translate, (pattern, f"{pattern}/*"))
                ]
    if wanted:
        is_all = len(wanted) > PATTERN_LIMIT or sum(map(len, wanted)) > PATH_LIMIT
        matching = re.compile("" if is_all else "|".join(wanted))
        files = findings.filesystem.files_below(findings.root)
        findings.below |= {file: None for file in files if matching.match(file)}


def _config(call: Call, texts: list[str]) -> None:
    operands = [text for text in texts if not text.startswith("-") and text not in ("set", "get", "list", "unset")]
    reads = _reads_config(texts)
    if not reads:
        call.found("changed-setting")
    if not reads and not (operands and _is_harmless(operands[0])):
        call.opaque()
        call.run_text(operands[-1][1:]) if operands and operands[-1].startswith("!") else None
    for name, value in pairwise([*texts, ""]):
        if name in ("-f", "--file") or name.startswith("--file="):
            call.use_text(name.partition("=")[2] or value, "r" if reads else "rw")
    if given(texts, "--global"):
        call.use_text(f"{call.state.home}/.gitconfig", "r" if reads else "rw")
    if given(texts, "--system"):
        call.use_text("/etc/gitconfig", "r" if reads else "rw")


def _is_harmless(setting: str) -> bool:
    """Return whether a setting of git runs nothing."""
    name = setting.lower()
    section, dot, _ = name.partition(".")
    return "\n" not in name and (name in _HARMLESS_SETTINGS or (bool(dot) and f"{section}.*" in _HARMLESS_SETTINGS))


def _reads_config(texts: Sequence[str]) -> bool:
    """Return whether `git config` with these arguments only reads."""
    if given(texts, "--add --unset --unset-all --replace-all --rename-section --remove-section -e --edit"):
        return False
    if given(texts, "-l --list --get --get-all --get-regexp --get-urlmatch --get-color --get-colorbool"):
        return True
    operands = operands_of(
        [text for index, text in enumerate(texts) if not index or texts[index - 1] not in _CONFIG_VALUED]
    )
    if operands[:1] in (["list"], ["get"]):
        return True
    if operands[:1] in (["set"], ["unset"], ["edit"], ["rename-section"], ["remove-section"]):
        return False
    return len(operands) < 2


_CONFIG_VALUED = listed("git config options with a value")
