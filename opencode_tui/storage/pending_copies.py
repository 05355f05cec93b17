"""Which forks are not copied whole yet, by their source: an empty file `lock/{source}.forks/{fork}` each.

Without it whoever is about to change a session had to read the records of all others. Every method blocks for well under 1 ms.
"""

import os
from contextlib import suppress

from opencode_tui.storage.files import FILE_MODE, FileSystem
from opencode_tui.storage.keys import check_key, is_segment
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.record_file import storage_error

_SUFFIX = ".forks"


class PendingCopies:
    """The notes of one data folder. Raises StorageError when the lock folder cannot be used."""

    def __init__(self, paths: Paths, *, files: FileSystem | None = None) -> None:
        self._folder = paths.lock
        self._files = files or FileSystem()

    def add(self, source_id: str, fork_id: str) -> None:
        """Note that a fork begins to copy from a source."""
        folder = self._of(source_id)
        path = f"{folder}/{check_key((fork_id,))[0]}"
        try:
            ensure(self._folder)
            with suppress(FileExistsError):
                self._files.mkdir(folder)
            self._files.close(self._files.open(path, os.O_WRONLY | os.O_CREAT, FILE_MODE))
        except OSError as error:
            raise storage_error(error, "create", path) from error

    def remove(self, source_id: str, fork_id: str) -> None:
        """Note that a fork needs its source no more."""
        folder = self._of(source_id)
        try:
            with suppress(FileNotFoundError):
                self._files.unlink(f"{folder}/{check_key((fork_id,))[0]}")
            with suppress(OSError):  # another fork is noted there, or it is gone already
                self._files.rmdir(folder)
        except OSError as error:
            raise storage_error(error, "remove", folder) from error

    def of(self, source_id: str) -> list[str]:
        """Return the forks that may still need a source, sorted."""
        folder = self._of(source_id)
        try:
            with self._files.scandir(folder) as entries:
                return sorted(entry.name for entry in entries if is_segment(entry.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(error, "list", folder) from error

    def _of(self, source_id: str) -> str:
        return f"{self._folder}/{check_key((source_id,))[0]}{_SUFFIX}"
