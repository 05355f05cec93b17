"""Detection of changes in paths that a snapshot leaves out: ignored, large and special files have stamps, but no content."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping

from opencode_tui.engine.snapshot.entry import NOT_LOOKED, OWN_DATA

LOOKED_AT = 300
"""Entries of a left-out folder that its stamp covers, outermost first; a change further down is not detected."""

Stamps = Mapping[str, int]
"""A number for each left-out path, which differs when the path or an entry in it was changed."""


def stamp_skipped(root: str, skipped: Mapping[str, str]) -> dict[str, int]:
    """Return the stamps of left-out paths (relative to the worktree) with their reasons. Blocks: a `stat` for each entry."""
    return {path: hash(tuple(_walk(f"{root}/{path}"))) for path in skipped if path and _is_named(skipped[path])}


def find_touched(before: Mapping[str, str], after: Mapping[str, str], stamps: Stamps, now: Stamps) -> dict[str, str]:
    """Return those of the left-out paths of two scans that changed between their stamps, with the reasons."""
    return {
        path: reason
        for path, reason in {**before, **after}.items()
        if _is_named(reason) and ((path in before) != (path in after) or stamps.get(path) != now.get(path))
    }


def _is_named(reason: str) -> bool:
    return reason not in (NOT_LOOKED, OWN_DATA)


def _walk(path: str) -> Iterator[tuple[str | int, ...]]:
    """Yield the status of a path and of the first entries in it, breadth first."""
    left = LOOKED_AT
    pending = [path]
    yield _seen(path, path)
    while pending and left > 0:
        folder = pending.pop(0)
        for name in _names(folder)[:left]:
            inner = f"{folder}/{name}"
            seen = _seen(name, inner)
            left -= 1
            yield seen
            if len(seen) > 1 and stat.S_ISDIR(int(seen[1])):
                pending.append(inner)


def _names(folder: str) -> list[str]:
    try:
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            return sorted(os.listdir(folder))
    except OSError:
        pass
    return []


def _seen(name: str, path: str) -> tuple[str | int, ...]:
    try:
        found = os.lstat(path)
    except OSError:
        return (name,)
    return name, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def keep_touched(skipped: Mapping[str, str], touched: Iterable[str] | None) -> dict[str, str]:
    """Return the left-out paths that a step changed; all of them where that is unknown."""
    if touched is None:
        return dict(skipped)
    kept = {"", *touched}
    return {path: reason for path, reason in skipped.items() if path in kept}
