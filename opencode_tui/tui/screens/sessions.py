"""All sessions of the project: a tree with live state that letters filter, and what the chosen one was about."""

from collections.abc import Callable, Sequence

from rich.style import Style
from textual import events

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.message import UserMessage
from opencode_tui.schema.part import TextPart
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.value import immutable
from opencode_tui.tui.cells import breaks, clip_front, pad
from opencode_tui.tui.control import Control
from opencode_tui.tui.fuzzy import ranked
from opencode_tui.tui.prompt.clean import clean
from opencode_tui.tui.quantity import age, plural
from opencode_tui.tui.row import Piece
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen
from opencode_tui.tui.session_tree import HUES, SessionRow, session_rows, sign_of
from opencode_tui.tui.status.header import change_counts

STATE, CHANGES, AGE = 20, 13, 6
"""Cells of the columns at the right."""

RECENT = 8
"""Newest messages among which the last request and the last answer are looked for."""

LIVE_S = 1.0
"""Seconds between two looks at what the sessions do."""


@immutable
class Glimpse:
    """What the preview tells of a session; texts are safe."""

    request: str = ""
    answer: str = ""
    facts: str = ""
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()


class SessionsScreen(PageScreen):
    """Letters filter, ctrl and a letter acts; `act` is told what to do with which session."""

    def __init__(self, control: Control, act: Callable[[str, str], object]) -> None:
        super().__init__()
        self._control = control
        self._act = act
        self._typed = ""
        self._glimpses: dict[str, Glimpse] = {}

    def fill(self) -> None:
        """Draw all sessions, the shown one chosen, and go on following what they do."""
        self.set_interval(LIVE_S, self._refill)
        self.preview.show(self._draw_preview)
        self._refill(chosen=self._control.session_id or "")

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen session."""
        acts = (("enter", "open"), ("ctrl+f", "fork"), ("ctrl+r", "rename"), ("ctrl+e", "export"), ("ctrl+d", "delete"))
        return [PageKey(key, words, lambda words=words: self._leave(words)) for key, words in acts]

    def on_key(self, event: events.Key) -> None:
        """Filter with letters; everything else is as on every page."""
        if event.key in ("backspace", "ctrl+u"):
            event.stop()
            self._filter(self._typed[:-1] if event.key == "backspace" else "")
        elif event.is_printable and event.character:
            event.stop()
            self._filter(self._typed + clean(event.character))
        else:
            super().on_key(event)

    def on_page_list_moved(self) -> None:
        """Read what the chosen session was about."""
        super().on_page_list_moved()
        chosen = self.listing.chosen
        if chosen and chosen not in self._glimpses:
            self.run_worker(self._read(chosen), exclusive=True, exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """A click on the chosen row opens it."""
        self._leave("open")

    def _leave(self, what: str) -> None:
        chosen = self.listing.chosen
        if chosen:
            self.dismiss(None)
            self._act(what, chosen)

    def _filter(self, typed: str) -> None:
        self._typed = typed
        self._refill()

    def _refill(self, chosen: str = "") -> None:
        rows = session_rows(self._control.folder, self._control.now(), self.listing.look.glyphs)
        found = rows
        if self._typed.strip():
            found = [rows[at] for at, _ in ranked(self._typed, [one.title for one in rows])]
        self._show_head(len(rows))
        entries: list[Entry] = []
        group = ""
        for one in found:
            if one.group != group and not self._typed.strip():
                if group:
                    entries.append(Entry(lambda _area: []))
                group = one.group
                entries.append(self._heading(group, is_first=len(entries) == 0))
            entries.append(self._entry(one))
        if not found:
            entries = [Entry(lambda area: [("  Nothing like this.", self.style("muted", area))])]
        self.listing.show(entries, chosen=chosen)

    def _show_head(self, count: int) -> None:
        palette, glyphs = self.listing.look.palette, self.listing.look.glyphs
        folder = screen_line(self._control.client.directory.name)
        told = self.listing.look.words(f"{folder} · {plural(count, 'session')}")
        cursor = (" ", palette.style("text") + Style(reverse=True))
        typed: list[Piece] = [(self._typed, self.style("text")), cursor]
        hint: list[Piece] = [cursor, ("Type to filter by title", self.style("muted"))]
        bar = (f"{glyphs.user_bar} ", self.style("accent"))
        title: list[Piece] = [("Sessions", self.style("text", bold=True))]
        self.head.show(
            [(title, [(told, self.style("muted"))]), ([], []), ([bar, *(typed if self._typed else hint)], [])]
        )

    def _heading(self, group: str, *, is_first: bool) -> Entry:
        def right(area: str) -> Sequence[Piece]:
            words = f"{pad('state', STATE)}{pad('changes', CHANGES, is_right=True)}{pad('age', AGE, is_right=True)}"
            return [(words, self.style("muted", area))] if is_first else []

        return Entry(lambda area: [(f"  {group}", self.style("muted", area))], right)

    def _entry(self, one: SessionRow) -> Entry:
        look = self.listing.look
        summary = one.info.summary
        is_loud = one.state in ("running", "asks")

        def left(area: str) -> Sequence[Piece]:
            return [
                (f"{sign_of(one.state, look.glyphs)} ", self.style(HUES[one.state], area, bold=is_loud)),
                (one.branch, self.style("guide", area)),
                (f"{one.kind}  " if one.kind else "", self.style("muted", area)),
                (one.title, self.style("text", area, bold=area == "selection")),
            ]

        def right(area: str) -> Sequence[Piece]:
            counts = change_counts(look, summary.additions, summary.deletions, area) if summary else []
            blank = CHANGES - sum(len(text) for text, _ in counts)
            hue = HUES[one.state] if one.state != "done" else "muted"
            told = age(one.info.time.updated, self._control.now())
            return [
                (pad(self._state(one)[: STATE - 2], STATE), self.style(hue, area)),
                (" " * max(1, blank), self.style("text", area)),
                *counts,
                (pad(told, AGE, is_right=True), self.style("muted", area)),
            ]

        return Entry(left, right, one.info.id)

    def _state(self, one: SessionRow) -> str:
        asked = self._control.folder.waits(one.info.id)
        if isinstance(asked, PermissionRequest):
            return screen_line(f"asks: {asked.patterns[0] if asked.patterns else asked.permission}")
        return {"asks": "asks you", "retry": "waits to try again"}.get(one.state, one.state)

    async def _read(self, session_id: str) -> None:
        client = self._control.client
        try:
            messages = await client.messages.list(session_id, RECENT)
            todos, diffs = await client.sessions.todos(session_id), await client.sessions.diff(session_id)
        except OpencodeError:
            return  # it was deleted meanwhile
        request = answer = facts = ""
        for message in messages:
            text = " ".join(part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic)
            text = screen_line(" ".join(text.split()))[:600]
            if isinstance(message.info, UserMessage):
                facts = screen_line(f"{message.info.agent} · {message.info.model.model_id}")
                request = text or request
            else:
                answer = text or answer
        self._glimpses[session_id] = Glimpse(request, answer, facts, todos, diffs)
        self.preview.redraw()

    def _draw_preview(self, room: int) -> list[Sequence[Piece]]:
        chosen = self.listing.chosen
        info = self._control.folder.sessions.get(chosen)
        if info is None:
            return []
        look, glimpse = self.listing.look, self._glimpses.get(chosen, Glimpse())
        muted, text = self.style("muted", "panel"), self.style("text", "panel")
        title = screen_line(" ".join(info.title.split()))
        lines: list[Sequence[Piece]] = [
            [(title, self.style("text", "panel", bold=True))],
            [(look.words(glimpse.facts), muted)],
        ]
        for head, words in (("Last request", glimpse.request), ("Last answer", glimpse.answer)):
            if words:
                cut = [words[start:end] for start, end in breaks(words, room)][:5]
                lines += [[], [(head, muted)], *([(line, text)] for line in cut)]
        if glimpse.todos:
            lines += [[], [("Todo", muted)], *(self._todo(one) for one in glimpse.todos[:8])]
        if glimpse.diffs:
            lines += [[], [("Changes", muted)], *(self._change(one, room) for one in glimpse.diffs[:10])]
        return lines

    def _todo(self, todo: Todo) -> list[Piece]:
        glyphs = self.listing.look.glyphs
        signs = {"completed": (glyphs.done, "success"), "in_progress": (glyphs.running, "accent")}
        sign, hue = signs.get(todo.status, (glyphs.waiting, "muted"))
        is_now = todo.status == "in_progress"
        words = self.style("text" if is_now else "muted", "panel", bold=is_now)
        return [(f"{sign} ", self.style(hue, "panel", bold=is_now)), (screen_line(todo.content), words)]

    def _change(self, diff: FileDiff, room: int) -> list[Piece]:
        letter = {"added": "A", "deleted": "D"}.get(diff.status or "", "M")
        counts = change_counts(self.listing.look, diff.additions, diff.deletions, "panel")
        used = sum(len(text) for text, _ in counts)
        path = clip_front(screen_line(diff.file), room - used - 4, self.listing.look.glyphs.ellipsis)
        gap = " " * max(1, room - 2 - used - len(path))
        return [(f"{letter} ", self.style("muted", "panel")), (path + gap, self.style("text", "panel")), *counts]
