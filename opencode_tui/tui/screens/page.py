"""What full screens share: a title, a list with one row chosen, a row of keys; a preview at the right where there is room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip

from opencode_tui.tui.chrome.status_line import pressed, pressing
from opencode_tui.tui.screen_guards import DismissOnce, ErrorBoundary
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

WIDE = 120
"""Cells of the screen from which the preview stands beside the list."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the list: `id` empty for one that cannot be chosen; `left` and `right` are drawn on an area token."""

    left: Callable[[str], Sequence[Piece]]
    right: Callable[[str], Sequence[Piece]] | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class PageKey:
    """A key of a page; `words` empty for one that is not shown."""

    key: str
    words: str
    act: Callable[[], object]


class PageHead(Rows):
    """As many rows as it is given lines: (left, right)."""

    lines: Sequence[tuple[Sequence[Piece], Sequence[Piece]]] = ()

    def show(self, lines: Sequence[tuple[Sequence[Piece], Sequence[Piece]]], *, is_table: bool = False) -> None:
        """Take other lines; an empty row stands above and below, or only above where the last one heads the list's columns."""
        self.lines = lines
        self.styles.height = len(lines) + (1 if is_table else 2)
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Empty, the lines, empty."""
        fill = self.look.palette.area("background")
        empty = Strip.blank(width, fill)
        drawn = [
            row(width, [("   ", fill), *left], [*right, ("  ", fill)] if right else (), fill=fill, mark="")
            for left, right in self.lines
        ]
        return [empty, *drawn, empty]


class PageList(Rows, can_focus=True):
    """The list; `Moved` tells when another row is chosen."""

    class Moved(Message):
        """Another row is chosen."""

    class Opened(Message):
        """Enter, or a second click on the chosen row."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: Sequence[Entry] = ()
        self._at = 0
        self._top = 0

    @property
    def chosen(self) -> str:
        """The id of the chosen row; empty when there is none."""
        return self.entries[self._at].id if 0 <= self._at < len(self.entries) else ""

    def show(self, entries: Sequence[Entry], *, chosen: str = "") -> None:
        """Take other rows; the chosen one stays by its id."""
        wanted = chosen or self.chosen
        self.entries = entries
        places = [at for at, one in enumerate(entries) if one.id]
        self._at = next((at for at in places if entries[at].id == wanted), places[0] if places else 0)
        self.redraw()
        self.post_message(self.Moved())

    def move(self, rows: int) -> None:
        """Go up or down over the rows that can be chosen."""
        places = [at for at, one in enumerate(self.entries) if one.id]
        if not places:
            return
        here = places.index(self._at) if self._at in places else 0
        self._at = places[min(max(0, here + rows), len(places) - 1)]
        self.redraw()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Choose a row; the chosen one is opened."""
        at = self._top + event.y
        if 0 <= at < len(self.entries) and self.entries[at].id:
            if at == self._at:
                self.post_message(self.Opened())
            self._at = at
            self.redraw()
            self.post_message(self.Moved())

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.move(3)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.move(-3)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The rows in sight; the chosen one and one beyond it are."""
        most = max(0, len(self.entries) - height)
        self._top = min(max(self._top, self._at - height + 2), self._at - 1 if self._at else 0, most)
        self._top = max(0, self._top)
        shown = self.entries[self._top : self._top + height]
        return [self._row(one, self._top + at == self._at and bool(one.id), width) for at, one in enumerate(shown)]

    def _row(self, entry: Entry, is_here: bool, width: int) -> Strip:
        palette = self.look.palette
        area = "selection" if is_here else "background"
        fill = palette.area(area)
        right = [*entry.right(area), (" ", fill)] if entry.right is not None else [(" ", fill)]
        inside = row(width - 2, entry.left(area), right, fill=fill, mark=self.look.glyphs.ellipsis)
        edge = Segment(" ", palette.area("background"))
        return Strip([edge, *inside, edge], width)


class PageFoot(Rows):
    """The keys that act here; a click on one is that key."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: Sequence[PageKey] = ()
        self._told: tuple[str, str] = ("", "")

    def show(self, keys: Sequence[PageKey]) -> None:
        """Take other keys."""
        self._keys = keys
        self._told = ("", "")
        self.redraw()

    def show_message(self, words: str, token: str = "muted") -> None:
        """Say something above the keys; empty takes it away."""
        self._told = (words, token)
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Do what the key under the pointer does."""
        wanted = pressed(event)
        found = next((one for one in self._keys if one.key == wanted), None)
        if found is not None:
            event.stop()
            found.act()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """What was told, then the keys, as many as fit."""
        palette = self.look.palette
        fill = palette.area("background")
        pieces: list[Piece] = [("   ", fill)]
        for one in self._keys:
            if one.words:
                shown = {"escape": "esc"}.get(one.key, one.key)
                meta = pressing(one.key)
                key = [
                    (shown, palette.style("accent", bold=True) + meta),
                    (f" {one.words}", palette.style("text") + meta),
                ]
                key.append(("   ", fill))
                if measure(pieces) + measure(key) <= width:
                    pieces += key
        words, token = self._told
        told = row(width, [("   ", fill), (words, palette.style(token or "muted"))], fill=fill)
        return [told, row(width, pieces, fill=fill), Strip.blank(width, fill)]


class Preview(Rows):
    """The area at the right; `lines` are pieces on the panel's tone, inside its margin."""

    area = "panel"

    def __init__(self) -> None:
        super().__init__()
        self.draw: Callable[[int], Sequence[Sequence[Piece] | Strip]] = lambda _room: ()

    def show(self, draw: Callable[[int], Sequence[Sequence[Piece] | Strip]]) -> None:
        """Draw something else; it is asked with the room between the margins."""
        self.draw = draw
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Empty, then what is drawn."""
        palette = self.look.palette
        fill = palette.area(self.area)
        first = (self.look.glyphs.divider if not palette.tones else " ", palette.style("border", self.area))
        room = width - 4
        ruled = Strip([Segment(*first), Segment(" " * (width - 1), fill)], width)
        empty = Strip.blank(width, fill) if palette.tones else ruled
        rows: list[Strip] = [empty]
        for line in self.draw(room):
            inside = line.adjust_cell_length(room, fill) if isinstance(line, Strip) else row(room, line, fill=fill)
            rows.append(Strip([Segment(*first), Segment(" ", fill), *inside, Segment("  ", fill)], width))
        return [*rows, *[empty] * (height - len(rows))][:height]


class PageScreen(ErrorBoundary, DismissOnce[str | None], inherit_bindings=False):
    """A full screen. Subclasses give `keys` and fill the widgets; escape closes it."""

    DEFAULT_CSS = """
    PageScreen { layout: horizontal; background: $background; }
    PageScreen #page-left { width: 1fr; height: 100%; }
    PageScreen PageList { height: 1fr; }
    PageScreen PageFoot { height: 3; }
    PageScreen Preview { width: 38%; height: 100%; display: none; }
    PageScreen.-wide Preview { display: block; }
    """

    has_preview = True

    def __init__(self) -> None:
        super().__init__()
        self.head = PageHead()
        self.listing = PageList()
        self.foot = PageFoot()
        self.preview = Preview()

    def compose(self) -> ComposeResult:
        """The list at the left, the preview at the right."""
        with Horizontal():
            with Vertical(id="page-left"):
                yield self.head
                yield self.listing
                yield self.foot
            if self.has_preview:
                yield self.preview

    def on_mount(self) -> None:
        """Take the keys and fill the page."""
        self.listing.focus()
        self.fill()

    def on_resize(self, event: events.Resize) -> None:
        """Show the preview where there is room."""
        self.set_class(event.size.width >= WIDE, "-wide")

    def fill(self) -> None:
        """Fill the widgets; called once when the page stands."""
        raise NotImplementedError

    def page_keys(self) -> Sequence[PageKey]:
        """The keys that act now, escape left out."""
        raise NotImplementedError

    def show_keys(self) -> None:
        """Draw the row of keys anew."""
        self.foot.show([*self.page_keys(), PageKey("escape", "back", lambda: self.dismiss(None))])

    def on_page_list_moved(self) -> None:
        """Follow the chosen row."""
        self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """Move, act, or go back."""
        event.stop()
        moves = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -15, "pagedown": 15, "home": -(10**6), "end": 10**6}
        found = next((one for one in self.page_keys() if one.key == event.key), None)
        if found is not None:
            found.act()
        elif event.key in moves:
            self.listing.move(moves[event.key])
        elif event.key in ("escape", "q", "ctrl+c"):
            self.dismiss(None)

    def style(self, token: str, area: str = "background", *, bold: bool = False) -> Style:
        """A style of the look."""
        return self.listing.look.palette.style(token, area, bold=bold)
