"""The one line that moves while a run is busy: a spinner, what is going on, for how long. Only in a terminal."""

import asyncio
import os
import sys
import time

from opencode_tui.cli.style import glyph, style

FRAMES_PER_SECOND = 8


class Activity:
    """Draws itself on stderr's last line; `stop` removes it without a trace."""

    def __init__(self) -> None:
        self._is_possible = sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
        self._text = ""
        self._began = 0.0
        self._frame = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, text: str) -> None:
        """Show what is going on from now on; a new text starts the seconds anew."""
        if not self._is_possible or text == self._text:
            return
        self.stop()
        self._text, self._began = text, time.monotonic()
        self._draw()

    def stop(self) -> None:
        """Remove the line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._text = ""
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()

    def _draw(self) -> None:
        frames = glyph("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\")
        spinner = frames[self._frame % len(frames)]
        self._frame += 1
        seconds = int(time.monotonic() - self._began)
        clock = f"  {seconds} s" if seconds else ""
        sys.stderr.write(f"\r\x1b[2K{style(spinner, 'accent')} {self._text}{style(clock, 'muted')}")
        sys.stderr.flush()
        self._timer = asyncio.get_running_loop().call_later(1 / FRAMES_PER_SECOND, self._draw)
