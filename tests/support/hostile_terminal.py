"""A terminal that waits for states and not for times: until the program sleeps, until a question listens."""

import codecs
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.support.hostile_screen import DriverScreen
from tests.support.screen_terminal import PATIENCE_S, ScreenTerminal, sequence

SETTLED_S = 0.25
"""Seconds after which what a key did is drawn."""

CALM_S = 0.035
"""Seconds without a byte and without a running thread after which nothing more will come; longer than two frames are apart."""
DRAWN_S = 0.01
"""The same after something came."""

_ESCAPE = "\x1b[27u"
"""An escape as terminals with the newer protocol send it: it is no beginning of another key, so nobody waits for its rest."""


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
            elif _is_awake(self.process.pid):
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
        """Turn the wheel down over what stands above the lower edge: a panel, or the prompt."""
        columns, rows = self._size
        self.send(f"\x1b[<65;{columns // 3};{rows - 6}M" * notches)
        self.calm()

    def listens(self, words: str) -> None:
        """Wait until the key before these words is drawn bold: from then on it acts."""
        self._until(lambda _: self._drawn.is_bold_before(words), f"the key before {words!r} does not act", PATIENCE_S)

    def until(self, is_so: Callable[[str], bool], complaint: str) -> str:
        """Wait until the screen is so; returns it. Raises AssertionError with the complaint and the screen."""
        return self._until(is_so, complaint, PATIENCE_S)


def _is_awake(pid: int) -> bool:
    """Whether one of its threads runs or waits for a processor; where that cannot be read, the quiet alone tells."""
    for state in Path("/proc", str(pid), "task").glob("*/stat"):
        try:
            if re.match(r"\s[RD]", state.read_text(encoding="utf-8", errors="replace").rpartition(")")[2]):
                return True
        except OSError:
            continue
    return False
