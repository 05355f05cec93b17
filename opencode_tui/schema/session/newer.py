"""Stored messages and parts with values that this version does not know: those of a newer version, or of another program.

They are no damage. A value that its field does not have is read as a harmless one that says what it stands for: a part of an
unknown type as a text that is only shown, an unknown state of a call as a failed one, an unknown role as an answer that failed, an
unknown error as one with its text; any other field is left out. The record survives: `Record.to_json`, which writes records, writes
the values back that were not understood (`Record.unknown_values`). A known value of a wrong type is damage.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from opencode_tui.schema.json_text import decode_json
from opencode_tui.schema.record import JsonObject, Kept, Record, ValidationError
from opencode_tui.schema.session.message import MESSAGE, AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.part import (
    AgentPart,
    AnyPart,
    CompactionPart,
    FilePart,
    PatchPart,
    ReasoningPart,
    RetryPart,
    SnapshotPart,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
    parse_part,
)

R = TypeVar("R", bound=Record)

_UNKNOWN_VALUE = frozenset({"literal_error", "union_tag_invalid"})
"""The faults of a value that is none of those of its field."""

_PARTS: dict[str, type[AnyPart]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "file": FilePart,
    "tool": ToolPart,
    "step-start": StepStartPart,
    "step-finish": StepFinishPart,
    "snapshot": SnapshotPart,
    "patch": PatchPart,
    "agent": AgentPart,
    "subtask": SubtaskPart,
    "retry": RetryPart,
    "compaction": CompactionPart,
}
_STATUSES = frozenset({"pending", "running", "completed", "error"})
_FROM = "from a newer version of opencode-tui; it is kept, and not sent to the model"


def parse_message(data: bytes) -> AnyMessage:
    """Return a stored message of its JSON. Raises ValidationError when it is damaged."""
    try:
        return MESSAGE.validate_json(data)
    except ValidationError as error:
        return _newer(data, _newer_message, error)


def message_of(value: object) -> AnyMessage:
    """Return a stored message of JSON data. Raises ValidationError when it is damaged."""
    try:
        return MESSAGE.validate_python(value)
    except ValidationError as error:
        return _newer(value, _newer_message, error)


def parse_stored_part(data: bytes) -> AnyPart:
    """Return a stored part of its JSON. Raises ValidationError when it is damaged."""
    try:
        return parse_part(data)
    except ValidationError as error:
        return _newer(data, _newer_part, error)


def _newer(data: object, read: Callable[[JsonObject], R | None], error: ValidationError) -> R:
    """Return a record that was rejected with an error as `read` understands it; raises the error when it does not."""
    try:
        value: object = decode_json(data) if isinstance(data, bytes) else data
        found = read(cast("JsonObject", value)) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        found = None
    if found is None:
        raise error
    return found


def _newer_message(record: JsonObject) -> AnyMessage | None:
    role = record.get("role")
    if role == "user":
        return _without_unknown(UserMessage, record)
    if role == "assistant":
        return _without_unknown(AssistantMessage, record)
    time = record.get("time")
    if not isinstance(role, str) or not isinstance(time, dict):
        return None
    created = cast("JsonObject", time).get("created")
    shown = {
        "id": record.get("id"),
        "sessionID": record.get("sessionID"),
        "role": "assistant",
        "parentID": str(record.get("parentID") or ""),
        "modelID": "",
        "providerID": "",
        "mode": "",
        "path": {"cwd": "", "root": ""},
        "time": {"created": _whole(created), "completed": _whole(created)},
        "error": _error(f'a message of the role "{role}" {_FROM}'),
    }
    return AssistantMessage.model_validate(shown).keeping(Kept(f'the role "{role}"', record, is_whole=True))


def _newer_part(record: JsonObject) -> AnyPart | None:
    kind = record.get("type")
    if not isinstance(kind, str):
        return None
    if kind == "tool":
        return _newer_call(record)
    known = _PARTS.get(kind)
    if known is not None:
        return _without_unknown(known, record)
    shown = {name: record.get(name) for name in ("id", "sessionID", "messageID")}
    shown |= {"type": "text", "text": f'[a part of the type "{kind}" {_FROM}]', "ignored": True}
    return TextPart.model_validate(shown).keeping(Kept(f'the type "{kind}"', record, is_whole=True))


def _newer_call(record: JsonObject) -> ToolPart | None:
    """Return a call whose state is unknown as one that failed, which is what the model is sent."""
    state = record.get("state")
    if not isinstance(state, dict):
        return None
    fields = cast("JsonObject", state)
    status, given, time = fields.get("status"), fields.get("input"), fields.get("time")
    if not isinstance(status, str) or status in _STATUSES:
        return _without_unknown(ToolPart, record)
    times = cast("JsonObject", time) if isinstance(time, dict) else JsonObject()
    start = _whole(times.get("start", 0))
    failed: JsonObject = {
        "status": "error",
        "input": cast("JsonObject", given) if isinstance(given, dict) else JsonObject(),
        "error": f'its state "{status}" is from a newer version of opencode-tui; its result is not known here',
        "time": {"start": start, "end": _whole(times.get("end", start))},
    }
    kept = Kept(f'the status "{status}"', {"state": state})
    return ToolPart.model_validate({**record, "state": failed}).keeping(kept)


def _without_unknown(known: type[R], record: JsonObject) -> R | None:
    """Return a record of a known class without the fields whose values are unknown; None when more than that is wrong."""
    left, kept = dict(record), JsonObject()
    while True:
        try:
            found = known.model_validate(left)
        except ValidationError as error:
            if not all([_repair(known, left, kept, fault) for fault in error.faults]):
                return None
        else:
            return found.keeping(Kept(", ".join(f"a value of {name}" for name in kept), kept)) if kept else found


def _repair(known: type[Record], left: JsonObject, kept: JsonObject, fault: JsonObject) -> bool:
    """Leave out what a fault is about; return whether that was possible."""
    path: tuple[Any, ...] = fault["loc"]
    if not path or path[0] not in left:
        return bool(path) and path[0] in kept  # two faults of one field
    name = path[0]
    if fault["type"] == "int_from_float":
        return _round(left, path)
    row = next((row for row in known.model_fields.values() if row.alias == name), None)
    if fault["type"] not in _UNKNOWN_VALUE or row is None or not row.absent:
        return False
    kept[name] = left.pop(name)
    if name == "error":
        given: object = kept[name]
        data: object = cast("JsonObject", given).get("data") if isinstance(given, dict) else None
        message = cast("JsonObject", data).get("message") if isinstance(data, dict) else None
        left[name] = _error(message if isinstance(message, str) else "an error of a newer version of opencode-tui")
    return True


def _round(record: JsonObject, path: tuple[Any, ...]) -> bool:
    """Replace a number with a fraction, as a time in ms of another program, by the whole one below it."""
    holder: Any = record
    *above, last = path
    for step in above:
        holder[step] = holder[step].copy()
        holder = holder[step]
    holder[last] = _whole(holder[last])
    return True


def _error(text: str) -> JsonObject:
    return {"name": "UnknownError", "data": {"message": text}}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and abs(value) < float(1 << 53) else value
