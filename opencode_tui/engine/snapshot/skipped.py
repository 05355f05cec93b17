"""Detection of changes in paths that a snapshot leaves out: ignored, large and special files have stamps, but no content."""

import stat
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from opencode_tui.engine.snapshot.entry import NOT_LOOKED, OWN_DATA
from opencode_tui.storage.safe_folder import OpenFolder, OpenFolders

LOOKED_AT = 300
"""Entries of a left-out folder that its stamp covers, outermost first; a change further down is not detected."""

Stamps = Mapping[str, int]
"""A number for each left-out path, which differs when the path or an entry in it was changed."""


def stamp_skipped(folders: OpenFolders, skipped: Mapping[str, str]) -> dict[str, int]:
    """Return the stamps of left-out paths (relative to the worktree) with their reasons. Blocks: a `stat` for each entry."""
    named = sorted(path for path, reason in skipped.items() if path and _is_named(reason))
    return {path: hash(tuple(_walk(folders, path))) for path in named}


def find_touched(before: Mapping[str, str], after: Mapping[str, str], stamps: Stamps, now: Stamps) -> dict[str, str]:
    """Return those of the left-out paths of two scans that changed between their stamps, with the reasons."""
    return {
        path: reason
        for path, reason in {**before, **after}.items()
        if _is_named(reason) and ((path in before) != (path in after) or stamps.get(path) != now.get(path))
    }


def _is_named(reason: str) -> bool:
    return reason not in (NOT_LOOKED, OWN_DATA)


def _walk(folders: OpenFolders, path: str) -> Iterator[tuple[str | int, ...]]:
    """Yield the status of a path and of the first entries in it, breadth first."""
    left = LOOKED_AT
    top, _, name = path.rpartition("/")
    pending = deque([path])
    try:
        seen = _seen(folders.open(top, unlock=False), name)
    except OSError:
        seen = (name,)
    yield seen
    if not _is_folder(seen):
        return
    while pending and left > 0:
        folder = pending.popleft()
        for seen in _entries(folders, folder, left):
            left -= 1
            yield seen
            if _is_folder(seen):
                pending.append(f"{folder}/{seen[0]}")


def _entries(folders: OpenFolders, folder: str, limit: int) -> list[tuple[str | int, ...]]:
    try:
        opened = folders.open(folder, unlock=False)
        with opened.listing() as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:
        return []
    return [_seen(opened, name) for name in names[:limit]]


def _is_folder(seen: tuple[str | int, ...]) -> bool:
    return len(seen) > 1 and stat.S_ISDIR(int(seen[1]))


def _seen(folder: OpenFolder, name: str) -> tuple[str | int, ...]:
    try:
        found = folder.status(name)
    except OSError:
        return (name,)
    return name, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def keep_touched(skipped: Mapping[str, str], touched: Iterable[str] | None) -> dict[str, str]:
    """Return the left-out paths that a step changed; all of them where that is unknown."""
    if touched is None:
        return dict(skipped)
    kept = {"", *touched}
    return {path: reason for path, reason in skipped.items() if path in kept}
