"""The stored records of a session: names and bytes of its messages and parts. Every method blocks."""

import hashlib
import json
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.ids import BASE62, is_before, moment, spans_wrap, time_field
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import CopyRange, ForkOrigin, fork_origin
from opencode_tui.storage.keys import Key, is_segment
from opencode_tui.storage.reader import FolderRecords
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_record import parse_session
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

    def message(self, data: bytes) -> bytes:
        """Return a message's record for the fork; raises ValueError when it is not a JSON object."""
        record = _object(data)
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


class OwnHistory(Struct, frozen=True):
    """The records under the session's own id. Reading one that is missing raises NotFoundError."""

    storage: Storage
    session_id: str

    @property
    def is_copying(self) -> bool:
        """Return whether some records are still stored under the source of a fork: never."""
        return False

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


StoredHistory: TypeAlias = "OwnHistory | ForkHistory"
"""The messages and parts of one session; those of an incomplete fork are in part still those of its source."""


def open_history(storage: Storage, session: Key | None, session_id: str) -> StoredHistory:
    """Return what is stored of a session; `session` is the key of its record, None when it has none."""
    try:
        if session is not None and is_marked(storage.read_sync(session)):
            return open_fork(storage, session)
    except StorageError:
        pass  # reading the session itself reports a damaged record
    return OwnHistory(storage, session_id)


def is_marked(record: bytes) -> bool:
    """Return whether a session's record may be that of an incomplete fork; a cheap test that avoids a parse."""
    return b'"copying"' in record


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


_MAX_DEPTH = 100
"""Maximum depth of incomplete forks; a longer chain is a cycle made by a damaged record."""


class ForkHistory:
    """The records of an incomplete fork, and those still in its source."""

    is_copying = True

    def __init__(self, own: OwnHistory, source: StoredHistory, copying: CopyRange) -> None:
        self._own = own
        self._source = source
        self._range = copying
        self._map = ForkMap(own.session_id, elsewhere=bool(copying.elsewhere))
        self._origins = {self._map.id(name): name for name in copied_messages(source, copying)}

    @property
    def inherited(self) -> list[str]:
        """The fork's ids of the messages that come from the source, in the session's order."""
        return list(self._origins)

    def last_origin(self) -> str | None:
        """Return the source's id of the last message that comes from it."""
        return next(reversed(self._origins.values()), None)

    def names(self) -> list[str]:
        """Return the messages' names, sorted."""
        return sorted({*self._origins, *self._own.names()})

    def message(self, name: str) -> bytes:
        """Return a message's record."""
        origin = self._origins.get(name)
        try:
            return self._own.message(name)
        except NotFoundError:
            if origin is None:
                raise
        try:
            data = self._source.message(origin)
        except NotFoundError:
            return self._own.message(name)
        try:
            return self._map.message(data)
        except ValueError as error:
            raise CorruptRecordError(origin, str(error)) from error

    def unchecked(self, name: str) -> bytes:
        """Return a message's record."""
        return self.message(name)

    def parts(self, message: str) -> FolderRecords:
        """Return the records of a message's parts."""
        inherited = self.inherited_parts(message)
        own = self._own.parts(message)
        records = {key[-1]: (key, data) for key, data in [*inherited.records, *own.records]}
        return FolderRecords([records[name] for name in sorted(records)], [*inherited.failures, *own.failures])

    def inherited_parts(self, message: str) -> FolderRecords:
        """Return the parts of a message that come from the source, mapped to the fork, whether copied or not."""
        origin = self._origins.get(message)
        if origin is None:
            return FolderRecords([], [])
        found = self._source.parts(origin)
        records: list[tuple[Key, bytes]] = []
        failures = list(found.failures)
        for key, data in found.records[: self._visible(origin, found)]:
            try:
                mapped = self._map.part(data)
            except ValueError as error:
                failures.append(CorruptRecordError("/".join(key), str(error)))
                continue
            if mapped is not None:
                records.append((("part", message, self._map.id(key[-1])), mapped))
        return FolderRecords(records, failures)

    def _visible(self, origin: str, found: FolderRecords) -> int | None:
        """Return how many of a message's parts are copied, None for all."""
        if origin != self._range.last or self._range.part_id is None:
            return None
        names = [key[-1] for key, _ in found.records]
        return names.index(self._range.part_id) if self._range.part_id in names else None


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


def _moment(history: StoredHistory, name: str) -> tuple[int, str]:
    try:
        record: Any = json.loads(history.message(name))
        return moment(name, int(record["time"]["created"]))
    except (StorageError, ValueError, TypeError, KeyError):
        return 0, name


def open_fork(storage: Storage, session: Key) -> StoredHistory:
    """Return the history of a session that may be an incomplete fork; raises as `read` does."""
    return _open(storage, session, session[-1], _MAX_DEPTH)


def unfinished(storage: Storage, session: Key) -> ForkOrigin | None:
    """Return the origin of an incomplete fork, None for any other session; raises as `read` does."""
    data = storage.read_sync(session)
    if not is_marked(data):
        return None
    origin = fork_origin(parse_session(data, path=storage.path_of(session), project_id=session[1]))
    return origin if origin is not None and origin.copying is not None else None


def _open(storage: Storage, session: Key | None, session_id: str, depth: int) -> StoredHistory:
    own = OwnHistory(storage, session_id)
    origin = unfinished(storage, session) if session is not None else None
    if origin is None or origin.copying is None or depth == 0:
        return own
    source = find_session(storage, origin.session_id)
    return ForkHistory(own, _open(storage, source, origin.session_id, depth - 1), origin.copying)
