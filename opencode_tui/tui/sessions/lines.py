"""The rows of sessions in the sidebar: one line each, by group."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import clip_front
from opencode_tui.text.quantity import age
from opencode_tui.tui.chrome.sections import MARGIN, PANEL, Sections
from opencode_tui.tui.sessions.session_list import Row
from opencode_tui.tui.sessions.tree import SessionRow
from opencode_tui.tui.state.session_state import HUES, sign_of
from opencode_tui.tui.widgets.row import Piece, row


class SessionLines(Sections):
    """Draws sessions for one look and width."""

    def lines(self, lines: Sequence[Row | str], selected: str, now: int, *, is_flat: bool = False) -> list[Strip]:
        """Return sessions with the headings among them; flat ones have no tree lines."""
        return [
            self.session(one, now, is_selected=one.id == selected, branch="" if is_flat else one.branch)
            if isinstance(one, SessionRow)
            else self.heading(one if isinstance(one, str) else one.title)
            for one in lines
        ]

    def heading(self, words: str) -> Strip:
        """Return the heading of a group; an empty row without words."""
        name = clip_front(words, self.width - 2 * MARGIN, self.look.glyphs.ellipsis)
        return self.line([(name, self.style("muted"))] if words else [])

    def waiting(self, rows: Sequence[Row]) -> list[Piece]:
        """Return how many sessions need an answer; nothing when none does."""
        asking = sum(isinstance(one, SessionRow) and one.state == "asks" for one in rows)
        return [(f"{asking} need{'s' if asking == 1 else ''} you", self.style("warning"))] if asking else []

    def session(self, one: SessionRow, now: int, *, is_selected: bool, branch: str) -> Strip:
        """Return the row of a session, with the tree line before it."""
        palette, glyphs = self.look.palette, self.look.glyphs
        area = "selection" if is_selected else PANEL
        is_loud = is_selected or one.state in ("running", "asks")
        meta = Style(meta={"session": one.id})
        fill = palette.area(area) + meta
        left: list[Piece] = [
            (f"{sign_of(one.state, glyphs)} ", palette.style(HUES[one.state], area, bold=is_loud) + meta),
            (branch, palette.style("guide", area) + meta),
            (f"{one.kind} " if one.kind else "", palette.style("muted", area) + meta),
            (one.title, palette.style("text", area, bold=is_selected) + meta),
        ]
        updated = "" if branch else f" {age(one.info.time.updated, now)}"
        right = [(updated, palette.style("muted", area) + meta)] if updated else []
        if one.is_pinned:
            right.append((f" {glyphs.pinned}", palette.style("accent", area) + meta))
        inside = row(self.width - 2 * MARGIN, left, right, fill=fill, mark=glyphs.ellipsis)
        bar = (glyphs.user_bar, palette.style("accent", area) + meta) if is_selected else (" ", fill)
        return Strip([Segment(*bar), Segment(" ", fill), *inside, Segment("  ", fill)], self.width)
