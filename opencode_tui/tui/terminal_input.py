"""Input of the terminal: control characters are removed from pastes, and invalid bytes are replaced.

Without this, escape sequences in a paste would be read as keys: a pasted text could press enter or answer a question.
"""

import os
import re
import selectors
import signal
import termios
import time
import tty
from codecs import getincrementaldecoder
from collections import deque
from contextlib import suppress
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, TextIO, cast

from textual import events
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size
from textual.keys import Keys
from textual.message import Message

from opencode_tui.instant import screen
from opencode_tui.instant.job import stop_job
from opencode_tui.tui.held_reply import ROUNDS, HeldReply
from opencode_tui.tui.output.pictures import FREE_ALL
from opencode_tui.tui.output.terminal_output import TerminalOutput

if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Terminal
    from opencode_tui.tui.pictures.replies import Replies

ASK = "\x1b]11;?\x1b\\"

_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?(?:\x07|\x1b\\|\x9c)"
)
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;(?:r(?:g(?:b(?:a?(?::[0-9a-fA-F/]{0,19}\x1b?)?)?)?)?)?)?)?)?)?$")
_SURE = len("\x1b]1")
"""Characters from which the end of a chunk is the start of a reply and not a key."""

_NOT_TYPED = re.compile(r"\x1b\]11;")

_EXTENDED = re.compile(r"\x1b\[([\d:]*)((?:;[\d:]*){0,2});?([u~ABCDEFHPQRS])")
"""A key of kitty's protocol: its code and alternate codes, its modifiers and kind of event with its text, the last letter."""
_RELEASE = "3"


class KeyParser(XTermParser):
    """Reads keys as Textual does. A sequence of kitty's protocol that is not a key that was pressed does nothing.

    Textual raises an exception for alternate codes, for kinds of events and for codes that are not characters. No terminal is asked
    for the first two, but a mode that another program left behind can send them, and noise on a line can send anything.
    """

    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # pyright: ignore[reportIncompatibleVariableOverride] - cached
        plain = sequence
        if ":" in sequence and (match := _EXTENDED.fullmatch(sequence)) is not None:
            codes, fields, end = match.groups()
            modifiers, *text = fields.split(";")[1:] or [""]
            modifiers, _, kind = modifiers.partition(":")
            if kind == _RELEASE:
                return _ignored(sequence)
            plain = f"\x1b[{codes.partition(':')[0]};{';'.join([modifiers, *text])}{end}"
        try:
            keys = super()._parse_extended_key(plain)
        except (ValueError, OverflowError):
            return _ignored(sequence)
        if keys is not None and any(
            "\ud800" <= character <= "\udfff" for key in keys for character in key.character or key.key
        ):
            return _ignored(sequence)
        return keys


def _ignored(sequence: str) -> list[events.Key]:
    """Return a key that Textual drops: without one it would type the characters of the sequence."""
    return [events.Key(Keys.Ignore, sequence)]


class AnswerFilter:
    """Removes replies from the input; the possible start of one is held until `release`."""

    def __init__(self) -> None:
        self._held = HeldReply(_BEGINNING, _NOT_TYPED, _ANSWER.match)

    @property
    def is_waiting(self) -> bool:
        """Whether a reply is expected, or its possible start is held."""
        return self._held.is_waiting

    def asked(self) -> None:
        """Expect a reply: until it arrives, a single escape may be its start."""
        self._held.rounds = ROUNDS

    def feed(self, data: str) -> tuple[str, bool | None]:
        """Return the typed text, and whether the background is dark if a reply was in the input."""
        data = self._held.join(data)
        background: bool | None = None
        for found in _ANSWER.finditer(data):
            background, self._held.rounds = is_dark(*found.groups()), 0
        return self._held.hold(_ANSWER.sub("", data), _SURE), background

    def release(self) -> str:
        """Return what was typed of the held text, because nothing followed in time."""
        return self._held.release()


def is_dark(red: str, green: str, blue: str) -> bool:
    """Return whether a color is dark; each part has one to four hexadecimal digits."""
    shares = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    return 0.299 * shares[0] + 0.587 * shares[1] + 0.114 * shares[2] < 0.5


PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
CHUNK = 4096
WAIT_S = 0.1
"""Seconds between two looks whether what was read was a key: an escape alone, the start of a reply."""

_QUIET_S = ESCAPE_DELAY + 5 * WAIT_S
"""Seconds after the last read from which nothing is left to look for."""

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


class PicturesDetected(Message):
    """The terminal reported how it shows pictures."""

    def __init__(self, terminal: "Terminal") -> None:
        super().__init__()
        self.terminal = terminal


class TypedDelivered(Message):
    """What was typed before the screen owned the terminal has been sent to the app as keys: all of it with `is_last`."""

    def __init__(self, *, is_last: bool) -> None:
        super().__init__()
        self.is_last = is_last


class TerminalGone(Message):
    """The terminal was closed, and nothing more can be read from it."""


class KeyWaits(Message):
    """A key was typed, before the screen owns the terminal, whose effect needs the screen."""


_LATER = (signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)
"""Signals that wait until the screen is started: their handlers need all of it."""


class TerminalInput(LinuxDriver):
    """Textual's driver with safe pastes; bytes that are not UTF-8 are replaced instead of ending the thread."""

    output: TerminalOutput | None = None
    """Where frames are shown, from the start of the screen on."""

    _is_to_ask = False
    _are_pictures_to_ask = False
    _is_ending = False
    _is_suspending = False
    _wakes: tuple[int, int] | None = None
    """The pipe that ends the wait of the reading thread, while there is one."""

    _early: screen.InstantScreen | None = None
    """The screen that owns the terminal until `acquire_terminal`."""

    _first: screen.InstantScreen | None = None
    """The same from then on, whose cells the terminal shows until the first frame."""

    _acquired: Event | None = None
    """Set when there is something to read in `_typed`, for the thread that reads; None after that thread has read the last."""

    _typed: "deque[tuple[bytes, bool]]"
    """What was typed until then in pieces, and whether the terminal is owned with it."""

    _own_settings: list[int | list[bytes | int]] | None = None
    """The settings of the terminal while the screen is started."""

    def start_application_mode(self) -> None:
        """Start the screen. Later writes to a closed terminal are ignored."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _LATER)
        try:
            self._start()
        except BaseException:
            self._abandon()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _abandon(self) -> None:
        """Restore the terminal after a start that failed: Textual leaves only a screen that has started."""
        early, self._early = self._early, None
        if early is None:
            if self._writer_thread is not None:
                self.stop_application_mode()
            return
        early.end()  # what this driver wrote waits for the terminal, and is dropped
        acquired, self._acquired = self._acquired, None
        if acquired is not None:
            acquired.set()

    def _start(self) -> None:
        if self._writer_thread is not None and self._writer_thread.is_alive():
            # Continued without having left: after SIGSTOP, or as a window that closes does it.
            reader = self._key_thread
            if self._early is not None:
                self._early.is_moved = True
            elif reader is not None and reader.is_alive():  # else nothing can be read any more
                self._show_again()
            return
        if self.output is None:
            self.output = TerminalOutput(self._file, os.environ)
            self._file = cast("TextIO", self.output)
        self.output.is_stopped, self.output.is_unknown = False, True
        if self._wakes is None:
            self._wakes = os.pipe()
        self._early = screen.live()
        if self._early is not None:
            self._acquired, self._typed = Event(), deque()
            self.output.hold(without=screen.MODES_ON)
        super().start_application_mode()
        with suppress(termios.error):  # the terminal is gone
            self._own_settings = termios.tcgetattr(self.fileno)
        if self._early is None:
            return
        _mark_changes(self._early)
        self.attrs_before = self._early.attributes_before
        self._early.wait_for_driver(lambda: self.process_message(KeyWaits()))

    def size_now(self) -> Size | None:
        """Return the size of the terminal; None for one that reports each change in its input, in order."""
        return None if self._in_band_window_resize else Size(*self._get_terminal_size())

    def _show_again(self) -> None:
        """Restore the settings that the shell may have changed meanwhile, and have every cell written."""
        if self._own_settings is not None:
            with suppress(termios.error):  # the terminal is gone, which the app learns by SIGHUP
                termios.tcsetattr(self.fileno, termios.TCSANOW, self._own_settings)
        signal.raise_signal(signal.SIGWINCH)

    def deliver_typed(self, least: int) -> bool:
        """Read the keys that were typed until now, which stay on the first page; return whether these are so many bytes.

        A `TypedDelivered` message follows them.
        """
        typed = self._early.read_typed(least) if self._early is not None else b""
        if typed and self._acquired is not None:
            self._typed.append((typed, False))
            self._acquired.set()
        return bool(typed)

    def acquire_terminal(self) -> screen.InstantScreen | None:
        """Own the terminal from now on, and read the keys that were typed; a `TypedDelivered` message follows them.

        Returns the screen that owned it until now, None at further calls. Frames wait until the output is released.
        """
        early, self._early = self._early, None
        self._first = self._first or early
        if early is not None and self.output is not None and self._acquired is not None:
            self._typed.append((early.hand_over(), True))
            self.output.begin()
            self._acquired.set()
        return early

    def disable_input(self) -> None:
        """End the reading thread, and wait for it."""
        self.acquire_terminal()
        self._is_ending = True
        self._wake()
        super().disable_input()
        self._is_ending = False

    def close(self) -> None:
        """Close what writes to the terminal, and the pipe. At the end of the app nothing continues the screen any more."""
        super().close()
        if not self._is_suspending:
            for number in (signal.SIGTSTP, signal.SIGCONT):
                signal.signal(number, signal.SIG_DFL)
            XTermParser._parse_extended_key.cache_clear()  # pyright: ignore[reportPrivateUsage] - it keeps parsers, and their app
        wakes, self._wakes = self._wakes, None
        for descriptor in wakes or ():
            os.close(descriptor)

    def _wake(self) -> None:
        """Have the reading thread look at what has changed."""
        if self._wakes is not None:
            os.write(self._wakes[1], b"w")

    def ask_background(self) -> None:
        """Ask the terminal for its background; the reply, if any, becomes a `BackgroundDetected` message of the app."""
        self._is_to_ask = True  # the thread that reads sends it, so that it knows before an answer can come
        self._wake()

    def ask_pictures(self) -> None:
        """Ask the terminal how it shows pictures; the reply, if any, becomes a `PicturesDetected` message of the app."""
        self._are_pictures_to_ask = True
        self._wake()

    def _sigtstp_application(self, *_: object) -> None:
        """Stop as the shell asks; Textual would stop this process only, not the job."""
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        stop_job()

    def suspend_application_mode(self) -> None:
        """Give the terminal to another program, in its original state."""
        early = screen.live()
        if self._writer_thread is None and early is not None:  # the signal came before the screen was started
            early.pause()
            return
        self._is_suspending = True
        try:
            super().suspend_application_mode()
        finally:
            self._is_suspending = False

    def resume_application_mode(self) -> None:
        """Own the terminal again after `suspend_application_mode`."""
        early = screen.live()
        if self._writer_thread is None and early is not None:
            early.resume()
            return
        super().resume_application_mode()

    def stop_application_mode(self) -> None:
        """Leave the screen. At the end of the app echo stays off until the caller of the app restores the terminal."""
        self.acquire_terminal()
        if self._first is not None:
            self._first.is_moved = True
        if self.output is not None:
            self.output.stop()
            if self.output.pictures.is_kitty:
                self.write(FREE_ALL)
        before = self.attrs_before
        if before is not None and not self._is_suspending:
            self.attrs_before = [*before]
            self.attrs_before[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON)
        super().stop_application_mode()
        self.attrs_before = before

    def _begin_replies(self) -> "Replies":
        from opencode_tui.tui.pictures.replies import Replies, cell_size, questions  # only for the first picture

        self.write(questions(os.environ))
        self.flush()
        return Replies(cell_size(self.fileno))

    def run_input_thread(self) -> None:
        """Read until the app ends. Nothing wakes the thread while nothing is typed."""
        parser, pastes, answers = KeyParser(self._debug), PasteFilter(), AnswerFilter()
        decode = getincrementaldecoder("utf-8")("replace").decode
        while (acquired := self._acquired) is not None:
            acquired.wait()
            acquired.clear()  # first: what comes while this reads sets it again
            if not self._typed:
                continue
            typed, is_last = self._typed.popleft()
            if self._typed:
                acquired.set()
            if is_last:
                self._acquired = None
            data, background = answers.feed(pastes.feed(decode(typed)))
            if background is not None:
                self.process_message(BackgroundDetected(background))
            for event in parser.feed(data) if data else ():
                self.process_message(event)
            self.process_message(TypedDelivered(is_last=is_last))
        wake = self._wakes[0] if self._wakes is not None else None
        read_at = time.monotonic()
        replies: Replies | None = None
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if wake is not None:
                selector.register(wake, selectors.EVENT_READ)
            while not (self.exit_event.is_set() or self._is_ending):
                if self._is_to_ask:
                    self._is_to_ask = False
                    answers.asked()
                    self.write(ASK)
                    self.flush()
                if self._are_pictures_to_ask:
                    self._are_pictures_to_ask = False
                    replies = self._begin_replies()
                data = ""
                is_waiting = answers.is_waiting or (replies is not None and replies.is_waiting)
                is_quiet = wake is not None and not is_waiting and time.monotonic() > read_at + _QUIET_S
                ready = {key.fd for key, _ in selector.select(None if is_quiet else WAIT_S)}
                if wake in ready:
                    _read(wake)
                if self.fileno in ready:
                    read = _read(self.fileno)
                    if not read:
                        if not os.isatty(self.fileno):
                            self.process_message(TerminalGone())
                        return
                    read_at = time.monotonic()
                    data, background = answers.feed(pastes.feed(decode(read)))
                    if background is not None:
                        self.process_message(BackgroundDetected(background))
                    if replies is not None:
                        data, terminal = replies.feed(data)
                        if terminal is not None:
                            self.process_message(PicturesDetected(terminal))
                elif not ready:
                    data = (replies.release() if replies is not None else "") + answers.release()
                if data:
                    for event in parser.feed(data):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)


def _mark_changes(early: screen.InstantScreen) -> None:
    """Report each change of the window's size to the first screen as well: the driver replaced its handler."""
    resize = signal.getsignal(signal.SIGWINCH)

    def mark(number: int, frame: FrameType | None) -> None:
        early.is_moved = True
        if callable(resize):
            resize(number, frame)

    signal.signal(signal.SIGWINCH, mark)


def _read(descriptor: int) -> bytes:
    """Return the next bytes; none when the terminal is gone."""
    try:
        return os.read(descriptor, CHUNK)
    except OSError:
        return b""
