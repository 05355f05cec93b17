"""Which forks are not copied whole yet, by their source: `lock/forks`, a line for each that begins and for each that is done.

Without it whoever is about to change a session had to read the records of all others. One file to which lines are added, because
a fork is to cost hardly more than its record, and a new file costs as much as that. It is emptied when no copy is left. Every
method blocks, for well under 1 ms.
"""

import os

from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import check_key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.record_file import storage_error

_BEGUN, _DONE = "+", "-"


class PendingCopies:
    """The notes of one data folder. Raises StorageError when the lock folder cannot be used."""

    def __init__(self, paths: Paths, *, locks: Locks, files: FileSystem | None = None) -> None:
        self._path = f"{paths.lock}/forks"
        self._lock = locks.forks()
        self._files = files or FileSystem()

    def add(self, source_id: str, fork_id: str) -> None:
        """Note that a fork begins to copy from a source."""
        with self._lock:
            self._append(_BEGUN, source_id, fork_id)

    def remove(self, source_id: str, fork_id: str) -> None:
        """Note that a fork needs its source no more."""
        with self._lock:
            left = self._read()
            if (source_id, fork_id) not in left:
                return
            if len(left) > 1:
                self._append(_DONE, source_id, fork_id)
            else:
                self._empty()

    def of(self, source_id: str) -> list[str]:
        """Return the forks that may still need a source, sorted."""
        return sorted(fork for source, fork in self._read() if source == source_id)

    def _read(self) -> dict[tuple[str, str], None]:
        """Return what is noted, each source with a fork of it; a line that was cut short notes nothing."""
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        noted: dict[tuple[str, str], None] = {}
        for line in data.decode(errors="replace").splitlines():
            match line.split(" "):
                case [str(sign), source, fork] if sign == _BEGUN:
                    noted[source, fork] = None
                case [str(sign), source, fork] if sign == _DONE:
                    noted.pop((source, fork), None)
                case _:
                    continue
        return noted

    def _append(self, sign: str, source_id: str, fork_id: str) -> None:
        source, fork = check_key((source_id, fork_id))
        # The first line end closes a line that a full disk cut short.
        line = memoryview(f"\n{sign} {source} {fork}\n".encode())
        self._change(os.O_APPEND, line)

    def _empty(self) -> None:
        self._change(os.O_TRUNC, memoryview(b""))

    def _change(self, flag: int, line: memoryview) -> None:
        try:
            # The lock that is held lies in the same folder.
            descriptor = self._files.open(self._path, os.O_WRONLY | os.O_CREAT | flag)
            try:
                while line:
                    line = line[self._files.write(descriptor, line) :]
            finally:
                self._files.close(descriptor)
        except OSError as error:
            raise storage_error(error, "write", self._path) from error
