"""Close what a run left open whose process died: its messages, parts and calls."""

from collections.abc import Callable, Sequence

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import FINISH_CONTINUES, AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, aborted
from opencode_tui.schema.session.tool_state import ToolStateRunning, ToolStateUnion, fail
from opencode_tui.schema.tools import row_of

INTERRUPTED_TOOL = "Interrupted: opencode-tui was stopped before this call had a result"
UNSEEN = "opencode-tui was stopped while this ran; undo lists its changes, but does not revert them"


async def repair(
    store: SessionStore,
    session_id: str,
    *,
    clock: Clock,
    killed: Callable[[UserMessage], AssistantMessage] | None = None,
) -> int:
    """Close what a dead process left unfinished in the session; returns the number of repaired messages. Needs its run lock.

    Afterwards no part is `pending` or `running`, no text is open, every message has `time.completed` and no compaction is running.
    Messages before the last compaction are looked at when they are in memory, or when a later one was unfinished. With `killed`
    the process ended during a run: a turn that it left between two steps says so, and so does a new answer, which `killed` makes,
    to a request that it left before the first step.
    """
    broken = [message for message in await store.recent(session_id) if is_unfinished(message)]
    if broken:
        broken = [message for message in await store.messages(session_id) if is_unfinished(message)]
    for message in broken:
        await _close(store.writer(session_id), message, clock())
    left = _left_answer(await store.recent(session_id), killed) if killed is not None and not broken else None
    if left is not None:
        ended = left.time.changed(completed=left.time.completed or clock())
        await store.writer(session_id).update_message(left.changed(error=aborted(PROGRAM_ENDED), time=ended))
    if (await store.get(session_id)).time.compacting is not None:
        await store.update(session_id, lambda info: info.changed(time=info.time.changed(compacting=None)), touch=False)
    count = len(broken) + (left is not None)
    if count:
        await store.sync()
    return count


def is_unfinished(message: MessageWithParts) -> bool:
    """Return whether an assistant message or one of its parts never ended."""
    info = message.info
    if not isinstance(info, AssistantMessage):
        return False
    return info.time.completed is None or any(_is_open(part) for part in message.parts)


def _left_answer(
    messages: Sequence[MessageWithParts], new: Callable[[UserMessage], AssistantMessage]
) -> AssistantMessage | None:
    """Return the answer after which a turn would have gone on, or a new one to a request without any; None when all has ended."""
    last = next((one for one in reversed(messages) if not is_waiting(one.info)), None)
    info = None if last is None else last.info
    if isinstance(info, UserMessage):
        return new(info)
    if info is None or info.error is not None or info.finish not in FINISH_CONTINUES:
        return None
    return info


async def _close(writer: SessionWriter, message: MessageWithParts, now: int) -> None:
    info = message.info
    for part in message.parts:
        match part:
            case ToolPart() if part.is_open:
                await writer.update_part(part.changed(state=_interrupted(part, now)))
            case TextPart() | ReasoningPart() if _is_open(part) and part.time is not None:
                await writer.update_part(part.changed(text=part.text.rstrip(), time=part.time.changed(end=now)))
            case _:
                pass
    if isinstance(info, AssistantMessage) and info.time.completed is None:
        error = info.error or aborted(PROGRAM_ENDED)
        await writer.update_message(info.changed(time=info.time.changed(completed=now), error=error))


def _interrupted(part: ToolPart, now: int) -> ToolStateUnion:
    ran = isinstance(part.state, ToolStateRunning) and row_of(part.tool).may_change_unseen
    return fail(part.state, error=INTERRUPTED_TOOL, now=now, metadata={"unprotected": UNSEEN} if ran else None)


def _is_open(part: AnyPart) -> bool:
    match part:
        case ToolPart():
            return part.is_open
        case TextPart() | ReasoningPart():
            return part.time is not None and part.time.end is None
        case _:
            return False
