"""The preview of the selected session: last prompt and response, todos and changed files."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from textual.strip import Strip

from opencode_tui.client.client import Client
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.text.cells import breaks, clip, clip_front, pad
from opencode_tui.text.quantity import byte_words, clock, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.cells import change_columns
from opencode_tui.tui.theme.glyphs import change_letter, todo_sign
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, measure, row

RECENT = 8
"""Number of latest messages that are searched for the last prompt and response."""

AREA = "panel"
REQUEST_LINES, ANSWER_LINES = 5, 3
TODOS, FILES = 8, 10
"""Maximum rows of each."""


class Glimpse(Struct, frozen=True):
    """Content of the preview; texts are safe, `asked` is the time of the last prompt (ms since 1970)."""

    request: str = ""
    answer: str = ""
    facts: str = ""
    asked: int = 0
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()
    turns: int | None = None
    """The number of prompts; None while it is not known."""


async def read_glimpse(client: Client, session_id: str) -> Glimpse:
    """Load the content for a session. Raises OpencodeError when it was deleted."""
    messages = await client.messages.list(session_id, RECENT)
    todos, diffs = await client.sessions.todos(session_id), await client.sessions.diff(session_id)
    request = answer = facts = ""
    turns = asked = 0
    has_all = len(messages) < RECENT
    for message in messages:
        text = " ".join(part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
        text = screen_line(" ".join(text.split()))[:600]
        if isinstance(message.info, UserMessage):
            facts = screen_line(f"{message.info.agent} · {message.info.model.model_id}")
            request, asked, turns = (text, message.info.time.created, turns + 1) if text else (request, asked, turns)
        else:
            answer = text or answer
    return Glimpse(request, answer, facts, asked, todos, diffs, turns if has_all else None)


async def count_turns(client: Client, session_id: str) -> int:
    """Return the number of prompts of a session. Raises OpencodeError when it was deleted."""
    messages = await client.messages.list(session_id)
    return sum(
        isinstance(one.info, UserMessage)
        and any(isinstance(part, TextPart) and not part.synthetic for part in one.parts)
        for one in messages
    )


def draw_glimpse(title: str, glimpse: Glimpse, look: Look, room: int) -> list[Sequence[Piece] | Strip]:
    """Return the lines of the preview; `title` is safe."""
    style = look.palette.style
    asked = clock(glimpse.asked) if glimpse.asked else ""
    turns = f" · {plural(glimpse.turns, 'turn')}" if glimpse.turns else ""
    lines: list[Sequence[Piece] | Strip] = [
        [(title, style("text", AREA, bold=True))],
        [(look.words(f"{glimpse.facts}{turns}"), style("muted", AREA))],
        *_words("Last prompt", asked, glimpse.request, look, room=room, most=REQUEST_LINES),
        *_words("Last response", "", glimpse.answer, look, room=room, most=ANSWER_LINES),
    ]
    if glimpse.todos:
        done = sum(one.status == "completed" for one in glimpse.todos)
        progress = [(f"{done} of {len(glimpse.todos)}", style("muted", AREA))]
        lines += [[], _head("Todo", progress, look, room), *(_todo(one, look) for one in glimpse.todos[:TODOS])]
    if glimpse.diffs:
        added, removed = (sum(getattr(one, name) for one in glimpse.diffs) for name in ("additions", "deletions"))
        head = _head("Changes", change_columns(look, added, removed, AREA), look, room)
        lines += [[], head, *(_change(one, look, room) for one in glimpse.diffs[:FILES])]
    return lines


def draw_trashed(entries: Sequence[TrashedSession], look: Look) -> list[Sequence[Piece] | Strip]:
    """Return the lines of the preview of a deleted session, none without one."""
    style = look.palette.style
    muted = style("muted", AREA)
    lines: list[Sequence[Piece] | Strip] = []
    for entry in entries[:1]:
        title = screen_line(" ".join(entry.title.split())) or "(no title)"
        facts = f"{plural(entry.messages, 'message')} · {byte_words(entry.bytes)}"
        lines += [[(title, style("text", AREA, bold=True))], [(look.words(facts), muted)], []]
        lines += [[("Deleted", muted)], [(moment(entry.deleted), style("text", AREA))], []]
        lines += [[("Folder", muted)], [(screen_line(entry.directory), style("text", AREA))]]
    return lines


def moment(time_ms: int) -> str:
    """Return a day and a time."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):  # a damaged record
        return "?"


def _head(words: str, right: Sequence[Piece], look: Look, room: int) -> Strip:
    return row(room, [(words, look.palette.style("muted", AREA))], right, fill=look.palette.area(AREA))


def _words(head: str, at: str, words: str, look: Look, *, room: int, most: int) -> list[Sequence[Piece] | Strip]:
    if not words:
        return []
    lines = [words[start:end] for start, end in breaks(words, room)]
    if len(lines) > most:
        rest = f"{lines[most - 1]} {lines[most]}"
        lines = [*lines[: most - 1], clip(rest, room, look.glyphs.ellipsis)]
    text, muted = look.palette.style("text", AREA), look.palette.style("muted", AREA)
    return [[], _head(head, [(at, muted)] if at else [], look, room), *([(line, text)] for line in lines)]


def _todo(todo: Todo, look: Look) -> list[Piece]:
    style = look.palette.style
    sign, hue = todo_sign(todo.status, look.glyphs)
    is_now = todo.status == "in_progress"
    words = style("text" if is_now else "muted", AREA, bold=is_now)
    return [(f"{sign} ", style(hue, AREA, bold=is_now)), (screen_line(todo.content), words)]


def _change(diff: FileDiff, look: Look, room: int) -> list[Piece]:
    letter = change_letter(diff.status)
    counts = change_columns(look, diff.additions, diff.deletions, AREA)
    path = clip_front(screen_line(diff.file), room - measure(counts) - 3, look.glyphs.ellipsis)
    text = look.palette.style("text", AREA)
    return [
        (f"{letter} ", look.palette.style("muted", AREA)),
        (pad(path, max(0, room - 2 - measure(counts))), text),
        *counts,
    ]
