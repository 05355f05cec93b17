"""Pure: reminders that the program adds to user messages when they are sent; the records do not change.

Everything added is inside `<system-reminder>`. Late messages are wrapped as seed 001, 6.2, defines: clients and scripted models
know that form. Source: reference, section 24; SPEC section 3, "markers".
"""

from collections.abc import Sequence

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, TextPart

PLAN_AGENT = "plan"
BUILD_AGENT = "build"
LAST_STEP = (
    "This is the last step: no more tools can be called. Say in text what is done, what is left, what comes next."
)


def wrap_late(messages: Sequence[MessageWithParts], last_finished: int | None) -> list[MessageWithParts]:
    """Return the messages with requests after the newest finished answer wrapped, so that the model notices them.

    For the second and later steps of a run: then such a request arrived while the model was working.
    """
    if last_finished is None:
        return list(messages)
    return [
        _wrapped(message) if index > last_finished and isinstance(message.info, UserMessage) else message
        for index, message in enumerate(messages)
    ]


def remind_of_mode(messages: Sequence[MessageWithParts], agent: str) -> list[MessageWithParts]:
    """Return the messages with a reminder of the mode in the newest request: plan mode is on, or has just ended."""
    if agent == PLAN_AGENT:
        return with_reminder(messages, read_prompt("plan"))
    was_planning = any(isinstance(one.info, AssistantMessage) and one.info.agent == PLAN_AGENT for one in messages)
    if agent == BUILD_AGENT and was_planning:
        return with_reminder(messages, read_prompt("build_switch"))
    return list(messages)


def with_reminder(messages: Sequence[MessageWithParts], text: str) -> list[MessageWithParts]:
    """Return the messages with a reminder at the end of the newest request."""
    changed = list(messages)
    for index in range(len(changed) - 1, -1, -1):
        info = changed[index].info
        if isinstance(info, UserMessage):
            reminder = TextPart(
                id=f"{info.id}_reminder",
                session_id=info.session_id,
                message_id=info.id,
                text=as_reminder(text),
                synthetic=True,
            )
            changed[index] = with_parts(info, [*changed[index].parts, reminder])
            break
    return changed


def as_reminder(text: str) -> str:
    """Return a text marked as coming from the program, not from the user."""
    return f"<system-reminder>\n{text}\n</system-reminder>"


def _wrapped(message: MessageWithParts) -> MessageWithParts:
    return with_parts(message.info, [_wrapped_part(part) for part in message.parts])


def _wrapped_part(part: AnyPart) -> AnyPart:
    if not isinstance(part, TextPart) or part.synthetic or part.ignored or not part.text.strip():
        return part
    lines = (
        "The user sent the following message:",
        part.text,
        "",
        "Please address this message and continue with your tasks.",
    )
    return part.changed(text=as_reminder("\n".join(lines)))
