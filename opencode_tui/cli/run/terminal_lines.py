"""Lines typed at the terminal, which may differ from standard input."""

import asyncio
import os
import sys
from contextlib import suppress
from typing import TextIO


def open_terminal() -> int | None:
    """Return a descriptor of the user's terminal, None without one."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin is not None and sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None when closed
        return sys.stdin.fileno()
    try:
        return os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return None


class TerminalLines:
    """Reads lines from a terminal without blocking the event loop; labels and questions go to `err`."""

    def __init__(self, terminal: int, *, err: TextIO) -> None:
        self._terminal = terminal
        self._err = err

    def show(self, text: str) -> None:
        """Write and flush."""
        self._err.write(text)
        self._err.flush()

    def drop_typed(self) -> None:
        """Drop pending input, so that it does not answer the next question."""
        import termios

        with suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    async def read(self, label: str) -> str:
        """Return the next line with its line feed, "" at end of input or if the terminal is gone; cancellable."""
        self.show(label)
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        loop.add_reader(self._terminal, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        except asyncio.CancelledError:
            self.show("\n")
            raise
        finally:
            loop.remove_reader(self._terminal)
        try:
            return os.read(self._terminal, 4096).decode("utf-8", "replace")
        except OSError:
            return ""
