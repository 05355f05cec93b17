"""Pure: which messages of a session the model is given, and what the loop reads off them.

Messages come in the order of the session (oldest first) and are compared by that order, never by raw ids.
Source: seed 001; reference, sections 9 and 16.
"""

from collections.abc import Sequence

from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import FINISH_CONTINUES, AssistantMessage, UserMessage
from opencode_tui.schema.part import CompactionPart
from opencode_tui.schema.value import immutable


def filter_compacted(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages from the newest finished compaction on: its marker, its summary, its tail, everything later."""
    summarised: dict[str, int] = {}
    for index in range(len(messages) - 1, -1, -1):
        info = messages[index].info
        if isinstance(info, AssistantMessage):
            if info.summary and info.finish and info.error is None:
                summarised[info.parent_id] = index
        elif info.id in summarised:
            marker = _compaction(messages[index])
            if marker is not None:
                return _from_boundary(messages, index, summarised[info.id], marker)
    return list(messages)


def _from_boundary(
    messages: Sequence[MessageWithParts], marker_at: int, summary_at: int, marker: CompactionPart
) -> list[MessageWithParts]:
    tail: Sequence[MessageWithParts] = ()
    if marker.tail_id is not None:
        start = next((i for i in range(marker_at) if messages[i].info.id == marker.tail_id), marker_at)
        tail = messages[start:marker_at]
    later = [message for i, message in enumerate(messages) if i > marker_at and i != summary_at]
    return [messages[marker_at], messages[summary_at], *tail, *later]


def _compaction(message: MessageWithParts) -> CompactionPart | None:
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


@immutable
class Position:
    """Where a conversation stands: indexes into the messages, None where there is none."""

    last_user: int | None
    last_assistant: int | None
    last_finished: int | None


def position(messages: Sequence[MessageWithParts]) -> Position:
    """Return the newest user message, assistant message, and assistant message with a finish reason."""
    user = assistant = finished = None
    for index in range(len(messages) - 1, -1, -1):
        info = messages[index].info
        if isinstance(info, UserMessage):
            user = index if user is None else user
        else:
            assistant = index if assistant is None else assistant
            finished = index if finished is None and info.finish else finished
        if user is not None and finished is not None:
            break
    return Position(user, assistant, finished)


def is_answered(messages: Sequence[MessageWithParts], where: Position) -> bool:
    """Tell whether the newest user message has its whole answer, so that the loop may end."""
    if where.last_user is None or where.last_assistant is None or where.last_assistant < where.last_user:
        return False
    info = messages[where.last_assistant].info
    if not isinstance(info, AssistantMessage):
        return False
    return info.error is not None or (info.finish is not None and info.finish not in FINISH_CONTINUES)
