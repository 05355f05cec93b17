"""All sessions of the project: a tree with live state that letters filter, and what the chosen one was about."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import events
from textual.strip import Strip

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import money, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.control import Control
from opencode_tui.tui.fuzzy import ranked
from opencode_tui.tui.keymap import LEADER, SESSION_PAGE, Keymap, normal
from opencode_tui.tui.prompt.clean import clean
from opencode_tui.tui.row import Piece
from opencode_tui.tui.screens.page import Entry, PageKey, PageScreen
from opencode_tui.tui.screens.sessions_preview import Glimpse, draw_glimpse, read_glimpse
from opencode_tui.tui.screens.sessions_rows import SessionRows, SessionsHead
from opencode_tui.tui.session_tree import SessionRow, session_rows

if TYPE_CHECKING:
    from opencode_tui.tui.app import OpenCodeApp

LIVE_S = 1.0
"""Seconds between two looks at what the sessions do."""

COSTS_S = 3.0
"""Seconds between two looks at what they cost."""

WORDS = {"session_fork": "fork", "session_rename": "rename", "session_export": "export", "session_delete": "delete"}
"""What the acts on the chosen session are called."""

FIXED = frozenset({"escape", "enter", "up", "down", "backspace"})
"""Keys that no setting takes away here."""


class SessionsScreen(PageScreen):
    """Letters filter, the keys of the settings act; `act` is told what to do with which session."""

    DEFAULT_CSS = "SessionsScreen Preview { width: 31.5%; }"

    def __init__(self, control: Control, act: Callable[[str, str], object]) -> None:
        super().__init__()
        self.head = SessionsHead()
        self._control = control
        self._act = act
        self._typed = ""
        self._glimpses: dict[str, Glimpse] = {}
        self._costs: dict[str, float] = {}
        self._is_led = False

    @property
    def _keymap(self) -> Keymap:
        return cast("OpenCodeApp", self.app).router.keymap

    def fill(self) -> None:
        """Draw all sessions, the shown one chosen, and go on following what they do."""
        self.set_interval(LIVE_S, self._refill)
        self.set_interval(COSTS_S, self._look_at_costs)
        self.preview.show(self._draw_preview)
        self._refill(chosen=self._control.session_id or "")
        self._look_at_costs()

    def page_keys(self) -> Sequence[PageKey]:
        """What can be done with the chosen session, by the keys in force."""
        named = {action_id: self._keymap.page_hint(action_id) for action_id in SESSION_PAGE}
        acts = [("enter", "open"), *((key, WORDS[action_id]) for action_id, key in named.items() if key)]
        return [PageKey(key, words, partial(self._leave, words)) for key, words in acts]

    def on_key(self, event: events.Key) -> None:
        """Act, filter with letters; everything else is as on every page."""
        event.stop()
        event.prevent_default()  # else the page's own keys, letters among them, would act as well
        act = self._act_of(event.key)
        if act is not None:
            act()
        elif event.key in ("backspace", "ctrl+u"):
            self._filter(self._typed[:-1] if event.key == "backspace" else "")
        elif event.is_printable and event.character:
            self._filter(self._typed + clean(event.character))
        else:
            super().on_key(event)

    def _act_of(self, key: str) -> Callable[[], object] | None:
        """What a key of the settings does here; the second one of a sequence is used up in any case."""
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
        self.foot.tell(f"{self._keymap.leader}  and then?" if is_awaited else "")

    def on_page_list_moved(self) -> None:
        """Read what the chosen session was about."""
        chosen = self.listing.chosen
        if chosen and chosen not in self._glimpses:
            self.run_worker(self._read(chosen), exclusive=True, group="glimpse", exit_on_error=False)
        self.preview.redraw()

    def on_page_list_opened(self) -> None:
        """A click on the chosen row opens it."""
        self._leave("open")

    def on_resize(self, event: events.Resize) -> None:
        """Give columns up where there is little room."""
        self.call_after_refresh(self._refill)

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
        self._show_head(rows)
        drawn = SessionRows(self._control, self.listing.look, rows, self._costs, width=lambda: self.listing.size.width)
        entries: list[Entry] = []
        group = ""
        for one in found:
            if one.group != group and not self._typed.strip():
                if group:
                    entries.append(Entry(lambda _area: []))
                group = one.group
                entries.append(drawn.heading(group, is_first=len(entries) == 0))
            entries.append(drawn.entry(one))
        if not found:
            entries = [Entry(lambda area: [("  Nothing like this.", self.style("muted", area))])]
        self.listing.show(entries, chosen=chosen)

    def _show_head(self, rows: Sequence[SessionRow]) -> None:
        look = self.listing.look
        spent = sum(self._costs.get(one.info.id, 0.0) for one in rows)
        folder = screen_line(self._control.client.directory.name)
        told = " · ".join([folder, plural(len(rows), "session"), *([money(spent)] if spent else [])])
        assert isinstance(self.head, SessionsHead)
        title: list[Piece] = [("Sessions", self.style("text", bold=True))]
        self.head.tell(title, [(look.words(told), self.style("muted"))], typed=self._typed)

    def _look_at_costs(self) -> None:
        self.run_worker(self._read_costs(), exclusive=True, group="costs", exit_on_error=False)

    async def _read_costs(self) -> None:
        try:
            costs = await self._control.client.sessions.costs()
        except OpencodeError:
            return  # the column stays as it is; whoever opens a session is told what is wrong
        if costs != self._costs:
            self._costs = costs
            self._refill()

    async def _read(self, session_id: str) -> None:
        try:
            self._glimpses[session_id] = await read_glimpse(self._control.client, session_id)
        except OpencodeError:
            return  # it was deleted meanwhile
        self.preview.redraw()

    def _draw_preview(self, room: int) -> Sequence[Sequence[Piece] | Strip]:
        chosen = self.listing.chosen
        info = self._control.folder.sessions.get(chosen)
        if info is None:
            return []
        title = screen_line(" ".join(info.title.split()))
        return draw_glimpse(title, self._glimpses.get(chosen, Glimpse()), self.listing.look, room)


def _nothing() -> None: ...
