"""Pictures that the terminal draws itself: each cell of one is a token in the text, which the painter writes as a strip of a row.

A strip is as high as one row, so that a picture moves, is covered and ends with its cells.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

MARK = "\U0010eeee"
"""What the token of a cell begins with: a character for private use, in one cell."""

_FIRST = 0xE0100
MOST = 240
"""Numbers that a token holds, each as a character without a cell; texts from outside never have these (`text/safe_text.py`)."""

_CHUNK = 4096
"""Characters of base64 in one command of kitty's protocol."""

_BASE_ID = 0x6F630000
"""The IDs of our pictures begin here, apart from those of other programs in the window."""


class Run(NamedTuple):
    """Cells beside each other that show one row of a picture, from column `first` of it on."""

    x: int
    number: int
    row: int
    first: int
    cells: int


class Strips:
    """A picture as the terminal gets it."""

    def begin(self) -> str:
        """Return what is sent once, before its first strip."""
        return ""

    def strip(self, row: int, first: int, count: int) -> str:
        """Return what draws cells of a row where the cursor is; empty if that cannot be done."""
        raise NotImplementedError


class Shown:
    """The pictures that cells may show, by number. The event loop changes them, the thread that writes reads them."""

    def __init__(self) -> None:
        self._strips: Mapping[int, Strips] = {}
        self.is_kitty = False
        """Whether strips are a layer over the text, which new text does not remove."""

    def __bool__(self) -> bool:
        return bool(self._strips)

    def put(self, number: int, strips: Strips | None) -> None:
        """Add or replace a picture; None removes it."""
        kept = {one: known for one, known in self._strips.items() if one != number}
        self._strips = kept if strips is None else {**kept, number: strips}

    def get(self, number: int) -> Strips | None:
        """Return a picture."""
        return self._strips.get(number)


def token_row(number: int, row: int, columns: int) -> str:
    """Return the text of a picture's row, one token per cell."""
    head = MARK + chr(_FIRST + number) + chr(_FIRST + row)
    return "".join(head + chr(_FIRST + column) for column in range(min(columns, MOST)))


def runs_of(text: Sequence[str]) -> list[Run]:
    """Return the cells of a row that show pictures."""
    runs: list[Run] = []
    for x, cell in enumerate(text):
        if len(cell) != 4 or cell[0] != MARK:
            continue
        number, row, column = (ord(letter) - _FIRST for letter in cell[1:])
        last = runs[-1] if runs else None
        if last is not None and (last.x + last.cells, last.number, last.row, last.first + last.cells) == (
            x,
            number,
            row,
            column,
        ):
            runs[-1] = last._replace(cells=last.cells + 1)
        else:
            runs.append(Run(x, number, row, column, 1))
    return runs


def without_pictures(text: Sequence[str]) -> list[str]:
    """Return the cells of a row with blanks in the place of pictures."""
    return [" " if cell[:1] == MARK else cell for cell in text]


class KittyStrips(Strips):
    """A picture in kitty's graphics protocol, sent once as PNG; each strip is a placement of a part of it."""

    def __init__(self, number: int, png: bytes, size: tuple[int, int], cells: tuple[int, int]) -> None:
        """`size` in pixels, `cells` in columns and rows."""
        self._id = _BASE_ID + number
        self._png = png
        self._size, self._cells = size, cells

    def begin(self) -> str:
        """Return the picture's data."""
        import base64  # only for pictures

        text = base64.b64encode(self._png).decode("ascii")
        chunks = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)] or [""]
        head = f"a=t,f=100,t=d,i={self._id},q=2,"
        return "".join(
            f"\x1b_G{'' if at else head}m={int(at + 1 < len(chunks))};{chunk}\x1b\\" for at, chunk in enumerate(chunks)
        )

    def strip(self, row: int, first: int, count: int) -> str:
        """Return a placement."""
        (width, height), (columns, rows) = self._size, self._cells
        left, right = first * width // columns, (first + count) * width // columns
        top, bottom = row * height // rows, (row + 1) * height // rows
        part = f"x={left},y={top},w={max(1, right - left)},h={max(1, bottom - top)}"
        return f"\x1b_Ga=p,i={self._id},q=2,C=1,c={count},r=1,{part}\x1b\\"


class SixelStrips(Strips):
    """A picture as sixels, encoded a row at a time; a row that is covered in part is left out."""

    def __init__(self, rows: Sequence[str], columns: int) -> None:
        self._rows = rows
        self._columns = columns

    def strip(self, row: int, first: int, count: int) -> str:
        """Return the row."""
        return self._rows[row] if not first and count == self._columns and row < len(self._rows) else ""


def clear_row(y: int) -> str:
    """Return what removes kitty's placements in a row."""
    return f"\x1b_Ga=d,d=y,y={y + 1},q=2\x1b\\"


CLEAR_ALL = "\x1b_Ga=d,d=a,q=2\x1b\\"
"""Removes kitty's placements on the screen."""

FREE_ALL = "\x1b_Ga=d,d=A,q=2\x1b\\"
"""Removes them with their data."""
