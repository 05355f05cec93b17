"""Pure: reminders that the program adds to user messages. They are stored before they are sent: later requests repeat them.

Everything added is inside `<system-reminder>`. Late messages are wrapped in a form that clients and scripted
models know. Source: docs/internals/loop.md#reminders.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from msgspec import Struct

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, PartTime, TextPart
from opencode_tui.schema.tools import tool_with

PLAN_AGENT = "plan"
BUILD_AGENT = "build"
ANNOUNCED = "announced"
"""The key in a text's metadata with the facts that it announces."""
LATE = "late"
"""The key in a text's metadata that marks what arrived while the model was working."""
MODE = "mode"
"""The fact that plan mode is on or has ended."""
LAST_STEP = (
    "This is the last step: no more tools can be called. Say in text what is done, what is left, what comes next."
)


class Reminder(Struct, frozen=True):
    """A text for the model, and the facts that it announces: a mark of each by its name, None for one that is gone."""

    text: str
    facts: Mapping[str, str | None]


def late_texts(messages: Sequence[MessageWithParts], last_finished: int | None) -> list[TextPart]:
    """Return the texts, marked as late, of requests after the newest finished answer that are not marked yet.

    For the second and later steps of a run: then such a request arrived while the model was working. The marks are stored, so
    that all later requests contain these texts in the same form.
    """
    if last_finished is None:
        return []
    return [
        part.changed(metadata={**(part.metadata or {}), LATE: True})
        for message in messages[last_finished + 1 :]
        if isinstance(message.info, UserMessage)
        for part in message.parts
        if isinstance(part, TextPart) and _is_of_user(part) and not is_late(part)
    ]


def is_late(part: AnyPart) -> bool:
    """Return whether a text is marked as one that arrived while the model was working."""
    return isinstance(part, TextPart) and bool((part.metadata or {}).get(LATE))


def wrap_late(messages: Sequence[MessageWithParts]) -> list[MessageWithParts]:
    """Return the messages with the texts that are marked as late wrapped, so that the model notices them."""
    return [
        with_parts(message.info, [_wrapped(part) if is_late(part) else part for part in message.parts])
        if isinstance(message.info, UserMessage) and any(map(is_late, message.parts))
        else message
        for message in messages
    ]


def is_unanswered(messages: Sequence[MessageWithParts]) -> bool:
    """Return whether the newest message is a request: no answer to it has begun, so that a reminder can join it."""
    return bool(messages) and isinstance(messages[-1].info, UserMessage)


class Announcement(NamedTuple):
    """What a stored reminder announces: a mark of each fact by its name; its message's index (`at`), and its time in ms."""

    at: int
    time: int
    facts: Mapping[str, str | None]


def announcements(messages: Sequence[MessageWithParts]) -> Iterator[Announcement]:
    """Yield what stored reminders announce, in the order of their messages."""
    for index, message in enumerate(messages):
        if isinstance(message.info, UserMessage):
            for part in message.parts:
                found: object = (part.metadata or {}).get(ANNOUNCED) if isinstance(part, TextPart) else None
                if isinstance(part, TextPart) and isinstance(found, dict):
                    marks = cast("dict[str, object]", found)
                    facts = {name: mark if isinstance(mark, str) else None for name, mark in marks.items()}
                    yield Announcement(index, part.time.start if part.time else 0, facts)


def mode_reminder(messages: Sequence[MessageWithParts], agent: str) -> Reminder | None:
    """Return the reminder for the newest request that plan mode is on, or has just ended; None without one."""
    if agent == PLAN_AGENT:
        return Reminder(as_reminder(read_prompt("plan").replace("{tool}", tool_with("plan"))), {MODE: PLAN_AGENT})
    modes = [one.facts[MODE] for one in announcements(messages) if MODE in one.facts]
    answers = [one.info.agent for one in messages if isinstance(one.info, AssistantMessage)]
    was_planning = modes[-1] == PLAN_AGENT if modes else PLAN_AGENT in answers
    if agent == BUILD_AGENT and was_planning:
        return Reminder(as_reminder(read_prompt("build_switch")), {MODE: BUILD_AGENT})
    return None


def reminder_part(request: AnyMessage, identifier: str, reminder: Reminder, *, now: int) -> TextPart:
    """Return a reminder as a part to store in a request; `now` in ms since 1970."""
    return TextPart(
        id=identifier,
        session_id=request.session_id,
        message_id=request.id,
        text=reminder.text,
        synthetic=True,
        time=PartTime(start=now, end=now),
        metadata={ANNOUNCED: dict(reminder.facts)},
    )


def with_parts_added(messages: Sequence[MessageWithParts], parts: Sequence[AnyPart]) -> list[MessageWithParts]:
    """Return the messages with these parts at the end of the newest one."""
    last = messages[-1]
    return [*messages[:-1], with_parts(last.info, [*last.parts, *parts])]


def with_last_step(messages: Sequence[MessageWithParts], request: UserMessage) -> list[MessageWithParts]:
    """Return the messages with `LAST_STEP` as a request of its own at the end; its ID is not one of a stored message."""
    identifier = f"{request.id}_reminder"
    part = TextPart(
        id=identifier, session_id=request.session_id, message_id=identifier, text=as_reminder(LAST_STEP), synthetic=True
    )
    return [*messages, with_parts(request.changed(id=identifier, tools=None, system=None), [part])]


def as_reminder(text: str) -> str:
    """Return a text marked as coming from the program, not from the user."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


def _is_of_user(part: TextPart) -> bool:
    return not part.synthetic and not part.ignored and bool(part.text.strip())


def _wrapped(part: AnyPart) -> AnyPart:
    if not isinstance(part, TextPart) or not _is_of_user(part):
        return part
    lines = (
        "The user sent the following message:",
        part.text,
        "",
        "Please address this message and continue with your tasks.",
    )
    return part.changed(text=as_reminder("\n".join(lines)))
