"""Tells a person who looks elsewhere that a long turn ended, or that an answer is awaited: a bell, or the terminal's own note."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_tui.tui.app import OpenCodeApp

LONG_MS = 20_000
"""Milliseconds from which a turn is worth a note."""


class Notifier:
    """Silent while the window has the focus."""

    def __init__(self, app: "OpenCodeApp") -> None:
        self._app = app
        self._asking = 0

    def follow(self, asking: int) -> None:
        """Take how many questions wait; a new one is told."""
        if asking > self._asking:
            self._tell("waits for your answer")
        self._asking = asking

    def ended(self, took_ms: int) -> None:
        """A turn has ended."""
        if took_ms >= LONG_MS:
            self._tell("is done")

    def _tell(self, words: str) -> None:
        if not self._app.app_focus:
            self._app.bell()
            self._app.tell_terminal(f"opencode_tui {words}")
