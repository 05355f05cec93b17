"""Input of the terminal: control characters are removed from pastes, and invalid bytes are replaced.

Without this, escape sequences in a paste would be read as keys: a pasted text could press enter or answer a question.
"""

import os
import re
import selectors
import termios
import tty
from codecs import getincrementaldecoder
from typing import TextIO, cast

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from opencode_tui.tui.output.terminal_output import TerminalOutput

ASK = "\x1b]11;?\x1b\\"

_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?(?:\x07|\x1b\\|\x9c)"
)
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;(?:r(?:g(?:b(?:a?(?::[0-9a-fA-F/]{0,19}\x1b?)?)?)?)?)?)?)?)?)?$")
ROUNDS = 20

_SURE = len("\x1b]1")
"""Characters from which the end of a chunk is the start of a reply and not a key."""


class AnswerFilter:
    """Removes replies from the input; the possible start of one is held until `release`."""

    def __init__(self) -> None:
        self._held = ""
        self._rounds = 0
        """Reads without input after which no reply is expected any more."""

    def asked(self) -> None:
        """Expect a reply: until it arrives, a single escape may be its start."""
        self._rounds = ROUNDS

    def feed(self, data: str) -> tuple[str, bool | None]:
        """Return the typed text, and whether the background is dark if a reply was in the input."""
        data, self._held = self._held + data, ""
        background: bool | None = None
        for found in _ANSWER.finditer(data):
            background, self._rounds = is_dark(*found.groups()), 0
        rest = _ANSWER.sub("", data)
        cut = _BEGINNING.search(rest)
        if cut is not None and (self._rounds or len(cut.group()) >= _SURE):
            rest, self._held = rest[: cut.start()], cut.group()
        return rest, background

    def release(self) -> str:
        """Return the held text: nothing followed in time, so it was typed."""
        self._rounds = max(0, self._rounds - 1)
        held, self._held = self._held, ""
        return held


def is_dark(red: str, green: str, blue: str) -> bool:
    """Return whether a color is dark; each part has one to four hexadecimal digits."""
    shares = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    return 0.299 * shares[0] + 0.587 * shares[1] + 0.114 * shares[2] < 0.5


PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
CHUNK = 4096
WAIT_S = 0.1

_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class PasteFilter:
    """Removes control characters between the marks of a bracketed paste."""

    def __init__(self) -> None:
        self._is_pasting = False
        self._tail = ""
        """The possible start of a mark: already passed on outside a paste, held inside one."""

    def feed(self, data: str) -> str:
        """Return the input for the parser."""
        passed: list[str] = []
        while data:
            data = self._inside(data, passed) if self._is_pasting else self._outside(data, passed)
        return "".join(passed)

    def _outside(self, data: str, passed: list[str]) -> str:
        known = len(self._tail)
        seen = self._tail + data
        at = seen.find(PASTE_BEGINS)
        if at < 0:
            passed.append(data)
            self._tail = seen[1 - len(PASTE_BEGINS) :]
            return ""
        end = at + len(PASTE_BEGINS) - known
        passed.append(data[:end])
        self._is_pasting, self._tail = True, ""
        return data[end:]

    def _inside(self, data: str, passed: list[str]) -> str:
        seen, self._tail = self._tail + data, ""
        text, mark, rest = seen.partition(PASTE_ENDS)
        if mark:
            self._is_pasting = False
        else:
            kept = next((size for size in range(len(PASTE_ENDS) - 1, 0, -1) if text.endswith(PASTE_ENDS[:size])), 0)
            text, self._tail = text[: len(text) - kept], text[len(text) - kept :]
        passed += [_STEERING.sub("", text), mark]
        return rest


class BackgroundDetected(Message):
    """The terminal reported whether its background is dark."""

    def __init__(self, is_dark: bool) -> None:
        super().__init__()
        self.is_dark = is_dark


class TerminalInput(LinuxDriver):
    """Textual's driver with safe pastes; bytes that are not UTF-8 are replaced instead of ending the thread."""

    output: TerminalOutput | None = None
    """Where frames are shown, from the start of the screen on."""

    _is_to_ask = False
    _is_suspending = False

    def start_application_mode(self) -> None:
        """Start the screen. Later writes to a closed terminal are ignored."""
        if self.output is None:
            self.output = TerminalOutput(self._file, os.environ)
            self._file = cast("TextIO", self.output)
        self.output.is_stopped, self.output.is_unknown = False, True
        super().start_application_mode()

    def ask_background(self) -> None:
        """Ask the terminal for its background; the reply, if any, becomes a `BackgroundDetected` message of the app."""
        self._is_to_ask = True  # the thread that reads sends it, so that it knows before an answer can come

    def suspend_application_mode(self) -> None:
        """Give the terminal to another program, in its original state."""
        self._is_suspending = True
        try:
            super().suspend_application_mode()
        finally:
            self._is_suspending = False

    def stop_application_mode(self) -> None:
        """Leave the screen. At the end of the app echo stays off until the caller of the app restores the terminal."""
        if self.output is not None:
            self.output.is_stopped = True
        before = self.attrs_before
        if before is not None and not self._is_suspending:
            self.attrs_before = [*before]
            self.attrs_before[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON)
        super().stop_application_mode()
        self.attrs_before = before

    def run_input_thread(self) -> None:
        """Read until the app ends."""
        parser, pastes, answers = XTermParser(self._debug), PasteFilter(), AnswerFilter()
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if self._is_to_ask:
                    self._is_to_ask = False
                    answers.asked()
                    self.write(ASK)
                    self.flush()
                data = ""
                if selector.select(WAIT_S):
                    read = _read(self.fileno)
                    if not read:
                        return
                    data, background = answers.feed(pastes.feed(decode(read)))
                    if background is not None:
                        self.process_message(BackgroundDetected(background))
                else:
                    data = answers.release()
                if data:
                    for event in parser.feed(data):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)


def _read(descriptor: int) -> bytes:
    """Return the next bytes; none when the terminal is gone, which the app learns by SIGHUP."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""
