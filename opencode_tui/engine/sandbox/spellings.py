"""Closes the other spellings of paths in tier A, where a disk ignores the case of names: a mount covers one spelling only.

Such a disk (FUSE of Docker Desktop, `/mnt` of WSL) gives the kernel an entry of its own for `.ENV`, and what covers `.env` does not
cover that. So each other spelling is covered as well, folders above included. Where there are too many, in a folder that commands
write, the path stays open under them: that is said, and protected files are compared after each command all the same.
Source: docs/internals/sandbox.md#spellings.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.storage.same_name import SameNames

MOST_HIDDEN = 300
MOST = 100
"""Spellings that are covered for one command, one to three milliseconds each: for hidden paths, and for protected ones."""


class Closed(Struct, frozen=True):
    """The spellings to hide, what is readable in place of the readable folders, and the paths that other spellings still reach."""

    hidden: tuple[Path, ...]
    read: tuple[Path, ...]
    still_open: tuple[Path, ...]


def close_spellings(
    names: SameNames, *, hidden: Sequence[Path], read_only: Sequence[Path], read: Sequence[Path], write: Sequence[Path]
) -> Closed:
    """Return what closes the other spellings of hidden and of read-only paths; all are real paths. Blocks for some lookups.

    Hidden ones come first, then those with few spellings. Of a folder that is only read, the other entries are opened instead:
    nothing is to be covered then.
    """
    concerned = [path for path in (*hidden, *read_only) if names.ignores_spelling(str(path.parent), path.name)]
    if not concerned:
        return Closed((), tuple(read), ())
    first = set(_with_targets(hidden))
    apart = [path for path in concerned if path in first and _around(path, write) is None]
    found: dict[Path, None] = {}
    still_open: list[Path] = []
    roots = {path: root for path in _with_targets(concerned) if (root := _around(path, write)) is not None}
    counts = {path: names.count_spellings(path, root) for path, root in roots.items()}
    for path in sorted(roots, key=lambda one: (one not in first, counts[one])):
        root = roots[path]
        most = MOST_HIDDEN if path in first else MOST
        others = names.other_paths(path, root, most)
        new = None if others is None else [one for one in others if one not in found]
        if new is not None and len(found) + len(new) <= most:
            found |= dict.fromkeys(new)
        else:
            still_open.append(path)
    opened = (inner for path in read for inner in _without(path, apart))
    return Closed(tuple(found), tuple(opened), tuple(still_open))


def _with_targets(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths, and after a link what it leads to."""
    for path in paths:
        yield path
        if path.is_symlink():
            yield Path(os.path.realpath(path))


def _around(path: Path, folders: Iterable[Path]) -> Path | None:
    """Return the folder that contains a path, the innermost one."""
    return max((one for one in folders if one in path.parents), key=lambda one: len(one.parts), default=None)


def _without(path: Path, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield a readable path, or where hidden ones are below, the other entries of the folders on the way to them."""
    if path in hidden:
        return
    if not any(path in one.parents for one in hidden):
        yield path
        return
    with suppress(OSError), os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if not entry.is_symlink():
                yield from _without(Path(entry.path), hidden)
