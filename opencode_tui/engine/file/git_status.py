"""Reports which files of a work tree differ from its last commit, and by how many lines.

Filters (large-file storage, encryption) do not run, so a file with a filter counts as modified when its times have changed.
"""

import asyncio
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from opencode_tui.engine.project.git import SafeGit, with_settings
from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.api.file import ChangedFile
from opencode_tui.schema.error import GitUnavailableError

GIT_SECONDS = 30
"""Seconds that git may take."""

COUNT_SECONDS = 5
"""Seconds for counting the lines of untracked files; the remaining ones count as 0."""

_DIFF_OPTIONS = (
    "--raw",
    "--numstat",
    "-z",
    "--no-renames",
)
_NAMES = 500
"""Names that one command of git gets."""

_SIZE_LIMIT = 16 * 1024 * 1024
_BINARY_SAMPLE = 8000
_CHUNK = 1024 * 1024
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_STATUS: dict[str, Literal["added", "deleted"]] = {"A": "added", "D": "deleted"}


async def changed_files(git: SafeGit, repository: Repository, *, directory: Path) -> list[ChangedFile]:
    """Return the changed and untracked files of the whole work tree, sorted by path, relative to `directory`; without ignored ones.

    Raises GitUnavailableError, also when git takes longer than half a minute.
    """
    worktree = repository.worktree
    try:
        async with asyncio.timeout(GIT_SECONDS):
            found, names = await _compare(git, repository)
    except TimeoutError as error:
        raise GitUnavailableError(
            f"git took longer than {GIT_SECONDS} s in {worktree}; try `git status` there"
        ) from error
    found += await asyncio.to_thread(_new_files, worktree, names)
    return sorted((_seen_from(directory, worktree, file) for file in found), key=lambda file: file.path)


async def staged_files(git: SafeGit, repository: Repository) -> list[str]:
    """Return the files whose staged content differs from the last commit, relative to the work tree; all before the first one.

    Raises GitUnavailableError.
    """
    where, variables = repository.worktree, await git.without_filters(repository)
    listed = await git.run("diff", "--cached", "--name-only", "-z", "--no-renames", folder=where, more=variables)
    return [name for name in listed.split("\0") if name]


async def unwatched_files(git: SafeGit, repository: Repository) -> list[str]:
    """Return new nested repositories and changed files at which git was told not to look; `changed_files` has neither.

    Such files are marked with `--assume-unchanged` or `--skip-worktree`. One that is not there, as in a sparse checkout, is none.
    Paths are relative to the work tree. Raises GitUnavailableError.
    """
    where, variables = repository.worktree, await git.without_filters(repository)
    others = await git.run("ls-files", "-z", "--others", "--exclude-standard", folder=where, more=variables)
    found = [name.rstrip("/") for name in others.split("\0") if name.endswith("/")]
    listed = await git.run("ls-files", "-z", "-v", folder=where, more=variables)
    marked = [entry[2:] for entry in listed.split("\0") if entry[:1].islower() or entry[:1] == "S"]
    names = await asyncio.to_thread(lambda: [name for name in marked if os.path.lexists(where / name)])
    if not names:
        return found
    with tempfile.TemporaryDirectory(prefix="opencode-tui-status-") as folder:
        own = {**variables, "GIT_INDEX_FILE": str(Path(folder, "index")), "GIT_LITERAL_PATHSPECS": "1"}
        own = with_settings(own, {"core.sparseCheckout": "false"})  # it would mark them again
        await git.run("read-tree", "HEAD", folder=where, more=own)
        for at in range(0, len(names), _NAMES):
            options = ("--name-only", "-z", "--no-renames", "HEAD", "--", *names[at : at + _NAMES])
            found += (await git.run("diff", *options, folder=where, more=own)).split("\0")
    return [name for name in found if name]


async def _compare(git: SafeGit, repository: Repository) -> tuple[list[ChangedFile], set[str]]:
    """Return the changes of tracked files and the names of untracked ones; before the first commit all are untracked."""
    where, variables = repository.worktree, await git.without_filters(repository)
    try:
        start = (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", more=variables)).strip()
    except GitUnavailableError:
        return [], await _list(git, repository, variables, "--others", "--cached")
    changes = await git.run("diff", *_DIFF_OPTIONS, start, "--", folder=where, more=variables)
    return _parse(changes), await _list(git, repository, variables, "--others")


async def _list(git: SafeGit, repository: Repository, variables: Mapping[str, str], *kinds: str) -> set[str]:
    listed = await git.run("ls-files", "-z", "--exclude-standard", *kinds, folder=repository.worktree, more=variables)
    return {name for name in listed.split("\0") if name and not name.endswith("/")}


def _seen_from(directory: Path, worktree: Path, file: ChangedFile) -> ChangedFile:
    return file.changed(path=os.path.relpath(worktree / file.path, directory))


def _parse(output: str) -> list[ChangedFile]:
    """Return the files in git's list of states and line counts; every field ends in NUL, binary files have `-` for counts."""
    fields = output.split("\0")
    statuses: dict[str, str] = {}
    at = 0
    while at + 1 < len(fields) and fields[at].startswith(":"):
        statuses[fields[at + 1]] = fields[at].rpartition(" ")[2][:1]
        at += 2
    return list(_counted(fields[at:], statuses))


def _counted(lines: Iterable[str], statuses: dict[str, str]) -> Iterator[ChangedFile]:
    for line in lines:
        if not line:
            continue
        added, removed, path = line.split("\t", 2)
        yield ChangedFile(
            path=path,
            added=_number(added),
            removed=_number(removed),
            status=_STATUS.get(statuses.get(path, ""), "modified"),
        )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _new_files(worktree: Path, names: set[str]) -> list[ChangedFile]:
    end = time.monotonic() + COUNT_SECONDS
    return [
        ChangedFile(
            path=name, added=_lines(worktree / name) if time.monotonic() < end else 0, removed=0, status="added"
        )
        for name in sorted(names)
    ]


def _lines(path: Path) -> int:
    """Return the number of lines; 0 for a file that is not regular, binary, very large or deleted."""
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        return 0
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SIZE_LIMIT:
            return 0
        data = file.read(_CHUNK)
        if b"\0" in data[:_BINARY_SAMPLE]:
            return 0
        count, last = 0, b"\n"
        while data:
            count, last = count + data.count(b"\n"), data[-1:]
            data = file.read(_CHUNK)
    return count + (last != b"\n")
