"""Events of OpenCode 2: durable ones of a journal's entries, with the content of the records, and those that are sent once.

An event whose record was deleted since has the same type and number, and no text: a client that counts misses none.
"""

import hashlib
from collections.abc import Callable

from opencode_tui.extras.opencode2 import entries as kinds
from opencode_tui.extras.opencode2.entries import Entry
from opencode_tui.extras.opencode2.messages import (
    call_content,
    error_text,
    model_of,
    prompt_value,
    raw_input,
    snapshot_of,
    summary_text,
    tokens_value,
)
from opencode_tui.extras.opencode2.schema.message import ErrorValue
from opencode_tui.extras.opencode2.schema.session import PromptValue, StagedRevert, TokenCount
from opencode_tui.schema.ids import BASE62
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    ReasoningPart,
    RetryPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStatePending

_VERSIONS = {kinds.STEP_ENDED: 2, kinds.STEP_FAILED: 2}
"""The versions of the types that were changed; all others have 1."""

_MASK = (1 << 48) - 1
_GONE = "this message was removed"

Find = Callable[[str], MessageWithParts | None]
"""Returns a message of the session by its ID."""


def event_id(time: int, *names: object) -> str:
    """Return the ID of an event, which is the same whenever it is made of the same time and names."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return f"evt_{time * 4096 & _MASK:012x}" + "".join(BASE62[byte % 62] for byte in digest[:14])


def plain_event(kind: str, data: JsonObject, time: int, directory: str | None = None) -> JsonObject:
    """Return an event that no journal has."""
    event: JsonObject = {"id": event_id(time, kind, data), "type": kind}
    if directory:
        event["location"] = {"directory": directory}
    return {**event, "data": data}


def created_event(info: SessionInfo) -> JsonObject:
    """Return the first event of a session, which has the number 0."""
    event = plain_event("session.created", session_data(info), info.time.created, info.directory)
    return {**event, "durable": {"aggregateID": info.id, "seq": 0, "version": 1}}


def session_data(info: SessionInfo) -> JsonObject:
    """Return the data of an event about a whole session, in the form of OpenCode 1's sessions."""
    wanted = ("id", "projectID", "directory", "parentID", "title", "version", "time", "share", "permission")
    shaped = info.to_dict()
    value: JsonObject = {name: shaped[name] for name in wanted if name in shaped}
    value["slug"] = info.slug or info.id
    if info.revert is not None:
        value["revert"] = info.revert.changed(after=None).to_dict()
    return {"sessionID": info.id, "info": value}


def durable_event(
    entry: Entry, seq: int, session_id: str, find: Find, ids: dict[str, str], revert: StagedRevert | None
) -> JsonObject:
    """Return the event of an entry; `ids` are the IDs by which clients know messages, `revert` is the session's undo."""
    data = {"timestamp": entry.time, "sessionID": session_id, **_data(entry, find, ids, revert)}
    return {
        "id": event_id(entry.time, session_id, seq),
        "type": entry.type,
        "durable": {"aggregateID": session_id, "seq": seq, "version": _VERSIONS.get(entry.kind, 1)},
        "data": data,
    }


def _data(entry: Entry, find: Find, ids: dict[str, str], revert: StagedRevert | None) -> JsonObject:
    match entry.kind:
        case kinds.AGENT_SWITCHED | kinds.MODEL_SWITCHED:
            return {"messageID": entry.message, **(entry.data or {})}
        case kinds.STAGED:
            is_active = revert is not None and revert.message_id == ids.get(entry.message, entry.message)
            staged = revert if revert is not None and is_active else StagedRevert(message_id=entry.message)
            return {"revert": staged.to_dict()}
        case kinds.CLEARED:
            return {}
        case kinds.COMMITTED:
            return {"messageID": ids.get(entry.message, entry.message)}
        case kinds.ADMITTED | kinds.PROMPTED | kinds.SYNTHETIC | kinds.COMPACTION_STARTED:
            return _of_user(entry, find(entry.message), ids)
        case kinds.COMPACTION_ENDED:
            return _of_summary(entry, find(entry.part), find(entry.message))
        case kinds.RETRIED:
            return _of_retry(_part(find(entry.message), entry.part))
        case kinds.STEP_STARTED | kinds.STEP_ENDED | kinds.STEP_FAILED:
            return _of_step(entry, find(entry.message))
        case _:
            return _of_part(entry, _part(find(entry.message), entry.part))


def _part(message: MessageWithParts | None, part_id: str) -> AnyPart | None:
    return None if message is None else next((part for part in message.parts if part.id == part_id), None)


def _of_user(entry: Entry, message: MessageWithParts | None, ids: dict[str, str]) -> JsonObject:
    name = {"messageID": ids.get(entry.message, entry.message)}
    parts: list[AnyPart] = [] if message is None else message.parts
    if entry.kind == kinds.COMPACTION_STARTED:
        return {**name, "reason": _reason(parts)}
    if entry.kind == kinds.SYNTHETIC:
        return {**name, "text": "\n".join(part.text for part in parts if isinstance(part, TextPart))}
    is_queued = message is not None and getattr(message.info, "delivery", None) == "queue"
    was_queued = bool(entry.data) or entry.message in ids
    prompt = PromptValue(text="") if message is None else prompt_value(parts)
    return {**name, "prompt": prompt.to_dict(), "delivery": "queue" if is_queued or was_queued else "steer"}


def _reason(parts: list[AnyPart]) -> str:
    return "auto" if any(isinstance(part, CompactionPart) and part.auto for part in parts) else "manual"


def _of_summary(entry: Entry, summary: MessageWithParts | None, asked: MessageWithParts | None) -> JsonObject:
    text = "" if summary is None else summary_text(summary)
    reason = _reason([] if asked is None else asked.parts)
    return {"messageID": entry.message, "reason": reason, "text": text, "recent": ""}


def _of_retry(part: AnyPart | None) -> JsonObject:
    if not isinstance(part, RetryPart):
        return {"attempt": 0, "error": {"message": _GONE, "isRetryable": True}}
    data = part.error.data
    error: JsonObject = {"message": data.message, "isRetryable": data.is_retryable}
    if data.status_code is not None:
        error["statusCode"] = data.status_code
    return {"attempt": part.attempt, "error": error}


def _of_step(entry: Entry, message: MessageWithParts | None) -> JsonObject:
    name: JsonObject = {"assistantMessageID": entry.message}
    info = None if message is None else message.info
    if message is None or not isinstance(info, AssistantMessage):
        match entry.kind:
            case kinds.STEP_STARTED:
                return {**name, "agent": "", "model": {"id": "", "providerID": ""}}
            case kinds.STEP_FAILED:
                return {**name, "error": ErrorValue(message=_GONE).to_dict()}
            case _:
                return {**name, "finish": "unknown", "cost": 0, "tokens": TokenCount().to_dict()}
    snapshot = snapshot_of(message.parts, info.path.root)
    if entry.kind == kinds.STEP_STARTED:
        start = {} if snapshot is None or snapshot.start is None else {"snapshot": snapshot.start}
        return {**name, "agent": info.agent or info.mode, "model": model_of(info).to_dict(), **start}
    if entry.kind == kinds.STEP_FAILED:
        text = _GONE if info.error is None else error_text(info.error)
        return {**name, "error": ErrorValue(message=text).to_dict()}
    end: JsonObject = {}
    if snapshot is not None and snapshot.end is not None:
        end = {"snapshot": snapshot.end, "files": snapshot.files or []}
    tokens = tokens_value(info.tokens).to_dict()
    return {**name, "finish": info.finish or "unknown", "cost": info.cost, "tokens": tokens, **end}


def _of_part(entry: Entry, part: AnyPart | None) -> JsonObject:
    name: JsonObject = {"assistantMessageID": entry.message}
    text = part.text if isinstance(part, TextPart | ReasoningPart) else ""
    match entry.kind:
        case kinds.TEXT_STARTED:
            return {**name, "textID": entry.part}
        case kinds.TEXT_ENDED:
            return {**name, "textID": entry.part, "text": text}
        case kinds.REASONING_STARTED:
            return {**name, "reasoningID": entry.part}
        case kinds.REASONING_ENDED:
            return {**name, "reasoningID": entry.part, "text": text}
        case _:
            return {**name, **_of_call(entry, part if isinstance(part, ToolPart) else None)}


def _of_call(entry: Entry, part: ToolPart | None) -> JsonObject:
    call: JsonObject = {"callID": entry.part if part is None else part.call_id}
    tool = "" if part is None else part.tool
    given = part.state.input if part is not None and not isinstance(part.state, ToolStatePending) else {}
    provider: JsonObject = {"executed": False}
    match entry.kind:
        case kinds.INPUT_STARTED:
            return {**call, "name": tool}
        case kinds.INPUT_ENDED:
            return {**call, "text": "" if part is None else raw_input(part)}
        case kinds.CALLED:
            return {**call, "tool": tool, "input": given, "provider": provider}
        case kinds.SUCCESS:
            done = part.state if part is not None and isinstance(part.state, ToolStateCompleted) else None
            content = [] if done is None else [one.to_dict() for one in call_content(done)]
            structured = {} if done is None else done.metadata
            return {**call, "structured": structured, "content": content, "outputPaths": [], "provider": provider}
        case _:
            failed = part.state if part is not None and isinstance(part.state, ToolStateError) else None
            text = _GONE if failed is None else failed.error
            return {**call, "error": ErrorValue(message=text).to_dict(), "provider": provider}
