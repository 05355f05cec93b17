"""The title of the terminal's window: which session is open; what stood there before comes back."""

import os
from collections.abc import Callable

from opencode_tui.text.safe_text import screen_line

NAME = "opencode-tui"
MOST = 60
"""Letters of a session's title."""

_KEEP, _BRING_BACK = "\x1b[22;2t", "\x1b[23;2t"


class TerminalTitle:
    """Writes a title only when it is another one; `write` takes what goes to the terminal."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._wanted = ""
        self._shown = ""
        self.is_on = os.environ.get("OPENCODE_DISABLE_TERMINAL_TITLE", "").lower() not in ("1", "true")

    def show(self, title: str) -> None:
        """Name the session that is open; empty when there is none. The text may be from outside."""
        safe = screen_line(" ".join(title.split()))[:MOST]
        self._wanted = f"{safe} · {NAME}" if safe else NAME
        if self.is_on and self._wanted != self._shown:
            self._write(f"{'' if self._shown else _KEEP}\x1b]2;{self._wanted}\x07")
            self._shown = self._wanted

    def switch(self) -> None:
        """Set it no longer, or again."""
        self.is_on = not self.is_on
        if self.is_on:
            self.show(self._wanted.rpartition(" · ")[0])
        else:
            self.end()

    def end(self) -> None:
        """Bring back what stood there before."""
        if self._shown:
            self._write(_BRING_BACK)
            self._shown = ""


# Tells a person who looks elsewhere that a long turn ended, or that an answer is awaited: a bell, or the terminal's
# own note.

LONG_MS = 20_000
"""Milliseconds from which a turn is worth a note."""


class Notifier:
    """Notifies through `notify` when a long turn ends or an answer is needed."""

    def __init__(self, notify: Callable[[str], object]) -> None:
        self._notify = notify
        self._asking = 0

    def follow(self, asking: int) -> None:
        """Take how many questions wait; a new one is told."""
        if asking > self._asking:
            self._notify("waits for your answer")
        self._asking = asking

    def ended(self, took_ms: int) -> None:
        """A turn has ended."""
        if took_ms >= LONG_MS:
            self._notify("is done")
