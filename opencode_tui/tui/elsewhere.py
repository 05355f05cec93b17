"""Pure: whether somebody seems to be at work on a history, though no run of this engine is."""

from collections.abc import Sequence

from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import FINISH_CONTINUES, AssistantMessage
from opencode_tui.schema.part import ToolPart

OPEN_CALLS = ("pending", "running")


def is_left_open(messages: Sequence[MessageWithParts]) -> bool:
    """Tell whether an answer or a call never ended, or the last request has no whole answer yet."""
    if not messages:
        return False
    last = messages[-1].info
    if not isinstance(last, AssistantMessage) or last.finish in FINISH_CONTINUES:
        return True
    return any(_is_open(message) for message in messages)


def _is_open(message: MessageWithParts) -> bool:
    if not isinstance(message.info, AssistantMessage):
        return False
    calls = (part for part in message.parts if isinstance(part, ToolPart))
    return message.info.time.completed is None or any(part.state.status in OPEN_CALLS for part in calls)
