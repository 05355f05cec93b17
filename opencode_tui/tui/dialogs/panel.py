"""A question that replaces the prompt: its subject, its reason, and the keys that answer it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.keys.keyed import CANCEL, KeyAction, Keyed, keymap_of
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

OPENING_MS, QUIET_MS = 400, 150
"""Milliseconds after a question appeared, and those without a key, before it accepts one."""

TYPING_MS = 1000
"""The same for both while the user writes a text: gaps between the keys of most typists are longer than `QUIET_MS`."""

RECENT_MS = 3000
"""Milliseconds for which the user may think before the next key of a text."""


class Guard:
    """Ignores keys for 400 ms after the question appeared, then until 150 ms passed without a key; accepts all afterwards.

    Both are 1 s while the user writes a text: until shortly before the question, or since then.
    """

    def __init__(self, now: int, typed: int | None = None) -> None:
        """`typed` is when the last key of an unfinished text came."""
        self.opened = now
        self._last = now
        self._is_typing = typed is not None and now - typed < RECENT_MS
        self._is_live = False

    def wait(self, now: int) -> int:
        """Return the remaining ms without a key; 0 if keys are accepted."""
        if self._is_live:
            return 0
        longer = TYPING_MS if self._is_typing else 0
        opening, quiet = max(OPENING_MS, longer), max(QUIET_MS, longer)
        return max(0, self.opened + opening - now, self._last + quiet - now)

    def accepts(self, now: int, *, is_text: bool = False) -> bool:
        """Return whether a key that came at `now` is accepted; an ignored one restarts the wait. In ms of a monotonic clock.

        An ignored one of a text makes the wait longer.
        """
        self._is_live = self._is_live or self.wait(now) <= 0
        self._is_typing = self._is_typing or is_text
        self._last = max(self._last, now)
        return self._is_live


Line = Sequence[Piece] | Strip
"""Pieces of one row from column 3 on, or a full row."""

INSIDE = 3
"""The column where texts start."""

BLANKS = 4
"""Empty rows around the title and the keys."""

TEXT = 6
"""Rows of the text that come before empty ones."""

ROOM_BESIDE = 20
"""Cells of a row's text that leave space beside it for words about the hidden rows, in place of their number."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """What a panel of some size has space for; `body` is drawn for `text_width` cells."""

    keys: Sequence[list[Piece]]
    body: Sequence["Line"]
    text_width: int
    room: int
    """Rows for the text."""
    blanks: int
    has_title: bool


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
        self.typed_at: Callable[[], int | None] = lambda: None
        """Returns when the last key of an unfinished text came."""
        self._guard = Guard(_now())
        self._top = 0
        self._places: Mapping[int, int] = {}
        """The lines of the text by the rows of the panel that show them."""
        self._count = 0
        """The number of lines."""
        self._text_width: int = 0
        self._seen: set[int] = set()
        """The lines that were shown."""
        self._is_shown = False
        """Whether a line was shown, or of a panel without a text anything."""

    def accepts_key(self, event: events.Key | events.Paste, *, is_text: bool = False) -> bool:
        """Return whether a key is for the panel, by the time when it came, however late it is handled; else the wait restarts.

        No key is for a panel of which nothing can be read. `is_text`: an ignored one is typed text.
        """
        if isinstance(event, events.Key) and self._cancels(event.key):
            return True
        return self._guard.accepts(int(event.time * 1000), is_text=is_text) and self._is_shown

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
        self.restart()

    @property
    def is_guarded(self) -> bool:
        """Return whether keys are not accepted yet."""
        return not self._is_shown or self._guard.wait(_now()) > 0

    @property
    def is_read(self) -> bool:
        """Return whether the end of the text was shown."""
        return self._is_shown and (self._count == 0 or self._count - 1 in self._seen)

    def guard_again(self) -> None:
        """Show another question; keys are ignored again for a while."""
        self._top = 0
        self._seen.clear()
        self._is_shown = False
        self.restart()
        self.refresh(layout=True)

    def restart(self, since: int = 0) -> None:
        """Ignore keys again for a while, unless the question was there before `since`, in ms of a monotonic clock."""
        if self._guard.opened >= since:
            self._guard = Guard(_now(), self.typed_at())
            self._await_quiet()

    def show_rest(self) -> None:
        """Show the next rows of the text; keys are ignored again for a while."""
        self.restart()
        self.scroll_by(max(1, self._room - 1))

    def was_shown(self, line: int) -> bool:
        """Return whether a line of the text was shown; else show it now, and ignore keys again for a while."""
        if line in self._seen:
            return True
        self.restart()
        self.scroll_to_line(line)
        return False

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
        if not (self._guard.accepts(_now()) and self._is_shown):
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
    def text_width(self) -> int:
        """The width for which the text was drawn last: it may have to leave space for the number of hidden rows."""
        return self._text_width or self.inside

    @property
    def _room(self) -> int:
        return max(1, self._fit(*self.size).room)

    def _show_from(self, top: int) -> None:
        fit = self._fit(*self.size)
        self._top = min(max(0, top), max(0, len(fit.body) - max(1, fit.room)))
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the question: at most 60 % of the screen, but of a low one all rows but one."""
        wanted = 1 + BLANKS + len(self._key_rows(width)) + len(self.body(self._inside(width)))
        rows: int = viewport.height
        return min(wanted, rows - 1 if self.screen.has_class("-low") else max(8, rows * 60 // 100))

    def _fit(self, width: int, height: int) -> _Fit:
        """Return what there is space for. A row of the text comes first, then the keys, the title, more text, empty rows."""
        keys, text_width = self._key_rows(width), self._inside(width)
        body = self.body(text_width)
        least = min(1, len(body))
        has_title = height > least + len(keys)
        keys = keys[: max(0, height - least)]
        space = height - has_title - len(keys)
        blanks = min(BLANKS, max(0, space - min(TEXT, len(body))))
        room = space - blanks
        if room == 1 < len(body):
            text_width = max(1, text_width - measure([(self._more(2 * len(body), text_width), Style())]) - 1)
            body = self.body(text_width)
        return _Fit(keys, body, text_width, room, blanks, has_title)

    def _more(self, hidden: int, width: int) -> str:
        """Return what says how many rows are hidden, beside the only row of a text of this width."""
        words = f"{self.look.glyphs.ellipsis} {hidden} lines more, {self.more_key}"
        return words if width - len(words) > ROOM_BESIDE else f"{self.look.glyphs.ellipsis}{hidden}"

    @staticmethod
    def _inside(width: int) -> int:
        return max(1, width - INSIDE - 3)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Draw empty, title, empty, text, empty, keys, empty; where there is little space without empty rows."""
        self._places = {}
        fit = self._fit(width, height)
        if fit.text_width != self._text_width:
            self._text_width = fit.text_width
            self._seen.clear()
        self._count = len(fit.body)
        self._top = min(self._top, max(0, self._count - max(1, fit.room)))
        end = min(self._count, self._top + fit.room)
        lines, hidden = range(self._top, end), self._count - end
        shown = [self._line(fit.body[at], width) for at in lines]
        muted = self.look.palette.style("muted", "surface")
        if hidden and fit.room == 1:
            shown = [self._line(fit.body[self._top], width, [(self._more(hidden, self._inside(width)), muted)])]
        elif hidden and shown:
            more = f"{self.look.glyphs.ellipsis} {hidden + 1} lines more, {self.more_key}"
            shown[-1], lines = self._line([(more, muted)], width), lines[:-1]
        empty = [self._line([], width)]
        left, right = self.title()
        above = [
            *(empty if fit.blanks > 2 else ()),
            *([self._line(left, width, right)] if fit.has_title else ()),
            *(empty if fit.blanks > 0 else ()),
        ]
        below = [self._line(pieces, width) for pieces in fit.keys]
        self._places = dict(enumerate(lines, len(above)))
        return [*above, *shown, *empty * (fit.blanks > 1), *below, *empty * (fit.blanks > 3)]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return rows for the compositor, and note which lines of the text are seen."""
        strips = super().render_lines(crop)
        self._seen.update(self._places[y] for y in crop.line_range if y in self._places)
        if not self._is_shown and (self._seen or (self._count == 0 and crop.height > 0)):
            self._is_shown = True
            if self._guard.wait(_now()) <= 0:  # nothing could be read until now
                self.restart()
        return strips

    def _line(self, line: Line, width: int, right: Sequence[Piece] = ()) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        edge = Segment(" ", palette.area("background"))
        head = [edge, Segment(f"{glyphs.user_bar} ", palette.style(self.bar, "surface"))]
        fill = palette.area("surface")
        room = width - INSIDE - 1
        facts = [*right, ("  ", fill)] if right else []
        if isinstance(line, Strip):
            inside = Strip([*line.adjust_cell_length(room - measure(facts), fill), *(Segment(*one) for one in facts)])
        else:
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
