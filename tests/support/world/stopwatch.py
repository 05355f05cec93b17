"""Seconds without those in which the scheduler let others run.

watch = Stopwatch()
await something()
assert watch.seconds < 0.3
"""

import time
from contextlib import suppress
from pathlib import Path

OWN = "self/task/*"
"""All threads of this process."""

LOOKS = 20
"""How often the time is read at most until no thread was made to wait meanwhile."""


class Stopwatch:
    """Counts seconds without those in which a thread was ready to run and other processes had the cores.

    What the program waits for counts on a busy machine too, and what it computes; only the scheduler does not. `threads` are
    patterns of folders below /proc, such as `17/task/*`: those that the measured work needs. Threads that are ready at the same
    time count each, so on a busy machine the seconds are rather too few. Where the system does not say how long a thread was
    ready, none is left out.
    """

    def __init__(self, *threads: str) -> None:
        self._threads = threads or (OWN,)
        self._began, self._before = self._look()

    @property
    def passed(self) -> float:
        """All seconds so far."""
        return time.monotonic() - self._began

    @property
    def seconds(self) -> float:
        """The seconds so far that the scheduler has not used."""
        now, ready = self._look()
        return now - self._began - sum(ns - self._before.get(path, 0) for path, ns in ready.items()) / 1e9

    def _look(self) -> tuple[float, dict[Path, int]]:
        """Return the time, and how many ns each thread had been ready by then.

        Both are read again until no thread waited in between: such a wait would be in one of the two only.
        """
        now, ready = time.monotonic(), self._ready()
        for _ in range(LOOKS):
            now, before = time.monotonic(), ready
            ready = self._ready()
            if ready == before:
                break
        return now, ready

    def _ready(self) -> dict[Path, int]:
        """Return how many ns each thread was ready and did not run."""
        found: dict[Path, int] = {}
        for pattern in self._threads:
            for path in Path("/proc").glob(f"{pattern}/schedstat"):
                with suppress(OSError):  # the thread has ended
                    found[path] = int(path.read_text().split()[1])
        return found
