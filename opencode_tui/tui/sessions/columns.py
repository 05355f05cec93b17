"""The columns of the sessions page: a session with its state, changes, cost and age, or a deleted session."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial

from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import age, byte_words, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.cells import change_columns
from opencode_tui.tui.pages.page import ListRow
from opencode_tui.tui.sessions.lines import session_pieces
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.session_state import HUES
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, measure

SIZE, DELETED = 11, 9
"""Cells of the columns of the trash."""

STATE, CHANGES, COST, AGE = 20, 11, 7, 6
"""Cells of the columns at the right, from left to right."""

CHANGES_FROM, STATE_FROM = 88, 72
"""Cells of the list from which these columns are shown."""

DELETIONS = 5
"""Cells from the end of the additions to that of the deletions."""


class SessionColumns:
    """Draws the lines of a list; `costs` are USD of sessions with their agents' ones, `width` returns the cells of the list."""

    def __init__(
        self,
        control: SessionController,
        sessions: SessionList,
        look: Look,
        costs: Mapping[str, float],
        *,
        width: Callable[[], int],
    ) -> None:
        self._control = control
        self._sessions = sessions
        self._look = look
        self._costs = costs
        self._width = width

    def entry(self, at: int) -> ListRow:
        """Return a line; the heading of a group has the names of the columns if it is the first line."""
        one, is_first = self._sessions.lines[at], at == 0
        if isinstance(one, Row):
            return ListRow(partial(self._left, one), partial(self._right, one), one.id)
        if not one:
            return ListRow(lambda _area: [])
        muted = partial(self._look.palette.style, "muted")
        names = self._names() if is_first else ""
        return ListRow(lambda area: [(f"  {one}", muted(area))], lambda area: [(names, muted(area))])

    def _names(self) -> str:
        if self._sessions.view == "trash":
            return pad("size", SIZE, is_right=True) + pad("deleted", DELETED, is_right=True)
        state = pad("state", STATE) if self._width() >= STATE_FROM else ""
        changes = pad("changes", CHANGES, is_right=True) if self._width() >= CHANGES_FROM else ""
        return f"{state}{changes}{pad('cost', COST, is_right=True)}{pad('age', AGE, is_right=True)}"

    def _left(self, one: Row, area: str) -> Sequence[Piece]:
        style = self._look.palette.style
        sign, *name = session_pieces(one, self._look, area, is_loud=False, gap="  ")
        agents = len(one.of.session_ids) - 1 if isinstance(one.of, TrashedSession) else 0
        noun = "subagent session" if self._width() >= STATE_FROM else "subagent"
        words = f"  and {plural(agents, noun)}" if agents else ""
        words = "  in the text" if one.id in self._sessions.found_in_text else words
        mark = self._look.glyphs.checked if len(self._look.glyphs.checked) == 1 else "+"  # one cell, as the sign
        is_marked = one.id in self._sessions.marked
        return [
            (f"{mark} ", style("accent", area, bold=True)) if is_marked else sign,
            *name,
            (words, style("muted", area)),
        ]

    def _right(self, one: Row, area: str) -> Sequence[Piece]:
        style, last = self._look.palette.style, age(one.time, self._control.now())
        if isinstance(one.of, TrashedSession):
            figures = pad(byte_words(one.of.bytes), SIZE, is_right=True) + pad(last, DELETED, is_right=True)
            return [(figures, style("muted", area))]
        pieces: list[Piece] = []
        if self._width() >= STATE_FROM:
            hue = HUES[one.state] if one.state != "done" else "muted"
            words = clip(state_words(one, one.of, self._control), STATE - 2, self._look.glyphs.ellipsis)
            pieces.append((pad(words, STATE), style(hue, area)))
        if self._width() >= CHANGES_FROM:
            pieces += self._changes(one.of, area)
        cost = cost_words(Decimal(str(self._costs.get(one.id, 0.0))))
        figures = pad(cost, COST, is_right=True) + pad(last, AGE, is_right=True)
        return [*pieces, (figures, style("muted", area))]

    def _changes(self, info: ListedSession, area: str) -> list[Piece]:
        counts = (
            change_columns(self._look, info.additions, info.deletions, area, apart=DELETIONS)
            if info.has_changes
            else []
        )
        return [(" " * max(0, CHANGES - measure(counts)), self._look.palette.area(area)), *counts]


def cost_words(usd: Decimal) -> str:
    """Return `0.42`; empty for no cost."""
    if not usd:
        return ""
    return f"{usd:.2f}" if usd >= Decimal("0.005") else "<0.01"


def state_words(one: Row, info: ListedSession, control: SessionController) -> str:
    """Return what a session does or waits for, in two or three safe words."""
    asked = control.folder.waits(one.id)
    if isinstance(asked, PermissionRequest):
        return screen_line(f"asks: {asked.patterns[0] if asked.patterns else asked.permission}")
    match one.state:
        case "asks":
            return "needs your answer"
        case "retry":
            return "waiting to retry"
        case "running" if control.facts is not None and control.session_id == one.id:
            return control.facts.word[:1].lower() + control.facts.word[1:]
        case "undone":
            count = info.undone_requests  # 0 for an undo of another program or of a part
            return f"{plural(count, 'turn')} undone" if count else "undone"
        case _:
            return one.state
