"""The sessions page: the tree of all sessions with their state, a filter, and a preview of the selected one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from msgspec.structs import replace
from textual import events
from textual.strip import Strip

from opencode_tui.schema.api.keybinds import SESSIONS_PAGE
from opencode_tui.schema.api.search import SearchRequest
from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ranking import ranked
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.text.quantity import money, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.router import KeyAction, keymap_of, moves
from opencode_tui.tui.pages.page import WIDE, Entry, PageScreen, QueryHead
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.session_tree import SessionRow, listed_rows, matching_rows
from opencode_tui.tui.sessions.preview import Glimpse, count_turns, draw_glimpse, draw_trashed, read_glimpse
from opencode_tui.tui.sessions.rows import SessionRows, TrashRows
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

NARROW = 64
"""Cells of the page under which the filter has a shorter hint."""


View = Literal["active", "archived", "trash"]
"""Which sessions are shown."""

EMPTY: Mapping[View, str] = {
    "active": "No sessions yet",
    "archived": "No archived sessions",
    "trash": "The trash is empty",
}

UNDOABLE = ("Moved to the trash", "Archived")
"""How messages about what can be undone start."""


@dataclass
class SessionsPlace:
    """What the page shows and where, kept while it is closed; `at` is the row of `chosen`, `message` what was done meanwhile."""

    chosen: str = ""
    typed: str = ""
    view: View = "active"
    is_everywhere: bool = False
    marked: list[str] = field(default_factory=list[str])
    at: int = 0
    message: str = ""
    can_undo: bool = False


PAUSE_S = 0.25
"""Seconds without a key before all messages of a session are counted, or the content of all sessions is searched."""

LIVE_S = 1.0
"""Seconds between updates of the states."""

COSTS_S = 3.0
"""Seconds between updates of the costs."""

WORDS = {
    "session_delete": "delete",
    "session_archive": "archive",
    "session_rename": "rename",
    "session_export": "export",
    "session_fork": "fork",
    "session_pin": "pin",
}
"""Names of the actions on the selected session, or on the marked ones."""

SHORTEST = 3
"""Characters from which a filter also searches the content."""

VIEWS: Sequence[View] = ("active", "archived", "trash")
TITLES: Mapping[View, str] = {"active": "Sessions", "archived": "Archived sessions", "trash": "Trash"}

STAYING = frozenset({"archive", "unarchive", "pin", "restore", "undo"})
"""Actions that need no question for one session, so the page stays."""


class SessionsScreen(PageScreen):
    """The page; `act` gets the chosen action and the id of the selected session, and acts on `targets`."""

    DEFAULT_CSS = """
    SessionsScreen Preview { width: 31.5%; }
    SessionsScreen PageFoot { height: 4; }
    """
    scopes = (SESSIONS_PAGE, "list")

    def __init__(
        self,
        control: SessionController,
        act: Callable[[str, str], object],
        *,
        place: SessionsPlace | None = None,
    ) -> None:
        """`place` is what is shown and selected first, the shown session by default."""
        super().__init__()
        self.head = self.query_head = QueryHead()
        self.place = place or SessionsPlace()
        self._control = control
        self._act = act
        self._glimpses: dict[str, Glimpse] = {}
        self._costs: dict[str, float] = {}
        self._with_text: frozenset[str] = frozenset()
        """The sessions whose content has the typed words."""
        self._trashed: Sequence[TrashedSession] = ()
        self._project_id = ""
        self._may_undo = False
        self._is_undo_shown = False
        """Whether the message before this key has named the key that undoes."""
        self.stays = True
        """Whether the page is open after the last action."""

    def fill(self) -> None:
        """Show all sessions, the open one selected, and keep them up to date."""
        self.set_interval(LIVE_S, self._refill)
        self.set_interval(COSTS_S, self._update_costs)
        self.preview.show(self._draw_preview)
        self._refill(chosen=self.place.chosen or self._control.session_id or "")
        self._update_costs()
        if self.place.view == "trash" or self.place.is_everywhere:
            self.reload()
        if self.place.message:
            self.show_result(self.place.message)
            self.place.message = ""

    def show_result(self, words: str) -> None:
        """Show what was done; it can be undone with one key as long as it is shown."""
        self.place.marked.clear()
        self._may_undo = self.place.can_undo and words.startswith(UNDOABLE)
        key = keymap_of(self).first("sessions_undo_shown")
        hint = f"   {key} brings it back" if self._may_undo and key else ""
        self.foot.show_message(screen_line(" ".join(words.split())) + hint, "text")
        self.reload()

    def reload(self) -> None:
        """Load what no event reports: the trash, and the sessions of other projects."""
        self.run_worker(self._load, exclusive=True, group="trash", exit_on_error=False)

    async def _load(self) -> None:
        try:
            client = self._control.client
            if self.place.view == "trash":
                self._trashed = await client.trash.list()
                self._project_id = self._project_id or (await client.project.current()).id
            if self.place.is_everywhere:
                self._control.everywhere = await client.sessions.everywhere()
        except OpencodeError as error:
            self.foot.show_message(screen_line(str(error)), "error")
        self._refill()

    @property
    def targets(self) -> Sequence[str]:
        """Return the ids of the marked rows in the order of the list, or that of the selected one."""
        marked = [one.id for one in self.listing.entries if one.id in self.place.marked]
        return marked or [one for one in (self.listing.chosen,) if one]

    def infos(self) -> list[SessionInfo]:
        """Return the sessions of `targets`, of any project."""
        known = {info.id: info for info in (*self._control.everywhere, *self._control.folder.sessions.values())}
        return [known[one] for one in self.targets if one in known]

    def trashed(self) -> list[TrashedSession]:
        """Return the deleted sessions of `targets`."""
        known = {entry.name: entry for entry in self._trashed}
        return [known[one] for one in self.targets if one in known]

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions on the selected session, and those that show other sessions."""
        view = self.place.view
        after = VIEWS[(VIEWS.index(view) + 1) % len(VIEWS)]
        scope = "this project" if self.place.is_everywhere else "all projects"
        undo = [KeyAction("sessions_undo", "undo", partial(self._run, "undo"))] if self.place.can_undo else []
        on_session = [(action_id, words) for action_id in WORDS if (words := self._words(action_id))]
        return [
            KeyAction("list_choose", "restore" if view == "trash" else "open", self._enter),
            KeyAction("sessions_mark", "mark", self._mark),
            *undo,
            *(KeyAction(action_id, words, partial(self._run, words)) for action_id, words in on_session),
            KeyAction("sessions_everywhere", scope, self._toggle_everywhere),
            KeyAction("sessions_view", "sessions" if after == "active" else after, self._show_next),
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions on sessions, those of the filter, and those that move in the list."""
        return {
            **{name: partial(self.listing.move, rows) for name, rows in moves("list", 15).items()},
            **{one.id: one.act for one in self.page_actions()},
            **({"sessions_undo_shown": partial(self._run, "undo")} if self._is_undo_shown else {}),
            "sessions_search": self._search,
            "list_erase": lambda: self._filter(self.place.typed[:-1]),
            "list_clear": lambda: self._filter(""),
            "list_close": self.close_page,
        }

    def show_keys(self) -> None:
        """Draw the row of keys again; a message stays until a key is pressed."""
        self.foot.show([*self.page_actions(), KeyAction("list_close", "back", self.close_page)], keeps_message=True)

    def _words(self, action_id: str) -> str:
        """Return the name of an action in this view; empty when it has none."""
        words = WORDS[action_id]
        match self.place.view:
            case "trash":
                return "remove" if words == "delete" else ""
            case "archived" if words == "archive":
                return "unarchive"
            case _:
                return words

    def receive_key(self, event: events.Key) -> None:
        """Handle a key; the message about what was done ends, and with it the one key that undoes it."""
        self.foot.show_message("")
        self._is_undo_shown, self._may_undo = self._may_undo, False
        super().receive_key(event)

    def type_key(self, event: events.Key) -> None:
        """Add a character to the filter."""
        if event.is_printable and event.character:
            self._filter(self.place.typed + clean(event.character))

    def _enter(self) -> None:
        self._run("restore" if self.place.view == "trash" else "open")

    def _mark(self) -> None:
        """Mark the selected row or remove its mark, and go to the next one."""
        chosen = self.listing.chosen
        if chosen in self.place.marked:
            self.place.marked.remove(chosen)
        elif chosen:
            self.place.marked.append(chosen)
        self.listing.move(1)
        self._refill()

    def _show_next(self) -> None:
        self.place.view = VIEWS[(VIEWS.index(self.place.view) + 1) % len(VIEWS)]
        self.place.marked.clear()
        self.foot.show_message("")
        self.reload()

    def _toggle_everywhere(self) -> None:
        self.place.is_everywhere = not self.place.is_everywhere
        self.reload()

    def on_page_list_moved(self) -> None:
        """Load the preview of the selected session."""
        chosen = self.listing.chosen
        if chosen and chosen not in self._glimpses and self.place.view != "trash":
            self.run_worker(partial(self._read, chosen), exclusive=True, group="glimpse", exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """Open the clicked session."""
        self._enter()

    def on_resize(self, event: events.Resize) -> None:
        """Show the columns that fit, and all keys."""
        self.foot.styles.height = 4 if event.size.width >= WIDE else 5 if event.size.width >= 80 else 6
        self.call_after_refresh(self._refill)

    def _run(self, what: str) -> None:
        """Act on the targets; the page closes for what needs a question or shows a session."""
        chosen = self.listing.chosen
        if what and (chosen or what == "undo"):
            self.place.chosen, self.place.at = chosen, self.listing.at
            self.stays = what in STAYING and (len(self.targets) == 1 or what not in ("archive", "pin"))
            if not self.stays:
                self.dismiss(None)
            self._act(what, chosen)

    def _search(self) -> None:
        """Search the content of all sessions for what is typed."""
        self.dismiss(None)
        self._act("search", self.listing.chosen)

    def _filter(self, typed: str) -> None:
        self.place.typed = typed
        self._with_text = frozenset()
        self._refill(is_filtering=True)
        self.run_worker(partial(self._find_text, typed), exclusive=True, group="text", exit_on_error=False)

    async def _find_text(self, typed: str) -> None:
        """Add the sessions whose content has the typed words to those with such a title."""
        if len(typed.strip()) < SHORTEST or self.place.view == "trash":
            return
        await asyncio.sleep(PAUSE_S)
        request = SearchRequest(query=typed, limit=200, is_here=not self.place.is_everywhere, is_typing=True)
        try:
            found = await self._control.client.search.find(request)
        except OpencodeError:
            return  # the filter by title works without it; the search page reports the error
        self._with_text = frozenset(one.session_id for one in found.groups)
        self._refill(is_filtering=True)

    def _refill(self, chosen: str = "", *, is_filtering: bool = False) -> None:
        near = None if is_filtering else self.place.at if chosen else self.listing.at
        entries = self._trash_entries() if self.place.view == "trash" else self._session_entries()
        if not entries:
            words = "No matches" if self.place.typed.strip() else EMPTY[self.place.view]
            entries = [Entry(lambda area: [(f"  {words}", self.style("muted", area))])]
        self.listing.show(entries, chosen=chosen, near=near)

    def _session_entries(self) -> list[Entry]:
        rows = self._rows()
        named = matching_rows(rows, self.place.typed)
        by_title = {one.info.id for one in named}
        found = [*named, *(one for one in rows if one.info.id in self._with_text - by_title)]
        self._show_head(len(rows), sum(self._costs.get(one.info.id, 0.0) for one in rows))
        drawn = SessionRows(
            self._control,
            self.listing.look,
            rows,
            self._costs,
            width=lambda: self.listing.size.width,
            marked=self.place.marked,
            with_text=self._with_text - by_title,
        )
        return self._grouped([(one.group, drawn.entry(one)) for one in found], drawn.heading)

    def _rows(self) -> Sequence[SessionRow]:
        return listed_rows(
            self._control,
            self.listing.look.glyphs,
            is_everywhere=self.place.is_everywhere,
            is_archived=self.place.view == "archived",
        )

    def _trash_entries(self) -> list[Entry]:
        shown = [one for one in self._trashed if self.place.is_everywhere or one.project_id == self._project_id]
        found = shown
        if self.place.typed.strip():
            found = [shown[at] for at, _ in ranked(self.place.typed, [" ".join(one.title.split()) for one in shown])]
        self._show_head(len(shown), 0.0)
        drawn = TrashRows(self._control, self.listing.look, marked=self.place.marked)
        return self._grouped([(drawn.group(one), drawn.entry(one)) for one in found], drawn.heading)

    def _grouped(self, rows: Sequence[tuple[str, Entry]], heading: "Callable[..., Entry]") -> list[Entry]:
        """Return the rows with a heading above each group; without headings while a filter orders them."""
        entries: list[Entry] = []
        group = ""
        for name, entry in rows:
            if name != group and not self.place.typed.strip():
                if group:
                    entries.append(Entry(lambda _area: []))
                group = name
                entries.append(heading(group, is_first=len(entries) == 0))
            entries.append(entry)
        return entries

    def _show_head(self, count: int, spent: float) -> None:
        look, place = self.listing.look, self.place
        folder = "all projects" if place.is_everywhere else screen_line(self._control.client.directory.name)
        summary = " · ".join([folder, plural(count, "session"), *([money(spent)] if spent else [])])
        title: list[Piece] = [(TITLES[place.view], self.style("text", bold=True))]
        marked = len(self.targets) if place.marked else 0
        title += [(f"   {marked} marked", self.style("accent"))] if marked else []
        by = " by title" if place.view == "trash" else " by title or text"  # only titles are searched in the trash
        hint = f"Type to filter{by if self.listing.size.width >= NARROW else ''}, / to search the content"
        self.query_head.show_query(title, [(look.words(summary), self.style("muted"))], typed=place.typed, hint=hint)

    def _update_costs(self) -> None:
        self.run_worker(self._read_costs, exclusive=True, group="costs", exit_on_error=False)

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
        chosen = self.listing.chosen
        if self.place.view == "trash":
            return draw_trashed([one for one in self._trashed if one.name == chosen], self.listing.look)
        info = next((one for one in self._control.everywhere if one.id == chosen), None)
        info = self._control.folder.sessions.get(chosen, info)
        if info is None:
            return []
        title = screen_line(" ".join(info.title.split()))
        return draw_glimpse(title, self._glimpses.get(chosen, Glimpse()), self.listing.look, room)
