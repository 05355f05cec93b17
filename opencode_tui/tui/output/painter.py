"""Writes the difference between what the terminal shows and what it should show: changed cells, scrolled regions."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import ne
from typing import NamedTuple

from rich.color import ColorSystem
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from opencode_tui.text.cells import extra_cells, width
from opencode_tui.tui.output import hyperlink
from opencode_tui.tui.output.hyperlink import link_of
from opencode_tui.tui.output.pictures import CLEAR_ALL, Run, Shown, Strips, clear_row, runs_of, without_pictures

_JOINER = "\u200d"
_KEPT_STRIPS = 4
"""So many strips for each row of the screen are kept with their cells, and as many that were drawn before these: lines that
scroll are drawn again and again."""


class Pen(NamedTuple):
    """A style as parameters of SGR, empty for the terminal's default, and the address of a hyperlink."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


class Row(NamedTuple):
    """A row of cells. The second cell of a wide character has no text; marks are in the cell that they are drawn on."""

    text: list[str]
    pens: list[Pen]


PLAIN = Pen()


def blank_row(size: int) -> Row:
    """Return a row of cells without text and style."""
    return Row([" "] * size, [PLAIN] * size)


class Canvas:
    """The cells of the whole screen. Rows are replaced, never changed, so that another thread may read them."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.size = (0, 0)
        self._known: dict[int, tuple[Strip, Row]] = {}
        self._earlier: dict[int, tuple[Strip, Row]] = {}

    def resize(self, columns: int, rows: int) -> None:
        """Apply the size of an update; another one than before empties all cells."""
        if (columns, rows) != self.size:
            self.size, self.rows = (columns, rows), [blank_row(columns)] * rows

    def draw(self, update: LayoutUpdate | ChopsUpdate, colors: ColorSystem) -> None:
        """Apply an update of the compositor."""
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips, update.region.y):
                self._put(y, update.region.x, strips, colors)
            return
        for y, start, end in update.spans:
            for stop, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x <= end and stop > start:
                    self._put(y, x, [strip if stop <= end else strip.crop(0, end - x)], colors)

    def echo(self, character: str, x: int, y: int, first: int) -> bool:
        """Draw a typed character of one cell where the cursor is, and the cursor behind it; the text's first column is `first`.

        Return False, and draw nothing, where no letter of the text shows its style, or where the two cells are not blank.
        """
        row = self.rows[y] if y < len(self.rows) else blank_row(0)
        letter = next(
            (at for at in range(min(x, len(row.text)) - 1, first - 1, -1) if row.text[at] not in (" ", "")), -1
        )
        if letter < 0 or row.text[x : x + 2] != [" ", " "]:
            return False
        text, pens = row.text.copy(), row.pens.copy()
        text[x] = character
        pens[x : x + 2] = pens[letter], pens[x]
        self.rows[y] = Row(text, pens)
        return True

    def _put(self, y: int, x: int, strips: Iterable[Strip], colors: ColorSystem) -> None:
        """Replace cells from column `x` on."""
        cells, columns = [self._cells(strip, colors) for strip in strips], self.size[0]
        if x == 0 and len(cells) == 1 and len(cells[0].text) == columns:
            self.rows[y] = cells[0]
            return
        row = self.rows[y]
        text, pens = row.text.copy(), row.pens.copy()
        for piece in cells:
            end = min(columns, x + len(piece.text))
            text[x:end], pens[x:end] = piece.text[: end - x], piece.pens[: end - x]
            if x and width(text[x - 1]) == 2 and text[x]:
                text[x - 1] = " "  # the second half of a wide character was covered
            if end < columns and not text[end]:
                text[end] = " "
            x = end
        self.rows[y] = Row(text, pens)

    def _cells(self, strip: Strip, colors: ColorSystem) -> Row:
        known = self._known.get(id(strip))
        if known is None:
            known = self._earlier.get(id(strip)) or (strip, cells_of(strip, colors))
            if len(self._known) >= _KEPT_STRIPS * self.size[1]:
                self._known, self._earlier = {}, self._known
            self._known[id(strip)] = known
        return known[1]


def cells_of(strip: Strip, colors: ColorSystem) -> Row:
    """Return the cells of a strip."""
    text: list[str] = []
    pens: list[Pen] = []
    for words, style, _ in strip:
        before = len(text)
        if words.isascii():
            text += words
        else:
            spread(text, words)
        pen = PLAIN if style is None else pen_of(style, colors)
        if words.isspace() and not pen.attributes:
            pen = _without_foreground(pen)
        pens += [pen] * (len(text) - before)
    size = strip.cell_length
    blanks = size - len(text)
    return Row([*text, *[" "] * blanks][:size], [*pens, *[PLAIN] * blanks][:size])


def spread(text: list[str], words: str) -> None:
    """Append the cells of words: a wide character has two, marks are in the cell before."""
    is_joined = False
    for letter in words:
        size = width(letter)
        if is_joined or not size:
            if text:
                text[-1 if text[-1] else -2] += letter
            is_joined = letter == _JOINER
            continue
        text += [letter, ""] if size == 2 else [letter]


@lru_cache(4096)
def pen_of(style: Style, colors: ColorSystem) -> Pen:
    """Return the parameters of SGR of a style, and its hyperlink."""
    front, behind = style.color, style.bgcolor
    codes = (
        Strip.render_ansi(style.without_color, colors),
        ";".join(front.downgrade(colors).get_ansi_codes()) if front else "",
        ";".join(behind.downgrade(colors).get_ansi_codes(foreground=False)) if behind else "",
    )
    return Pen(codes[0], "" if codes[1] == "39" else codes[1], "" if codes[2] == "49" else codes[2], link_of(style))


@lru_cache(256)
def _without_foreground(pen: Pen) -> Pen:
    return pen._replace(foreground="")


_PIECE = 1024
"""Characters of a frame that are written at once: an echo does not wait for more."""

_BRIDGE = 5
"""Equal cells between two changed ones that are cheaper to write again than to jump over."""

_ERASED = 10
"""Blanks from which erasing them is cheaper than writing them."""

_KEY = 40
"""Cells at the start of a row by which it is found again after scrolling; a sidebar is at the right."""

_MIN_MOVED = 3
"""Rows that must have moved together."""

_ROW_COST = 8
"""Bytes to address a row."""

_SYNC_BEGIN, _SYNC_END = "\x1b[?2026h", "\x1b[?2026l"


class Frame(NamedTuple):
    """A state of the whole screen."""

    rows: Sequence[Row]
    cursor: tuple[int, int]
    """Column and row; the rows next to it are written first."""

    is_synchronized: bool = False
    """Whether the terminal can show a frame at once."""

    is_urgent: bool = False
    """Whether the cursor's row changed: a frame before it is not finished."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the terminal can do beyond moving the cursor and colors."""

    scrolls: bool = True
    """Whether it has scroll regions."""

    erases: bool = True
    """Whether it erases cells, in the current background."""

    turns_off: bool = True
    """Whether it turns single attributes off, not only all of them."""

    links: bool = True
    """Whether it has hyperlinks, or ignores them."""

    columns: bool = True
    """Whether a column of the cursor's row can be addressed alone."""


class _Tail(NamedTuple):
    """The blank end of a row, in another background than what is before it."""

    y: int
    x: int
    pen: Pen


class Painter:
    """Keeps the cells that the terminal shows, and writes what differs.

    A row with a picture is written whole: the strips of pictures are above its text or in the place of it, by the terminal.
    """

    def __init__(self, abilities: Abilities, pictures: Shown | None = None) -> None:
        self._abilities = abilities
        self._pictures = Shown() if pictures is None else pictures
        self._pictured: set[int] = set()
        """The rows that show pictures."""
        self._sent: dict[int, Strips] = {}
        """The pictures whose data the terminal has."""
        self._is_lost = False
        """Whether pictures may be anywhere."""
        self._rows: list[Row | None] = []
        self._size = (0, 0)
        self._pen = PLAIN
        """The style that the terminal writes in: a frame leaves it as it is, for the next one, which often needs the same."""
        self._is_pen_lost = False
        self._cursor: tuple[int, int] | None = None
        """Where the last frame left the cursor; None after anything else was written."""
        self._at: tuple[int, int] | None = None
        """The row and the column of the cursor within a frame, the column -1 if it is unsure; None if both are."""

    def reset(self) -> None:
        """Assume nothing about the terminal's cells and its style: the next frame is written whole."""
        self._rows = [None] * len(self._rows)
        self._is_pen_lost = True
        self._cursor = None
        self._lose_pictures()

    def plain(self) -> str:
        """Return what turns the terminal's style off, before something else than a frame is written; empty if it is off."""
        self._cursor = None
        return self._turn(PLAIN)

    def begin_with(self, rows: Sequence[Row]) -> None:
        """Assume that the terminal shows these cells, which something else has written."""
        self._rows = [*rows]
        self._size = (len(rows[0].text), len(rows)) if rows else (0, 0)
        self._cursor = None

    def paint(self, frame: Frame, send: Callable[[str], bool]) -> None:
        """Write a frame, nothing for the one that the terminal shows.

        When `send` returns False, stop: what is missing is part of the next frame's difference.
        """
        wanted, (column, line) = frame.rows, frame.cursor
        size = (len(wanted[0].text), len(wanted)) if wanted else (0, 0)
        if size != self._size:
            self._size = size
            self._rows = [None] * len(wanted)
            self._lose_pictures()
        changed = self._changed(wanted)
        if not changed and frame.cursor == self._cursor and not self._is_lost:
            return
        self._cursor, self._at = frame.cursor, None
        out = [_SYNC_BEGIN] if frame.is_synchronized else []
        if self._is_pen_lost:
            self._is_pen_lost, self._pen = False, PLAIN
            out.append("\x1b[m")
        if self._is_lost:
            self._is_lost = False
            out.append(CLEAR_ALL)
        runs = self._find_pictures(wanted, changed)
        if self._abilities.scrolls and len(changed) >= _MIN_MOVED and not runs and not self._pictured:
            scrolling = self._scroll(wanted)
            if scrolling:
                out.append(scrolling)
                changed = self._changed(wanted)
        written = 0
        tails: list[_Tail] = []
        for y in sorted(changed, key=lambda y: abs(y - line)):
            is_pictured = y in runs or y in self._pictured
            for piece in (
                self._picture_row(y, wanted[y], runs) if is_pictured else self._row(y, self._rows[y], wanted[y], tails)
            ):
                out.append(piece)
                written += len(piece)
            self._rows[y] = wanted[y]
            if written >= _PIECE:
                goes_on = send("".join([*out, *self._erase(tails)]))
                out, written = [], 0
                if not goes_on:
                    break
        out += [
            *self._erase(tails),
            self._turn(self._pen._replace(link="")),
            f"\x1b[{line + 1};{column + 1}H",
            _SYNC_END if frame.is_synchronized else "",
        ]
        send("".join(out))

    def _changed(self, wanted: Sequence[Row]) -> list[int]:
        return [y for y, row in enumerate(wanted) if self._rows[y] is not row and self._rows[y] != row]

    def _lose_pictures(self) -> None:
        """Assume that the terminal has no picture's data, and may show pictures anywhere."""
        self._is_lost = bool(self._sent) and self._pictures.is_kitty
        self._sent.clear()
        self._pictured.clear()

    def _find_pictures(self, wanted: Sequence[Row], changed: Sequence[int]) -> dict[int, list[Run]]:
        """Return what each changed row shows of pictures, without the rows that show none."""
        if not self._pictures:
            return {}
        found = {y: runs_of(wanted[y].text) for y in changed}
        return {y: runs for y, runs in found.items() if runs}

    def _picture_row(self, y: int, row: Row, found: Mapping[int, Sequence[Run]]) -> Iterator[str]:
        """Yield a whole row that shows pictures, or did."""
        if y in self._pictured and self._pictures.is_kitty:
            yield clear_row(y)
        self._pictured.discard(y)
        yield from self._row(y, None, Row(without_pictures(row.text), row.pens))
        for run in found.get(y, ()):
            strips = self._pictures.get(run.number)
            is_last = y == self._size[1] - 1  # a sixel image there would scroll the screen
            if strips is None or (is_last and not self._pictures.is_kitty):
                continue
            if self._sent.get(run.number) is not strips:
                self._sent[run.number] = strips
                yield strips.begin()
            yield f"\x1b[{y + 1};{run.x + 1}H" + strips.strip(run.row, run.first, run.cells)
            self._pictured.add(y)
        self._at = None

    def _turn(self, pen: Pen) -> str:
        if not self._abilities.links:
            pen = pen._replace(link="") if pen.link else pen
        before, self._pen = self._pen, pen
        if not before.link and not pen.link:
            return _turned(before, pen, self._abilities.turns_off)
        link = "" if before.link == pen.link else hyperlink.begin(pen.link) if pen.link else hyperlink.CLOSE
        return link + _turned(before._replace(link=""), pen._replace(link=""), self._abilities.turns_off)

    def _row(self, y: int, old: Row | None, new: Row, tails: list[_Tail] | None = None) -> Iterator[str]:
        """Yield what turns a row into another one, but for what is added to `tails`."""
        shifted = _shifted(new.text)
        for start, end in _with_shifted(_spans(old, new), shifted, () if old is None else _shifted(old.text)):
            if (start, end) in shifted:
                yield from self._write_shifted(y, new, start, end)
                continue
            if tails is not None and (tail := self._tail(y, new, start, end)):
                tails.append(tail)
                end = tail.x
                if start == end:
                    break
            yield self._go(y, start)
            x = start
            while x < end:
                pen, first = new.pens[x], x
                while x < end and new.pens[x] == pen:
                    x += 1
                yield from self._run(y, new, first, x, end)

    def _write_shifted(self, y: int, row: Row, start: int, end: int) -> Iterator[str]:
        """Yield cells that a terminal may draw wider than they count: on blanks, and without addressing a column between them."""
        text = row.text
        last = max(x for x in range(start, end) if text[x].strip()) + 1
        for cells, stop in ([" "] * len(text), end), (text, last):
            yield self._go(y, start)
            for x in range(start, stop):
                if cells[x]:
                    yield self._turn(row.pens[x]) + cells[x]
            self._at = (y, -1)

    def _tail(self, y: int, row: Row, start: int, end: int) -> _Tail | None:
        """Return the blank end of a row with what is before it in another background, if erasing it is cheaper."""
        if not self._abilities.erases or end < len(row.text) or row.pens[-1].attributes:
            return None
        pen, first = row.pens[-1], end
        while first > start and row.text[first - 1] == " " and row.pens[first - 1] == pen:
            first -= 1
        before = row.pens[first - 1] if first else pen
        return _Tail(y, first, pen) if end - first >= _ERASED and before.background != pen.background else None

    def _erase(self, tails: list[_Tail]) -> Iterator[str]:
        """Yield what erases the ends of rows, those of one style together; then there are none."""
        for y, x, pen in sorted(tails, key=lambda one: (one.pen != self._pen, one.pen)):
            yield f"{self._go(y, x)}{self._turn(pen._replace(foreground=self._pen.foreground))}\x1b[K"
        tails.clear()

    def _run(self, y: int, row: Row, x: int, stop: int, end: int) -> Iterator[str]:
        """Yield cells of one style; the cursor is on the first one, and after them unless they end the span."""
        text, pen = row.text[x:stop], row.pens[x]
        words = "".join(text)
        shown = words.rstrip(" ") if not pen.attributes else words
        blanks = len(words) - len(shown)
        is_last = stop == len(row.text)
        if not self._abilities.erases or blanks < _ERASED:
            shown, blanks = words, 0
        if shown:
            blank_pen = pen._replace(foreground=self._pen.foreground) if shown.isspace() else pen
            yield self._turn(blank_pen if not pen.attributes else pen)
            is_end = stop == end and not blanks
            cells = text[: len(text) - blanks]
            yield from [shown] if shown.isascii() else self._addressed(cells, y, x, is_end=is_end)
            after = stop - blanks
            self._at = None if after == len(row.text) else (y, after if shown.isascii() or not is_end else -1)
        if blanks:
            yield self._turn(pen._replace(foreground=self._pen.foreground))
            yield "\x1b[K" if is_last else f"\x1b[{blanks}X"
            if stop < end:
                yield self._go(y, stop)

    def _addressed(self, text: list[str], y: int, x: int, *, is_end: bool) -> Iterator[str]:
        """Yield cells; after those that a terminal may draw wider or narrower, the cursor is addressed again."""
        is_lost = False
        for column, cell in enumerate(text, x):
            if not cell:
                continue
            if is_lost and (cell.isascii() or _is_unsure(text[column - x - 1] or text[column - x - 2])):
                yield self._go_in_row(y, column)
            yield cell
            is_lost = not cell.isascii()
        if is_lost and not is_end:
            yield self._go_in_row(y, x + len(text))

    def _go_in_row(self, y: int, x: int) -> str:
        """Return what moves the cursor to a column, from an unsure one of the same row."""
        self._at = (y, -1)
        return self._go(y, x)

    def _go(self, y: int, x: int) -> str:
        """Return the shortest sequence that moves the cursor to a row and a column."""
        before, self._at = self._at, (y, x)
        there = f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H"
        if before is None or not self._abilities.columns:
            return there
        row, column = before
        across = "" if column == x else f"\x1b[{x + 1}G" if x else "\x1b[G"
        if 0 <= column < x:
            across = min(across, _moved_by(x - column, "C"), key=len)
        return min(there, (_moved_by(y - row, "B") if y > row else _moved_by(row - y, "A")) + across, key=len)

    def _scroll(self, wanted: Sequence[Row]) -> str:
        """Scroll the rows that moved together, if that is cheaper than to write them; return how."""
        rows = [row for row in self._rows if row is not None]
        if len(rows) != len(wanted):
            return ""
        found = _moved(rows, wanted)
        if found is None:
            return ""
        top, bottom, lines = found
        size = len(rows[0].text)
        blanks = [blank_row(size)] * min(abs(lines), bottom - top)
        inside = [*rows[top + lines : bottom], *blanks] if lines > 0 else [*blanks, *rows[top : bottom + lines]]
        scrolled = [*rows[:top], *inside, *rows[bottom:]]
        if _cost(scrolled, wanted) + 4 * _ROW_COST >= _cost(rows, wanted):
            return ""
        self._rows = [*scrolled]
        moves = f"\x1b[{bottom};1H" + "\n" * lines if lines > 0 else f"\x1b[{top + 1};1H" + "\x1bM" * -lines
        off = self._turn(PLAIN._replace(foreground=self._pen.foreground))
        return f"{off}\x1b[{top + 1};{bottom}r{moves}\x1b[r"


_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "7": "27", "9": "29"}
"""What turns one attribute of SGR off; bold and dim have one code in common."""


@lru_cache(4096)
def _turned(before: Pen, after: Pen, turns_off: bool) -> str:
    """Return the shortest sequence that changes the current style; `turns_off` is that of `Abilities`."""
    if before == after:
        return ""
    had, wanted = ({*pen.attributes.split(";")} - {""} for pen in (before, after))
    ways = [["0", *filter(None, after)] if any(after) else [""]]
    gone = had - wanted
    if not gone or (turns_off and gone <= _OFF.keys()):
        off = {_OFF[code] for code in gone}
        kept = {code for code in wanted & had if _OFF.get(code) in off}  # bold ends with dim
        codes = [*sorted(off), *sorted(kept | (wanted - had))]
        codes += [after.foreground or "39"] if before.foreground != after.foreground else []
        codes += [after.background or "49"] if before.background != after.background else []
        if not codes:
            return ""  # the same attributes in another order
        ways.append(codes)
    return f"\x1b[{min(map(';'.join, ways), key=len)}m"


def _moved_by(cells: int, direction: str) -> str:
    """Return what moves the cursor by some rows or columns."""
    return f"\x1b[{'' if cells == 1 else cells}{direction}" if cells else ""


def _spans(old: Row | None, new: Row) -> list[tuple[int, int]]:
    """Return the changed columns; both cells of a wide character are together."""
    size = len(new.text)
    if old is None:
        return [(0, size)]
    found: list[tuple[int, int]] = []
    pairs = zip(old.text, new.text, old.pens, new.pens, strict=True)
    for x, (one, other, pen, turned) in enumerate(pairs):
        if one == other and pen == turned:
            continue
        start = x - 1 if x and not other else x
        end = x + 2 if x + 1 < size and not new.text[x + 1] else x + 1
        if found and start - found[-1][1] < _BRIDGE:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return [(start - 1 if start and not new.text[start] else start, end) for start, end in found]


def _shifted(text: Sequence[str]) -> list[tuple[int, int]]:
    """Return the columns from each character that may be drawn wider up to the end of the first gap that absorbs that."""
    found: list[tuple[int, int]] = []
    start, extra, blanks = -1, 0, 0
    for x, cell in enumerate(text):
        more = extra_cells(cell) if len(cell) > 1 else 0
        if start < 0 and not more:
            continue
        start = x if start < 0 else start
        extra += more
        blanks = blanks + 1 if cell == " " else 0
        if blanks > extra:
            found.append((start, x + 1))
            start, extra, blanks = -1, 0, 0
    return [*found, (start, len(text))] if start >= 0 else found


def _with_shifted(
    spans: list[tuple[int, int]], shifted: Sequence[tuple[int, int]], before: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the changed columns with all of each shifted part that they touch, the shifted parts apart.

    `before` are those that the terminal shows: what stands there may be anywhere in them.
    """
    if not shifted and not before:
        return spans
    touched = [one for one in (*shifted, *before) if any(start < one[1] and one[0] < end for start, end in spans)]
    columns = {x for start, end in (*spans, *touched) for x in range(start, end)}
    own = [one for one in shifted if any(x in columns for x in range(*one))]
    columns.difference_update(x for one in own for x in range(*one))
    rest: list[tuple[int, int]] = []
    for x in sorted(columns):
        if rest and rest[-1][1] == x:
            rest[-1] = (rest[-1][0], x + 1)
        else:
            rest.append((x, x + 1))
    return sorted([*rest, *own])


def _is_unsure(cell: str) -> bool:
    """Return whether terminals disagree about the width: clusters and symbols, not letters and lines."""
    return len(cell) > 1 or "\u2600" <= cell < "\u2e80" or cell >= "\U00010000"


def _moved(old: Sequence[Row], new: Sequence[Row]) -> tuple[int, int, int] | None:
    """Return the region of the most rows that moved together, and by how many lines they moved up."""
    before, after = _unique(old), _unique(new)
    shifts = Counter(before[key] - y for key, y in after.items() if key in before)
    if not shifts:
        return None
    lines, count = max(
        ((lines, count) for lines, count in shifts.items() if lines), key=lambda one: one[1], default=(0, 0)
    )
    if count < _MIN_MOVED:
        return None
    rows = [y for key, y in after.items() if before.get(key, -len(old)) - y == lines]
    return min(rows) + min(0, lines), max(rows) + max(0, lines) + 1, lines


def _unique(rows: Sequence[Row]) -> dict[str, int]:
    keys = ["".join(row.text[:_KEY]) for row in rows]
    counts = Counter(keys)
    return {key: y for y, key in enumerate(keys) if counts[key] == 1 and not key.isspace()}


def _cost(old: Sequence[Row], new: Sequence[Row]) -> int:
    """Return about how many bytes turn one screen into the other."""
    return sum(
        _ROW_COST + sum(map(ne, one.text, other.text))
        for one, other in zip(old, new, strict=True)
        if one is not other and one != other
    )
