"""What a command line would remove or overwrite in the project: the paths that it names, and what git would discard.

A superset where the line does not say it exactly. Nothing is read but names; `engine/tool/builtin/bash_losses.py` asks git.
"""

import fnmatch
import posixpath
from collections.abc import Iterable, Sequence
from itertools import pairwise

from opencode_tui.engine.permission.shell.call import Call
from opencode_tui.engine.permission.shell.filesystem import GLOB_LIMIT, ShellFileSystem, bounded, is_inside
from opencode_tui.engine.permission.shell.findings import Findings, Loss
from opencode_tui.engine.permission.shell.needs import given, names_all, operands_of
from opencode_tui.engine.permission.shell.words import Word, listed, literal, names

_JOINS = listed("find joins")
_REMOVES = listed("removes files")
_NAME_TESTS = names("-name -iname")
_PATH_TESTS = names("-path -ipath -wholename -iwholename -regex -iregex")
_NOT = names("! -not")
_EXECUTES = listed("find executes")


def deletes(call: Call, word: Word, *, pattern: str = "*") -> None:
    """Record that a command removes what a word names, and everything below it."""
    findings = call.runner.findings
    paths = findings.targets(word, call.state.folders)
    if len(paths) >= GLOB_LIMIT:
        paths = [posixpath.dirname(path) for path in paths]
    for path in paths:
        if is_inside(path, findings.root):
            findings.losses[Loss("deleted", path, bounded(pattern))] = None


def removes_found(expressions: Sequence[str]) -> bool:
    """Return whether `find` removes what it finds, by `-delete` or by a program."""
    return "-delete" in expressions or any(
        text in _EXECUTES and posixpath.basename(following) in _REMOVES for text, following in pairwise(expressions)
    )


def found_by_find(call: Call, starts: Sequence[Word], expressions: Sequence[str]) -> None:
    """Record what `find` with `-delete` or a program that removes files may remove: all that one `-name` does not exclude."""
    if not removes_found(expressions):
        return
    is_plain = _JOINS.isdisjoint(expressions)
    patterns = [value for text, value in pairwise(expressions) if text == "-name"]
    for start in starts or [literal(".")]:
        deletes(call, start, pattern=patterns[0] if is_plain and len(patterns) == 1 else "*")


def is_in_repository(findings: Findings, path: str) -> bool:
    """Return whether a path is the data of a git repository of the project, or in them."""
    return ".git" in path[len(findings.root) :].split("/")


def finds_repository(call: Call, starts: Sequence[Word], expressions: Sequence[str]) -> bool:
    """Return whether `find` finds the data of a repository, by a folder that it starts in or by a test for them."""
    findings = call.runner.findings
    paths = [path for start in starts for path in findings.targets(start, call.state.folders)]
    if any(is_in_repository(findings, path) for path in paths):
        return True
    tests = [
        pair for before, pair in zip(["", *expressions], pairwise(expressions), strict=False) if before not in _NOT
    ]
    return "-prune" not in expressions and any(
        (text in _NAME_TESTS and fnmatch.fnmatchcase(".git", bounded(value)))
        or (text in _PATH_TESTS and ".git/" in f"{value}/")
        for text, value in tests
    )


def discarded_by_git(call: Call, command: str, words: Sequence[Word]) -> None:
    """Record what a command of git discards in the work tree."""
    texts = [word.text for word in words]
    clean = _cleaned(command, texts)
    changed = _changed(command, texts)
    if command == "rm" and not given(texts, "--cached -n --dry-run"):
        for word in words:
            if not word.text.startswith("-"):
                deletes(call, word)
    findings = call.runner.findings
    for folder in call.state.folders or ():
        real = findings.real(folder)
        if not is_inside(real, findings.root):
            continue
        if clean is not None:
            findings.losses[Loss("untracked", real, words=clean)] = None
        if changed is not None:
            findings.losses[Loss("changes", real, words=changed)] = None


def _cleaned(command: str, texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the arguments of the `git clean` that removes the same untracked files, None where none are removed."""
    if command == "clean" and not given(texts, "-n --dry-run"):
        return tuple(texts)
    if command == "stash" and _is_push(texts):
        if given(texts, "-a --all"):
            return ("-d", "-x")
        if given(texts, "-u --include-untracked"):
            return ("-d",)
    return None


def _changed(command: str, texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the paths whose changes a command of git discards, none for all; None where it discards no change."""
    after = tuple(texts[list(texts).index("--") + 1 :]) if "--" in texts else ()
    match command:
        case "checkout":
            if after or names_all(texts):
                return after
            return () if given(texts, "-f --force --pathspec-from-file") else None
        case "switch":
            return () if given(texts, "-f --force --discard-changes") else None
        case "restore":
            is_index_only = given(texts, "-S --staged") and not given(texts, "-W --worktree")
            return None if is_index_only else after or tuple(operands_of(texts))
        case "reset":
            return () if given(texts, "--hard --merge --keep") else None
        case "read-tree" | "checkout-index":
            return () if given(texts, "-u -f -a --reset --force --all") else None
        case "stash":
            return () if _is_push(texts) else None
        case _:
            return None


def _is_push(texts: Sequence[str]) -> bool:
    return not texts or texts[0] in ("push", "save") or texts[0].startswith("-")


def all_losses(findings: Findings) -> tuple[Loss, ...]:
    """Return everything that a line would remove or overwrite, the files that it writes included."""
    files: ShellFileSystem = findings.filesystem
    written = [path for path, mode in findings.inside.items() if "w" in mode]
    names = {posixpath.basename(path) for path in (*findings.inside, *findings.external)} if written else set[str]()
    replaced = [Loss("replaced", path) for one in written for path in _overwritten(one, names, files)]
    known = {loss.path for loss in findings.losses}
    return (*findings.losses, *(loss for loss in replaced if loss.path not in known))


def _overwritten(path: str, names: Iterable[str], files: ShellFileSystem) -> list[str]:
    """Return the existing files that a command overwrites that writes to a path: in a folder those named like what it uses."""
    if not files.exists(path):
        return []
    if not files.is_folder(path):
        return [path]
    inner = (f"{path}/{name}" for name in names)
    return [one for one in inner if files.exists(one) and not files.is_folder(one)]
