"""The state of a path: a file, a link, a folder, nothing, or unknown.

Paths are relative to the worktree, parts joined by `/`; bytes of a name that are not UTF-8 are surrogate escapes.
"""

import re
import stat
from dataclasses import dataclass
from typing import Literal, TypeGuard

TEMPORARY_NAME = re.compile(r"\.opencode-tui-[A-Za-z0-9_-]+\.tmp\Z")
"""Names of the program's own temporary files in the worktree; they are never part of a snapshot."""

PLAIN_MODE = 0o644
EXECUTABLE_MODE = 0o755
FOLDER_MODE = 0o755
LINK_MODE = 0o777

LARGE = "untracked and over 2 MiB"
HUGE = "larger than 64 MiB"
IGNORED = "ignored by .gitignore"
SPECIAL = "special file"
UNREADABLE = "cannot be read"
REPOSITORY = "data of a repository"
OWN_DATA = "data of opencode-tui"
NOT_LOOKED = "not scanned"
OVER_QUOTA = "the snapshot store is full; `opencode-tui snapshot clean` makes room"
OUTSIDE = "symlink outside the project (target not covered)"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, link or folder; `mode` are the twelve permission bits, `id` the 40-hex id of the bytes or the link's target."""

    kind: Literal["file", "link", "folder"]
    mode: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A path of which a snapshot only contains the reason why its state is not recorded."""

    reason: str


State = Entry | Unknown | None
"""The state of a path in a snapshot; None: it certainly did not exist."""


def is_folder(state: State) -> TypeGuard[Entry]:
    """Return whether a path is a folder in this state."""
    return isinstance(state, Entry) and state.kind == "folder"


def is_leaf(state: State) -> TypeGuard[Entry]:
    """Return whether a path is a file or a link in this state."""
    return isinstance(state, Entry) and state.kind != "folder"


def parents(path: str) -> list[str]:
    """Return the folders above a path, outermost first, without the worktree itself."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def permission_bits(mode: int) -> int:
    """Return the twelve permission bits of a status mode."""
    return stat.S_IMODE(mode)
