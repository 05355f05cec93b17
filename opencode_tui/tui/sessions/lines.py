"""The rows of sessions in the sidebar: one line each, by group."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.strip import Strip

from opencode_tui.text.cells import clip_front
from opencode_tui.text.quantity import age
from opencode_tui.tui.chrome.sections import MARGIN, PANEL, Sections
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.state.session_state import HUES, sign_of
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, row

LOUD = ("running", "asks")
"""States whose signs are bold."""


def session_pieces(one: Row, look: Look, area: str, *, is_loud: bool, gap: str) -> list[Piece]:
    """Return the sign of a session's state, the tree line, its kind with a gap after it, whether it is shared, and its title."""
    style = look.palette.style
    return [
        (f"{sign_of(one.state, look.glyphs)} ", style(HUES[one.state], area, bold=is_loud or one.state in LOUD)),
        (one.branch, style("guide", area)),
        (f"{one.kind}{gap}" if one.kind else "", style("muted", area)),
        (f"{look.glyphs.shared} " if one.is_shared else "", style("accent", area)),
        (one.title, style("text", area, bold=area == "selection")),
    ]


class SessionLines(Sections):
    """Draws sessions for one look and width."""

    def lines(self, lines: Sequence[Row | str], selected: str, now: int) -> list[Strip]:
        """Return sessions with the headings among them."""
        return [
            self.heading(one) if isinstance(one, str) else self.session(one, now, is_selected=one.id == selected)
            for one in lines
        ]

    def heading(self, words: str) -> Strip:
        """Return the heading of a group; an empty row without words."""
        name = clip_front(words, self.width - 2 * MARGIN, self.look.glyphs.ellipsis)
        return self.line([(name, self.style("muted"))] if words else [])

    def waiting(self, asking: int) -> list[Piece]:
        """Return how many sessions need an answer; nothing when none does."""
        return [(f"{asking} need{'s' if asking == 1 else ''} you", self.style("warning"))] if asking else []

    def session(self, one: Row, now: int, *, is_selected: bool) -> Strip:
        """Return the row of a session."""
        palette, glyphs = self.look.palette, self.look.glyphs
        area = "selection" if is_selected else PANEL
        fill = palette.area(area)
        left = session_pieces(one, self.look, area, is_loud=is_selected, gap=" ")
        right = [(f" {age(one.time, now)}", palette.style("muted", area))] if not one.branch else []
        right += [(f" {glyphs.pinned}", palette.style("accent", area))] if one.is_pinned else []
        inside = row(self.width - 2 * MARGIN, left, right, fill=fill, mark=glyphs.ellipsis)
        bar = (glyphs.user_bar, palette.style("accent", area)) if is_selected else (" ", fill)
        drawn = Strip([Segment(*bar), Segment(" ", fill), *inside, Segment("  ", fill)], self.width)
        return drawn.apply_meta({"session": one.id})
