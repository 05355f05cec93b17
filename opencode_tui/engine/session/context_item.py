"""Pure: one part of a message as an item of the context: what it is, what it is called, and why it may be left out."""

from typing import NamedTuple

from opencode_tui.engine.session.prune import KEEP
from opencode_tui.schema.context import ContextGroup, ContextKind
from opencode_tui.schema.error import StoredAbortedError
from opencode_tui.schema.message import AnyMessage, AssistantMessage
from opencode_tui.schema.model import Model
from opencode_tui.schema.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    ReasoningPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning

NAME_LENGTH = 100
"""Characters of an item's name."""

_EXPANDED = ("text/plain", "application/x-directory")


class Description(NamedTuple):
    """What a part is."""

    kind: ContextKind
    group: ContextGroup
    name: str


def describe(part: AnyPart, info: AnyMessage, *, is_marker: bool) -> Description | None:
    """Return what a part is, None for one that is only book-keeping; `is_marker` when its message marks a compaction."""
    is_summary = isinstance(info, AssistantMessage) and info.summary
    match part:
        case TextPart() if is_summary:
            return Description("summary", "summary", first_line(part.text))
        case TextPart() if is_marker:
            return Description("marker", "summary", first_line(part.text))
        case TextPart() if part.synthetic and info.role == "user":
            return Description("added", "messages", first_line(part.text))
        case TextPart():
            return Description("request" if info.role == "user" else "answer", "messages", first_line(part.text))
        case ReasoningPart():
            return Description("thought", "summary" if is_summary else "messages", first_line(part.text))
        case ToolPart():
            return Description("call", "outputs", _call_name(part))
        case FilePart():
            return Description("file", "messages", part.filename or part.mime)
        case SubtaskPart():
            return Description("subtask", "messages", f"{part.agent}: {first_line(part.description or part.prompt)}")
        case CompactionPart():
            return Description("marker", "summary", "the history was summarised here")
        case _:
            return None


def why_live(part: AnyPart, *, text: str) -> str | None:
    """Return what is to be said of a part that is sent; `text` is what stands for it in the request."""
    if isinstance(part, ToolPart):
        if isinstance(part.state, ToolStateCompleted) and part.state.metadata.get(KEEP):
            return "restored by you; pruning passes it by"
        if not isinstance(part.state, ToolStateCompleted | ToolStateError):
            return "not finished; sent as interrupted"
    if isinstance(part, FilePart) and " left out: " in text:
        return text.strip("[]").partition(" left out: ")[2]
    return None


def why_ignored(part: AnyPart, info: AnyMessage, model: Model) -> str:
    """Return why the model is not given a part."""
    if isinstance(info, AssistantMessage) and info.error is not None and not isinstance(info.error, StoredAbortedError):
        return "the answer failed"
    match part:
        case TextPart() if part.ignored:
            return "only for you"
        case TextPart() if not part.text.strip():
            return "empty"
        case ReasoningPart() if not part.metadata:
            return "its provider takes no thoughts back"
        case ReasoningPart() if isinstance(info, AssistantMessage) and _is_other(info, model):
            return f"thought by another model, {info.provider_id}/{info.model_id}"
        case ReasoningPart():
            return "nothing follows it"
        case FilePart() if part.mime in _EXPANDED:
            return "its text stands beside it"
        case _:
            return "nothing of it can be sent"


def first_line(text: str) -> str:
    """Return the first line of a text that says anything, cut to the length of a name."""
    line = next((line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("<")), "")
    line = line or text.strip().partition("\n")[0]
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def _call_name(part: ToolPart) -> str:
    state = part.state
    command = state.input.get("command") if part.tool == "bash" else None  # its title is what the model said of it
    title = state.title if isinstance(state, ToolStateCompleted | ToolStateRunning) else None
    named = (
        (command if isinstance(command, str) else None)
        or title
        or next((value for value in state.input.values() if isinstance(value, str)), "")
    )
    return first_line(named)


def _is_other(info: AssistantMessage, model: Model) -> bool:
    return (info.provider_id, info.model_id) != (model.provider_id, model.model_id)
