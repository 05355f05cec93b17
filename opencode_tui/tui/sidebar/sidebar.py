"""The sidebar: fixed and small things first, the sessions get what is left and scroll."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.rows import Rows
from opencode_tui.tui.sidebar.facts import SidebarFacts
from opencode_tui.tui.sidebar.sections import Sections

WIDE, MIDDLE = 140, 120
"""Cells of the screen from which the sidebar is 40 and 36 wide."""


def sidebar_width(screen: int) -> int:
    """How wide it is beside the chat; 0 when it is folded."""
    return 40 if screen >= WIDE else 36 if screen >= MIDDLE else 0


class Sidebar(Rows):
    """Draws `facts`; a click on a session chooses it."""

    area = "panel"

    class Chosen(Message):
        """The person clicked on a session."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    def __init__(self) -> None:
        super().__init__()
        self.facts = SidebarFacts()
        self._top = 0
        self._most = 0

    def show(self, facts: SidebarFacts) -> None:
        """Take other facts."""
        if facts != self.facts:
            self.facts = facts
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Choose a session."""
        chosen = event.style.meta.get("session")
        if chosen:
            self.post_message(self.Chosen(str(chosen)))

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
        """From the top: context, todos, changes, sessions; folder and branch in the last row but one."""
        palette = self.look.palette
        edge = [] if palette.tones else [Segment(self.look.glyphs.divider, palette.style("border"))]
        sections = Sections(self.look, width - len(edge))
        rows = self._fixed(sections, height)
        room = max(0, height - len(rows) - 3)
        rows += self._sessions(sections, room)
        rows += [sections.empty()] * max(0, height - 2 - len(rows))
        rows = [*rows[: height - 2], sections.foot(self.facts), sections.empty()]
        return [Strip([*edge, *one]) for one in rows] if edge else rows

    def _fixed(self, sections: Sections, height: int) -> list[Strip]:
        empty = sections.empty()
        rows = [empty]
        for part in (
            sections.context(self.facts),
            sections.todos(self.facts.todos)[: max(4, height // 3)],
            sections.changes(self.facts.diffs, max(4, height // 4)),
        ):
            if part:
                rows += [*part, empty]
        return rows

    def _sessions(self, sections: Sections, room: int) -> list[Strip]:
        found = sections.sessions(self.facts)
        if not found:
            return []
        head, rest = found[0][0], [one for one, _ in found[1:]]
        self._most = max(0, len(rest) - room + 1)
        self._top = min(self._top, self._most)
        return [head, *rest[self._top : self._top + max(0, room - 1)]]
