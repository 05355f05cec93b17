"""The list of forks that are not fully copied: `lock/forks`, a line for each copy that starts and for each that ends.

Without it, a change of a session would have to read the records of all other sessions. Lines are appended to one file, because
creating a file would double the cost of a fork. It is emptied when no copy is left. Every method blocks, for well under 1 ms.
"""

import os

from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import check_key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.record_file import storage_error

_STARTED, _DONE = "+", "-"


class PendingCopies:
    """The pending copies of one data folder. Raises StorageError when the lock folder cannot be used."""

    def __init__(self, paths: Paths, *, locks: Locks, files: FileSystem | None = None) -> None:
        self._path = f"{paths.lock}/forks"
        self._lock = locks.forks()
        self._files = files or FileSystem()

    def add(self, source_id: str, fork_id: str) -> None:
        """Record that a fork starts to copy from a source."""
        with self._lock:
            self._append(_STARTED, source_id, fork_id)

    def remove(self, source_id: str, fork_id: str) -> None:
        """Record that a fork no longer needs its source."""
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
        """Return pairs of source and fork, in order; an incomplete line is ignored."""
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        pending: dict[tuple[str, str], None] = {}
        for line in data.decode(errors="replace").splitlines():
            match line.split(" "):
                case [str(sign), source, fork] if sign == _STARTED:
                    pending[source, fork] = None
                case [str(sign), source, fork] if sign == _DONE:
                    pending.pop((source, fork), None)
                case _:
                    continue
        return pending

    def _append(self, sign: str, source_id: str, fork_id: str) -> None:
        source, fork = check_key((source_id, fork_id))
        # The first line end terminates a line that a full disk left incomplete.
        line = memoryview(f"\n{sign} {source} {fork}\n".encode())
        self._change(os.O_APPEND, line)

    def _empty(self) -> None:
        self._change(os.O_TRUNC, memoryview(b""))

    def _change(self, flag: int, line: memoryview) -> None:
        try:
            # The held lock is in the same folder, so it exists.
            descriptor = self._files.open(self._path, os.O_WRONLY | os.O_CREAT | flag)
            try:
                while line:
                    line = line[self._files.write(descriptor, line) :]
            finally:
                self._files.close(descriptor)
        except OSError as error:
            raise storage_error(error, "write", self._path) from error
