"""A terminal that waits for states and not for times: until the program sleeps, until a question listens."""

import codecs
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wcwidth import wcwidth

from tests.support.terminal.screen_terminal import ScreenTerminal, sequence
from tests.support.terminal.threads import is_awake
from tests.support.world.waiting import PATIENCE_S

# A small terminal emulator for what our driver writes and nothing else: moves, colors, letters, scrolled and erased cells;
# much quicker than a whole one.

_PIECES = re.compile(
    r"\x1b\[(?P<row>[0-9]+)(?:;(?P<column>[0-9]+))?(?P<there>H)|\x1b\[(?P<place>[0-9]*)(?P<in_row>G)"
    r"|\x1b\[(?P<cells>[0-9]*)(?P<way>[ABC])|\x1b\[(?P<color>[0-9;]*)m|(?P<line>\r\n)|(?P<back>\x1bM)"
    r"|\x1b\[(?:(?P<top>[0-9]+);(?P<bottom>[0-9]+))?(?P<region>r)|(?P<end>\x1b\[K)|\x1b\[(?P<blanks>[0-9]+)X"
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
        self.stood: set[str] = set()
        """Every row that was shown."""
        self._top, self._bottom = 0, rows - 1
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
                case "color":
                    self._color(piece["color"])
                case "there":
                    self._keep()
                    self._row, self._column = int(piece["row"]) - 1, int(piece["column"] or 1) - 1
                case "in_row":
                    self._column = int(piece["place"] or 1) - 1
                case "way":
                    self._keep()
                    self._go(piece["way"], int(piece["cells"] or 1))
                case "line":
                    self._feed_line()
                case "back":
                    self._scroll(self._bottom, self._top)
                case "region":
                    self._top, self._bottom = int(piece["top"] or 1) - 1, int(piece["bottom"] or len(self._cells)) - 1
                case "end" | "blanks":
                    column = self._column
                    self._write(" " * int(piece["blanks"] or self.columns - column))
                    self._column = column
                case "away":
                    stood = self.stood
                    self.__init__(self.columns, len(self._cells))
                    self.stood = stood
                case _:
                    pass
        self._keep()

    def _keep(self) -> None:
        if self._row < len(self._cells):
            self.stood.add("".join(self._cells[self._row]).rstrip())

    def _go(self, way: str, cells: int) -> None:
        self._row += {"A": -cells, "B": cells, "C": 0}[way]
        self._column += cells if way == "C" else 0

    def _feed_line(self) -> None:
        self._column = 0
        if self._row == self._bottom:
            self._scroll(self._top, self._bottom)
        else:
            self._row += 1

    def _scroll(self, first: int, last: int) -> None:
        """Remove one row of the region and add an empty one at its other end."""
        del self._cells[first], self._bold[first]
        self._cells.insert(last, [" "] * self.columns)
        self._bold.insert(last, [False] * self.columns)

    def lines(self) -> list[str]:
        """The rows, without blanks at their ends."""
        return ["".join(row).rstrip() for row in self._cells]

    def is_bold_before(self, words: str) -> bool:
        """Return whether the letter two cells before these words is bold."""
        for row, cells in enumerate(self._cells):
            at = "".join(cells).find(words)
            if at >= 0:
                column = sum(map(_width, "".join(cells)[:at]))
                return column > 1 and self._bold[row][column - 2]
        return False

    def _color(self, numbers: str) -> None:
        """Only whether it is bold counts; colors are skipped with their numbers."""
        codes = iter(numbers.split(";"))
        for number in codes:
            if number in ("38", "48"):
                for _ in range(3 if next(codes, "") == "2" else 1):
                    next(codes, "")
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


SETTLED_S = 0.08
"""Seconds after which what a key did is drawn, once the program sleeps."""

CALM_S = 0.035
"""Seconds without a byte and without a running thread after which nothing more will come; longer than two frames are apart."""
DRAWN_S = 0.01
"""The same after something came."""

_ESCAPE = "\x1b[27u"
"""An escape as terminals with the newer protocol send it: it does not begin another key, so the reader does not wait for more."""


class HostileTerminal(ScreenTerminal):
    """Keys here end when the program has drawn what they did; `raw` may be cleared to look at what comes next alone."""

    def __init__(
        self, arguments: Sequence[str], *, folder: Path, environ: Mapping[str, str], size: tuple[int, int]
    ) -> None:
        self._drawn = DriverScreen(*size)
        self._letters = codecs.getincrementaldecoder("utf-8")("replace")
        self._size = size
        super().__init__(arguments, folder=folder, environ=environ, size=size)

    def take(self, data: bytes) -> None:
        """Keep and draw what came."""
        self.raw.extend(data)
        self._drawn.feed(self._letters.decode(data))

    @property
    def stood(self) -> set[str]:
        """Every row that was shown; may be cleared like `raw`."""
        return self._drawn.stood

    def lines(self) -> list[str]:
        """The rows of the screen, without blanks at their ends."""
        return self._drawn.lines()

    def calm(self, *, timeout: float = PATIENCE_S) -> None:
        """Wait until the program sleeps and has nothing more to draw, however slow the machine is."""
        since = begin = time.monotonic()
        quiet = CALM_S
        while (now := time.monotonic()) < begin + timeout and now - since < quiet:
            if self._read(0.005):
                since, quiet = time.monotonic(), DRAWN_S
            elif is_awake(self.process.pid):
                since = time.monotonic()

    def differs(self, before: str) -> bool:
        """Tell whether something else is shown than before, after time enough to draw it on any machine."""
        end = time.monotonic() + SETTLED_S
        while self.shown() == before:
            if time.monotonic() > end:
                return False
            self._read(0.02)
        self.calm()
        return True

    def press(self, *keys: str) -> None:
        """Press keys one after another, each after what the one before did is drawn."""
        for key in keys:
            self.burst(key, 1)

    def burst(self, key: str, times: int) -> None:
        """Press one key often."""
        self.send((_ESCAPE if key == "escape" else sequence(key)) * times)
        self.calm()

    def wheel(self, notches: int) -> None:
        """Turn the wheel down over the region above the lower edge: a panel, or the prompt."""
        columns, rows = self._size
        self.send(f"\x1b[<65;{columns // 3};{rows - 6}M" * notches)
        self.calm()

    def listens(self, words: str) -> None:
        """Wait until the key before these words is drawn bold: from then on it acts."""
        self._until(lambda _: self._drawn.is_bold_before(words), f"the key before {words!r} does not act", PATIENCE_S)

    def until(self, is_so: Callable[[str], bool], complaint: str) -> str:
        """Wait until the screen is so; returns it. Raises AssertionError with the complaint and the screen."""
        return self._until(is_so, complaint, PATIENCE_S)
