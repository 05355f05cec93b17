"""The terminal's file: frames go through a painter, one at a time; a newer one replaces the one that waits."""

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from opencode_tui.tui.output.painter import Abilities, Frame, Painter, Row
from opencode_tui.tui.output.pictures import Shown

_log = logging.getLogger(__name__)

FRAME = ""
"""What is written to have the waiting frame painted."""


class TerminalOutput:
    """What Textual's writing thread writes to. After the terminal closed, writes are ignored, so that the thread continues.

    `show` is called by the event loop and never waits for the terminal; `write` is called by the thread.
    """

    def __init__(self, file: TextIO, environ: Mapping[str, str]) -> None:
        self.is_stopped = False
        """Whether frames are left out, as the screen is being left."""

        self.is_unknown = True
        """Whether something else may have been written: the next frame is written whole."""

        self._held: list[str] | None = None
        """Control sequences that wait for `begin`; None when the terminal is owned."""
        self._left_out: Collection[str] = ()
        self._is_blind = False
        """Whether frames wait for `release`."""

        self._file = file
        self.pictures = Shown()
        """The pictures that cells may show."""
        self._painter = Painter(abilities(environ), self.pictures)
        self._waiting: Frame | None = None
        self._lock = threading.Lock()

    def show(self, frame: Frame) -> bool:
        """Make this the next frame; return whether `FRAME` must be written for it."""
        with self._lock:
            waiting = self._waiting
            if waiting is not None and waiting.is_urgent:
                frame = frame._replace(is_urgent=True)
            self._waiting = frame
        return waiting is None

    def hold(self, *, without: Collection[str]) -> None:
        """Write nothing until `begin`, and then all but these sequences; show no frame until `release`."""
        self._held, self._left_out, self._is_blind = [], without, True

    def stop(self) -> None:
        """Leave frames out, also one that waits for `release`, until the screen is started again."""
        with self._lock:
            self.is_stopped, self._is_blind, self._waiting = True, False, None

    def begin(self) -> None:
        """Write what was held."""
        with self._lock:
            held, self._held = self._held or (), None
            self._send("".join(held))

    def release(self, rows: Sequence[Row] | None) -> bool:
        """Show frames from now on; return whether `FRAME` must be written for one. `rows` is what the terminal shows, if known."""
        with self._lock:
            self._is_blind = False
            if rows is not None:
                self._painter.begin_with(rows)
                self.is_unknown = False
            return self._waiting is not None

    def write(self, text: str) -> int:
        """Write a control sequence, or paint the waiting frame."""
        if text != FRAME:
            with self._lock:
                if self._held is not None:
                    self._held += [] if text in self._left_out else [text]
                    return len(text)
            self._send(self._painter.plain() + text)
            return len(text)
        with self._lock:
            if self._is_blind:
                return 0
            frame, self._waiting = self._waiting, None
        if frame is not None and not self.is_stopped:
            if self.is_unknown:
                self.is_unknown = False
                self._painter.reset()
            try:
                self._painter.paint(frame, self._send)
            except Exception:  # noqa: BLE001 - the thread must go on
                self.is_unknown = True
                _log.exception("a frame could not be painted")
        return 0

    def _send(self, text: str) -> bool:
        """Write and flush, if there is a terminal; return whether the frame may go on."""
        with suppress(OSError, ValueError):
            self._file.write(text)
            self._file.flush()
        waiting = self._waiting
        return not self.is_stopped and (waiting is None or not waiting.is_urgent)

    def flush(self) -> None:
        """Do nothing: each write is flushed."""

    def fileno(self) -> int:
        """Return the file's number."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return self._file.isatty()


def abilities(environ: Mapping[str, str]) -> Abilities:
    """Return what the terminal can do, by its name; GNU screen erases in the default background."""
    is_rich = environ.get("TERM", "dumb") not in ("dumb", "unknown", "linux", "vt100", "vt220", "ansi", "")
    is_screen = "STY" in environ
    return Abilities(
        scrolls=is_rich,
        erases=is_rich and not is_screen,
        turns_off=is_rich,
        links=is_rich and not is_screen,
        columns=is_rich,
    )
