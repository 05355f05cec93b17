"""The sessions page: the tree of all sessions with their state, a filter, and a preview of the selected one."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.session import UNDO_KEY, SessionInfo
from opencode_tui.schema.session.undo import UndoNote
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import age, money, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.cells import change_columns
from opencode_tui.tui.keymap import LEADER, SESSION_PAGE, Keymap, normal
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.screens.page import Entry, PageHead, PageKey, PageScreen
from opencode_tui.tui.screens.sessions_preview import Glimpse, draw_glimpse, read_glimpse
from opencode_tui.tui.session_tree import HUES, SessionRow, session_rows, sign_of
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.fuzzy import ranked
from opencode_tui.tui.widgets.row import Piece, measure, row

STATE, CHANGES, COST, AGE = 20, 11, 7, 6
"""Cells of the columns at the right, from left to right."""

CHANGES_FROM, STATE_FROM = 88, 72
"""Cells of the list from which these columns are shown."""

DELETIONS = 5
"""Cells from the end of the additions to that of the deletions."""


class SessionsHead(PageHead):
    """The title with the totals, and the filter."""

    typed = ""

    def update_title(self, left: Sequence[Piece], right: Sequence[Piece], *, typed: str) -> None:
        """Show another title row and filter text."""
        self.typed = typed
        self.show([(left, right), ([], []), ([], [])])

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the title and the filter between empty rows."""
        drawn = [*super().rows(width, height)]
        drawn[3] = self._filter(width)
        return drawn

    def _filter(self, width: int) -> Strip:
        palette = self.look.palette
        area = "surface"
        fill, text = palette.area(area), palette.style("text", area)
        cursor: Piece = (" ", text + Style(reverse=True))
        bar: Piece = (f"{self.look.glyphs.user_bar} ", palette.style("accent", area))
        hint: Piece = ("Type to filter by title, / to search the content", palette.style("muted", area))
        words: list[Piece] = [(self.typed, text), cursor] if self.typed else [cursor, hint]
        inside = row(max(0, width - 2), [bar, *words], fill=fill, mark=self.look.glyphs.ellipsis)
        edge = Segment(" ", palette.area("background"))
        return Strip([edge, *inside, edge], width)


class SessionRows:
    """Draws the rows of one list; `costs` are USD of each session alone, `width` returns the cells of the list."""

    def __init__(
        self,
        control: SessionController,
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
        """Return the heading of a day; the first one has the column names."""
        muted = self._look.palette.style

        def right(area: str) -> Sequence[Piece]:
            return [(self._names(), muted("muted", area))] if is_first else []

        return Entry(lambda area: [(f"  {group}", muted("muted", area))], right)

    def entry(self, one: SessionRow) -> Entry:
        """Return the row of a session."""
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
        updated = age(one.info.time.updated, self._control.now())
        figures = pad(cost_words(self._costs[one.info.id]), COST, is_right=True) + pad(updated, AGE, is_right=True)
        return [*pieces, (figures, style("muted", area))]

    def _changes(self, info: SessionInfo, area: str) -> list[Piece]:
        summary = info.summary
        counts = (
            change_columns(self._look, summary.additions, summary.deletions, area, apart=DELETIONS) if summary else []
        )
        return [(" " * max(0, CHANGES - measure(counts)), self._look.palette.area(area)), *counts]


def _with_agents(rows: Sequence[SessionRow], costs: Mapping[str, float]) -> dict[str, Decimal]:
    """Return the cost of each session with its subagent sessions."""
    totals = {one.info.id: Decimal(str(costs.get(one.info.id, 0))) for one in rows}
    for one in reversed(rows):  # a parent comes before its children
        if one.info.parent_id in totals:
            totals[one.info.parent_id] += totals[one.info.id]
    return totals


def cost_words(usd: Decimal) -> str:
    """Return `0.42`; empty for no cost."""
    if not usd:
        return ""
    return f"{usd:.2f}" if usd >= Decimal("0.005") else "<0.01"


def state_words(one: SessionRow, control: SessionController) -> str:
    """Return what a session does or waits for, in two or three safe words."""
    asked = control.folder.waits(one.info.id)
    if isinstance(asked, PermissionRequest):
        return screen_line(f"asks: {asked.patterns[0] if asked.patterns else asked.permission}")
    match one.state:
        case "asks":
            return "needs your answer"
        case "retry":
            return "waiting to retry"
        case "running" if control.facts is not None and control.session_id == one.info.id:
            return _lowered(control.facts.word)
        case "undone":
            return _undone(one.info)
        case _:
            return one.state


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]


def _undone(info: SessionInfo) -> str:
    """Return how many turns are undone; without the number for an undo of another program or of a part."""
    recorded: object = (info.metadata or {}).get(UNDO_KEY)
    try:
        note = UndoNote.model_validate(recorded) if recorded is not None else None
    except ValueError:
        note = None
    scope = note.report.scope if note is not None and note.report is not None else None
    return f"{plural(scope.requests, 'turn')} undone" if scope is not None and scope.requests else "undone"


LIVE_S = 1.0
"""Seconds between updates of the states."""

COSTS_S = 3.0
"""Seconds between updates of the costs."""

WORDS = {"session_fork": "fork", "session_rename": "rename", "session_export": "export", "session_delete": "delete"}
"""Names of the actions on the selected session."""

FIXED = frozenset({"escape", "enter", "up", "down", "backspace"})
"""Keys that the settings cannot rebind on this page."""


class SessionsScreen(PageScreen):
    """The page; `act` gets the chosen action and the session's id."""

    DEFAULT_CSS = "SessionsScreen Preview { width: 31.5%; }"

    def __init__(
        self,
        control: SessionController,
        keymap: Keymap,
        act: Callable[[str, str], object],
        *,
        chosen: str = "",
        typed: str = "",
    ) -> None:
        """`chosen` is the session that is selected first, the shown one by default; `typed` is the filter."""
        super().__init__()
        self.head = SessionsHead()
        self._control = control
        self._keymap = keymap
        self._act = act
        self.typed = typed
        self._first = chosen
        self._glimpses: dict[str, Glimpse] = {}
        self._costs: dict[str, float] = {}
        self._is_led = False

    def fill(self) -> None:
        """Show all sessions, the open one selected, and keep them up to date."""
        self.set_interval(LIVE_S, self._refill)
        self.set_interval(COSTS_S, self._update_costs)
        self.preview.show(self._draw_preview)
        self._refill(chosen=self._first or self._control.session_id or "")
        self._update_costs()

    def page_keys(self) -> Sequence[PageKey]:
        """Return the active keys of the selected session."""
        named = {action_id: self._keymap.page_hint(action_id) for action_id in SESSION_PAGE}
        keys = [("enter", "open"), *((key, WORDS[action_id]) for action_id, key in named.items() if key)]
        return [PageKey(key, words, partial(self._leave, words)) for key, words in keys]

    def on_key(self, event: events.Key) -> None:
        """Run an action, filter by typed text, or handle the key as every page does."""
        event.stop()
        event.prevent_default()  # else the keys of the base class would act as well
        act = self._act_of(event.key)
        if act is not None:
            act()
        elif event.key in ("backspace", "ctrl+u"):
            self._filter(self.typed[:-1] if event.key == "backspace" else "")
        elif event.key == "slash":
            self._search()
        elif event.is_printable and event.character:
            self._filter(self.typed + clean(event.character))
        else:
            super().on_key(event)

    def _act_of(self, key: str) -> Callable[[], object] | None:
        """Return the action of a key of the settings; the second key of a sequence always has one."""
        wanted = normal(key)
        if self._is_led:
            self._await_second(False)
            found = self._bound(f"{LEADER}{wanted}")
            return partial(self._leave, WORDS[found]) if found else _nothing
        if wanted in FIXED:
            return None
        if found := self._bound(wanted):
            return partial(self._leave, WORDS[found])
        has_sequences = any(one.startswith(LEADER) for act in SESSION_PAGE for one in self._keymap.on_page(act))
        return partial(self._await_second, True) if wanted == self._keymap.leader and has_sequences else None

    def _bound(self, key: str) -> str:
        return next((one for one in SESSION_PAGE if key in self._keymap.on_page(one)), "")

    def _await_second(self, is_awaited: bool) -> None:
        self._is_led = is_awaited
        self.foot.show_message(f"{self._keymap.leader}  …" if is_awaited else "")

    def on_page_list_moved(self) -> None:
        """Load the preview of the selected session."""
        chosen = self.listing.chosen
        if chosen and chosen not in self._glimpses:
            self.run_worker(partial(self._read, chosen), exclusive=True, group="glimpse", exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """Open the clicked session."""
        self._leave("open")

    def on_resize(self, event: events.Resize) -> None:
        """Show the columns that fit."""
        self.call_after_refresh(self._refill)

    def _leave(self, what: str) -> None:
        chosen = self.listing.chosen
        if chosen:
            self.dismiss(None)
            self._act(what, chosen)

    def _search(self) -> None:
        """Search the content of all sessions for what is typed."""
        self.dismiss(None)
        self._act("search", self.listing.chosen)

    def _filter(self, typed: str) -> None:
        self.typed = typed
        self._refill()

    def _refill(self, chosen: str = "") -> None:
        rows = session_rows(self._control.folder, self._control.now(), self.listing.look.glyphs)
        found = rows
        if self.typed.strip():
            found = [rows[at] for at, _ in ranked(self.typed, [one.title for one in rows])]
        self._show_head(rows)
        drawn = SessionRows(self._control, self.listing.look, rows, self._costs, width=lambda: self.listing.size.width)
        entries: list[Entry] = []
        group = ""
        for one in found:
            if one.group != group and not self.typed.strip():
                if group:
                    entries.append(Entry(lambda _area: []))
                group = one.group
                entries.append(drawn.heading(group, is_first=len(entries) == 0))
            entries.append(drawn.entry(one))
        if not found:
            entries = [Entry(lambda area: [("  No matches", self.style("muted", area))])]
        self.listing.show(entries, chosen=chosen)

    def _show_head(self, rows: Sequence[SessionRow]) -> None:
        look = self.listing.look
        spent = sum(self._costs.get(one.info.id, 0.0) for one in rows)
        folder = screen_line(self._control.client.directory.name)
        summary = " · ".join([folder, plural(len(rows), "session"), *([money(spent)] if spent else [])])
        assert isinstance(self.head, SessionsHead)
        title: list[Piece] = [("Sessions", self.style("text", bold=True))]
        self.head.update_title(title, [(look.words(summary), self.style("muted"))], typed=self.typed)

    def _update_costs(self) -> None:
        self.run_worker(self._read_costs(), exclusive=True, group="costs", exit_on_error=False)

    async def _read_costs(self) -> None:
        try:
            costs = await self._control.client.sessions.costs()
        except OpencodeError:
            return  # the column keeps its values; opening a session reports the error
        if costs != self._costs:
            self._costs = costs
            self._refill()

    async def _read(self, session_id: str) -> None:
        try:
            self._glimpses[session_id] = await read_glimpse(self._control.client, session_id)
        except OpencodeError:
            return  # it was deleted
        self.preview.redraw()

    def _draw_preview(self, room: int) -> Sequence[Sequence[Piece] | Strip]:
        chosen = self.listing.chosen
        info = self._control.folder.sessions.get(chosen)
        if info is None:
            return []
        title = screen_line(" ".join(info.title.split()))
        return draw_glimpse(title, self._glimpses.get(chosen, Glimpse()), self.listing.look, room)


def _nothing() -> None: ...
