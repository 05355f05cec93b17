"""The read guard: the state in which each session has read a file, so that it never overwrites unknown content.

Kept in memory for the life of the engine; a resumed session reads again. Source: docs/internals/tools.md#read-guard.
"""

import os
from pathlib import Path

from msgspec import Struct

from opencode_tui.schema.error import ToolError


class Stamp(Struct, frozen=True, gc=False):
    """The data that distinguishes two states of a file without reading it."""

    modified_ns: int
    size: int
    inode: int


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file's status."""
    return Stamp(status.st_mtime_ns, status.st_size, status.st_ino)


class ReadGuard:
    """The stamps of the files that sessions have read or written; paths are real ones."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, Stamp]] = {}  # by path as a text: a Path needs three times the memory

    def mark(self, session_id: str, path: Path, stamp: Stamp) -> None:
        """Store that a session knows this state of a file."""
        self._seen.setdefault(session_id, {})[str(path)] = stamp

    def is_known(self, session_id: str, path: Path, stamp: Stamp) -> bool:
        """Return whether a session knows this state of a file."""
        return self._seen.get(session_id, {}).get(str(path)) == stamp

    def check(self, session_id: str, path: Path, stamp: Stamp) -> None:
        """Raise ToolError, which asks the model to read the file, when the session does not know this state of it."""
        known = self._seen.get(session_id, {}).get(str(path))
        if known is None:
            raise ToolError(f"{path} has not been read in this session", "read it with the read tool, then try again")
        if known != stamp:
            raise ToolError(
                f"{path} changed on disk since it was last read",
                "read it again, then repeat the edit on what it holds now",
            )

    def evict(self, session_id: str, path: Path | None = None) -> None:
        """Delete the stamps of a session, of one file or of all."""
        if path is None:
            self._seen.pop(session_id, None)
        else:
            self._seen.get(session_id, {}).pop(str(path), None)
