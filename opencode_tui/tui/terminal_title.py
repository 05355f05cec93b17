"""The title of the terminal's window: which session is open; what stood there before comes back."""

import os
from collections.abc import Callable

from opencode_tui.text.safe_text import screen_line

NAME = "opencode_tui"
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
