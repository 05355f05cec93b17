"""The files that a branch changed, as they were before and are on it, and the merge of one with a newer text."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISLNK

from msgspec import Struct

from opencode_tui.engine.project.changes import TIMEOUT_S
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.schema.error import GitUnavailableError

_ARGUMENTS = 500
"""Names in one command line."""

_EXECUTABLE = "100755"
_ABSENT = "000000"
_REGULAR = ("100644", _EXECUTABLE, _ABSENT)


class BranchFile(Struct, frozen=True):
    """A changed file: its name in the work tree, its contents before and after, None where it does not exist.

    `is_regular` is False when it is a link or a module on one of both sides: then the contents are None.
    """

    name: str
    before: bytes | None
    after: bytes | None
    is_executable: bool = False
    is_regular: bool = True


async def read_branch_files(
    git: SafeGit, base: str, commit: str, given: Mapping[str, str], *, folder: Path
) -> tuple[BranchFile, ...]:
    """Return the files in which two commits differ, without filters; `folder` is empty and ours. Raises GitUnavailableError."""
    options = ("-r", "--raw", "-z", "--no-renames", "--no-abbrev")
    rows = list(_rows(await git.run("diff-tree", *options, base, commit, more=given)))
    regular = [name for modes, name in rows if _is_regular(modes)]
    sides: list[Path] = []
    for number, side in enumerate((base, commit)):
        into = folder / str(number)
        variables = {**given, "GIT_INDEX_FILE": str(folder / f"index-{number}"), "GIT_WORK_TREE": str(folder)}
        await git.run("read-tree", side, more=variables)
        names = [name for modes, name in rows if _is_regular(modes) and modes[number] != _ABSENT]
        for first in range(0, len(names), _ARGUMENTS):
            words = ("checkout-index", "--quiet", f"--prefix={into}/", "--", *names[first : first + _ARGUMENTS])
            await git.run(*words, folder=folder, more=variables, timeout_s=TIMEOUT_S, write=[folder])
        sides.append(into)
    contents = await asyncio.to_thread(_read_sides, regular, sides)
    return tuple(
        BranchFile(name, *contents[name], is_executable=modes[1] == _EXECUTABLE)
        if name in contents
        else BranchFile(name, None, None, is_regular=False)
        for modes, name in rows
    )


def _rows(listing: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the modes on both sides and the name of each file in git's raw list."""
    fields = iter(listing.split("\0"))
    for facts in fields:
        if facts:
            modes = facts.removeprefix(":").split(" ")
            yield (modes[0], modes[1]), next(fields)


def _is_regular(modes: tuple[str, str]) -> bool:
    return modes[0] in _REGULAR and modes[1] in _REGULAR


def _read_sides(names: Sequence[str], sides: Sequence[Path]) -> dict[str, tuple[bytes | None, bytes | None]]:
    before, after = sides
    return {name: (_read(before / name), _read(after / name)) for name in names}


def _read(path: Path) -> bytes | None:
    try:
        return None if S_ISLNK(path.lstat().st_mode) else path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


async def merge_texts(git: SafeGit, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Return a text with the changes of two others since their common one; None when they conflict, or are no texts."""
    if any(b"\0" in text for text in (ours, base, theirs)):
        return None
    with tempfile.TemporaryDirectory(prefix="opencode-tui-merge-") as name:
        paths = [Path(name, side) for side in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_bytes(text)
        try:
            await git.run("merge-file", "--quiet", *map(str, paths), write=[Path(name)])
        except GitUnavailableError:
            return None
        return paths[0].read_bytes()
