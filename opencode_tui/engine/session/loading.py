"""Reads a session's messages and parts from the disk, in order; one damaged record costs only itself. Blocks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from opencode_tui.schema.error import CorruptRecordError, StorageError
from opencode_tui.schema.history import MessageWithParts, with_parts
from opencode_tui.schema.ids import spans_wrap, time_field
from opencode_tui.schema.message import MESSAGE, AnyMessage
from opencode_tui.schema.part import PART, AnyPart
from opencode_tui.storage.session_record import describe_mismatch
from opencode_tui.storage.storage import Storage

_HALF_FIELD = 1 << 47


@dataclass(slots=True)
class Loaded:
    """Messages in order, and what could not be read."""

    messages: list[MessageWithParts] = field(default_factory=list[MessageWithParts])
    damaged: list[StorageError] = field(default_factory=list[StorageError])


def load_session(storage: Storage, session_id: str) -> Loaded:
    """Read all messages with their parts, oldest first."""
    loaded = Loaded()
    messages = _read_messages(storage, session_id, None, loaded)
    names = [message.id for message in messages]
    if spans_wrap(names):
        messages.sort(key=lambda message: (message.time.created, message.id))
    loaded.messages = [with_parts(message, _read_parts(storage, message.id, loaded)) for message in messages]
    return loaded


def load_tail(storage: Storage, session_id: str, limit: int) -> Loaded:
    """Read the newest `limit` messages with their parts, oldest first; all of them when names do not tell the order."""
    names = [key[-1] for key in storage.list_sync(("message", session_id))]
    if spans_wrap(names):
        loaded = load_session(storage, session_id)
        loaded.messages = loaded.messages[-limit:]
        return loaded
    loaded = Loaded()
    messages = _read_messages(storage, session_id, names[-limit:], loaded)
    loaded.messages = [with_parts(message, _read_parts(storage, message.id, loaded)) for message in messages]
    return loaded


def _read_messages(storage: Storage, session_id: str, names: Sequence[str] | None, loaded: Loaded) -> list[AnyMessage]:
    if names is None:
        names = [key[-1] for key in storage.list_sync(("message", session_id))]
    messages: list[AnyMessage] = []
    for name in names:
        key = ("message", session_id, name)
        try:
            messages.append(MESSAGE.validate_json(storage.read_sync(key)))
        except StorageError as error:
            loaded.damaged.append(error)
        except ValidationError as error:
            loaded.damaged.append(CorruptRecordError(storage.path_of(key), describe_mismatch(error)))
    return messages


def _read_parts(storage: Storage, message_id: str, loaded: Loaded) -> list[AnyPart]:
    parts: list[AnyPart] = []
    found = storage.read_folder_sync(("part", message_id))
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
    """Order parts of one message across a wrap: small fields are the newer ones; names without a field come first."""
    value = time_field(part.id)
    if value is None:
        return (False, 0, part.id)
    return (True, value + (_HALF_FIELD * 2 if value < _HALF_FIELD else 0), part.id)
