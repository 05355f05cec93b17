"""Histories with the marks and reminders that the loop stores before it sends them."""

from collections.abc import Sequence

from opencode_tui.engine.session.request.reminder import (
    is_unanswered,
    late_texts,
    mode_reminder,
    reminder_part,
    with_parts_added,
)
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.part import AnyPart


def marked(messages: Sequence[MessageWithParts], last_finished: int | None) -> list[MessageWithParts]:
    """Return the messages as the loop sends them: with the marks that it stores."""
    marks: dict[str, AnyPart] = {part.id: part for part in late_texts(messages, last_finished)}
    return [with_parts(one.info, [marks.get(part.id, part) for part in one.parts]) for one in messages]


def reminded(messages: list[MessageWithParts], agent: str) -> list[MessageWithParts]:
    """Return the messages with the reminder that the newest request gets, as it is stored."""
    found = mode_reminder(messages, agent) if is_unanswered(messages) else None
    if found is None:
        return messages
    return with_parts_added(messages, [reminder_part(messages[-1].info, "prt_reminder", found, now=1)])
