"""The state of a path: a file, a link, a folder, nothing, or unknown.

Paths are relative to the worktree, parts joined by `/`; bytes of a name that are not UTF-8 are surrogate escapes.
"""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeGuard

PLAIN_MODE = 0o644
EXECUTABLE_MODE = 0o755
FOLDER_MODE = 0o755
LINK_MODE = 0o777

LARGE = "untracked and over 2 MiB"
HUGE = "larger than 64 MiB"
IGNORED = "ignored by .gitignore"
MADE_AGAIN = "ignored, and tools make it again"
IGNORED_MANY = "ignored, with more files than undo keeps"
IGNORED_FULL = "ignored, and the snapshot store is half full; `opencode-tui snapshot clean` makes room"
NOT_KEPT = "not kept: larger than the room that `snapshot.keep` and the disk leave"
CHANGING = "it changed while it was kept"
SPECIAL = "special file"
UNREADABLE = "cannot be read"
REPOSITORY = "data of a repository"
OWN_DATA = "data of opencode-tui"
NOT_LOOKED = "not scanned"
OVER_QUOTA = "the snapshot store is full; `opencode-tui snapshot clean` makes room"
OUTSIDE = "symlink outside the project (target not covered)"


Kind = Literal["file", "link", "folder", "fifo", "socket", "device", "huge"]
"""What is at a path. `huge` is a file whose content is not stored."""

_SPECIAL_KINDS: dict[int, Kind] = {
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """What is at a path; `mode` are the twelve permission bits.

    `id` is the 40-hex id of the bytes or of the link's target. Of a device it is the numbers, of a huge file the stamp by which a
    later change is seen.
    """

    kind: Kind
    mode: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A path whose state could not be recorded, with the reason."""

    reason: str


State = Entry | Unknown | None
"""The state of a path in a snapshot; None: it certainly did not exist."""


def is_folder(state: State) -> TypeGuard[Entry]:
    """Return whether a path is a folder in this state."""
    return isinstance(state, Entry) and state.kind == "folder"


def is_leaf(state: State) -> TypeGuard[Entry]:
    """Return whether a path is a file or a link, with a stored content, in this state."""
    return isinstance(state, Entry) and state.kind in ("file", "link")


def is_special(state: State) -> TypeGuard[Entry]:
    """Return whether a path is something without a stored content in this state: a pipe, a socket, a device, a huge file."""
    return isinstance(state, Entry) and state.kind not in ("file", "link", "folder")


def special_entry(status: os.stat_result, huge_bytes: int) -> Entry | None:
    """Return the entry for a status of something without a stored content, None for files, links and folders."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        if status.st_size <= huge_bytes:
            return None
        stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        return Entry("huge", permission_bits(mode), stamp)
    kind = _SPECIAL_KINDS.get(stat.S_IFMT(mode))
    if kind is None:
        return None
    numbers = f"{stat.S_IFMT(mode)} {status.st_rdev}" if kind == "device" else ""
    return Entry(kind, permission_bits(mode), numbers)


def unrestorable(state: State) -> str | None:
    """Return why a path cannot be brought back to a state, None when it can."""
    if not is_special(state) or state.kind == "fifo":
        return None
    return HUGE if state.kind == "huge" else SPECIAL


def above(path: str) -> str:
    """Return the folder of a path, "" for the worktree itself."""
    return path.rpartition("/")[0]


def folders_above(paths: Iterable[str]) -> set[str]:
    """Return all folders above these paths, without the worktree itself."""
    found: set[str] = set()
    for path in paths:
        folder = above(path)
        # Each folder is met once: a path of a thousand folders would cost a million steps otherwise.
        while folder and folder not in found:
            found.add(folder)
            folder = above(folder)
    return found


def by_depth(paths: Iterable[str]) -> list[str]:
    """Return paths in their order, folders before what is in them."""
    return sorted(paths, key=lambda path: (path.count("/"), path))


def permission_bits(mode: int) -> int:
    """Return the twelve permission bits of a status mode."""
    return stat.S_IMODE(mode)
