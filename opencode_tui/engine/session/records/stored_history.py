"""The stored records of a session: names and bytes of its messages and parts. Every method blocks."""

import hashlib
import json
from typing import Any, cast

import msgspec
from msgspec import Struct

from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import BASE62, is_before, moment, spans_wrap, time_field
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import CopyRange
from opencode_tui.storage.keys import Key, is_segment
from opencode_tui.storage.reader import FolderRecords
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage

# Map the records of a session to those of its fork. Source: docs/internals/session.md#forks. An id keeps its prefix and its 12 hex
# digits, which give the order; its last 14 characters come from a hash of the fork's id and the old id: the map needs no table,
# and copying again gives the same ids. Records are mapped as JSON, so that fields that this version does not know are kept. Ids
# of subagent sessions (a task's metadata) do not change.

_TAIL = 14
_HEX = 12
_LONGEST_HEAD = 46
"""Characters kept of an id without a time field, so that the new id has at most 60."""
_SPACE = len(BASE62) ** _TAIL


def copied_id(fork_id: str, old_id: str) -> str:
    """Return the fork's id for an id of the source."""
    prefix, _, rest = old_id.partition("_")
    kept = rest[:_HEX] if time_field(old_id) is not None else rest[:_LONGEST_HEAD]
    number = int.from_bytes(hashlib.sha256(f"{fork_id}{old_id}".encode()).digest()) % _SPACE
    tail = ""
    for _ in range(_TAIL):
        number, digit = divmod(number, len(BASE62))
        tail = BASE62[digit] + tail
    return f"{prefix}_{kept}{tail}"


class ForkMap(Struct, frozen=True):
    """Maps records of the source into the fork; `elsewhere` drops references to the files of the source's worktree."""

    fork_id: str
    elsewhere: bool = False

    def id(self, old_id: str) -> str:
        """Return the id in the fork."""
        return copied_id(self.fork_id, old_id)

    def message(self, data: bytes) -> bytes | None:
        """Return a message's record for the fork, None for a request that waits; raises ValueError when it is no JSON object."""
        record = _object(data)
        if record.get("role") == "user" and record.get("delivery") == "queue":
            return None
        self._rename(record, "id", "parentID")
        record["sessionID"] = self.fork_id
        return _bytes(record)

    def part(self, data: bytes) -> bytes | None:
        """Return a part's record for the fork, None for one that has no meaning there; raises as `message`."""
        record = _object(data)
        if self.elsewhere:
            if record.get("type") in ("patch", "snapshot"):
                return None
            record.pop("snapshot", None)
        self._rename(record, "id", "messageID", "tailID")
        record["sessionID"] = self.fork_id
        state = record.get("state")
        attachments = cast("JsonObject", state).get("attachments") if isinstance(state, dict) else None
        for attachment in cast("list[Any]", attachments) if isinstance(attachments, list) else ():
            if isinstance(attachment, dict):
                self._rename_attachment(cast("JsonObject", attachment))
        return _bytes(record)

    def _rename(self, record: JsonObject, *names: str) -> None:
        for name in names:
            old = record.get(name)
            if isinstance(old, str):
                record[name] = self.id(old)

    def _rename_attachment(self, attachment: JsonObject) -> None:
        self._rename(attachment, "id", "messageID")
        if "sessionID" in attachment:
            attachment["sessionID"] = self.fork_id


def _object(data: bytes) -> JsonObject:
    value: object = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return cast("JsonObject", value)


def _bytes(record: JsonObject) -> bytes:
    try:
        return msgspec.json.format(msgspec.json.encode(record))
    except UnicodeEncodeError:  # text that is not Unicode
        return json.dumps(record, indent=2, ensure_ascii=False).encode("utf-8", "replace")


class StoredHistory(Struct, frozen=True):
    """The records under the session's own id. Reading one that is missing raises NotFoundError."""

    storage: Storage
    session_id: str

    def names(self) -> list[str]:
        """Return the messages' names, sorted."""
        return [key[-1] for key in self.storage.list_sync(("message", self.session_id))]

    def message(self, name: str) -> bytes:
        """Return a message's record."""
        return self.storage.read_sync(("message", self.session_id, name))

    def unchecked(self, name: str) -> bytes:
        """Return what is in a message's file, for a reader that gives what it rejects to `record_file.checked`."""
        return self.storage.read_unchecked(("message", self.session_id, name))

    def parts(self, message: str) -> FolderRecords:
        """Return the records of a message's parts."""
        return self.storage.read_folder(("part", message))


def find_session(storage: Storage, session_id: str) -> Key | None:
    """Return the key of a session's record, of any project, None when there is none."""
    folder = storage.paths.storage / "session"
    try:
        projects = filter(is_segment, storage.files.names(str(folder)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_error(error, "list", str(folder)) from error
    keys = (("session", project, session_id) for project in projects)
    return next((key for key in keys if storage.files.exists(storage.path_of(key))), None)


def ordered(history: StoredHistory) -> list[str]:
    """Return the names of all messages in the session's order."""
    names = history.names()
    if spans_wrap(names):
        names.sort(key=lambda name: _moment(history, name))
    return names


def copied_messages(history: StoredHistory, taken: CopyRange) -> list[str]:
    """Return the names of a source's messages that a fork copies, in order."""
    edge = taken.before or taken.last
    if edge is None:
        return ordered(history) if taken.whole else []
    names = ordered(history)
    if edge in names:
        return names[: names.index(edge) + (taken.before is None)]
    # Another program has deleted the boundary message: its name still gives its position.
    before = (at for at in reversed(range(len(names))) if is_before(names[at], edge))
    return names[: next(before, -1) + 1]


def created_at(history: StoredHistory, name: str) -> int | None:
    """Return the time of a message's record in ms, None when it cannot be read."""
    try:
        record: Any = json.loads(history.message(name))
        return int(record["time"]["created"])
    except (StorageError, ValueError, TypeError, KeyError):
        return None


def _moment(history: StoredHistory, name: str) -> tuple[int, str]:
    created = created_at(history, name)
    return (0, name) if created is None else moment(name, created)
