"""The number of lines that a step of the mouse wheel scrolls; with acceleration, fast steps scroll more."""

import time
from collections.abc import Callable

from opencode_tui.schema.setting_defaults import SCROLL_LINES

FAST_S, MOST, GAIN = 0.06, 6.0, 0.5
"""Maximum seconds between fast steps, the maximum factor of fast steps, and the increase per step."""


class Wheel:
    """Converts steps to lines; fractions of lines are kept for the next step."""

    def __init__(
        self, lines: float = SCROLL_LINES, *, accelerates: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lines = lines
        self._accelerates = accelerates
        self._clock = clock
        self._factor = 1.0
        self._last = 0.0
        self._rest = 0.0

    def turn(self, direction: int) -> int:
        """Return the lines to scroll for a step: down for 1, up for -1."""
        now = self._clock()
        is_fast = self._accelerates and now - self._last < FAST_S
        self._factor = min(MOST, self._factor + GAIN) if is_fast else 1.0
        self._last = now
        wanted = direction * self._lines * self._factor + (self._rest if self._rest * direction > 0 else 0)
        lines = int(wanted)
        self._rest = wanted - lines
        return lines
