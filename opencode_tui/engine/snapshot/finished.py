"""Reverts that were done and whose callers have not yet written that down: a file a key, beside the store.

Writing it is the moment from which on a revert counts as done; without it whoever comes next takes the revert back. Used under the
worktree's lock; blocks.
"""

from opencode_tui.engine.snapshot.report import Report
from opencode_tui.schema.error import SnapshotError
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.record_file import storage_error


class FinishedReverts:
    """The reports of reverts, by the keys that their callers chose (letters and digits)."""

    def __init__(self, folder: str, *, files: FileSystem | None = None) -> None:
        self._folder = folder
        self._files = files or FileSystem()
        self._writer = AtomicWriter(self._files)

    def keys(self) -> list[str]:
        """Return the keys of all that are kept; raises StorageError."""
        try:
            with self._files.scandir(self._folder) as entries:
                return sorted(entry.name.removesuffix(".json") for entry in entries if entry.name.endswith(".json"))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(error, "read", self._folder) from error

    def has(self, key: str) -> bool:
        """Tell whether a revert is done."""
        return bool(key) and self._files.exists(self._path(key))

    def read(self, key: str) -> Report | None:
        """Return what a revert did, None when it was not done; raises SnapshotError, StorageError."""
        path = self._path(key)
        try:
            data = self._files.read_whole(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "read", path) from error
        try:
            return Report.model_validate_json(data)
        except ValueError as error:
            raise SnapshotError(
                f"{path}: the note of a finished undo is damaged; look at your files, then remove it"
            ) from error

    def write(self, key: str, report: Report) -> None:
        """Write down that a revert is done, so that it outlives a power cut; raises StorageError."""
        path = self._path(key)
        try:
            self._writer.write(path, report.to_json(), durable=True)
        except OSError as error:
            raise storage_error(error, "write", path) from error

    def forget(self, key: str) -> None:
        """Remove the note; raises StorageError."""
        path = self._path(key)
        try:
            self._writer.remove(path)
        except OSError as error:
            raise storage_error(error, "remove", path) from error

    def _path(self, key: str) -> str:
        if not key.isalnum():
            raise SnapshotError(f"{key!r} cannot name an undo; use letters and digits")
        return f"{self._folder}/{key}.json"
