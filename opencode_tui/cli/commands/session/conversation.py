"""`opencode-tui session show`: a conversation as lines."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from opencode_tui.cli.engine_access import with_client
from opencode_tui.cli.progress_line import progress_line
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.cli.style import Style, style_of
from opencode_tui.cli.tool_line import tool_lines
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    CompactionPart,
    FilePart,
    ReasoningPart,
    RetryPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import RevertState, SessionInfo
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, describe_stored
from opencode_tui.text.quantity import duration, moment
from opencode_tui.text.safe_text import make_safe

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClient


def show_session(session_id: str, *, limit: int | None) -> None:
    """Print a conversation."""

    async def work(client: "LocalClient") -> tuple[SessionInfo, Iterable[MessageWithParts]]:
        info = await choose_session(client, session_id)
        return info, await (client.stored_messages(info.id) if limit is None else client.messages.list(info.id, limit))

    info, messages = with_client(work)
    # Progress is no line between those of the conversation.
    with nullcontext() if sys.stdout.isatty() else progress_line("Reading the session"):
        for line in render_conversation(info, messages, style_of(sys.stdout, os.environ)):
            sys.stdout.write(line + "\n")


_Block = tuple[str, list[str]]
"""A kind (`request`, `prose`, `work`) and its lines: adjacent `work` blocks have no empty line between them."""


def render_conversation(info: SessionInfo, messages: Iterable[MessageWithParts], style: Style) -> Iterator[str]:
    """Yield the lines."""
    title = make_safe(" ".join(info.title.split()))
    facts = style.words(make_safe(f"{info.id} · {info.directory} · {moment(info.time.created)}"))
    yield style.paint(title, "bold")
    yield style.paint(facts, "muted")
    last = ""
    for message in messages:
        for kind, block in _blocks(message, info.revert, style):
            if kind != "work" or last != "work":
                yield ""
            yield from block
            last = kind


def _blocks(message: MessageWithParts, revert: RevertState | None, style: Style) -> Iterator[_Block]:
    info = message.info
    is_boundary = revert is not None and revert.message_id == info.id
    if is_boundary and revert is not None and revert.part_id is None:
        yield "cut", [_cut(info.session_id, style)]
    if isinstance(info, UserMessage):
        yield "request", list(_request(info, message.parts, style))
        return
    for part in message.parts:
        if is_boundary and revert is not None and revert.part_id == part.id:
            yield "cut", [_cut(info.session_id, style)]
        yield from _part(part, style)
    if (error := info.failure) is not None:
        is_stop = error.name == "MessageAbortedError"
        by = (
            "session ended unexpectedly"
            if getattr(error.data, "message", "") == PROGRAM_ENDED
            else "interrupted by you"
        )
        sign, reason = (
            ("■", by)
            if is_stop
            else ("✗", make_safe(" ".join(describe_stored(error, info.provider_id, info.model_id).split())))
        )
        yield "end", [style.paint(style.words(f"{sign} {reason}"), "muted" if is_stop else "error")]


def _cut(session_id: str, style: Style) -> str:
    back = f"redo: opencode-tui session unrevert {session_id}"
    return f"{style.paint(style.words('↶ Undone from here on'), 'warning')}  {style.paint(back, 'muted')}"


def _request(info: UserMessage, parts: Sequence[AnyPart], style: Style) -> Iterator[str]:
    head = make_safe(f"{moment(info.time.created)} · {info.agent} · {info.model}")
    mark = style.paint(">", "accent", "bold")
    lines = [line for part in parts for line in _request_lines(part)]
    for number, line in enumerate(lines or ["(added automatically)"] if parts else [""]):
        facts = style.paint(style.words(f"  {head}"), "muted") if number == 0 else ""
        yield f"{mark} {style.paint(line, 'bold')}{facts}".rstrip()


def _request_lines(part: AnyPart) -> list[str]:
    match part:
        case TextPart() if not part.synthetic:
            return _lines(part.text)
        case FilePart():
            return [f"[{make_safe(part.filename or part.mime)}]"]
        case SubtaskPart():
            return [make_safe(f"{part.agent}: {part.description}")]
        case CompactionPart():
            return ["(compacted here)"]
        case _:
            return []


def _part(part: AnyPart, style: Style) -> Iterator[_Block]:
    match part:
        case TextPart() if not part.synthetic and part.text.strip():
            yield "prose", _lines(part.text)
        case ToolPart():
            yield "work", tool_lines(part, style)
        case ReasoningPart() if part.time.end is not None and part.time.end - part.time.start >= 1000:
            seconds = (part.time.end - part.time.start) / 1000
            yield "work", [style.paint(f"  Thought for {duration(seconds)}", "muted", "italic")]
        case RetryPart():
            reason = make_safe(" ".join(part.error.data.message.split()))
            yield "work", [style.paint(style.words(f"↻ retried after: {reason}"), "muted")]
        case _:
            pass


def _lines(text: str) -> list[str]:
    return make_safe(text.replace("\r\n", "\n").strip("\n"), multiline=True).split("\n")
