"""A small terminal emulator for what our driver writes and nothing else: moves, colours, letters; much quicker than a whole one.

It is no judge of what is foreign: what it does not know it leaves out, and `tests.support.hostile.foreign` finds that in the bytes.
"""

import re
from functools import lru_cache

from wcwidth import wcwidth

_PIECES = re.compile(
    r"\x1b\[(?P<row>[0-9]+);(?P<column>[0-9]+)H|\x1b\[(?P<colour>[0-9;]*)m|(?P<line>\r\n)"
    r"|(?P<away>\x1b\[\?1049l)|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f]"
    r"|(?P<letters>[^\x00-\x1f\x7f-\x9f]+)"
)
_CUT = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]P_^X][^\x07\x1b]*)?$")


class DriverScreen:
    """The letters of a screen of so many columns and rows, and which of them are bold."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self._cells = [[" "] * columns for _ in range(rows)]
        self._bold = [[False] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._is_bold = False
        self._rest = ""

    def feed(self, text: str) -> None:
        """Draw what came; a sequence that is cut waits for its rest."""
        text = self._rest + text
        cut = _CUT.search(text)
        self._rest = cut.group() if cut else ""
        for piece in _PIECES.finditer(text, 0, len(text) - len(self._rest)):
            match piece.lastgroup:
                case "letters":
                    self._write(piece.group())
                case "colour":
                    self._colour(piece["colour"])
                case "column":
                    self._row, self._column = int(piece["row"]) - 1, int(piece["column"]) - 1
                case "line":
                    self._row, self._column = self._row + 1, 0
                case "away":
                    self.__init__(self.columns, len(self._cells))
                case _:
                    pass

    def lines(self) -> list[str]:
        """The rows, without blanks at their ends."""
        return ["".join(row).rstrip() for row in self._cells]

    def is_bold_before(self, words: str) -> bool:
        """Whether the letter two cells before these words is bold, where they stand on the screen."""
        for row, cells in enumerate(self._cells):
            at = "".join(cells).find(words)
            if at >= 0:
                column = sum(map(_width, "".join(cells)[:at]))
                return column > 1 and self._bold[row][column - 2]
        return False

    def _colour(self, numbers: str) -> None:
        """Only whether it is bold counts; colours are skipped with their numbers."""
        told = iter(numbers.split(";"))
        for number in told:
            if number in ("38", "48"):
                for _ in range(3 if next(told, "") == "2" else 1):
                    next(told, "")
            elif number in ("", "0", "1", "22"):
                self._is_bold = number == "1"

    def _write(self, text: str) -> None:
        if not 0 <= self._row < len(self._cells):
            return
        cells = [*text] if text.isascii() else _spread(text)
        end = min(self._column + len(cells), self.columns)
        del cells[end - self._column :]
        self._cells[self._row][self._column : end] = cells
        self._bold[self._row][self._column : end] = [self._is_bold] * len(cells)
        self._column = end


def _spread(text: str) -> list[str]:
    """A wide letter takes a second cell, which holds nothing; one without width takes none."""
    cells: list[str] = []
    for letter in text:
        cells += [letter, ""][: _width(letter)]
    return cells


@lru_cache(maxsize=4096)
def _width(letter: str) -> int:
    return max(0, wcwidth(letter))
