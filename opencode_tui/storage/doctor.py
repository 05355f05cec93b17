"""Checks of a data folder for damaged records, leftover files and wrong permissions, and their repair.

Damaged records are moved to `quarantine/` in the data folder, with the relative path that they had in the store.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import Literal, cast

from msgspec import Struct

from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import CorruptRecordError, StorageError
from opencode_tui.schema.record import JsonObject, Record, ValidationError
from opencode_tui.schema.session.newer import parse_message, parse_stored_part
from opencode_tui.storage.files import FILE_MODE, FOLDER_MODE, AtomicWriter, temporary_owner
from opencode_tui.storage.keys import Key, is_segment, segment_of
from opencode_tui.storage.process_identity import is_alive, is_running
from opencode_tui.storage.process_lock import OWNER_SUFFIX, read_owner
from opencode_tui.storage.record_file import checked, storage_error
from opencode_tui.storage.session_record import describe_mismatch, parse_session
from opencode_tui.storage.storage import Storage

_FOLDER_FIELDS = {"message": "sessionID", "part": "messageID"}
_SHAPES: dict[str, Callable[[bytes], Record]] = {
    "message": parse_message,
    "part": parse_stored_part,
    "project": ProjectInfo.model_validate_json,
}


def check_record(key: Key, data: bytes, path: str) -> str:
    """Return what this version does not know of a record, in words; empty where it knows all. Unknown kinds need only be JSON.

    Raises CorruptRecordError when the bytes are not a valid record for this key.
    """
    data = checked(data, path)
    kind, newer = key[0], ""
    if kind == "session" and len(key) == 3:
        parse_session(data, path=path, project_id=key[1])
    elif kind in _SHAPES:
        try:
            kept = _SHAPES[kind](data).unknown_values
        except ValidationError as error:
            raise CorruptRecordError(path, describe_mismatch(error)) from error
        newer = "" if kept is None else kept.what
    else:
        return ""
    _check_ids(key, cast(JsonObject, json.loads(data)), path)
    return newer


def _check_ids(key: Key, record: JsonObject, path: str) -> None:
    """Raise CorruptRecordError when the ids of the record differ from those of its path."""
    expected = {"id": key[-1]}
    if key[0] in _FOLDER_FIELDS:
        expected[_FOLDER_FIELDS[key[0]]] = key[-2]
    for field, value in expected.items():
        if record.get(field) != value:
            raise CorruptRecordError(path, f"its {field} is {record.get(field)!r}, it belongs elsewhere")


_OTHERS = 0o077
_STALE_S = 24 * 3600
_FRESH_S = 60
"""A temporary file lives for milliseconds; a younger one may belong to a process in another container."""


class Finding(Struct, frozen=True):
    """A problem: `text` is one line; `paths` are the files or folders that `repair` would change, empty when it cannot."""

    kind: Literal["damaged", "leftover", "mode", "unreadable", "foreign", "newer", "killed run"]
    text: str
    paths: tuple[str, ...] = ()

    @property
    def is_fixable(self) -> bool:
        """Return whether `repair` can fix it."""
        return bool(self.paths)


class _Location(Struct, frozen=True):
    path: str
    name: str
    mode: int
    mtime: float

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.mode)


class Doctor:
    """Checks one data folder; every method blocks, about 0.1 ms per record."""

    def __init__(self, storage: Storage) -> None:
        self._files = storage.files
        self._paths = storage.paths
        self._root = str(storage.paths.storage)
        self._quarantine = f"{storage.paths.data}/quarantine"

    def inspect(self) -> list[Finding]:
        """Return all findings without changing anything."""
        findings: list[Finding] = []
        exposed: list[str] = []
        for location in self._locations(findings):
            if location.mode & _OTHERS and not stat.S_ISLNK(location.mode):
                exposed.append(location.path)
            finding = self._examine(location)
            if finding is not None:
                findings.append(finding)
        if exposed:
            count = len(exposed)
            text = f"{count} {'file is' if count == 1 else 'files are'} accessible to other users, such as {exposed[0]}"
            findings.append(Finding("mode", text, tuple(exposed)))
        return findings

    def repair(self, findings: list[Finding]) -> list[StorageError]:
        """Repair what can be repaired and return the failures; one failure does not stop the rest."""
        failures: list[StorageError] = []
        actions: dict[str, Callable[[str], None]] = {
            "damaged": self._quarantine_file,
            "leftover": self._files.unlink,
            "mode": self._restrict_mode,
        }
        for finding in findings:
            for path in finding.paths:
                try:
                    actions[finding.kind](path)
                except FileNotFoundError:
                    continue  # removed since
                except OSError as error:
                    failures.append(storage_error(error, "repair", path))
        return failures

    def _locations(self, findings: list[Finding]) -> Iterator[_Location]:
        """Yield the data folder, the credentials, and everything in the store and the lock folder."""
        for path in (str(self._paths.data), str(self._paths.auth), str(self._paths.mcp_auth)):
            yield from self._location(path, findings)
        for folder in (self._root, str(self._paths.lock)):
            yield from self._location(folder, findings)
            yield from self._inside(folder, findings)

    def _inside(self, folder: str, findings: list[Finding]) -> Iterator[_Location]:
        try:
            names = sorted(self._files.names(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            findings.append(Finding("unreadable", str(storage_error(error, "list", folder))))
            return
        for name in names:
            for location in self._location(f"{folder}/{name}", findings):
                yield location
                if location.is_folder and segment_of(name) is None:
                    yield from self._inside(location.path, findings)

    def _location(self, path: str, findings: list[Finding]) -> Iterator[_Location]:
        try:
            status = self._files.lstat(path)
        except FileNotFoundError:
            return
        except OSError as error:
            findings.append(Finding("unreadable", str(storage_error(error, "examine", path))))
            return
        yield _Location(path, os.path.basename(path), status.st_mode, status.st_mtime)

    def _examine(self, location: _Location) -> Finding | None:
        owner = temporary_owner(location.name)
        if owner is not None:
            age_s = time.time() - location.mtime
            # The id of a process is used again after a while.
            is_left = age_s > _STALE_S or (age_s > _FRESH_S and not is_running(owner))
            text = f"{location.path} is a leftover of process {owner}, which has ended"
            return Finding("leftover", text, (location.path,)) if is_left else None
        if location.path.startswith(f"{self._paths.lock}/"):
            return self._examine_owner(location) if location.name.endswith(OWNER_SUFFIX) else None
        if not location.path.startswith(f"{self._root}/"):
            return None
        return self._examine_record(location)

    def _examine_record(self, location: _Location) -> Finding | None:
        segment = segment_of(location.name)
        if segment is None:
            is_ours = (location.is_folder and is_segment(location.name)) or location.path == f"{self._root}/migration"
            text = f"{location.path} is not a record (ignored)"
            return None if is_ours or location.name.startswith(".") else Finding("foreign", text)
        key = (*location.path[len(self._root) + 1 :].split("/")[:-1], segment)
        try:
            newer = check_record(key, self._files.read_whole(location.path), location.path)
        except IsADirectoryError:
            return Finding("damaged", f"{location.path} is a folder where a record should be", (location.path,))
        except FileNotFoundError:
            return None
        except OSError as error:
            return Finding("unreadable", str(storage_error(error, "read", location.path)))
        except CorruptRecordError as error:
            return Finding("damaged", f"{location.path} is damaged ({error.reason})", (location.path,))
        if newer:
            return Finding("newer", f"{location.path} is from a newer version: it has {newer} (kept as it is)")
        return None

    def _examine_owner(self, location: _Location) -> Finding | None:
        try:
            owner = read_owner(self._files, location.path)
        except OSError as error:
            return Finding("unreadable", str(storage_error(error, "read", location.path)))
        if owner is None or not owner.is_set or is_alive(owner.process):
            return None
        session = location.name.removesuffix(OWNER_SUFFIX)
        return Finding(
            "killed run", f"session {session} was interrupted ({owner.process} was killed); opening it will repair it"
        )

    def _quarantine_file(self, path: str) -> None:
        """Move a file to the quarantine without overwriting an earlier one."""
        target = f"{self._quarantine}{path[len(self._root) :]}"
        AtomicWriter(self._files).make_folders(os.path.dirname(target))
        candidate, number = target, 0
        while self._files.exists(candidate):
            number += 1
            candidate = f"{target}.{number}"
        self._files.replace(path, candidate)

    def _restrict_mode(self, path: str) -> None:
        self._files.chmod(path, FOLDER_MODE if os.path.isdir(path) else FILE_MODE)
