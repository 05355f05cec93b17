"""The preview of the selected session: last prompt and response, todos and changed files."""

from collections.abc import Sequence

from msgspec import Struct
from textual.strip import Strip

from opencode_tui.client.client import Client
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.schema.session.session import Todo
from opencode_tui.text.cells import breaks, clip
from opencode_tui.text.quantity import byte_words, moment, plural, when
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.sections import MARGIN, PANEL, Sections
from opencode_tui.tui.diff.cells import change_columns
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece

RECENT = 8
"""Number of latest messages that are searched for the last prompt and response."""

REQUEST_LINES, TODOS, FILES = 5, 8, 10
"""Maximum rows of each."""

ANSWER_LINES = 3
"""Rows of the response where todos and changes need the others; it has all rows that they leave."""

TITLES = 2
"""Rows of the title and the facts."""

TEXT = 20_000
"""Characters of a text that are kept: more than the rows of a preview hold."""


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
        text = screen_line(" ".join(text[: 2 * TEXT].split()))[:TEXT]
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


class _PreviewSections(Sections):
    """The sections of the sidebar, with muted headings."""

    def head(self, words: str, right: Sequence[Piece] = ()) -> Strip:
        """Return the heading of a section, with pieces at its right."""
        return self.line([(words, self.style("muted"))], right)


def draw_glimpse(
    title: str, glimpse: Glimpse, look: Look, room: int, height: int, *, now: int
) -> list[Sequence[Piece] | Strip]:
    """Return the lines of the preview for so many cells and rows at `now`, in ms since 1970; `title` is safe."""
    drawn = _PreviewSections(look, room + 2 * MARGIN)
    asked = [(when(glimpse.asked, now), drawn.style("muted"))] if glimpse.asked else []
    turns = f" · {plural(glimpse.turns, 'turn')}" if glimpse.turns else ""
    request: list[Strip] = []
    if glimpse.request:
        lines = _wrapped(glimpse.request, drawn, room, REQUEST_LINES)
        request = [drawn.empty(), drawn.head("Last prompt", asked), *lines]
    below: list[Strip] = []
    if glimpse.todos:
        below += [drawn.empty(), *drawn.todos(glimpse.todos)[: TODOS + 1]]
    if glimpse.diffs:
        added, removed = (sum(getattr(one, name) for one in glimpse.diffs) for name in ("additions", "deletions"))
        head = drawn.head("Changes", change_columns(look, added, removed, PANEL))
        below += [drawn.empty(), head, *drawn.changes(glimpse.diffs, FILES + 1)[1:]]
    answer: list[Strip] = []
    if glimpse.answer:
        left = height - TITLES - len(request) - len(below) - 2  # an empty row and the heading
        lines = _wrapped(glimpse.answer, drawn, room, max(ANSWER_LINES, left))
        answer = [drawn.empty(), drawn.head("Last response"), *lines]
    return [
        [(title, drawn.style("text", bold=True))],
        [(look.words(f"{glimpse.facts}{turns}"), drawn.style("muted"))],
        *(one.crop(MARGIN, MARGIN + room) for one in (*request, *answer, *below)),
    ]


def _wrapped(words: str, drawn: Sections, room: int, most: int) -> list[Strip]:
    words = words[: room * (most + 1)]  # all that the rows hold, and more
    lines = [words[start:end] for start, end in breaks(words, room)]
    if len(lines) > most:
        rest = f"{lines[most - 1]} {lines[most]}"
        lines = [*lines[: most - 1], clip(rest, room, drawn.look.glyphs.ellipsis)]
    return [drawn.line([(line, drawn.style("text"))]) for line in lines]


def draw_trashed(title: str, entry: TrashedSession, look: Look) -> list[Sequence[Piece] | Strip]:
    """Return the lines of the preview of a deleted session; `title` is safe."""
    text, muted = look.palette.style("text", PANEL), look.palette.style("muted", PANEL)
    facts = f"{plural(entry.messages, 'message')} · {byte_words(entry.bytes)}"
    return [
        [(title, look.palette.style("text", PANEL, bold=True))],
        [(look.words(facts), muted)],
        *([], [("Deleted", muted)], [(moment(entry.deleted), text)]),
        *([], [("Folder", muted)], [(screen_line(entry.directory), text)]),
    ]
