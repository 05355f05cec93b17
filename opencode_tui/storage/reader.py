"""Reading records without a lock: one, a folder of them, or the keys with a prefix. Every method blocks."""

import json
from typing import cast

from msgspec import Struct

from opencode_tui.schema.error import CorruptRecordError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key, folder_path, is_segment, record_path, segment_of
from opencode_tui.storage.record_file import read_record, read_unchecked, storage_error

_MAX_DEPTH = 8
"""Keys have at most three segments; deeper folders are a loop of links."""


class FolderRecords(Struct, frozen=True):
    """The records of one folder, sorted by key, and an error for each that could not be read.

    The bytes are not parsed. For bytes that do not parse, `record_file.checked` raises an error with the reason.
    """

    records: list[tuple[Key, bytes]]
    failures: list[StorageError]


class RecordReader(Struct, frozen=True):
    """Reads the records in the folder `root`; a missing folder has none."""

    files: FileSystem
    root: str

    def read(self, key: Key) -> bytes:
        """Return a record's JSON; raises NotFoundError, CorruptRecordError, or StorageError."""
        return read_record(self.files, record_path(self.root, key))

    def read_unchecked(self, key: Key) -> bytes:
        """Return what is in a record's file, as `record_file.read_unchecked` does."""
        return read_unchecked(self.files, record_path(self.root, key))

    def read_object(self, key: Key) -> JsonObject:
        """Return a record that is a JSON object; raises the same errors as `read`."""
        value: object = json.loads(self.read(key))
        if not isinstance(value, dict):
            raise CorruptRecordError(record_path(self.root, key), "it is not a JSON object")
        return cast(JsonObject, value)

    def list(self, prefix: Key) -> list[Key]:
        """Return the keys of all records with a prefix, sorted by segments; raises StorageError."""
        keys: list[Key] = []
        self._collect(folder_path(self.root, prefix), prefix, keys)
        keys.sort()
        return keys

    def read_folder(self, prefix: Key) -> FolderRecords:
        """Return all records directly inside a folder; raises StorageError when the folder itself cannot be read."""
        folder = folder_path(self.root, prefix)
        records: list[tuple[Key, bytes]] = []
        failures: list[StorageError] = []
        for name in sorted(self._names(folder)):
            segment = segment_of(name)
            if segment is None:
                continue
            try:
                data = self.files.read_whole(f"{folder}/{name}")
            except FileNotFoundError:
                continue  # removed since the folder was read
            except IsADirectoryError:
                failures.append(CorruptRecordError(f"{folder}/{name}", "a folder is in its place"))
            except OSError as error:
                failures.append(storage_error(error, "read", f"{folder}/{name}"))
            else:
                if data.strip(b"\0"):
                    records.append(((*prefix, segment), data))
                else:
                    failures.append(CorruptRecordError(f"{folder}/{name}", "it is empty"))
        return FolderRecords(records, failures)

    def _names(self, folder: str) -> "list[str]":
        try:
            return self.files.names(folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(error, "list", folder) from error

    def _collect(self, folder: str, prefix: Key, keys: "list[Key]") -> None:
        folders: list[str] = []
        try:
            with self.files.scandir(folder) as entries:
                for entry in entries:
                    segment = segment_of(entry.name)
                    if segment is not None:
                        keys.append((*prefix, segment))
                    elif is_segment(entry.name) and len(prefix) < _MAX_DEPTH and entry.is_dir():
                        folders.append(entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "list", folder) from error
        for name in folders:
            self._collect(f"{folder}/{name}", (*prefix, name), keys)
