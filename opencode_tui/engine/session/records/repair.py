"""Repair the records that a dead process left unfinished in a session. Needs the session's run lock.

Afterwards no part is `pending` or `running`, no text is open, every message has `time.completed` and no compaction is running.
"""

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, aborted
from opencode_tui.schema.session.tool_state import ToolStatePending, ToolStateRunning, ToolStateUnion, fail
from opencode_tui.schema.tools import row_of

INTERRUPTED_TOOL = "Interrupted: the program ended before this call had a result"
UNSEEN = "the program ended while this ran; undo lists its changes, but does not revert them"


async def repair(store: SessionStore, session_id: str, *, clock: Clock) -> int:
    """Close everything unfinished in the session; returns the number of repaired messages."""
    broken = [message for message in await store.messages(session_id) if is_unfinished(message)]
    for message in broken:
        await _close(store, message, clock())
    if (await store.get(session_id)).time.compacting is not None:
        await store.update(session_id, lambda info: info.changed(time=info.time.changed(compacting=None)), touch=False)
    if broken:
        await store.sync()
    return len(broken)


def is_unfinished(message: MessageWithParts) -> bool:
    """Return whether an assistant message or one of its parts never ended."""
    info = message.info
    if not isinstance(info, AssistantMessage):
        return False
    return info.time.completed is None or any(_is_open(part) for part in message.parts)


async def _close(store: SessionStore, message: MessageWithParts, now: int) -> None:
    info = message.info
    for part in message.parts:
        match part:
            case ToolPart() if isinstance(part.state, ToolStatePending | ToolStateRunning):
                await store.update_part(part.changed(state=_interrupted(part, now)))
            case TextPart() | ReasoningPart() if _is_open(part) and part.time is not None:
                await store.update_part(part.changed(text=part.text.rstrip(), time=part.time.changed(end=now)))
            case _:
                pass
    if isinstance(info, AssistantMessage) and info.time.completed is None:
        error = info.error or aborted(PROGRAM_ENDED)
        await store.update_message(info.changed(time=info.time.changed(completed=now), error=error))


def _interrupted(part: ToolPart, now: int) -> ToolStateUnion:
    ran = isinstance(part.state, ToolStateRunning) and row_of(part.tool).may_change_unseen
    return fail(part.state, error=INTERRUPTED_TOOL, now=now, metadata={"unprotected": UNSEEN} if ran else None)


def _is_open(part: AnyPart) -> bool:
    match part:
        case ToolPart():
            return isinstance(part.state, ToolStatePending | ToolStateRunning)
        case TextPart() | ReasoningPart():
            return part.time is not None and part.time.end is None
        case _:
            return False
