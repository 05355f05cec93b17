"""Reads the changes of a work tree piece by piece; writes nothing and runs no program of the repository's settings.

Files with a filter, such as large-file storage, are one piece: what git would store of them is only known when the filter runs.
"""

import asyncio
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.review.patch import STATUS, RawChange, counts, hunks_of, identify, split_diff
from opencode_tui.schema.api.review import ChangedPath, ChangeState, Hunk, TreeChanges
from opencode_tui.schema.error import GitUnavailableError
from opencode_tui.storage.safe_folder import open_folder

LINES = 20_000
"""Lines of a patch above which a file is one piece without lines."""

FILE_BYTES = 1024 * 1024
"""Bytes of a new file above which it is shown without lines."""

READ_FILES = 500
"""New files whose lines are read; the others are shown without."""

DIFF_OPTIONS = (
    *("--patch-with-raw", "-z", "--no-renames", "--no-color", "--full-index", "--no-abbrev", "--diff-filter=u"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--no-indent-heuristic", "--diff-algorithm=myers"),
)
"""The form of a diff that `patch.py` reads."""

_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
_HOOK_SETTINGS = r"^hook\..*\.(event|enabled)$"
_OPEN = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
"""What is under way, by the file or folder of the git folder that says so."""

_NAMES = 500
"""Names that one command of git gets."""


class Piece(Struct, frozen=True):
    """A file in one state, with what a commit needs of it."""

    shown: ChangedPath
    raw: RawChange | None
    is_plain: bool
    """Whether its pieces can be marked alone."""


class Found(Struct, frozen=True):
    """The changes of a work tree, and the variables for commands that read or write its files without filters."""

    pieces: tuple[Piece, ...]
    variables: Mapping[str, str]
    problem: str
    hooks: tuple[str, ...]


async def read_pieces(git: SafeGit, repository: Repository) -> Found:
    """Return all changes, staged ones first, then those of tracked files, then new files. Raises GitUnavailableError."""
    variables = {**await git.without_filters(repository), "GIT_LITERAL_PATHSPECS": "1"}
    staged = await _diff(git, variables, "--cached")
    unstaged = await _diff(git, variables)
    listed = await git.run("ls-files", "-z", "--others", "--exclude-standard", "--", ".", more=variables)
    names = sorted(name for name in listed.split("\0") if name and not name.endswith("/"))
    filtered = await _with_filter(git, [*(one.path for one in unstaged), *names], variables)
    new = await asyncio.to_thread(_new_files, repository.worktree, names)
    problem = await _problem(git, repository, variables)
    pieces = [
        *(piece_of(one, "staged", "") for one in staged),
        *(piece_of(one, "unstaged", _stamp(repository.worktree, one), filtered.get(one.path, "")) for one in unstaged),
        *(Piece(_noted(one, filtered.get(one.path, "")), None, False) for one in new),
    ]
    return Found(tuple(pieces), variables, problem, await _hooks(git, variables))


async def read_changes(git: SafeGit, repository: Repository) -> TreeChanges:
    """Return all changes of a work tree as they are shown. Raises GitUnavailableError."""
    found = await read_pieces(git, repository)
    branch = await asyncio.to_thread(lambda: repository.branch)
    files = [piece.shown for piece in found.pieces]
    return TreeChanges(branch=branch or "", problem=found.problem, hooks=list(found.hooks), files=files)


async def find_head(git: SafeGit, more: Mapping[str, str] | None = None) -> str:
    """Return the ID of the present commit; empty before the first one."""
    try:
        return (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", more=more)).strip()
    except GitUnavailableError:
        return ""


async def _diff(git: SafeGit, variables: Mapping[str, str], *which: str) -> list[RawChange]:
    return list(split_diff(await git.run("diff", *DIFF_OPTIONS, *which, "--", ".", more=variables)))


def piece_of(raw: RawChange, state: ChangeState, stamp: str, filter_name: str = "") -> Piece:
    """Return a file; `stamp` says which content of the work tree it is, where the patch does not."""
    hunks = hunks_of(raw.patch, f"{state} {raw.path}")
    lines = [line for hunk in hunks for line in hunk.lines]
    note = _note(raw, lines, filter_name)
    status = STATUS.get(raw.letter, "modified")
    added, deleted = counts(lines)
    is_plain = raw.is_plain and not note and bool(hunks)
    if not is_plain:
        whole = identify(state, raw.path, raw.letter, *raw.modes, *raw.ids, raw.patch, stamp if note else "")
        shown = [] if note else lines
        first = hunks[0] if hunks and not note else Hunk(id=whole, lines=[])
        hunks = [Hunk(id=whole, before=first.before, after=first.after, header=first.header, lines=shown)]
    path = ChangedPath(
        path=raw.path,
        state=state,
        status=status if status in ("added", "deleted") else "modified",
        additions=added,
        deletions=deleted,
        note=note,
        hunks=hunks,
    )
    return Piece(path, raw, is_plain)


def _note(raw: RawChange, lines: Sequence[str], filter_name: str) -> str:
    """Return why the lines of a file are not shown; empty where they are."""
    if filter_name:
        return f"stored by the filter {filter_name}"
    if "\nGIT binary patch\n" in raw.patch or "\nBinary files " in raw.patch:
        return "binary"
    if "160000" in raw.modes:
        return "another commit of a submodule"
    if len(lines) > LINES:
        return "too long to show"
    if not _is_unicode(raw.patch):
        return "not UTF-8"
    if raw.letter == "T":
        return "another kind of file"
    if raw.modes[0] != raw.modes[1] and raw.letter == "M" and not lines:
        return "executable or not"
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stamp(worktree: Path, raw: RawChange) -> str:
    """Return the size and times of a file of the work tree; blocks for a moment."""
    try:
        status = os.lstat(worktree / raw.path)
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _new_files(worktree: Path, names: Sequence[str]) -> list[ChangedPath]:
    """Return new files; blocks."""
    return [_new_file(worktree, name, is_read=at < READ_FILES) for at, name in enumerate(names)]


def _new_file(worktree: Path, name: str, *, is_read: bool) -> ChangedPath:
    data, note, stamp = b"", "", ""
    path = worktree / name
    try:
        status = os.lstat(path)
        stamp = f"{status.st_mode:o} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
        if not stat.S_ISREG(status.st_mode):
            note = "a link" if stat.S_ISLNK(status.st_mode) else "no regular file"
        elif status.st_size > FILE_BYTES or not is_read:
            note = "too long to show" if is_read else "not read, as there are many"
        else:
            with open_folder(path.parent) as folder:
                data, _ = folder.read(path.name, FILE_BYTES)
    except OSError:
        note = "cannot be read"
    text = ""
    if b"\0" in data:
        note = "binary"
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            note = "not UTF-8"
    lines = _added(text)
    hunk = Hunk(id=identify("untracked", name, stamp, text), before=0, after=1, lines=lines)
    return ChangedPath(path=name, state="untracked", status="added", additions=len(lines), note=note, hunks=[hunk])


def _added(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"+{line}" for line in lines] + ([f"+{last}", "\\ No newline at end of file"] if last else [])


def _noted(path: ChangedPath, filter_name: str) -> ChangedPath:
    return path.changed(note=f"stored by the filter {filter_name}") if filter_name else path


async def _with_filter(git: SafeGit, names: Sequence[str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the filter of each file that has one."""
    found: dict[str, str] = {}
    for at in range(0, len(names), _NAMES):
        some = names[at : at + _NAMES]
        fields = (await git.run("check-attr", "-z", "filter", "--", *some, more=variables)).split("\0")
        for path, _, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            if value not in ("unspecified", "unset"):
                found[path] = value
    return found


async def _problem(git: SafeGit, repository: Repository, variables: Mapping[str, str]) -> str:
    """Return why nothing can be committed; empty if nothing is in the way."""
    if await git.run("ls-files", "-z", "--unmerged", "--", ".", more=variables):
        return "files have conflicts; resolve them, then `git add` them"
    names = await asyncio.to_thread(lambda: [name for name in _OPEN if (repository.git_dir / name).exists()])
    return f"{_OPEN[names[0]]} is under way; finish it with git" if names else ""


async def _hooks(git: SafeGit, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the hooks that a commit would run."""
    own = {name: variables[name] for name in ("GIT_DIR", "GIT_WORK_TREE")}
    try:
        named = await git.read_settings("rev-parse", "--git-path", "hooks", more=own)
        settings = await git.read_settings("config", "--null", "--get-regexp", _HOOK_SETTINGS, more=own)
    except GitUnavailableError:
        return ()
    folder, found = git.folder / named.strip(), _events(settings)
    return await asyncio.to_thread(
        lambda: tuple(name for name in _HOOKS if name in found or os.access(folder / name, os.X_OK))
    )


def _events(listing: str) -> set[str]:
    """Return the events at which hooks of the settings run. Source: git-config(1), 2.54.0, `hook.<friendly-name>`."""
    events: dict[str, set[str]] = {}
    disabled: dict[str, bool] = {}
    for entry in listing.split("\0"):
        key, _, value = entry.partition("\n")
        name, _, kind = key.removeprefix("hook.").rpartition(".")
        if kind == "enabled":
            disabled[name] = value.lower() in ("false", "no", "off", "0")
        elif kind == "event":
            events[name] = {*events.get(name, ()), value} if value else set()
    return {event for name, found in events.items() if not disabled.get(name) for event in found}
