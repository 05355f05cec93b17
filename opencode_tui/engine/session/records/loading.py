"""Read a session's messages and parts from disk, in order; a damaged record is skipped. Blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from opencode_tui.engine.session.records.growing_part import LiveText
from opencode_tui.engine.session.records.stored_history import StoredHistory, open_history
from opencode_tui.schema.error import CorruptRecordError, StorageError
from opencode_tui.schema.ids import spans_wrap, time_field
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import MESSAGE, AnyMessage
from opencode_tui.schema.session.part import PART, AnyPart
from opencode_tui.storage.keys import Key
from opencode_tui.storage.session_record import describe_mismatch
from opencode_tui.storage.storage import Storage

_HALF_FIELD = 1 << 47


@dataclass(slots=True)
class OpenRecords:
    """An open session's messages and their parts in order, by id, and the texts that are still growing."""

    messages: dict[str, AnyMessage] = field(default_factory=dict[str, AnyMessage])
    parts: dict[str, dict[str, AnyPart]] = field(default_factory=dict[str, dict[str, AnyPart]])
    growing: dict[str, LiveText] = field(default_factory=dict[str, LiveText])

    def together(self) -> list[MessageWithParts]:
        """Return all messages with their parts, oldest first."""
        return [with_parts(info, self.parts_of(message_id)) for message_id, info in self.messages.items()]

    def parts_of(self, message_id: str) -> list[AnyPart]:
        """Return the parts of a message, in order; a growing text with all of its content."""
        return [self._now(part) for part in self.parts.get(message_id, {}).values()]

    def _now(self, part: AnyPart) -> AnyPart:
        live = self.growing.get(part.id)
        return part if live is None else live.record()

    def put_part(self, part: AnyPart) -> None:
        """Add or replace a part; ends its growth."""
        self.growing.pop(part.id, None)
        self.parts.setdefault(part.message_id, {})[part.id] = part

    def remove_part(self, message_id: str, part_id: str) -> None:
        """Remove a part."""
        self.growing.pop(part_id, None)
        self.parts.get(message_id, {}).pop(part_id, None)

    def remove_message(self, message_id: str) -> tuple[str, ...]:
        """Remove a message and its parts; return the ids of the parts."""
        self.messages.pop(message_id, None)
        parts = tuple(self.parts.pop(message_id, {}))
        for part_id in parts:
            self.growing.pop(part_id, None)
        return parts


@dataclass(slots=True)
class Loaded:
    """Messages in order, and the records that could not be read; `is_copying`: some messages came from the source of the fork."""

    messages: list[MessageWithParts] = field(default_factory=list[MessageWithParts])
    damaged: list[StorageError] = field(default_factory=list[StorageError])
    is_copying: bool = False

    def opened(self) -> OpenRecords:
        """Return the records of an open session."""
        return OpenRecords(
            messages={message.info.id: message.info for message in self.messages},
            parts={message.info.id: {part.id: part for part in message.parts} for message in self.messages},
        )


def load_session(storage: Storage, session_id: str, session: Key | None = None) -> Loaded:
    """Read all messages with their parts, oldest first; `session` is the key of the session's record, if it has one."""
    history = open_history(storage, session, session_id)
    return _load(storage, history, session_id, history.names(), None)


def load_tail(storage: Storage, session_id: str, limit: int, session: Key | None = None) -> Loaded:
    """Read the newest `limit` messages with their parts, oldest first; all of them when their names do not give the order."""
    history = open_history(storage, session, session_id)
    return _load(storage, history, session_id, history.names(), limit)


def _load(storage: Storage, history: StoredHistory, session_id: str, names: Sequence[str], limit: int | None) -> Loaded:
    loaded = Loaded(is_copying=history.is_copying)
    is_wrapped = spans_wrap(names)
    wanted = names if limit is None or is_wrapped else names[-limit:]
    messages: list[AnyMessage] = []
    for name in wanted:
        try:
            messages.append(MESSAGE.validate_json(history.message(name)))
        except StorageError as error:
            loaded.damaged.append(error)
        except ValidationError as error:
            path = storage.path_of(("message", session_id, name))
            loaded.damaged.append(CorruptRecordError(path, describe_mismatch(error)))
    if is_wrapped:
        messages.sort(key=lambda message: (message.time.created, message.id))
        messages = messages if limit is None else messages[-limit:]
    loaded.messages = [with_parts(message, _read_parts(storage, history, message.id, loaded)) for message in messages]
    return loaded


def _read_parts(storage: Storage, history: StoredHistory, message_id: str, loaded: Loaded) -> list[AnyPart]:
    parts: list[AnyPart] = []
    found = history.parts(message_id)
    loaded.damaged.extend(found.failures)
    for key, data in found.records:
        try:
            parts.append(PART.validate_json(data))
        except ValidationError as error:
            loaded.damaged.append(CorruptRecordError(storage.path_of(key), describe_mismatch(error)))
    names = [part.id for part in parts]
    if spans_wrap(names):
        parts.sort(key=_rotated)
    return parts


def _rotated(part: AnyPart) -> tuple[bool, int, str]:
    """Return the sort key of a part across an overflow of the time field: small values are newer; ids without one come first."""
    value = time_field(part.id)
    if value is None:
        return (False, 0, part.id)
    return (True, value + (_HALF_FIELD * 2 if value < _HALF_FIELD else 0), part.id)
