"""The command in a pseudo-terminal of its own: keys in, the text of the screen out. Standard library only."""

import codecs
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from opencode_tui.cli.style import Style
from tests.support.world.waiting import PATIENCE_S

_TAKE_TERMINAL = (
    "import _signal; _signal.signal(_signal.SIGINT, _signal.SIG_DFL); "  # else one that comes just before `execv` is lost
    "_signal.signal(_signal.SIGHUP, _signal.SIG_DFL); "  # ignored where the tests were started with `nohup`
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
)

_ENDING = (signal.SIGHUP, signal.SIGINT)


@contextmanager
def _signals_end() -> Generator[None]:
    """Let a hang-up or an interrupt end what is started meanwhile, from its first moment on, also where the tests ignore it.

    `nohup` and a shell's background ignore them. A handler becomes the default in a new program. Only the main thread may set
    it; elsewhere `_TAKE_TERMINAL` does so later.
    """
    is_main = threading.current_thread() is threading.main_thread()
    ignored = [one for one in _ENDING if is_main and signal.getsignal(one) is signal.SIG_IGN]
    for one in ignored:
        signal.signal(one, lambda _number, _frame: None)
    try:
        yield
    finally:
        for one in ignored:
            signal.signal(one, signal.SIG_IGN)


class Terminal:
    """Runs a program of this Python on a terminal that it owns (100 × 30), so that Ctrl-C reaches it as from a keyboard.

    Use it with `with`; at the end what still runs is killed. `text` is everything that was written so far.
    """

    def __init__(
        self, arguments: Sequence[str], *, folder: Path, environ: Mapping[str, str], size: tuple[int, int] = (100, 30)
    ) -> None:
        self.text = ""
        self._seen = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._master, slave = pty.openpty()
        self._name = os.ttyname(slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.attributes_before = termios.tcgetattr(slave)
        """The settings of the terminal before the program."""
        with _signals_end():
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _TAKE_TERMINAL, sys.executable, *arguments],
                cwd=folder,
                env=environ,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                start_new_session=True,
            )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._master)

    def attributes(self) -> list[Any]:
        """Return the settings of the terminal."""
        return termios.tcgetattr(self._master)

    def set_attributes(self, attributes: list[Any]) -> None:
        """Change the settings of the terminal, as another program in it does."""
        termios.tcsetattr(self._master, termios.TCSANOW, attributes)

    def hang_up(self) -> None:
        """Close the terminal's window: the program in it gets SIGHUP and cannot write any more."""
        gone, self._master = self._master, os.open(os.devnull, os.O_RDWR)
        os.close(gone)
        os.killpg(self.process.pid, signal.SIGHUP)

    def send(self, keys: str) -> None:
        """Type; a line ends with a line feed, "\\x03" is Ctrl-C."""
        os.write(self._master, keys.encode())

    @property
    def has_unread(self) -> bool:
        """Whether the program has not read all that was typed."""
        terminal = os.open(self._name, os.O_RDWR | os.O_NOCTTY)
        try:
            (count,) = struct.unpack("i", fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)))
        finally:
            os.close(terminal)
        return count > 0

    @property
    def foreground(self) -> int:
        """The group of processes that has the terminal."""
        return os.tcgetpgrp(self._master)

    def expect(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until these words appear after what an earlier call found; return everything up to them.

        Raises AssertionError with the screen when they do not come in time.
        """
        deadline = time.monotonic() + timeout
        while (at := self.text.find(words, self._seen)) < 0:
            if not self._read(max(0.0, deadline - time.monotonic())):
                raise AssertionError(f"{words!r} did not come; the screen says:\n{self.text}")
        found, self._seen = self.text[self._seen : at + len(words)], at + len(words)
        return found

    def stays_silent(self, seconds: float, words: str) -> bool:
        """Return whether these words do not appear for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass
        return words not in self.text[self._seen :]

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Read to the end and return the exit code."""
        deadline = time.monotonic() + timeout
        while self._read(max(0.0, deadline - time.monotonic())):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, timeout: float) -> bool:
        """Read what comes within the time; return whether anything did."""
        ready, _, _ = select.select([self._master], [], [], timeout)
        data = b""
        with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
            data = os.read(self._master, 65536) if ready else b""
        if ready:  # without data it has ended
            self.take(data)
        return bool(data)

    def take(self, data: bytes) -> None:
        """Keep what the program wrote. A piece may end within a character, or between the two of a line's end."""
        text = self._pending + self._decoder.decode(data, final=not data)
        self._pending = "\r" if text.endswith("\r") and data else ""
        self.text += text.removesuffix(self._pending).replace("\r\n", "\n")


# A terminal of a given width to write to, without a program in it.

HUES = {"accent": "95", "success": "92", "added": "92", "warning": "93", "error": "91", "removed": "91"}


@contextmanager
def terminal_style(columns: int, *, is_live: bool = False, is_utf8: bool = True) -> Generator[Style]:
    """Yield the look of a terminal so wide; one that is not live shows text alone, which is easy to compare."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    try:
        style = Style(is_terminal=True, is_live=is_live, is_utf8=is_utf8, descriptor=slave)
        yield replace(style, colors=HUES) if is_live else style
    finally:
        os.close(master)
        os.close(slave)
