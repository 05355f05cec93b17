"""What of a session lies on the disk: names and bytes of its messages and parts. Every method blocks."""

from typing import Protocol

from msgspec import Struct

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.keys import Key, is_segment
from opencode_tui.storage.reader import FolderRecords
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage


class StoredHistory(Protocol):
    """The messages and parts of one session; `is_copying`: some still lie with the session that it was forked from."""

    @property
    def is_copying(self) -> bool:
        """Tell whether it is an unfinished fork."""
        ...

    def names(self) -> list[str]:
        """Return the messages' names, sorted."""
        ...

    def message(self, name: str) -> bytes:
        """Return a message's record; raises NotFoundError, CorruptRecordError, StorageError."""
        ...

    def parts(self, message: str) -> FolderRecords:
        """Return the records of a message's parts, sorted by name, and what could not be read."""
        ...


class OwnHistory(Struct, frozen=True):
    """What lies under the session's own name."""

    storage: Storage
    session_id: str

    @property
    def is_copying(self) -> bool:
        """Return False."""
        return False

    def names(self) -> list[str]:
        """Return the messages' names, sorted."""
        return [key[-1] for key in self.storage.list_sync(("message", self.session_id))]

    def message(self, name: str) -> bytes:
        """Return a message's record."""
        return self.storage.read_sync(("message", self.session_id, name))

    def parts(self, message: str) -> FolderRecords:
        """Return the records of a message's parts."""
        return self.storage.read_folder_sync(("part", message))


def open_history(storage: Storage, session: Key | None, session_id: str) -> StoredHistory:
    """Return what is stored of a session; `session` is the key of its record, None when it has none."""
    try:
        if session is not None and is_marked(storage.read_sync(session)):
            from opencode_tui.engine.session.fork_history import open_fork  # few sessions are forks that are not whole

            return open_fork(storage, session)
    except StorageError:
        pass  # whoever reads messages is not told of a damaged session record: reading the session tells
    return OwnHistory(storage, session_id)


def is_marked(record: bytes) -> bool:
    """Tell whether a session's record may be that of an unfinished fork; nearly all are not, and need no second parse."""
    return b'"copying"' in record


def find_session(storage: Storage, session_id: str) -> Key | None:
    """Return the key of a session's record, of whatever project, None when there is none."""
    folder = storage.paths.storage / "session"
    try:
        with storage.files.scandir(str(folder)) as entries:
            projects = [entry.name for entry in entries if is_segment(entry.name)]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(error, "list", str(folder)) from error
    keys = (("session", project, session_id) for project in projects)
    return next((key for key in keys if storage.files.exists(storage.path_of(key))), None)
