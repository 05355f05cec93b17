"""Rows of the page of sessions: the filter above, a heading for each day, a session with its state, changes, cost and age."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session import UNDO_KEY, SessionInfo
from opencode_tui.schema.undo import UndoNote
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import age, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.change_columns import change_columns
from opencode_tui.tui.control import Control
from opencode_tui.tui.row import Piece, measure, row
from opencode_tui.tui.screens.page import Entry, PageHead
from opencode_tui.tui.session_tree import HUES, SessionRow, sign_of
from opencode_tui.tui.theme.look import Look

STATE, CHANGES, COST, AGE = 20, 11, 7, 6
"""Cells of the columns at the right, from the left to the right."""

CHANGES_FROM, STATE_FROM = 88, 72
"""Cells of the list from which these columns have room beside the titles."""

DELETIONS = 5
"""Cells from the end of the additions to that of the deletions."""


class SessionsHead(PageHead):
    """The title with the sums, and the line in which letters filter."""

    typed = ""

    def tell(self, left: Sequence[Piece], right: Sequence[Piece], *, typed: str) -> None:
        """Take another title row, and what was typed."""
        self.typed = typed
        self.show([(left, right), ([], []), ([], [])])

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Empty, title, empty, the filter on its tone, empty."""
        drawn = [*super().rows(width, height)]
        drawn[3] = self._filter(width)
        return drawn

    def _filter(self, width: int) -> Strip:
        palette = self.look.palette
        area = "surface"
        fill, text = palette.area(area), palette.style("text", area)
        cursor: Piece = (" ", text + Style(reverse=True))
        bar: Piece = (f"{self.look.glyphs.user_bar} ", palette.style("accent", area))
        hint: Piece = ("Type to filter by title", palette.style("muted", area))
        words: list[Piece] = [(self.typed, text), cursor] if self.typed else [cursor, hint]
        inside = row(max(0, width - 2), [bar, *words], fill=fill, mark=self.look.glyphs.ellipsis)
        edge = Segment(" ", palette.area("background"))
        return Strip([edge, *inside, edge], width)


class SessionRows:
    """Draws the rows of one list; `costs` are the USD of each session by itself, `width` tells the cells of the list."""

    def __init__(
        self,
        control: Control,
        look: Look,
        rows: Sequence[SessionRow],
        costs: Mapping[str, float],
        *,
        width: Callable[[], int],
    ) -> None:
        self._control = control
        self._look = look
        self._costs = _with_agents(rows, costs)
        self._width = width

    def heading(self, group: str, *, is_first: bool) -> Entry:
        """A day; the first one names the columns."""
        muted = self._look.palette.style

        def right(area: str) -> Sequence[Piece]:
            return [(self._names(), muted("muted", area))] if is_first else []

        return Entry(lambda area: [(f"  {group}", muted("muted", area))], right)

    def entry(self, one: SessionRow) -> Entry:
        """A session."""
        return Entry(lambda area: self._left(one, area), lambda area: self._right(one, area), one.info.id)

    def _names(self) -> str:
        state = pad("state", STATE) if self._width() >= STATE_FROM else ""
        changes = pad("changes", CHANGES, is_right=True) if self._width() >= CHANGES_FROM else ""
        return f"{state}{changes}{pad('cost', COST, is_right=True)}{pad('age', AGE, is_right=True)}"

    def _left(self, one: SessionRow, area: str) -> Sequence[Piece]:
        style = self._look.palette.style
        is_loud = one.state in ("running", "asks")
        return [
            (f"{sign_of(one.state, self._look.glyphs)} ", style(HUES[one.state], area, bold=is_loud)),
            (one.branch, style("guide", area)),
            (f"{one.kind}  " if one.kind else "", style("muted", area)),
            (one.title, style("text", area, bold=area == "selection")),
        ]

    def _right(self, one: SessionRow, area: str) -> Sequence[Piece]:
        style = self._look.palette.style
        pieces: list[Piece] = []
        if self._width() >= STATE_FROM:
            hue = HUES[one.state] if one.state != "done" else "muted"
            words = clip(state_words(one, self._control), STATE - 2, self._look.glyphs.ellipsis)
            pieces.append((pad(words, STATE), style(hue, area)))
        if self._width() >= CHANGES_FROM:
            pieces += self._changes(one.info, area)
        told = age(one.info.time.updated, self._control.now())
        figures = pad(cost_words(self._costs[one.info.id]), COST, is_right=True) + pad(told, AGE, is_right=True)
        return [*pieces, (figures, style("muted", area))]

    def _changes(self, info: SessionInfo, area: str) -> list[Piece]:
        summary = info.summary
        counts = (
            change_columns(self._look, summary.additions, summary.deletions, area, apart=DELETIONS) if summary else []
        )
        return [(" " * max(0, CHANGES - measure(counts)), self._look.palette.area(area)), *counts]


def _with_agents(rows: Sequence[SessionRow], costs: Mapping[str, float]) -> dict[str, Decimal]:
    """What each session cost with the sessions of its agents, and of theirs."""
    totals = {one.info.id: Decimal(str(costs.get(one.info.id, 0))) for one in rows}
    for one in reversed(rows):  # a parent stands above its children
        if one.info.parent_id in totals:
            totals[one.info.parent_id] += totals[one.info.id]
    return totals


def cost_words(usd: Decimal) -> str:
    """`0.42`; nothing for what was free."""
    if not usd:
        return ""
    return f"{usd:.2f}" if usd >= Decimal("0.005") else "<0.01"


def state_words(one: SessionRow, control: Control) -> str:
    """What a session does or waits for, in two or three words; safe."""
    asked = control.folder.waits(one.info.id)
    if isinstance(asked, PermissionRequest):
        return screen_line(f"asks: {asked.patterns[0] if asked.patterns else asked.permission}")
    match one.state:
        case "asks":
            return "asks you"
        case "retry":
            return "waits to try again"
        case "running" if control.facts is not None and control.session_id == one.info.id:
            return _lowered(control.facts.word)
        case "undone":
            return _undone(one.info)
        case _:
            return one.state


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _undone(info: SessionInfo) -> str:
    """How many turns are undone, where that is noted; not so for an undo of another program, or of a part of an answer."""
    noted: object = (info.metadata or {}).get(UNDO_KEY)
    try:
        note = UndoNote.model_validate(noted) if noted is not None else None
    except ValueError:
        note = None
    scope = note.report.scope if note is not None and note.report is not None else None
    return f"{plural(scope.requests, 'turn')} undone" if scope is not None and scope.requests else "undone"
