"""The sessions page: the tree of all sessions with their state, a filter, and a preview of the selected one."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace
from textual import events
from textual.strip import Strip

from opencode_tui.schema.api.keybinds import SESSIONS_PAGE
from opencode_tui.schema.api.search import SearchRequest
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import money, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction, by_id, filters, keymap_of, leaves, moves
from opencode_tui.tui.pages.page import HEAD_ROWS, WIDE, ListRow, PageScreen, QueryHead, RowsOnDemand
from opencode_tui.tui.sessions.columns import SessionColumns
from opencode_tui.tui.sessions.known_sessions import View
from opencode_tui.tui.sessions.preview import Glimpse, count_turns, draw_glimpse, draw_trashed, read_glimpse
from opencode_tui.tui.sessions.rows import Row
from opencode_tui.tui.sessions.session_list import NOTHING, Done, SessionList
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

NARROW = 64
"""Cells of the page under which the filter has a shorter hint."""

LEAST_LIST, LEAST_FOOT = 5, 3
"""Minimum rows on a low screen of the list with its headings, and of the keys."""

PAUSE_S = 0.25
"""Seconds without a key before all messages of a session are counted, or the content of all sessions is searched."""

LIVE_S = 1.0
"""Seconds between updates of the states."""

COSTS_S = 3.0
"""Seconds between updates of the costs."""

MOST_COSTS = 2_000
"""Costs that are kept, of lines that were visible."""

TOTAL_PAUSE = 20.0
"""Times as long as the sum of all costs took, for which it is not read again: a project may have 100,000 sessions."""

SHORTEST = 3
"""Characters from which a filter also searches the content."""


@dataclass(frozen=True, slots=True)
class ViewWords:
    """The title of a view, what it says without sessions, and its verbs by the action of their keys."""

    title: str
    empty: str
    verbs: Mapping[str, str]


VERBS = {
    "list_choose": "open",
    "session_delete": "delete",
    "session_archive": "archive",
    "session_rename": "rename",
    "session_export": "export",
    "session_fork": "fork",
    "session_pin": "pin",
}

VIEW_WORDS: Mapping[View, ViewWords] = {
    "active": ViewWords("Sessions", "No sessions yet", VERBS),
    "archived": ViewWords("Archived sessions", "No archived sessions", {**VERBS, "session_archive": "unarchive"}),
    "trash": ViewWords("Trash", "The trash is empty", {"list_choose": "restore", "session_delete": "remove"}),
}


class SessionsScreen(PageScreen):
    """The page; `act` gets the chosen verb, which is for the targets of `sessions`."""

    DEFAULT_CSS = """
    SessionsScreen Preview { width: 31.5%; }
    SessionsScreen PageFoot { height: 4; }
    """
    scopes = (SESSIONS_PAGE, "list")

    def __init__(
        self,
        control: SessionController,
        sessions: SessionList,
        act: Callable[[str], object],
        *,
        result: Done = NOTHING,
    ) -> None:
        """`result` is what was done before, while the page was closed."""
        super().__init__()
        self.head = self.query_head = QueryHead()
        self.sessions = sessions
        self.listing.selection = sessions.selection
        self._control = control
        self.has_left = False
        """Whether the page was closed for a question or another page."""
        self._act = act
        self._result = result
        self._glimpses: dict[str, Glimpse] = {}
        self._costs: dict[str, float] = {}
        """USD of sessions with their agents' sessions, of lines that are or were near the visible ones."""
        self._costs_of: Sequence[Row] | None = None
        """The sessions when costs were read."""
        self._current: frozenset[str] = frozenset()
        """The sessions whose costs are kept up to date."""
        self._is_reading = False
        self._reads_again = False
        self._totals: dict[View, float] = {}
        """USD of all sessions of a view."""
        self._is_total_old = True
        self._total_after = 0.0
        """When the sum of all may be read again, by the monotonic clock; infinite while it is read."""
        self._may_undo = False
        self._is_undo_shown = False
        """Whether the message before this key has named the key that undoes."""

    def fill(self) -> None:
        """Show the sessions, and keep them up to date."""
        self.set_interval(LIVE_S, self._update)
        self.set_interval(COSTS_S, self._update_costs)
        self.preview.show(self._draw_preview)
        self._refill()
        self.run_worker(partial(asyncio.to_thread, self.sessions.prepare), group="filter", exit_on_error=False)
        self._update_costs()
        self.show_result(self._result)

    def leave(self) -> None:
        """Close the page for a question or another page."""
        self.has_left = True
        self.dismiss(None)

    def show_result(self, result: Done) -> None:
        """Show what was done, if anything; it can be undone with one key as long as it is shown."""
        self.reload()
        if not result.head:
            return
        self.sessions.marked.clear()
        self.sessions.select(result.selected)
        self._may_undo = self.sessions.can_undo and result.may_undo
        key = keymap_of(self).first("sessions_undo_shown")
        hint = f"   {key} brings it back" if self._may_undo and key else ""
        self.foot.show_message(screen_line(" ".join(str(result).split())) + hint, "text")

    def reload(self) -> None:
        """Load what no event reports: the trash, and the sessions of other projects."""
        self.run_worker(self._load, exclusive=True, group="trash", exit_on_error=False)

    async def _load(self) -> None:
        try:
            await self.sessions.load()
        except OpencodeError as error:
            self.foot.show_message(screen_line(str(error)), "error")
        self._refill()
        self._update_costs()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions on the selected session, and those that show other sessions."""
        sessions = self.sessions
        scope = "this project" if sessions.is_everywhere else "all projects"
        verbs = VIEW_WORDS[sessions.view].verbs
        choose, *others = [KeyAction(action_id, verb, partial(self._run, verb)) for action_id, verb in verbs.items()]
        next_view = "sessions" if sessions.next_view == "active" else sessions.next_view
        return [
            choose,
            KeyAction("sessions_mark_filtered" if sessions.typed else "sessions_mark", "mark", self._mark),
            *([KeyAction("sessions_undo", "undo", partial(self._act, "undo"))] if sessions.can_undo else []),
            *others,
            KeyAction("sessions_everywhere", scope, self._toggle_everywhere),
            KeyAction("sessions_view", next_view, self._show_next),
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions on sessions, those of the filter, and those that move in the list."""
        return {
            **{name: partial(self.listing.move, rows) for name, rows in moves("list", 15).items()},
            **{one.id: one.act for one in self.page_actions()},
            **({"sessions_undo_shown": partial(self._act, "undo")} if self._is_undo_shown else {}),
            "sessions_mark_filtered": self._mark,
            "sessions_search": partial(self._act, "search"),
            **filters(
                erase=partial(self._filter, self.sessions.erase),
                clear=partial(self._filter, self.sessions.clear_filter),
            ),
            **by_id(leaves("back", self.close_page)),
        }

    def show_keys(self) -> None:
        """Draw the row of keys again; a message stays until a key is pressed."""
        self.foot.show([*self.page_actions(), leaves("back", self.close_page)], keeps_message=True)

    def receive_key(self, event: events.Key) -> None:
        """Handle a key; the message about what was done ends, and with it the one key that undoes it."""
        self.foot.show_message("")
        self._is_undo_shown, self._may_undo = self._may_undo, False
        super().receive_key(event)

    def type_text(self, text: str) -> None:
        """Add text to the filter."""
        self._filter(partial(self.sessions.type, text))

    def _mark(self) -> None:
        """Mark the selected row or remove its mark, and go to the next one."""
        self.sessions.mark()
        self._refill()

    def _show_next(self) -> None:
        self.sessions.show_next_view()
        self.foot.show_message("")
        self.reload()

    def _toggle_everywhere(self) -> None:
        self.sessions.is_everywhere = not self.sessions.is_everywhere
        self.reload()

    def on_page_list_moved(self) -> None:
        """Load the preview of the selected session, and the costs of lines that have become visible."""
        if not self._current.issuperset(self._near(0)):
            self._start_reading()
        chosen = self.listing.chosen
        if chosen and chosen not in self._glimpses and self.sessions.view != "trash":
            self.run_worker(partial(self._read, chosen), exclusive=True, group="glimpse", exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """Open the clicked session."""
        self._run(VIEW_WORDS[self.sessions.view].verbs["list_choose"])

    def on_resize(self, event: events.Resize) -> None:
        """Show the columns that fit, and all keys unless the list needs their rows."""
        width, height = event.size
        usual = 4 if width >= WIDE else 5 if width >= 80 else 6
        self.foot.styles.height = max(LEAST_FOOT, min(usual, height - HEAD_ROWS - LEAST_LIST))
        self.call_after_refresh(self._refill)

    def _run(self, verb: str) -> None:
        if self.sessions.chosen:
            self._act(verb)

    def _filter(self, change: Callable[[], object]) -> None:
        change()
        self._refill()
        self.run_worker(self._find_text, exclusive=True, group="text", exit_on_error=False)

    async def _find_text(self) -> None:
        """Add the sessions whose content has the typed words to those with such a title."""
        sessions, typed = self.sessions, self.sessions.typed
        if len(typed.strip()) < SHORTEST or sessions.view == "trash":
            return
        await asyncio.sleep(PAUSE_S)
        request = SearchRequest(query=typed, limit=200, is_here=not sessions.is_everywhere, is_typing=True)
        try:
            found = await self._control.client.sessions.search(request)
        except OpencodeError:
            return  # the filter by title works without it; the search page reports the error
        sessions.add_found(one.session_id for one in found.groups)
        self._refill()

    def _update(self) -> None:
        """Show what has changed."""
        if self.sessions.read(self.listing.look.glyphs):
            self._show_lines()
        else:
            self.listing.redraw()

    def _refill(self) -> None:
        self.sessions.read(self.listing.look.glyphs)
        self._show_lines()

    def _show_lines(self) -> None:
        sessions, look = self.sessions, self.listing.look
        width = lambda: self.listing.size.width  # noqa: E731 - the width when a line is drawn
        drawn = SessionColumns(self._control, sessions, look, self._costs, width=width)
        entries: Sequence[ListRow] | RowsOnDemand = RowsOnDemand(sessions.ids, drawn.entry)
        if not sessions.lines:
            words = "No matches" if sessions.is_filtered else VIEW_WORDS[sessions.view].empty
            entries = [self.sentence(words)]
        self._show_head()
        self.listing.show(entries, near=sessions.selection.at)

    def _show_head(self) -> None:
        look, sessions = self.listing.look, self.sessions
        count, spent = len(sessions.rows), self._totals.get(sessions.view)
        folder = "all projects" if sessions.is_everywhere else screen_line(self._control.client.directory.name)
        summary = " · ".join([folder, plural(count, "session"), *([money(spent)] if spent else [])])
        title: list[Piece] = [(VIEW_WORDS[sessions.view].title, self.style("text", bold=True))]
        marked = len(sessions.targets) if sessions.marked else 0
        title += [(f"   {marked} marked", self.style("accent"))] if marked else []
        by = " by title" if sessions.view == "trash" else " by title or text"  # only titles are searched in the trash
        hint = f"Type to filter{by if self.listing.size.width >= NARROW else ''}, / to search the content"
        self.query_head.show_query(title, [(look.words(summary), self.style("muted"))], typed=sessions.typed, hint=hint)

    def _near(self, pages: int = 1) -> Sequence[str]:
        """Return the sessions of the visible lines, and of so many times as many above and below."""
        height = self.listing.size.height
        if height < 1 or self.sessions.view == "trash":
            return ()
        ids, shown = self.sessions.ids, self.listing.selection.visible(height)
        start, end = max(0, shown.start - pages * height), min(len(ids), shown.stop + pages * height)
        return [one for at in range(start, end) if (one := ids[at])]

    def _update_costs(self) -> None:
        """Read the costs again, unless no session has changed and none runs."""
        if self._costs_of is not self.sessions.rows or self._control.folder.statuses:
            self._costs_of, self._is_total_old = self.sessions.rows, True
            self._start_reading()
        view = self.sessions.view
        is_due = self._is_total_old and time.monotonic() >= self._total_after
        if view != "trash" and (is_due or (view not in self._totals and self._total_after < math.inf)):
            self._is_total_old, self._total_after = False, math.inf
            self.run_worker(self._read_total, group="total", exit_on_error=False)

    def _start_reading(self) -> None:
        """Read the costs of the lines near the visible ones, once more if they are being read."""
        self._reads_again = True
        if not self._is_reading:
            self._is_reading = True
            self.run_worker(self._keep_reading, group="costs", exit_on_error=False)

    async def _keep_reading(self) -> None:
        try:
            while self._reads_again:
                self._reads_again = False
                await self._read_costs()
        finally:
            self._is_reading = False

    async def _read_costs(self) -> None:
        near, is_archived = self._near(), self.sessions.view == "archived"
        self._current = frozenset(near)
        if not near:
            return
        try:
            found = await self._control.client.sessions.family_costs(near, is_archived)
        except OpencodeError:
            return  # the column keeps its values; opening a session reports the error
        costs = {one: found.get(one, 0.0) for one in near}
        if len(self._costs) > MOST_COSTS:
            self._costs.clear()
        if any(self._costs.get(one) != cost for one, cost in costs.items()):
            self._costs.update(costs)
            self.listing.redraw()

    async def _read_total(self) -> None:
        """Read what all sessions of the view cost, in the engine's own time."""
        view, began = self.sessions.view, time.monotonic()
        try:
            total = await self._control.client.sessions.total_cost(view == "archived")
        except OpencodeError:
            return  # as for the column
        finally:
            now = time.monotonic()
            self._total_after = now + TOTAL_PAUSE * (now - began)
        if self._totals.get(view) != total:
            self._totals[view] = total
            self._show_head()
        self._is_total_old = self._is_total_old or view != self.sessions.view

    async def _read(self, session_id: str) -> None:
        try:
            glimpse = self._glimpses[session_id] = await read_glimpse(self._control.client, session_id)
            self.preview.redraw()
            if glimpse.turns is None:
                await asyncio.sleep(PAUSE_S)  # a move to the next session ends this
                turns = await count_turns(self._control.client, session_id)
                self._glimpses[session_id] = replace(glimpse, turns=turns)
        except OpencodeError:
            return  # it was deleted
        self.preview.redraw()

    def _draw_preview(self, room: int) -> Sequence[Sequence[Piece] | Strip]:
        chosen, look = self.sessions.selected, self.listing.look
        if chosen is None:
            return []
        if isinstance(chosen.of, TrashedSession):
            return draw_trashed(chosen.title, chosen.of, look)
        title = screen_line(" ".join(chosen.of.title.split()))
        glimpse, height = self._glimpses.get(chosen.id, Glimpse()), self.preview.size.height - 1
        return draw_glimpse(title, glimpse, look, room, height, now=self._control.now())
