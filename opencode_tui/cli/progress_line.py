"""The last line of a terminal while a command works on something that lasts: what it does, and for how long.

A thread draws it, because the work may keep the event loop busy.
"""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from opencode_tui.cli.style import Style, style_of
from opencode_tui.text.quantity import duration

SHOWN_AFTER_S = 1.0
"""Seconds after which the line is shown: most work ends sooner."""

_EVERY_S = 0.5


class ProgressLine:
    """A line on stderr; `words` may change while it is shown. Safe texts only."""

    def __init__(self, words: str, style: Style) -> None:
        self.words = words
        self._style = style
        self._began = time.monotonic()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress line", daemon=True)

    def start(self) -> None:
        """Show it from `SHOWN_AFTER_S` on."""
        self._thread.start()

    def end(self) -> None:
        """Remove it."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        if self._is_over.wait(SHOWN_AFTER_S):
            return
        with suppress(OSError, ValueError):  # the terminal is gone
            while True:
                lasted = duration(time.monotonic() - self._began)
                self._write(f"{self._style.words(self.words)}  {self._style.paint(lasted, 'muted')}")
                if self._is_over.wait(_EVERY_S):
                    break
            self._write("")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{text}")
        sys.stderr.flush()


@contextmanager
def progress_line(words: str) -> Generator[ProgressLine]:
    """Show what is done while the block lasts, from the first second on; nothing without a terminal.

    Nothing else may be written in the meantime.
    """
    style = style_of(sys.stderr, os.environ)
    line = ProgressLine(words, style)
    if not style.is_live:
        yield line
        return
    line.start()
    try:
        yield line
    finally:
        line.end()
