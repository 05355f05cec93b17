"""A session's conversation as plain text: requests, answers, what the tools did."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from opencode_tui.cli.tool_line import plain, tool_line
from opencode_tui.schema.error import StoredError
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import AssistantMessage, UserMessage
from opencode_tui.schema.part import AnyPart, CompactionPart, FilePart, PatchPart, RetryPart, TextPart, ToolPart
from opencode_tui.schema.session import SessionInfo


def render_conversation(info: SessionInfo, messages: Sequence[MessageWithParts]) -> str:
    """Return the text; the caller makes it safe for the terminal."""
    lines = [info.title, f"{info.id}  {info.directory}  {_moment(info.time.created)}", ""]
    for message in messages:
        lines.extend(_render(message))
    return "\n".join(lines).rstrip()


def _render(message: MessageWithParts) -> Iterator[str]:
    info = message.info
    if isinstance(info, UserMessage):
        yield f"> {_moment(info.time.created)}  {info.agent} · {info.model}"
    for part in message.parts:
        text = _part(part)
        if text:
            yield text
    if isinstance(info, AssistantMessage) and info.error is not None:
        yield f"! {_reason(info.error)}"
    yield ""


def _part(part: AnyPart) -> str:
    match part:
        case TextPart() if not part.synthetic:
            return part.text
        case ToolPart():
            return tool_line(part, paint=plain)
        case FilePart():
            return f"[{part.filename or part.mime}]"
        case PatchPart():
            return "\n".join(f"changed {file}" for file in part.files)
        case RetryPart():
            return f"tried again after: {part.error.data.message}"
        case CompactionPart():
            return "--- compacted ---"
        case _:
            return ""


def _reason(error: StoredError) -> str:
    return str(getattr(error.data, "message", "") or error.name)


def _moment(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).strftime("%Y-%m-%d %H:%M")
