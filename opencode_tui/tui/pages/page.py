"""Base classes of pages: a title, a list with one selected row, a row of keys, and a preview at the right of wide screens."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip

from opencode_tui.text.cells import breaks, clip_middle, wrap
from opencode_tui.text.cells import width as cells
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.status_line import pressed, pressing
from opencode_tui.tui.keys.keyed import KeyAction, KeyedScreen, app_of, by_id, closes, keymap_of, moves
from opencode_tui.tui.output.display import DismissOnce
from opencode_tui.tui.screen_guards import ErrorBoundary, failure_words
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row
from opencode_tui.tui.widgets.selection import Selection

WIDE, NARROW = 120, 80
"""Cells of the screen from which the preview is shown, and under which the keys have two rows."""

MARGIN = 3
"""Cells at the left and right of a page's keys and messages."""

HEAD_ROWS, FEWEST = 5, 3
"""Rows of a title with a typed text, and those that a list keeps on a low screen."""

GAP = 3
"""Cells between two keys."""

MESSAGE_ROWS = 4
"""Most rows of a message above the keys."""

_HELP = "help_view"


@dataclass(frozen=True, slots=True)
class ListRow:
    """A row of the list; `id` is empty for one that cannot be selected. `left` and `right` get the area token.

    With `is_sentence` it is one text that goes on in the next rows, as long as the list has rows to spare.
    """

    left: Callable[[str], Sequence[Piece]]
    right: Callable[[str], Sequence[Piece]] | None = None
    id: str = ""
    is_sentence: bool = False


class RowsOnDemand:
    """The rows of a long list, each made when it is drawn."""

    def __init__(self, ids: Sequence[str], make: Callable[[int], ListRow]) -> None:
        """`ids` are those of all rows, `make` returns one by its number."""
        self.ids = ids
        self.make = make

    def __getitem__(self, at: int) -> ListRow:
        """Return a row."""
        return self.make(at)


class PageHead(Rows):
    """Title rows of a page, each (left, right)."""

    lines: Sequence[tuple[Sequence[Piece], Sequence[Piece]]] = ()

    def show(self, lines: Sequence[tuple[Sequence[Piece], Sequence[Piece]]], *, is_table: bool = False) -> None:
        """Show lines between empty rows; of a table, whose last line heads the columns, only the first row is empty."""
        self.lines = lines
        self.styles.height = len(lines) + (1 if is_table else 2)
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return an empty row, the lines and an empty row."""
        fill = self.look.palette.area("background")
        empty = Strip.blank(width, fill)
        drawn = [
            row(width, [("   ", fill), *left], [*right, ("  ", fill)] if right else (), fill=fill, mark="")
            for left, right in self.lines
        ]
        return [empty, *drawn, empty]


class QueryHead(PageHead):
    """The title, and below it a text that is typed."""

    typed = ""
    hint = ""
    is_editing = True

    def show_query(
        self, left: Sequence[Piece], right: Sequence[Piece], *, typed: str, hint: str, is_editing: bool = True
    ) -> None:
        """Show another title row and text; the hint is shown while there is none."""
        self.typed, self.hint, self.is_editing = typed, hint, is_editing
        self.show([(left, right), ([], []), ([], [])])

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the title and the text between empty rows."""
        drawn = [*super().rows(width, height)]
        drawn[3] = self._query(width)
        return drawn

    def _query(self, width: int) -> Strip:
        palette, area = self.look.palette, "surface"
        fill, text = palette.area(area), palette.style("text", area)
        bar: Piece = (f"{self.look.glyphs.user_bar} ", palette.style("accent", area))
        cursor: list[Piece] = [(" ", text + Style(reverse=True))] if self.is_editing else []
        hint: list[Piece] = [] if self.typed else [(self._fitting_hint(width - 5), palette.style("muted", area))]
        shown: list[Piece] = [(screen_line(self.typed), text)] if self.typed else []
        inside = row(max(0, width - 2), [bar, *shown, *cursor, *hint], fill=fill, mark=self.look.glyphs.ellipsis)
        edge = Segment(" ", palette.area("background"))
        return Strip([edge, *inside, edge], width)

    def _fitting_hint(self, room: int) -> str:
        """Return the hint; of a list of examples as many as fit."""
        hint = self.hint
        while cells(hint) > room and ", " in hint:
            hint = hint.rpartition(", ")[0]
        return hint


class PageList(Rows, can_focus=True):
    """The list; it posts `Moved` when another row is selected."""

    class Moved(Message):
        """Another row is selected."""

    class Opened(Message):
        """The selected row was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: Sequence[ListRow] | RowsOnDemand = ()
        self.selection = Selection()
        self._numbers: Sequence[int] = ()
        """The number of the entry that each drawn row belongs to."""

    @property
    def chosen(self) -> str:
        """Return the id of the selected row; empty when there is none."""
        return self.selection.chosen

    def show(
        self,
        entries: Sequence[ListRow] | RowsOnDemand,
        *,
        chosen: str = "",
        near: int | None = None,
        keeps_place: bool = False,
    ) -> None:
        """Show other rows; the selection follows its id. If that is gone it is the row at `near` or after it, else the first.

        With `keeps_place` the selected row stays where it is on the screen.
        """
        at = self.selection.at
        self.entries = entries
        if chosen:
            self.selection.select(chosen)
        ids = entries.ids if isinstance(entries, RowsOnDemand) else [one.id for one in entries]
        self.selection.show(ids, near=near)
        if keeps_place:
            self.selection.scroll(self.selection.at - at)
        self._draw_moved()

    def move(self, rows: int) -> None:
        """Move the selection up or down by selectable rows."""
        if self.selection.move(rows):
            self._draw_moved()

    def on_click(self, event: events.Click) -> None:
        """Select a row; open the selected one."""
        number = self._numbers[event.y] if event.y < len(self._numbers) else -1
        clicked = self.selection.ids[number] if 0 <= number < len(self.selection.ids) else ""
        if clicked:
            if clicked == self.chosen:
                self.post_message(self.Opened())
            self.selection.select(clicked)
            self._draw_moved()

    def _draw_moved(self) -> None:
        self.redraw()
        self.post_message(self.Moved())

    def on_mouse_scroll_down(self) -> None:
        """Move down."""
        self.move(3)

    def on_mouse_scroll_up(self) -> None:
        """Move up."""
        self.move(-3)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the visible rows, the selected one and its neighbors among them."""
        at = self.selection.at
        spare = height - len(self.selection.ids)
        drawn: list[Strip] = []
        numbers: list[int] = []
        for number in self.selection.visible(height):
            entry = self.entries[number]
            area = "selection" if number == at and self.chosen else "background"
            rows = _sentence_rows(entry, area, width - 3, spare + 1) if entry.is_sentence and spare > 0 else [entry]
            drawn += [self._row(one, area, width) for one in rows]
            numbers += [number] * len(rows)
            spare -= len(rows) - 1
        self._numbers = numbers
        return drawn

    def _row(self, entry: ListRow, area: str, width: int) -> Strip:
        palette = self.look.palette
        fill = palette.area(area)
        right = [*entry.right(area), (" ", fill)] if entry.right is not None else [(" ", fill)]
        inside = row(width - 2, entry.left(area), right, fill=fill, mark=self.look.glyphs.ellipsis)
        edge = Segment(" ", palette.area("background"))
        return Strip([edge, *inside, edge], width)


def _sentence_rows(entry: ListRow, area: str, room: int, most: int) -> Sequence[ListRow]:
    """Return the rows of a sentence, each with its indent; the last of `most` rows has all that is left."""
    (text, style), *_ = entry.left(area)
    words = text.lstrip(" ")
    indent = " " * (len(text) - len(words))
    starts = [start for start, _ in breaks(words, max(1, room - len(indent)))][:most]
    ends = [*starts[1:], len(words)]
    lines = [indent + words[start:end].rstrip(" ") for start, end in zip(starts, ends, strict=True)]
    return [ListRow(partial(_one_piece, line, style)) for line in lines] or [entry]


def _one_piece(text: str, style: Style, _area: str) -> Sequence[Piece]:
    return [(text, style)]


class PageFoot(Rows):
    """The keys of the page; a click on one runs its action."""

    def __init__(self) -> None:
        super().__init__()
        self.scope = ""
        """The scope whose keys are shown."""
        self._actions: Sequence[KeyAction] = ()
        self._message: tuple[str, str] = ("", "")

    def show(self, actions: Sequence[KeyAction], *, keeps_message: bool = False) -> None:
        """Show the keys of other actions."""
        self._actions = actions
        if not keeps_message:
            self._message = ("", "")
            self.make_room()
        self.redraw()

    def show_message(self, words: str, token: str = "muted") -> None:
        """Show a message above the keys, on as many rows as it needs up to four; an empty one removes it."""
        self._message = (words, token)
        self.make_room()
        self.redraw()

    def on_resize(self) -> None:
        """Fit the message to another width."""
        self.make_room()

    def make_room(self) -> None:
        """Be as much higher as the message has rows beyond its first."""
        usual = int(self.styles.height.value) if self.styles.height is not None else 0
        more = len(self._message_rows(self.size.width)) - 1
        self.styles.min_height = min(usual + more, max(usual, self._most_rows)) if usual and more > 0 else None

    @property
    def _most_rows(self) -> int:
        """The rows that the list of a low screen leaves to the message and the keys."""
        return self.app.size.height - HEAD_ROWS - FEWEST

    def _message_rows(self, width: int) -> Sequence[str]:
        """Return the message in rows; of one that is too long for them the end is kept, where remedies are."""
        words, room = self._message[0], width - 2 * MARGIN
        if room < MARGIN:
            return [words]
        most = min(MESSAGE_ROWS, max(1, self._most_rows - 2))  # a row of keys and an empty one are below
        rows = wrap(words, room)
        shorter = room * most
        while len(rows) > most:
            shorter -= room // 4 or 1
            rows = wrap(clip_middle(words, shorter, self.look.glyphs.ellipsis), room)
        return rows

    def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked key."""
        wanted = pressed(event)
        found = next((one for one in self._actions if one.id == wanted), None)
        if wanted == _HELP:
            event.stop()
            app_of(self).act_on_page(_HELP)
        elif found is not None:
            event.stop()
            found.act()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the message, then as many keys as fit into the rows."""
        palette = self.look.palette
        fill = palette.area("background")
        message = self._message_rows(width)
        key_rows = max(1, height - len(message) - 1)
        lines = self._key_lines(width, key_rows)
        style = palette.style(self._message[1] or "muted")
        return [
            *(row(width, [(" " * MARGIN, fill), (words, style)], fill=fill) for words in message),
            *(row(width, line[:-1], fill=fill) for line in lines),
            Strip.blank(width, fill),
        ]

    def _key_lines(self, width: int, most: int) -> Sequence[Sequence[Piece]]:
        """Return the keys on at most so many rows; where some have no room, the key that lists all of them is before the last."""
        keys = [key for one in self._actions if (key := self._key(one.id, one.words))]
        margin: Piece = (" " * MARGIN, self.look.palette.area("background"))
        lines, is_whole = _fitting(keys, margin, width, most, kept=1)
        all_keys = self._key(_HELP, "help")
        if is_whole or not all_keys or not isinstance(self.screen, KeyedScreen) or not self.screen.has_help:
            return lines
        return _fitting([*keys[:-1], all_keys, *keys[-1:]], margin, width, most, kept=2)[0]

    def _key(self, action_id: str, words: str) -> list[Piece]:
        """Return an action's key with its words and a gap; nothing if one of them is missing."""
        palette = self.look.palette
        shown = keymap_of(self).first(action_id, self.scope)
        if not words or not shown:
            return []
        meta = pressing(action_id)
        return [
            (shown, palette.style("accent", bold=True) + meta),
            (f" {words}", palette.style("text") + meta),
            (" " * GAP, palette.area("background")),
        ]


def _fitting(
    keys: Sequence[list[Piece]], margin: Piece, width: int, most: int, *, kept: int
) -> tuple[list[list[Piece]], bool]:
    """Return the keys that fit on at most so many rows, and whether these are all; the `kept` last ones are always there."""
    lines: list[list[Piece]] = [[margin]]
    is_whole = True

    def fits(key: Sequence[Piece]) -> bool:
        return measure(lines[-1]) + measure(key) - GAP <= width

    for key in keys[:-kept]:
        if measure(lines[-1]) + measure(key) > width and len(lines) < most:
            lines.append([margin])
        if fits(key):
            lines[-1] += key
        else:
            is_whole = False
    last = [piece for key in keys[-kept:] for piece in key]
    if not fits(last) and len(lines) < most:
        lines.append([margin])
    while len(lines[-1]) > 1 and not fits(last):
        del lines[-1][-3:]
        is_whole = False
    lines[-1] += last if fits(last) else [piece for key in keys[-1:] for piece in key]
    return lines, is_whole


class Preview(Rows):
    """The panel at the right."""

    area = "panel"

    def __init__(self) -> None:
        super().__init__()
        self.draw: Callable[[int], Sequence[Sequence[Piece] | Strip]] = lambda _room: ()

    def show(self, draw: Callable[[int], Sequence[Sequence[Piece] | Strip]]) -> None:
        """Show the lines that `draw` returns for the cells between the margins."""
        self.draw = draw
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return an empty row, then the drawn lines."""
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


class PageScreen(KeyedScreen, ErrorBoundary, DismissOnce[str | None], inherit_bindings=False):
    """A page. Subclasses implement `page_actions` and `fill`, and name their scope; escape closes it."""

    DEFAULT_CSS = """
    PageScreen { layout: horizontal; background: $background; }
    PageScreen #page-left { width: 1fr; height: 100%; }
    PageScreen PageList { height: 1fr; }
    PageScreen PageFoot { height: 3; }
    PageScreen.-narrow PageFoot { height: 4; }
    PageScreen Preview { width: 38%; height: 100%; display: none; }
    PageScreen.-wide Preview { display: block; }
    """

    has_preview = True
    scopes = ("page",)

    def __init__(self) -> None:
        super().__init__()
        self.head = PageHead()
        self.listing = PageList()
        self.foot = PageFoot()
        self.foot.scope = self.scopes[0]
        self.preview = Preview()

    @property
    def subject(self) -> object:
        """The selected row."""
        return self.listing.chosen

    def compose(self) -> ComposeResult:
        """Yield the list at the left and the preview at the right."""
        with Horizontal():
            with Vertical(id="page-left"):
                yield self.head
                yield self.listing
                yield self.foot
            if self.has_preview:
                yield self.preview

    def on_mount(self) -> None:
        """Focus the list and fill the page."""
        self.listing.focus()
        self.fill()

    def on_resize(self, event: events.Resize) -> None:
        """Show the preview on a wide screen, and the keys in two rows on a narrow one."""
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.width < NARROW, "-narrow")
        self.foot.make_room()  # at another height the keys may keep their size, and get no event

    def fill(self) -> None:
        """Fill the widgets; called once after mounting."""
        raise NotImplementedError

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the available actions without those that every page has."""
        raise NotImplementedError

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions of the page, those that move in the list, and the one that closes the page."""
        return {
            **{name: partial(self.move, rows) for name, rows in moves("page", 15).items()},
            **by_id(closes(self.close_words(), self.close_page), *self.page_actions()),
        }

    def move(self, rows: int) -> None:
        """Move the selection."""
        self.listing.move(rows)

    def close_page(self) -> None:
        """Close the page."""
        self.dismiss(None)

    def show_leader(self, is_pending: bool) -> None:
        """Show above the keys that the second key of a sequence is expected."""
        self.foot.show_message(f"{keymap_of(self).leader}  …" if is_pending else "")

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        self.foot.show([*self.page_actions(), closes(self.close_words(), self.close_page)])

    def show_failed_work(self, error: Exception) -> None:
        """Show above the keys why what the page loads is missing."""
        self.foot.show_message(screen_line(failure_words(error)), "error")

    def close_words(self) -> str:
        """Return what closing the page does, in one word."""
        return "back"

    def on_page_list_moved(self) -> None:
        """Update the keys for the selected row."""
        self.show_keys()

    def cut_words(self) -> str:
        """Return the last column of the selected row if the list cuts it, else nothing; to be shown above the keys."""
        entries = self.listing.entries
        if isinstance(entries, RowsOnDemand):
            return ""
        found = next((one for one in entries if one.id and one.id == self.listing.chosen), None)
        room = self.listing.size.width - 4
        if found is None or room <= 0:
            return ""
        left, right = found.left("selection"), found.right("selection") if found.right is not None else ()
        is_cut = measure(left) + measure(right) > room
        return left[-1][0].strip() if is_cut else ""

    def sentence(self, words: str, token: str = "muted", *, bold: bool = False, row_id: str = "") -> ListRow:
        """Return a row of safe words below the list's names, on as many rows as it needs."""
        shown = self.listing.look.words(words)
        return ListRow(
            lambda area: [(f"  {shown}", self.style(token, area, bold=bold))], None, row_id, is_sentence=True
        )

    def style(self, token: str, area: str = "background", *, bold: bool = False) -> Style:
        """Return a style of the look."""
        return self.listing.look.palette.style(token, area, bold=bold)
