"""The whole screen in a pseudo-terminal: keys, mouse and paste in as a terminal sends them, the visible text out.

with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=environ) as terminal:
    terminal.sees("Ask")
    terminal.type("hello"); terminal.press("enter")
    terminal.click("run once")
"""

import codecs
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyte

from tests.support.terminal.command import Terminal
from tests.support.world.waiting import PATIENCE_S

ESCAPE_S = 0.2
"""Seconds after which an escape is one, and not the beginning of a sequence."""
DEAF_S = 0.6
"""Seconds after which a question listens, on a machine that is not busy."""
MUTED_S = 1.5
"""Seconds more for which a question may show its keys muted on a busy one, because it does not listen yet."""
GLANCE_S = 0.02
"""Seconds between two looks at something that is not written on the screen."""

_KEYS = {
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "ctrl+up": "\x1b[1;5A",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f5": "\x1b[15~",
    "space": " ",
}

_BEYOND_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*[un]|\x1b[_P][^\x1b]*\x1b\\")
"""What the emulator shows as text, pictures among it."""
_DROPS_THE_REST = re.compile(r"[\u200b-\u200d\u1160-\u11ff]")
"""Letters of no width after which the emulator forgets what follows; terminals draw them on the letter before."""
_CUT = re.compile(rb"\x1b(\[[0-9;:?<>=$ ]*|[_P][^\x1b]*\x1b?)?$")
_BACK_TO_SHELL = b"\x1b[?1049l"


class ScreenTerminal(Terminal):
    """A terminal of `size` (columns, rows); `raw` is every byte that was written to it."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        size: tuple[int, int] = (110, 34),
        term: str = "xterm-256color",
    ) -> None:
        self.raw = bytearray()
        self._screen = pyte.Screen(*size)
        self._stream = pyte.Stream(self._screen)
        self._screen_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = b""
        shown = {
            "TERM": term,
            "COLORTERM": "truecolor" if "256" in term else "",
            "LANG": "C.UTF-8",
            "OPENCODE_TUI_STILL": "1",
        }
        super().__init__(arguments, folder=folder, environ={**environ, **shown}, size=size)

    def take(self, data: bytes) -> None:
        """Draw what came; a sequence that is cut waits for its rest."""
        super().take(data)
        self.raw += data
        data = self._cut + data
        found = _CUT.search(data)
        self._cut = found.group() if found else b""
        data = _BEYOND_PYTE.sub(b"", data[: len(data) - len(self._cut)])
        *before, last = data.split(_BACK_TO_SHELL)
        for piece in before:
            self._feed(piece)
            self._screen.reset()  # the other screen goes, with all that stood on it
        self._feed(last)

    def _feed(self, data: bytes) -> None:
        self._stream.feed(_DROPS_THE_REST.sub("", self._screen_decoder.decode(data)))

    def type(self, text: str) -> None:
        """Type letters, all at once."""
        self.send(text)

    def press(self, *keys: str) -> None:
        """Press keys by name: `enter`, `ctrl+x`, a letter."""
        for key in keys:
            self.send(sequence(key))
            self.read_for(0.03)
            if key == "escape":  # read together with the next key it would be another one
                deadline = time.monotonic() + PATIENCE_S
                while self.has_unread and time.monotonic() < deadline:
                    self.read_for(0.01)
                self.read_for(ESCAPE_S)

    def answer(self, *keys: str) -> None:
        """Press keys at a question, after it has begun to listen: its keys are bold then."""
        self.read_for(DEAF_S)
        deadline = time.monotonic() + MUTED_S
        while not self._listens() and time.monotonic() < deadline:
            self.read_for(GLANCE_S)
        self.press(*keys)

    def _listens(self) -> bool:
        """Return whether the lowest row of a panel, which has its keys, is not muted; True without a panel."""
        rows = zip(reversed(self.lines()), reversed(self.cells()), strict=True)
        keys = next((cells for line, cells in rows if line.strip(" ").startswith("▎ ") and line.strip(" ▎")), None)
        return keys is None or any(style[2] for _, style in keys)

    def paste(self, text: str) -> None:
        """Paste as a terminal with bracketed paste does, in pieces that the pseudo-terminal accepts."""
        data = f"\x1b[200~{text}\x1b[201~".encode()
        while data:
            if select.select([], [self._master], [], 0.05)[1]:
                data = data[os.write(self._master, data[:4096]) :]
            self._read(0)

    def click(self, words: str, *, timeout: float = PATIENCE_S) -> None:
        """Click on the middle of these words; waits for them. The lowest on the screen counts."""
        self.sees(words, timeout=timeout)
        self.rest(timeout=0.5)  # no longer: it may be writing all the time
        row, line = next((at, line) for at, line in reversed(list(enumerate(self.lines()))) if words in line)
        column = line.rindex(words) + len(words) // 2
        for end in "Mm":
            self.send(f"\x1b[<0;{column + 1};{row + 1}{end}")
        self.read_for(0.05)

    def scroll(self, lines: int, *, column: int = 20, row: int = 8) -> None:
        """Turn the wheel: up with a negative number."""
        for _ in range(abs(lines)):
            self.send(f"\x1b[<{64 if lines < 0 else 65};{column};{row}M")
        self.read_for(0.1)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.process.pid, signal.SIGWINCH)

    def lines(self) -> list[str]:
        """Return the rows of the screen without trailing blanks; the second cell of a wide letter is left out."""
        return [line.rstrip() for line in self._screen.display]

    def cells(self) -> list[list[tuple[str, tuple[object, ...]]]]:
        """Return the text and the style that are seen in each cell; the foreground of a blank is not."""
        screen = self._screen
        return [
            [
                (one.data, (one.data == " " or one.fg, one.bg, one.bold, one.italics, one.underscore, one.reverse))
                for one in (screen.buffer[y][x] for x in range(screen.columns))
            ]
            for y in range(screen.lines)
        ]

    def shown(self) -> str:
        """Everything on the screen."""
        return "\n".join(self.lines())

    def sees(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until the screen shows these words; return its text. Raise AssertionError with that text after the timeout."""
        self._until(lambda text: words in text, f"{words!r} did not come", timeout)
        self.rest(quiet=0.03, timeout=0.3)  # the rest of that frame
        return self.shown()

    def reads(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until these words are on the screen, in one row or wrapped at a blank; return its text, as `sees`."""
        self._until(lambda text: words in " ".join(text.split()), f"{words!r} did not come", timeout)
        self.rest(quiet=0.03, timeout=0.3)
        return self.shown()

    def sees_no_more(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until these words are gone."""
        return self._until(lambda text: words not in text, f"{words!r} did not go", timeout)

    def read_for(self, seconds: float) -> None:
        """Take in what comes for so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self._read(left):
            pass

    def read_until(self, is_so: Callable[[], bool], *, timeout: float = PATIENCE_S) -> None:
        """Take in what comes until it is so. It is looked at again without output too: not every change is written."""
        deadline = time.monotonic() + timeout
        while not is_so():
            assert time.monotonic() < deadline, f"it did not come; the screen says:\n{self.shown()}"
            if not self._read(GLANCE_S):
                time.sleep(GLANCE_S)  # the end of the program's output can be read at once, again and again

    def rest(self, *, quiet: float = 0.1, timeout: float = 3.0) -> None:
        """Wait until the frame is whole: nothing came for a moment."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self._read(quiet):
            pass

    def ends(self, *, timeout: float = PATIENCE_S) -> int:
        """Read to the end and return the exit code."""
        return self.wait(timeout)

    def _until(self, is_so: Callable[[str], bool], complaint: str, timeout: float) -> str:
        deadline = time.monotonic() + timeout
        while not is_so(text := self.shown()):
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"{complaint}; the screen says:\n{text}")
        return text


def sequence(key: str) -> str:
    """Return what a terminal sends for a key by its name."""
    if key in _KEYS:
        return _KEYS[key]
    if key.startswith("ctrl+") and len(key) == 6:
        return chr(ord(key[-1]) & 0x1F)
    if key.startswith("alt+"):
        return f"\x1b{sequence(key[4:])}"
    assert len(key) == 1, f"{key} has no sequence here"
    return key


Open = Callable[..., ScreenTerminal]
"""Opens a screen with these arguments of the command line; `size` and further variables (`environ`) may be given."""
