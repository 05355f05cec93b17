"""Writes the records of sessions that other programs made. Every method blocks; used by one thread at a time.

The session's record comes last: a session that is listed has all its messages and parts. A killed import leaves records without a
session, which the next import finds and completes. Nothing is written that is there already with the same bytes.
"""

import os
from collections.abc import Iterable

from msgspec import Struct

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.keys import SUFFIX, Key, folder_path, is_segment, record_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage


class Written(Struct, frozen=True):
    """How many records were written, and how many were there already."""

    new: int = 0
    same: int = 0

    def __add__(self, other: "Written") -> "Written":
        return Written(self.new + other.new, self.same + other.same)


class ImportedRecords:
    """Writes sessions into one store.

    Records are synced to the disk by `sync`, all at once: a store of thousands of sessions has hundreds of thousands of files.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._files = storage.files
        self._root = str(storage.paths.storage)
        self._pending: list[SessionInfo] = []
        self._owners: dict[str, str] | None = None

    def known_sessions(self) -> dict[str, Key]:
        """Return the keys of all sessions of the store by id."""
        top = folder_path(self._root, ("session",))
        found: dict[str, Key] = {}
        for project in self._names(top):
            if is_segment(project):
                for name in self._names(f"{top}/{project}"):
                    segment = segment_of(name)
                    if segment is not None:
                        found[segment] = ("session", project, segment)
        return found

    def message_ids(self, session_id: str) -> set[str]:
        """Return the ids of a session's messages."""
        return self._ids(("message", session_id))

    def owner_of(self, message_id: str) -> str | None:
        """Return the session that had a message when the first one was asked for; parts are filed by their message alone."""
        if self._owners is None:
            sessions = [one for one in self._names(folder_path(self._root, ("message",))) if is_segment(one)]
            self._owners = {message: session for session in sessions for message in self.message_ids(session)}
        return self._owners.get(message_id)

    def write_messages(self, messages: Iterable[MessageWithParts]) -> Written:
        """Write messages with their parts, each message after its parts; raises StorageError."""
        written = Written()
        for message in messages:
            known = self._ids(("part", message.info.id))
            for part in message.parts:
                written += self.write(("part", message.info.id, part.id), part.to_json(), is_known=part.id in known)
            key = ("message", message.info.session_id, message.info.id)
            written += self.write(key, message.info.to_json(), is_known=bool(known) or None)
        return written

    def write(self, key: Key, data: bytes, *, is_known: bool | None = None) -> Written:
        """Write a record unless it has these bytes; `is_known` is whether it exists, None where that is not known."""
        if is_known is not False and self._read(key) == data:
            return Written(same=1)
        path = record_path(self._root, key)
        try:
            AtomicWriter(self._files).write(path, data)
        except OSError as error:
            raise storage_error(error, "write", path) from error
        return Written(new=1)

    def add_session(self, info: SessionInfo) -> None:
        """Write the session's record at the next `sync`, after all that belongs to it is on the disk."""
        self._pending.append(info)

    def sync(self) -> list[SessionInfo]:
        """Put all on the disk, then write the records of the added sessions and return them; raises StorageError."""
        pending, self._pending = self._pending, []
        if pending:
            os.sync()  # one call for all files
        for info in pending:
            self.write(("session", info.project_id, info.id), info.to_json())
        return pending

    def _ids(self, prefix: Key) -> set[str]:
        names = self._names(folder_path(self._root, prefix))
        return {name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)}

    def _names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise storage_error(error, "list", folder) from error

    def _read(self, key: Key) -> bytes | None:
        try:
            return self._files.read_whole(record_path(self._root, key))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "read", record_path(self._root, key)) from error
