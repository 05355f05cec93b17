"""The sidebar: context, todos, changes, background commands, language servers, and the sessions, which scroll."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import events
from textual.strip import Strip

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import Todo
from opencode_tui.text.quantity import short_path
from opencode_tui.tui.chrome.status_line import Pressed, pressed
from opencode_tui.tui.chrome.words import cost_of
from opencode_tui.tui.conversation.requests import SessionRequested
from opencode_tui.tui.sessions.lines import SessionLines
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Rows

if TYPE_CHECKING:
    from opencode_tui.schema.api.background import BackgroundCommand
    from opencode_tui.schema.api.language import LanguageServerState

BACKGROUND_ROWS = 4
LANGUAGE_ROWS = 4


@dataclass(frozen=True, slots=True)
class SidebarFacts:
    """Content of the sidebar; empty sections are not drawn. `used` and `limit` are tokens, a limit of 0 is unknown."""

    used: int = 0
    limit: int = 0
    cost: str = ""
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()
    background: Sequence["BackgroundCommand"] = ()
    languages: Sequence["LanguageServerState"] = ()
    shown: str = ""
    """The ID of the shown session."""
    now: int = 0
    folder: str = ""
    branch: str = ""


def sidebar_facts(control: SessionController, *, budget: float, home: str) -> SidebarFacts:
    """Return the current content of the sidebar."""
    facts, now = control.facts, control.now()
    return SidebarFacts(
        used=facts.context if facts else 0,
        limit=control.choice.limit,
        cost=cost_of(control, budget),
        todos=facts.todos if facts else (),
        diffs=facts.diffs if facts else (),
        background=control.folder.background_of(control.session_id)[:BACKGROUND_ROWS],
        languages=control.folder.languages[:LANGUAGE_ROWS],
        shown=control.session_id or "",
        now=now - now % 1000,
        folder=short_path(str(control.client.directory), home),
        branch=control.folder.branch or "",
    )


class Sidebar(Rows):
    """Draws `facts` and the list of sessions; a click on a session opens it."""

    area = "panel"

    def __init__(self, sessions: SessionList) -> None:
        super().__init__()
        self.sessions = sessions
        self.facts = SidebarFacts()
        self._top = 0
        self._most = 0

    def show(self, facts: SidebarFacts) -> None:
        """Show other facts, and the sessions as they are now."""
        if self.sessions.read(self.look.glyphs) or facts != self.facts:
            self.facts = facts
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Post the id of the clicked session."""
        chosen = event.style.meta.get("session")
        if chosen:
            self.post_message(SessionRequested(str(chosen)))
        elif act := pressed(event):
            self.post_message(Pressed(act))

    def on_mouse_scroll_down(self) -> None:
        """Scroll the sessions."""
        self._scroll(2)

    def on_mouse_scroll_up(self) -> None:
        """Scroll the sessions."""
        self._scroll(-2)

    def _scroll(self, rows: int) -> None:
        self._top = min(max(0, self._top + rows), self._most)
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return context, todos, changes and sessions, with folder and branch in the last row but one."""
        palette = self.look.palette
        edge = [] if palette.tones else [Segment(self.look.glyphs.divider, palette.style("border"))]
        sections = SessionLines(self.look, width - len(edge))
        rows = self._fixed(sections, height)
        room = max(0, height - len(rows) - 3)
        rows += self._sessions(sections, room)
        rows += [sections.empty()] * max(0, height - 2 - len(rows))
        rows = [*rows[: height - 2], sections.foot(self.facts.folder, self.facts.branch), sections.empty()]
        return [Strip([*edge, *one]) for one in rows] if edge else rows

    def _fixed(self, sections: SessionLines, height: int) -> list[Strip]:
        empty = sections.empty()
        rows = [empty]
        for part in (
            sections.context(self.facts.used, self.facts.limit, self.facts.cost),
            sections.todos(self.facts.todos)[: max(4, height // 3)],
            sections.background(self.facts.background, self.facts.now),
            sections.languages(self.facts.languages),
            sections.changes(self.facts.diffs, max(4, height // 4)),
        ):
            if part:
                rows += [*part, empty]
        return rows

    def _sessions(self, drawn: SessionLines, room: int) -> list[Strip]:
        sessions, facts = self.sessions, self.facts
        if not sessions.rows:
            return []
        head = drawn.head("Sessions", drawn.waiting(sessions.waiting))
        self._most = max(0, len(sessions.lines) - room + 1)
        self._top = min(self._top, self._most)
        shown = sessions.lines[self._top : self._top + max(0, room - 1)]
        return [head, *drawn.lines(shown, facts.shown, facts.now)]
