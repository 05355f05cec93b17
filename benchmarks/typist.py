"""Types letters into a terminal, one after another, and notes when each of them is drawn."""

import os
import random
import select
import threading
import time

_LETTERS = [chr(code) for code in (*range(0x400, 0x483), *range(0x48A, 0x530), *range(0x531, 0x557))]
"""Letters that no text of a benchmark holds, each of them typed once a round, so that the first one drawn is the echo."""

_START_S = 1.5
_GAP_S = (0.02, 0.06)
LOST_S = 2.0


class Typist:
    """Types from one thread; another one shows it what is drawn."""

    def __init__(self, *, start_s: float = _START_S) -> None:
        """`start_s` is how long the first letter waits, as long as programs begin."""
        self._start_s = start_s
        self.echoes: list[float] = []
        """Seconds from each key to its letter."""
        self._left = list(_LETTERS)
        self._waits = b""
        self._tail = b""
        self._sent = 0.0
        self._drawn = threading.Event()
        self._dice = random.Random(7)

    def type(self, descriptor: int) -> None:
        """Type the next letter, wait until it is drawn, and pause; the first one after the program had time to begin."""
        if len(self._left) == len(_LETTERS):
            time.sleep(self._start_s)
        if not self._left:
            time.sleep(LOST_S)
            return
        letter = self._left.pop().encode()
        self._drawn.clear()
        self._sent, self._waits = time.perf_counter(), letter
        os.write(descriptor, letter)
        self._drawn.wait(LOST_S)
        time.sleep(self._dice.uniform(*_GAP_S))

    def see(self, data: bytes) -> None:
        """Look for the letter in what was drawn."""
        if self._waits and self._waits in self._tail + data:
            self.echoes.append(time.perf_counter() - self._sent)
            self._waits = b""
            self._drawn.set()
        self._tail = data[-3:]


class Seen:
    """What the program has drawn since the last wait."""

    def __init__(self, typist: Typist) -> None:
        self._typist = typist
        self._data = b""
        self._changed = threading.Condition()

    def drain(self, descriptor: int) -> None:
        """Read what the program draws."""
        try:
            while select.select([descriptor], [], [])[0] and (data := os.read(descriptor, 65_536)):
                self._typist.see(data)
                with self._changed:
                    self._data = self._data[-1_000_000:] + data
                    self._changed.notify()
        except OSError:  # the program has ended
            return

    def has(self, words: bytes) -> bool:
        """Return whether these bytes were drawn."""
        with self._changed:
            return words in self._data

    def wait_for(self, words: bytes) -> None:
        """Return when these bytes were drawn."""
        with self._changed:
            if not self._changed.wait_for(lambda: words in self._data, 60):
                raise AssertionError(f"{words!r} was not drawn: {self._data[-2_000:]!r}")
