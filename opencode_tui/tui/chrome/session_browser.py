"""The session browser: the sessions in the place of the sidebar, with a selected row, a filter and keys."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.chrome.sidebar import MARGIN, PANEL, Sections
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.session_tree import SessionRow
from opencode_tui.tui.widgets.fuzzy import ranked
from opencode_tui.tui.widgets.row import Piece, Rows, measure

KEYS: Mapping[str, tuple[str, str]] = {
    "enter": ("open", "open"),
    "n": ("new", "new"),
    "r": ("rename", "rename"),
    "f": ("fork", "fork"),
    "p": ("pin", "pin"),
    "a": ("archive", "archive"),
    "d": ("delete", "trash"),
    "tab": ("everywhere", "all projects"),
}
"""The action and the words of each key, in the order in which they are shown."""

UNDO_KEY = "u"
"""Brings back the session that was deleted or archived last."""

_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -10, "pagedown": 10, "home": -(10**6), "end": 10**6}

_TAKEN = frozenset({"escape", "tab", "shift+tab", "pageup", "pagedown", "home", "end", "question_mark"})
"""Keys of the browser that have an action in the chat."""


class SessionBrowser(Rows, can_focus=True):
    """Posts `Acted` for the selected session and `Left` on escape; `update_rows` keeps it up to date."""

    area = PANEL

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
        """Whether `UNDO_KEY` has something to restore; the keys at the bottom follow it."""
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
        return self.has_focus and (key in _TAKEN or (self._is_filtering and key == "enter"))

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
        self._typed, self._is_filtering = "", False
        self._refilter()

    def _refilter(self) -> None:
        at = self._at
        self._found = self._all
        if self._typed.strip():
            self._found = [self._all[at] for at, _ in ranked(self._typed, [one.title for one in self._all])]
        if self._found and all(one.info.id != self._selected for one in self._found):
            self._selected = self._found[min(at, len(self._found) - 1)].info.id
        elif not self._found:
            self._selected = ""
        self.redraw()

    @property
    def _at(self) -> int:
        return next((at for at, one in enumerate(self._found) if one.info.id == self._selected), 0)

    def on_key(self, event: events.Key) -> None:
        """Move, filter or act."""
        event.stop()
        event.prevent_default()
        key = event.key
        if self._is_filtering and self._filter(event):
            return
        if key in _MOVES:
            self._move(_MOVES[key])
        elif key == "slash":
            self._is_filtering = True
            self.redraw()
        elif key == "escape":
            if self._typed:
                self.reset()
            else:
                self.post_message(self.Left())
        elif key == UNDO_KEY and self._can_undo:
            self.post_message(self.Acted("undo", ""))
        elif key in KEYS:
            self.post_message(self.Acted(KEYS[key][0], self._selected))

    def _filter(self, event: events.Key) -> bool:
        """Handle a key while the filter is typed; return whether it was one."""
        if event.key == "enter":
            self._is_filtering = False
            self.redraw()
        elif event.key == "slash":
            self.post_message(self.Acted("search", self._selected))
        elif event.key == "escape":
            self.reset()
        elif event.key in ("backspace", "ctrl+u"):
            self._typed = self._typed[:-1] if event.key == "backspace" else ""
            self._refilter()
        elif event.is_printable and event.character:
            self._typed += clean(event.character)
            self._refilter()
        else:
            return False
        return True

    def on_paste(self, event: events.Paste) -> None:
        """Add pasted text to the filter."""
        event.stop()
        if self._is_filtering:
            self._typed += clean(" ".join(event.text.split()))
            self._refilter()

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
        sections = Sections(self.look, width)
        head = [sections.empty(), self._title(sections), *self._filter_row(sections)]
        foot = [sections.empty(), *self._key_rows(sections, width - 2 * MARGIN), sections.empty()]
        listed = self._list(sections, height - len(head) - len(foot))
        edge = Segment(self.look.glyphs.turn_rail, self.look.palette.style("accent", PANEL))
        return [Strip([edge, *one.crop(1, width)]) for one in (*head, *listed, *foot)][:height]

    def _title(self, sections: Sections) -> Strip:
        muted = sections.style("muted")
        waiting = sections.waiting(self._all)
        count: list[Piece] = [(str(len(self._all)), muted)]
        right = [*count, (f" {self.look.glyphs.separator} ", muted), *waiting] if waiting else count
        return sections.head("All projects" if self.is_everywhere else "Sessions", right)

    def _filter_row(self, sections: Sections) -> list[Strip]:
        if not (self._is_filtering or self._typed):
            return []
        text = sections.style("text")
        cursor: list[Piece] = [(" ", text + Style(reverse=True))] if self._is_filtering else []
        return [sections.line([("/ ", sections.style("accent")), (self._typed, text), *cursor])]

    def _list(self, sections: Sections, room: int) -> list[Strip]:
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

    def _key_rows(self, sections: Sections, room: int) -> list[Strip]:
        """Return the available keys, in as many rows as they need."""
        pairs = [(key, words) for key, (_, words) in KEYS.items()]
        if self.is_everywhere:
            pairs = [(key, "this project" if key == "tab" else words) for key, words in pairs]
        pairs += [(UNDO_KEY, "undo")] if self._can_undo else []
        pairs += [("/", "search the content" if self._is_filtering else "filter"), ("esc", "back")]
        accent, text = sections.style("accent", bold=True), sections.style("text")
        lines: list[list[Piece]] = [[]]
        for key, words in pairs:
            pieces: list[Piece] = [(key, accent), (f" {words}", text)]
            if lines[-1] and measure(lines[-1]) + 3 + measure(pieces) > room:
                lines.append([])
            lines[-1] += [("   ", text), *pieces] if lines[-1] else pieces
        return [sections.line(line) for line in lines]
