"""The activity line of a run: a spinner, the activity and its duration. Only for terminals with control sequences."""

import asyncio
import time
from typing import TextIO

from opencode_tui.cli.style import Style, Token
from opencode_tui.text.cells import clip, width
from opencode_tui.text.quantity import duration

FRAMES_PER_SECOND = 8
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SPINNER = "|/-\\"


class Activity:
    """Draws the terminal's last line, which must be empty at `start`; `stop` erases it.

    Possible only if no other program writes to the terminal (`is_alone`): its text would be overwritten.
    """

    def __init__(self, stream: TextIO, style: Style, *, is_alone: bool) -> None:
        self.is_possible = is_alone and style.is_live
        self._stream = stream
        self._style = style
        self._text = ""
        self._began = 0.0
        self._after = ""
        self._until: float | None = None
        self._frame = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, text: str) -> None:
        """Show an activity; a different text restarts the timer. The text must be safe."""
        if text != self._text:
            self._show(text, until=None)

    def wait(self, text: str, *, seconds: float, after: str = "") -> None:
        """Show a reason and a countdown; `after` follows the remaining time."""
        self._show(text, until=time.monotonic() + seconds, after=after)

    def stop(self) -> None:
        """Remove the line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._text = ""
            self._write("\r\x1b[2K")

    def _show(self, text: str, *, until: float | None, after: str = "") -> None:
        if not self.is_possible:
            return
        self.stop()
        self._text, self._after, self._began, self._until = text, after, time.monotonic(), until
        self._draw()

    def _draw(self) -> None:
        sign, token = self._sign()
        clock = self._clock()
        room = (self._style.columns() or 80) - 2 - width(clock)
        text = clip(self._text, max(1, room), self._style.words("…"))
        self._write(f"\r\x1b[2K{self._style.paint(sign, token)} {text}{self._style.paint(clock, 'muted')}")
        self._timer = asyncio.get_running_loop().call_later(1 / FRAMES_PER_SECOND, self._draw)

    def _sign(self) -> tuple[str, Token]:
        if self._until is not None:
            return self._style.words("↻"), "warning"
        frames = _SPINNER if self._style.is_utf8 else _ASCII_SPINNER
        self._frame += 1
        return frames[self._frame % len(frames)], "accent"

    def _clock(self) -> str:
        if self._until is not None:
            return f"  next try in {duration(max(0.0, self._until - time.monotonic()) + 0.999)}{self._after}"
        seconds = time.monotonic() - self._began
        return f"  {duration(seconds)}" if seconds >= 1 else ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
