"""The session browser: the sessions in the place of the sidebar, with a selected row, a filter and keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.chrome.sections import MARGIN, PANEL
from opencode_tui.tui.keys.router import Keyed, keymap_of, moves, router_of
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.sessions.lines import SessionLines
from opencode_tui.tui.sessions.tree import SessionRow, matching_rows
from opencode_tui.tui.widgets.row import Piece, Rows, measure

WORDS: Mapping[str, str] = {
    "browser_open": "open",
    "browser_new": "new",
    "browser_rename": "rename",
    "browser_fork": "fork",
    "browser_pin": "pin",
    "browser_archive": "archive",
    "browser_delete": "trash",
    "browser_everywhere": "all projects",
}
"""The words of each action on the selected session, in the order in which their keys are shown."""

_IGNORED = frozenset({"shift+tab", "question_mark"})
"""Further keys that have an action in the chat, and none while the browser has the focus."""


class SessionBrowser(Keyed, Rows, can_focus=True):
    """Posts `Acted` for the selected session and `Left` on escape; `update_rows` keeps it up to date."""

    area = PANEL
    scopes = ("browser", "page")

    class Acted(Message):
        """A key with an action was pressed; `session_id` is empty when no session is selected."""

        def __init__(self, action: str, session_id: str) -> None:
            super().__init__()
            self.action = action
            self.session_id = session_id

    class Left(Message):
        """The user closed the browser."""

    def __init__(self) -> None:
        super().__init__()
        self.is_everywhere = False
        """Whether the sessions of all projects are shown."""
        self._can_undo = False
        self._all: Sequence[SessionRow] = ()
        self._found: Sequence[SessionRow] = ()
        self._now = 0
        self._typed = ""
        self._is_filtering = False
        self._selected = ""
        self._top = 0

    @property
    def selected(self) -> str:
        """Return the ID of the selected session; empty when there is none."""
        return self._selected

    @property
    def can_undo(self) -> bool:
        """Whether there is something to bring back; the keys at the bottom follow it."""
        return self._can_undo

    @can_undo.setter
    def can_undo(self, can_undo: bool) -> None:
        self._can_undo = can_undo
        self.redraw()

    @property
    def typed(self) -> str:
        """Return the text of the filter."""
        return self._typed

    def keeps(self, key: str) -> bool:
        """Return whether a key that also has an action in the chat belongs to the browser."""
        return self.has_focus and (key in _IGNORED or router_of(self).find(key, self) is not None)

    def update_rows(self, rows: Sequence[SessionRow], now: int) -> None:
        """Show these sessions; the selection stays on its session, or in its place if that is gone."""
        if rows != self._all or now - self._now >= 1000:
            self._all, self._now = rows, now
            self._refilter()

    def select(self, session_id: str) -> None:
        """Select a session, which may come with the next rows."""
        self._selected = session_id
        self.redraw()

    def reset(self) -> None:
        """Remove the filter."""
        self._type("")
        self._set_filtering(False)

    def _refilter(self) -> None:
        at = self._at
        self._found = matching_rows(self._all, self._typed)
        if self._found and all(one.info.id != self._selected for one in self._found):
            self._selected = self._found[min(at, len(self._found) - 1)].info.id
        elif not self._found:
            self._selected = ""
        self.redraw()

    @property
    def _at(self) -> int:
        return next((at for at, one in enumerate(self._found) if one.info.id == self._selected), 0)

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions on the selected session, and those that move and filter."""
        common = {
            **{name: partial(self._move, rows) for name, rows in moves(self.scopes[1], 10).items()},
            "browser_everywhere": partial(self._post, "everywhere"),
        }
        if self._is_filtering:
            return {
                **common,
                "browser_accept": partial(self._set_filtering, False),
                "browser_search": partial(self._post, "search"),
                "browser_leave": self.reset,
                "list_erase": lambda: self._type(self._typed[:-1]),
                "list_clear": lambda: self._type(""),
            }
        return {
            **common,
            **{name: partial(self._post, name.removeprefix("browser_")) for name in WORDS},
            **({"browser_undo": lambda: self.post_message(self.Acted("undo", ""))} if self._can_undo else {}),
            "browser_filter": partial(self._set_filtering, True),
            "browser_leave": self.reset if self._typed else lambda: self.post_message(self.Left()),
        }

    def type_key(self, event: events.Key) -> None:
        """Add a character to the filter while it is typed."""
        if self._is_filtering and event.is_printable and event.character:
            self._type(self._typed + clean(event.character))

    def _post(self, action: str) -> None:
        self.post_message(self.Acted(action, self._selected))

    def _set_filtering(self, is_filtering: bool) -> None:
        self._is_filtering = is_filtering
        self.scopes = ("browser", "list") if is_filtering else ("browser", "page")  # letters are text
        self.redraw()

    def _type(self, typed: str) -> None:
        self._typed = typed
        self._refilter()

    def on_paste(self, event: events.Paste) -> None:
        """Add pasted text to the filter."""
        event.stop()
        if self._is_filtering:
            self._type(self._typed + clean(" ".join(event.text.split())))

    def _move(self, rows: int) -> None:
        if self._found:
            self._selected = self._found[min(max(0, self._at + rows), len(self._found) - 1)].info.id
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Select a session; open the selected one."""
        chosen = str(event.style.meta.get("session", ""))
        if chosen and chosen == self._selected:
            self.post_message(self.Acted("open", chosen))
        elif chosen:
            self.select(chosen)

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self._move(3)

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self._move(-3)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the title, the filter, the sessions and the keys, with an edge in the accent color at the left."""
        sections = SessionLines(self.look, width)
        head = [sections.empty(), self._title(sections), *self._filter_row(sections)]
        foot = [sections.empty(), *self._key_rows(sections, width - 2 * MARGIN), sections.empty()]
        listed = self._list(sections, height - len(head) - len(foot))
        edge = Segment(self.look.glyphs.turn_rail, self.look.palette.style("accent", PANEL))
        return [Strip([edge, *one.crop(1, width)]) for one in (*head, *listed, *foot)][:height]

    def _title(self, sections: SessionLines) -> Strip:
        muted = sections.style("muted")
        waiting = sections.waiting(self._all)
        count: list[Piece] = [(str(len(self._all)), muted)]
        right = [*count, (f" {self.look.glyphs.separator} ", muted), *waiting] if waiting else count
        return sections.head("All projects" if self.is_everywhere else "Sessions", right)

    def _filter_row(self, sections: SessionLines) -> list[Strip]:
        if not (self._is_filtering or self._typed):
            return []
        text = sections.style("text")
        cursor: list[Piece] = [(" ", text + Style(reverse=True))] if self._is_filtering else []
        return [sections.line([("/ ", sections.style("accent")), (self._typed, text), *cursor])]

    def _list(self, sections: SessionLines, room: int) -> list[Strip]:
        if not self._found:
            words = "No matches" if self._typed.strip() else "No sessions yet"
            drawn = [(sections.line([(words, sections.style("muted"))]), "")]
        elif self._typed.strip():
            flat = [replace(one, branch="", group="") for one in self._found]
            drawn = sections.sessions(flat, self._selected, self._now)
        else:
            drawn = sections.sessions(self._found, self._selected, self._now)
        at = next((at for at, (_, session_id) in enumerate(drawn) if session_id == self._selected), 0)
        self._top = max(0, at - room + 1, min(self._top, at - 1, len(drawn) - room))
        shown = [one for one, _ in drawn[self._top : self._top + room]]
        return [*shown, *[sections.empty()] * (room - len(shown))]

    def _key_rows(self, sections: SessionLines, room: int) -> list[Strip]:
        """Return the available keys, in as many rows as they need."""
        named = {**WORDS, **({"browser_everywhere": "this project"} if self.is_everywhere else {})}
        named |= {"browser_undo": "undo"} if self._can_undo else {}
        named |= {"browser_search": "search the content"} if self._is_filtering else {"browser_filter": "filter"}
        first = keymap_of(self).first
        pairs = [(key, words) for name, words in {**named, "browser_leave": "back"}.items() if (key := first(name))]
        accent, text = sections.style("accent", bold=True), sections.style("text")
        lines: list[list[Piece]] = [[]]
        for key, words in pairs:
            pieces: list[Piece] = [(key, accent), (f" {words}", text)]
            if lines[-1] and measure(lines[-1]) + 3 + measure(pieces) > room:
                lines.append([])
            lines[-1] += [("   ", text), *pieces] if lines[-1] else pieces
        return [sections.line(line) for line in lines]
