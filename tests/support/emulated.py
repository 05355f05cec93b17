"""The command in a terminal that is emulated: what a person would see after all the sequences, and the bytes themselves."""

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
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import pyte

_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
)
PATIENCE_S = 30.0


class Emulated:
    """Runs a program of this Python on a terminal of its own. Use it with `with`; at the end what still runs is killed."""

    def __init__(
        self, arguments: Sequence[str], *, folder: Path, environ: Mapping[str, str], size: tuple[int, int] = (110, 34)
    ) -> None:
        self.written = b""
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._master, slave = pty.openpty()
        self._resize(slave, size)
        self.process = subprocess.Popen(
            [sys.executable, "-c", _TAKE_TERMINAL, sys.executable, *arguments],
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

    def type(self, keys: str) -> None:
        """Type; "\\r" is enter, "\\x1b" escape, "\\x18" ctrl+x."""
        os.write(self._master, keys.encode())

    def paste(self, text: str) -> None:
        """Paste as terminals with brackets do, in pieces that the line takes."""
        data = b"\x1b[200~" + text.encode() + b"\x1b[201~"
        while data:
            _, writable, _ = select.select([], [self._master], [], 0.05)
            if writable:
                data = data[os.write(self._master, data[:4096]) :]
            self._read(0)

    def click(self, words: str) -> None:
        """Press and release the first mouse button where these words stand."""
        for y, line in enumerate(self._screen.display):
            x = line.find(words)
            if x >= 0:
                self.type(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")
                return
        raise AssertionError(f"{words!r} is not on the screen:\n{self.text}")

    def resize(self, size: tuple[int, int]) -> None:
        """Make the window another size."""
        self._screen.resize(size[1], size[0])
        self._resize(self._master, size)

    @property
    def text(self) -> str:
        """What stands on the screen, without blanks at the ends of lines."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def sees(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until these words stand on the screen; returns all of it. Raises AssertionError with the screen."""
        end = time.monotonic() + timeout
        while words not in self.text:
            if time.monotonic() > end:
                raise AssertionError(f"{words!r} did not come; the screen says:\n{self.text}")
            self._read(0.05)
        return self.text

    def rests(self, seconds: float) -> None:
        """Let so much time go by."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(left)

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Read to the end and return the exit code."""
        end = time.monotonic() + timeout
        while self.process.poll() is None and time.monotonic() < end:
            self._read(0.05)
        self._read(0.05)
        return self.process.wait(0.1)

    @staticmethod
    def _resize(descriptor: int, size: tuple[int, int]) -> None:
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def _read(self, timeout: float) -> None:
        if select.select([self._master], [], [], timeout)[0]:
            with contextlib.suppress(OSError):  # Linux reports the end of a terminal as an error
                data = os.read(self._master, 65536)
                self.written += data
                self._stream.feed(data)
