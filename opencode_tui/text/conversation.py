"""A conversation as Markdown for a user to read or send."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, FilePart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.stored_error import describe_stored
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.safe_text import make_safe


def to_markdown(info: SessionInfo, messages: Iterable[MessageWithParts]) -> Iterator[str]:
    """Yield the whole conversation in pieces; text that the program wrote only for the model is omitted.

    Nothing in it steers a terminal: control, direction and invisible characters are written out.
    """
    head = [
        f"# {' '.join(info.title.split())}",
        "",
        f"**Session ID:** {make_safe(info.id)}",
        f"**Created:** {_moment(info.time.created)}",
        f"**Updated:** {_moment(info.time.updated)}",
        "",
        "---",
    ]
    yield _safe(head)
    for message in messages:
        lines = ["", f"## {_head(message)}", ""]
        for part in message.parts:
            lines += _part(part)
        if isinstance(message.info, AssistantMessage) and (error := message.info.shown_error) is not None:
            lines += [f"**Error:** {describe_stored(error, message.info.provider_id, message.info.model_id)}", ""]
        lines += ["---"]
        yield _safe(lines)


def _safe(lines: Iterable[str]) -> str:
    return make_safe("\n".join(lines).replace("\r\n", "\n"), multiline=True) + "\n"


def _head(message: MessageWithParts) -> str:
    info = message.info
    if not isinstance(info, AssistantMessage):
        return "User"
    end = info.time.completed
    took = f" · {(end - info.time.created) / 1000:.1f}s" if end is not None else ""
    return make_safe(f"Assistant ({(info.agent or info.mode).capitalize()} · {info.model_id}{took})")


def _part(part: AnyPart) -> Iterator[str]:
    match part:
        case TextPart() if part.text and not part.synthetic:
            yield from (part.text, "")
        case ReasoningPart() if part.text.strip():
            yield from ("_Thinking:_", "", part.text, "")
        case FilePart():
            yield from (f"[{make_safe(part.filename or part.mime)}]", "")
        case ToolPart():
            yield from _tool(part)
        case _:
            pass


def _tool(part: ToolPart) -> Iterator[str]:
    yield f"**Tool: {make_safe(part.tool)}**"
    yield ""
    if part.state.input:
        yield from ("**Input:**", *_fence(_json(part.state.input), "json"), "")
    match part.state:
        case ToolStateCompleted():
            yield from ("**Output:**", *_fence(part.state.output), "")
        case ToolStateError():
            yield from ("**Error:**", *_fence(part.state.error), "")
        case _:
            pass


def _fence(text: str, language: str = "") -> list[str]:
    """Return a fence that is longer than any in the text, so that the text cannot end it."""
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    ticks = "`" * max(3, longest + 1)
    return [f"{ticks}{language}", text, ticks]


def _json(value: object) -> str:
    import json  # only for calls

    return json.dumps(value, indent=2, ensure_ascii=False)


def _moment(time_ms: int) -> str:
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # a foreign record with a time beyond the calendar
        return "?"
