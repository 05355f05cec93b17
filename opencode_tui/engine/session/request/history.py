"""Pure: which messages of a session are sent to the model, and the state of the conversation that the loop needs.

Messages come in the order of the session (oldest first) and are compared by that order, never by raw ids.
Source: docs/internals/compaction.md#summaries.
"""

from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import FINISH_CONTINUES, AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import CompactionPart


def filter_compacted(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages from the newest finished compaction on: its marker, its summary, its tail, everything later.

    A summary without a marker, as version 1.0 wrote it, is a boundary too. What a failed or interrupted compaction
    left is not part of the conversation.
    """
    messages = as_read([one for one in messages if not is_waiting(one.info)])
    summary_at = next((i for i in reversed(range(len(messages))) if _is_whole_summary(messages[i])), None)
    if summary_at is None:
        return _talk(messages)
    marker_id = _parent(messages[summary_at])
    marker_at = next((i for i in range(summary_at) if messages[i].info.id == marker_id), None)
    if marker_at is None or compaction_of(messages[marker_at]) is None:
        return [messages[summary_at], *_talk(messages[summary_at + 1 :])]
    return _from_boundary(messages, marker_at, summary_at)


def as_read(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages with each answer before the requests that arrived after it had started."""
    order: list[MessageWithParts] = []
    seen: set[str] = set()
    for message in messages:
        parent, late = _parent(message), list[MessageWithParts]()
        if parent in seen:
            while isinstance(order[-1].info, UserMessage) and order[-1].info.id != parent:
                late.append(order.pop())
        order += [message, *reversed(late)]
        seen.add(message.info.id)
    return order


def compaction_of(message: MessageWithParts) -> CompactionPart | None:
    """Return the compaction part of a marker message, None for any other message."""
    return next((part for part in message.parts if isinstance(part, CompactionPart)), None)


def _from_boundary(messages: Sequence[MessageWithParts], marker_at: int, summary_at: int) -> list[MessageWithParts]:
    marker = compaction_of(messages[marker_at])
    tail_id = marker.tail_id if marker is not None else None
    start = next((i for i in range(marker_at) if messages[i].info.id == tail_id), marker_at)
    rest = [*messages[start:marker_at], *messages[marker_at + 1 :]]
    return [messages[marker_at], messages[summary_at], *_talk(rest)]


def _talk(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages without markers and summaries."""
    return [one for one in messages if compaction_of(one) is None and not _is_summary(one)]


def _is_summary(message: MessageWithParts) -> bool:
    return isinstance(message.info, AssistantMessage) and bool(message.info.summary)


def _is_whole_summary(message: MessageWithParts) -> bool:
    info = message.info
    return isinstance(info, AssistantMessage) and bool(info.summary and info.finish) and info.error is None


def _parent(message: MessageWithParts) -> str | None:
    return message.info.parent_id if isinstance(message.info, AssistantMessage) else None


class Position(Struct, frozen=True):
    """The state of a conversation: indexes into the messages, None without one."""

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
    """Return whether the newest user message has a complete answer, so that the loop may end."""
    if where.last_user is None or where.last_assistant is None or where.last_assistant < where.last_user:
        return False
    info = messages[where.last_assistant].info
    if not isinstance(info, AssistantMessage):
        return False
    return info.error is not None or (info.finish is not None and info.finish not in FINISH_CONTINUES)
