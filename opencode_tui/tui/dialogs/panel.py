"""A question that replaces the prompt: its subject, its reason, and the keys that answer it."""

import time
from collections.abc import Callable, Mapping, Sequence

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.keys.common import CANCEL
from opencode_tui.tui.keys.router import KeyAction, Keyed, keymap_of
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

OPENING_MS, QUIET_MS = 400, 150
"""Milliseconds after a question appeared, and those without a key, before it accepts one."""


class Guard:
    """Ignores keys for 400 ms after the question appeared, then until 150 ms passed without a key; accepts all afterwards."""

    def __init__(self, now: int) -> None:
        self._opened = now
        self._last = now - QUIET_MS
        self._is_live = False

    def wait(self, now: int) -> int:
        """Return the remaining ms without a key; 0 if keys are accepted."""
        if self._is_live:
            return 0
        return max(0, self._opened + OPENING_MS - now, self._last + QUIET_MS - now)

    def accepts(self, now: int) -> bool:
        """Return whether a key that came at `now` is accepted; an ignored one restarts the wait. In ms of a monotonic clock."""
        self._is_live = self._is_live or self.wait(now) <= 0
        self._last = max(self._last, now)
        return self._is_live


Line = Sequence[Piece] | Strip
"""Pieces of one row from column 3 on, or a full row."""

INSIDE = 3
"""The column where texts start."""


class Panel(Keyed, Rows, can_focus=True):
    """Scrolls its text if it is too high; its keys are fixed at its end, muted until they are accepted."""

    area = "surface"
    bar = "warning"
    scopes = ("panel",)
    more_key = "down"
    """The key that is named for the rest of the text."""
    is_asked_for = False
    """Whether a key of the user opens it: the key that cancels it does nothing else, so it works at once."""

    class Typed(Message):
        """A character was typed before keys were accepted: it belongs to the prompt."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    def __init__(self) -> None:
        super().__init__()
        self._guard = Guard(_now())
        self._top = 0
        self.is_read = False
        """Whether the end of the text was shown."""

    def accepts_key(self, event: events.Key) -> bool:
        """Return whether a key is for the panel, by the time when it came, however late it is handled; else the wait restarts."""
        return self._cancels(event.key) or self._guard.accepts(int(event.time * 1000))

    def _cancels(self, key: str) -> bool:
        """Return whether a key cancels what the user has asked for."""
        if not self.is_asked_for or not any(one.id == CANCEL for one in self.answers):
            return False
        return any(one.id == CANCEL for one in keymap_of(self).actions(key, self.scopes))

    @property
    def answers(self) -> Sequence[KeyAction]:
        """The actions that answer."""
        raise NotImplementedError

    def title(self) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return the question, and the text at its right."""
        raise NotImplementedError

    def body(self, width: int) -> Sequence[Line]:
        """Return the subject; `width` is the space from column 3 on."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Start to wait until keys are accepted."""
        self._await_quiet()

    @property
    def is_guarded(self) -> bool:
        """Return whether keys are not accepted yet."""
        return self._guard.wait(_now()) > 0

    def guard_again(self) -> None:
        """Show another question; keys are ignored again for a while."""
        self._guard = Guard(_now())
        self._top, self.is_read = 0, False
        self._await_quiet()
        self.refresh(layout=True)
        self.redraw()

    def show_rest(self) -> None:
        """Show the next rows of the text; keys are ignored again for a while."""
        self._guard = Guard(_now())
        self._await_quiet()
        self.scroll_by(self._room - 1)

    def _await_quiet(self) -> None:
        left = self._guard.wait(_now())
        if left > 0:
            self.set_timer((left + 5) / 1000, self._await_quiet)
        self.redraw()

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the answers, and the actions that scroll."""
        scroll = {"panel_up": lambda: self.scroll_by(-1), "panel_down": lambda: self.scroll_by(1)}
        return {**scroll, **{one.id: one.act for one in self.answers}}

    def receive_key(self, event: events.Key) -> None:
        """Answer, or scroll; before keys are accepted, pass a character to the prompt."""
        if self.accepts_key(event):
            super().receive_key(event)
        elif event.is_printable and event.character:
            self.post_message(self.Typed(event.character))

    def on_click(self, event: events.Click) -> None:
        """Handle a click on a key's description like the key."""
        if not self._guard.accepts(_now()):
            return
        act = event.style.meta.get("panel_action") if event.style.meta else None
        found = next((one for one in self.answers if one.id == act), None)
        if found is not None:
            found.act()

    def on_mouse_scroll_down(self) -> None:
        """Scroll inside."""
        self.scroll_by(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll inside."""
        self.scroll_by(-3)

    def scroll_by(self, lines: int) -> None:
        """Scroll the text, limited to its ends."""
        self._show_from(self._top + lines)

    def scroll_to_line(self, line: int) -> None:
        """Make a line of the text visible, and the one after it: the last row may show the number of hidden lines."""
        room = self._room
        self._show_from(min(max(self._top, line - room + 2), line))

    @property
    def inside(self) -> int:
        """The width of a line of the text."""
        return self._inside(self.size.width)

    @property
    def _room(self) -> int:
        return max(1, self.size.height - self._fixed(self.size.width))

    def _show_from(self, top: int) -> None:
        most = max(0, len(self.body(self.inside)) - self._room)
        self._top = min(max(0, top), most)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the question, at most 60 % of the screen."""
        wanted = self._fixed(width) + len(self.body(self._inside(width)))
        return min(wanted, max(8, viewport.height * 60 // 100))

    def _fixed(self, width: int) -> int:
        """The number of rows that do not scroll: around the title, before, at and after the keys."""
        return 3 + 2 + len(self._key_rows(width))

    @staticmethod
    def _inside(width: int) -> int:
        return width - INSIDE - 3

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Draw empty, title, empty, text, empty, keys, empty."""
        left, right = self.title()
        keys = [self._line(pieces, width) for pieces in self._key_rows(width)]
        room = max(0, height - 5 - len(keys))
        body = list(self.body(self._inside(width)))
        shown = [self._line(one, width) for one in body[self._top : self._top + room]]
        if len(body) > self._top + room and shown:
            more = f"{self.look.glyphs.ellipsis} {len(body) - self._top - room + 1} lines more, {self.more_key}"
            shown[-1] = self._line([(more, self.look.palette.style("muted", "surface"))], width)
        self.is_read = self.is_read or len(body) <= self._top + room
        empty = self._line([], width)
        return [empty, self._line(left, width, right), empty, *shown, empty, *keys, empty]

    def _line(self, line: Line, width: int, right: Sequence[Piece] = ()) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        edge = Segment(" ", palette.area("background"))
        head = [edge, Segment(f"{glyphs.user_bar} ", palette.style(self.bar, "surface"))]
        fill = palette.area("surface")
        room = width - INSIDE - 1
        if isinstance(line, Strip):
            inside = line.adjust_cell_length(room, fill)
        else:
            facts = [*right, ("  ", fill)] if right else []
            inside = row(room, line, facts, fill=fill, mark=glyphs.ellipsis)
        return Strip([*head, *inside, edge])

    def _key_rows(self, width: int) -> list[list[Piece]]:
        palette = self.look.palette
        is_open = self._guard.wait(_now()) <= 0
        rows: list[list[Piece]] = [[]]
        keymap = keymap_of(self)
        for one in self.answers:
            shown = keymap.first(one.id)
            if not one.words or not shown:  # works, but says itself elsewhere
                continue
            is_live = is_open or (self.is_asked_for and one.id == CANCEL)
            style = palette.style("accent" if is_live else "muted", "surface", bold=is_live)
            meta = {"panel_action": one.id}
            pieces: list[Piece] = [
                (shown, style + _meta(meta)),
                (f" {one.words}", palette.style("text" if is_live else "muted", "surface") + _meta(meta)),
            ]
            gap = 3 if rows[-1] else 0
            if rows[-1] and measure(rows[-1]) + gap + measure(pieces) > self._inside(width):
                rows.append([])
                gap = 0
            rows[-1] += [(" " * gap, palette.area("surface")), *pieces]
        return rows


def _meta(meta: dict[str, str]) -> Style:
    return Style(meta=dict(meta))


def _now() -> int:
    return time.monotonic_ns() // 1_000_000
