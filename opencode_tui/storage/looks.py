"""When the user looked at a session, or at all that ended: `{state}/looked/{session}` and `all`, each with a moment in ms.

A look at all replaces the older ones at single sessions.
"""

import os
from contextlib import suppress

from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import check_key
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.record_file import storage_error

_ALL = "all"


class Looks:
    """The looks of one data folder; every method blocks."""

    def __init__(self, paths: Paths) -> None:
        self._folder = paths.state / "looked"
        self._files = FileSystem()
        self._writer = AtomicWriter(self._files)

    def at_all(self) -> int:
        """Return up to which moment all that ended was seen, 0 for none."""
        return self._read(_ALL)

    def at(self, session_id: str) -> int:
        """Return when the session itself was looked at, 0 for never or before the last look at all."""
        return self._read(session_id)

    def look_at(self, session_id: str, now: int) -> None:
        """Record a look at a session. Raises StorageError."""
        self._write(check_key((session_id,))[0], now)

    def look_at_all(self, until: int) -> None:
        """Record that all was seen that ended up to a moment; an older moment changes nothing. Raises StorageError."""
        if until <= self.at_all():
            return
        self._write(_ALL, until)
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if name != _ALL and self._read(name) <= until:
                    self._writer.remove(f"{self._folder}/{name}")

    def _read(self, name: str) -> int:
        try:
            return int(self._files.read_whole(f"{self._folder}/{name}"))
        except (OSError, ValueError):
            return 0

    def _write(self, name: str, moment: int) -> None:
        try:
            self._writer.write(f"{ensure(self._folder)}/{name}", str(moment).encode())
        except OSError as error:
            raise storage_error(error, "write", f"{self._folder}/{name}") from error
