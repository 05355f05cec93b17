"""The session browser: the list of sessions in the place of the sidebar, with a filter and keys."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from opencode_tui.tui.chrome.sections import MARGIN, PANEL
from opencode_tui.tui.chrome.status_line import Pressed
from opencode_tui.tui.keys.keyed import Keyed, filters, keymap_of, moves, router_of
from opencode_tui.tui.sessions.lines import SessionLines
from opencode_tui.tui.sessions.session_list import SessionList
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

EVERY_MS = 1000
"""Milliseconds after which the ages of the sessions are drawn again."""


class SessionBrowser(Keyed, Rows, can_focus=True):
    """Posts `Pressed` for the actions on the selected session; `follow` keeps it up to date."""

    area = PANEL
    scopes = ("browser", "page")

    def __init__(self, sessions: SessionList) -> None:
        super().__init__()
        self.sessions = sessions
        self._now = 0
        self._is_filtering = False

    def keeps(self, key: str) -> bool:
        """Return whether a key that also has an action in the chat belongs to the browser."""
        return self.screen.focused is self and (key in _IGNORED or router_of(self).find(key, self) is not None)

    def follow(self, now: int) -> None:
        """Show the sessions as they are now, in ms since 1970."""
        if self.sessions.read(self.look.glyphs) or now - self._now >= EVERY_MS:
            self._now = now
            self.redraw()

    def select(self, session_id: str) -> None:
        """Select a session, which may come with the next rows."""
        self._change(partial(self.sessions.select, session_id))

    def reset(self) -> None:
        """Remove the filter."""
        self.sessions.clear_filter()
        self._set_filtering(False)

    def _change(self, change: Callable[[], object]) -> None:
        change()
        self.redraw()

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions on the selected session, and those that move and filter."""
        sessions = self.sessions
        common = {
            **{name: partial(self._move, rows) for name, rows in moves(self.scopes[1], 10).items()},
            "browser_everywhere": partial(self._press, "browser_everywhere"),
        }
        if self._is_filtering:
            return {
                **common,
                "browser_accept": partial(self._set_filtering, False),
                "browser_search": partial(self._press, "browser_search"),
                "browser_leave": self.reset,
                **filters(
                    erase=partial(self._change, sessions.erase), clear=partial(self._change, sessions.clear_filter)
                ),
            }
        return {
            **common,
            **{name: partial(self._press, name) for name in WORDS},
            **({"browser_undo": partial(self._press, "browser_undo")} if sessions.can_undo else {}),
            "browser_filter": partial(self._set_filtering, True),
            "browser_leave": self.reset if sessions.typed else partial(self._press, "browser_leave"),
        }

    def type_text(self, text: str) -> None:
        """Add text to the filter while it is typed."""
        if self._is_filtering:
            self._change(partial(self.sessions.type, text))

    def _press(self, action_id: str) -> None:
        self.post_message(Pressed(action_id))

    def _set_filtering(self, is_filtering: bool) -> None:
        self._is_filtering = is_filtering
        self.scopes = ("browser", "list") if is_filtering else ("browser", "page")  # letters are text
        if is_filtering:
            self.run_worker(partial(asyncio.to_thread, self.sessions.prepare), group="filter", exit_on_error=False)
        self.redraw()

    def _move(self, rows: int) -> None:
        self._change(partial(self.sessions.selection.move, rows))

    def on_click(self, event: events.Click) -> None:
        """Select a session; open the selected one."""
        chosen = str(event.style.meta.get("session", ""))
        if chosen and chosen == self.sessions.chosen:
            self._press("browser_open")
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
        drawn = SessionLines(self.look, width)
        head = [drawn.empty(), self._title(drawn), *self._filter_row(drawn)]
        foot = [drawn.empty(), *self._key_rows(drawn, width - 2 * MARGIN), drawn.empty()]
        listed = self._list(drawn, height - len(head) - len(foot))
        edge = Segment(self.look.glyphs.turn_rail, self.look.palette.style("accent", PANEL))
        return [Strip([edge, *one.crop(1, width)]) for one in (*head, *listed, *foot)][:height]

    def _title(self, drawn: SessionLines) -> Strip:
        muted = drawn.style("muted")
        waiting = drawn.waiting(self.sessions.waiting)
        count: list[Piece] = [(str(len(self.sessions.rows)), muted)]
        right = [*count, (f" {self.look.glyphs.separator} ", muted), *waiting] if waiting else count
        return drawn.head("All projects" if self.sessions.is_everywhere else "Sessions", right)

    def _filter_row(self, drawn: SessionLines) -> list[Strip]:
        typed = self.sessions.typed
        if not (self._is_filtering or typed):
            return []
        text = drawn.style("text")
        cursor: list[Piece] = [(" ", text + Style(reverse=True))] if self._is_filtering else []
        return [drawn.line([("/ ", drawn.style("accent")), (typed, text), *cursor])]

    def _list(self, drawn: SessionLines, room: int) -> list[Strip]:
        sessions = self.sessions
        lines = sessions.lines or ["No matches" if sessions.is_filtered else "No sessions yet"]
        shown = [lines[at] for at in sessions.selection.visible(room)] if sessions.lines else lines
        rows = drawn.lines(shown, sessions.chosen, self._now)
        return [*rows, *[drawn.empty()] * (room - len(rows))]

    def _key_rows(self, drawn: SessionLines, room: int) -> list[Strip]:
        """Return the available keys, in as many rows as they need."""
        named = {**WORDS, **({"browser_everywhere": "this project"} if self.sessions.is_everywhere else {})}
        named |= {"browser_undo": "undo"} if self.sessions.can_undo else {}
        named |= {"browser_search": "search the content"} if self._is_filtering else {"browser_filter": "filter"}
        first = keymap_of(self).first
        pairs = [(key, words) for name, words in {**named, "browser_leave": "back"}.items() if (key := first(name))]
        accent, text = drawn.style("accent", bold=True), drawn.style("text")
        lines: list[list[Piece]] = [[]]
        for key, words in pairs:
            pieces: list[Piece] = [(key, accent), (f" {words}", text)]
            if lines[-1] and measure(lines[-1]) + 3 + measure(pieces) > room:
                lines.append([])
            lines[-1] += [("   ", text), *pieces] if lines[-1] else pieces
        return [drawn.line(line) for line in lines]
