"""The files that a command is about to remove or overwrite: which of them a snapshot has, which are kept besides, which are not.

All paths go through open folders. Folders that tools make again are counted, and nothing in them is kept.
"""

import fnmatch
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from opencode_tui.engine.snapshot.entry import (
    HUGE,
    LARGE,
    MADE_AGAIN,
    NOT_KEPT,
    SPECIAL,
    UNREADABLE,
    Entry,
    Unknown,
    above,
    is_special,
)
from opencode_tui.engine.snapshot.objects.view import View
from opencode_tui.engine.snapshot.scan.git_index import Tracked
from opencode_tui.storage.safe_folder import OpenFolder, OpenFolders, split

LOST_LIMIT = 200_000
"""Files that are examined before one command; further ones are not kept."""

LostKind = Literal["tracked", "untracked", "ignored"]


@dataclass(frozen=True, slots=True)
class LostPath:
    """A path that a command removes, relative to the worktree ("" for all of it): the files below it whose name matches."""

    path: str
    pattern: str = "*"


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file that a command removes or overwrites, and the path by which the command names it.

    `reason` says why undo does not bring it back, None when it does. `is_extra`: only because its content is kept before the
    command, beside the snapshot.
    """

    path: str
    top: str
    size: int
    kind: LostKind
    reason: str | None = None
    is_extra: bool = False


def find_lost(
    folders: OpenFolders,
    view: View,
    tracked: Tracked,
    paths: Iterable[LostPath],
    *,
    room: int,
    stop: threading.Event | None = None,
) -> list[LostFile]:
    """Return the files at and below these paths, each once; `room` are the bytes that may be kept. Blocks; raises OSError.

    What does not fit is chosen by size: the smallest files are kept.
    """
    found: dict[str, LostFile] = {}
    for path in paths:
        for file in _files(folders, view, tracked, path):
            found.setdefault(file.path, file)
            if len(found) >= LOST_LIMIT or (stop is not None and stop.is_set()):
                break
    for file in sorted((one for one in found.values() if one.is_extra), key=lambda one: one.size):
        if file.size > room:
            found[file.path] = replace(file, reason=NOT_KEPT, is_extra=False)
        else:
            room -= file.size
    return list(found.values())


def _files(folders: OpenFolders, view: View, tracked: Tracked, lost: LostPath) -> Iterator[LostFile]:
    pending: list[tuple[str, str]] = []
    if not lost.path:
        pending.append(("", ""))
    else:
        folder, name = split(lost.path)
        try:
            status = folders.open(folder, unlock=False).find(name)
        except OSError:  # it is gone, or below a link
            return
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            pending.append((lost.path, _made_above(view, lost.path)))
        else:
            yield _file(view, tracked, lost, lost.path, status, _made_above(view, lost.path))
    while pending:
        folder, made = pending.pop()
        try:
            opened = folders.open(folder, unlock=False)
            states = _states(opened)
        except OSError:
            continue
        for name, status in states:
            path = f"{folder}/{name}" if folder else name
            if name == ".git":
                continue
            if stat.S_ISDIR(status.st_mode):
                pending.append((path, made or _made(view, path)))
            elif fnmatch.fnmatchcase(name, lost.pattern):
                yield _file(view, tracked, lost, path, status, made)


def _states(opened: OpenFolder) -> Sequence[tuple[str, os.stat_result]]:
    with opened.listing() as entries:
        return [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]


def _made(view: View, path: str) -> str:
    return MADE_AGAIN if view.manifest.skipped.get(path) == MADE_AGAIN else ""


def _made_above(view: View, path: str) -> str:
    """Return the reason against everything at a path, where a tool makes one of the folders above it."""
    while path:
        if made := _made(view, path):
            return made
        path = above(path)
    return ""


def _file(view: View, tracked: Tracked, lost: LostPath, path: str, status: os.stat_result, made: str) -> LostFile:
    is_tracked = path in tracked.paths
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    state = view.state(path)
    kind: LostKind = "tracked" if is_tracked else "untracked"
    if isinstance(state, Entry) and not is_special(state):
        if not is_tracked and view.is_private(path):
            kind = "ignored"
        return LostFile(path, lost.path, size, kind)
    reason = state.reason if isinstance(state, Unknown) else HUGE if is_special(state) and state.kind == "huge" else ""
    if not is_tracked and reason not in ("", LARGE, HUGE, UNREADABLE, SPECIAL):
        kind = "ignored"
    if made or not reason:
        return LostFile(path, lost.path, size, kind, made or None)
    if reason in (UNREADABLE, SPECIAL):
        return LostFile(path, lost.path, size, kind, reason)
    return LostFile(path, lost.path, size, kind, is_extra=True)
