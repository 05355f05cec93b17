"""The cells that the terminal should show, from the updates of Textual's compositor."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.color import ColorSystem
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.strip import Strip

from opencode_tui.text.cells import width
from opencode_tui.tui.output.hyperlink import link_of

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
