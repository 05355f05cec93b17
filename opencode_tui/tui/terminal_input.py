"""Input of the terminal. Only what the user typed becomes keys, by `typed_input.py`; invalid bytes are replaced."""

import os
import re
import selectors
import signal
import termios
import time
import tty
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Sequence
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
from opencode_tui.tui.keys.key_run import with_runs
from opencode_tui.tui.output.pictures import FREE_ALL
from opencode_tui.tui.output.terminal_output import TerminalOutput
from opencode_tui.tui.typed_input import Piece, Reply, TypedInput

if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Terminal
    from opencode_tui.tui.pictures.replies import Replies

ASK = "\x1b]11;?\x1b\\"

_BACKGROUND = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?(?:\x07|\x1b\\|\x9c)"
)

_EXTENDED = re.compile(r"\x1b\[([\d:]*)((?:;[\d:]*){0,2});?([u~ABCDEFHPQRS])")
"""A key of kitty's protocol: its code and alternate codes, its modifiers and kind of event with its text, the last letter."""
_RELEASE = "3"

_OTHER_KEY = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,7})~")
"""A key as xterm's `modifyOtherKeys` sends it: its modifiers and its code."""

_ALT_ENTER = ("\x1b\r", "\x1b\n")
"""What terminals without kitty's protocol send for alt+enter, and what many are set to send for shift+enter."""


class KeyParser(XTermParser):
    """Reads keys as Textual does. A sequence of kitty's protocol that is not a key that was pressed does nothing.

    Textual raises an exception for alternate codes, for kinds of events and for codes that are not characters. No terminal is asked
    for the first two, but a mode that another program left behind can send them, and noise on a line can send anything.
    """

    def _parse_extended_key(self, sequence: str) -> list[events.Key] | None:  # pyright: ignore[reportIncompatibleVariableOverride] - cached
        if sequence in _ALT_ENTER:
            return [events.Key("alt+enter", None)]
        plain = _OTHER_KEY.sub("\x1b[\\2;\\1u", sequence)
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


def is_dark(red: str, green: str, blue: str) -> bool:
    """Return whether a color is dark; each part has one to four hexadecimal digits."""
    shares = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    return 0.299 * shares[0] + 0.587 * shares[1] + 0.114 * shares[2] < 0.5


CHUNK = 4096
WAIT_S = 0.1
"""Seconds between two looks whether what was read was a key: an escape alone, the start of a reply."""
UNDECIDED_S = 0.03
"""The same while only a pause decides whether something was typed behind a paste or a reply."""

_QUIET_S = ESCAPE_DELAY + 5 * WAIT_S
"""Seconds after the last read from which nothing is left to look for."""


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


class UntypedDropped(Message):
    """The terminal sent what no key sends, and more of it may come: what a question gets next may not have been typed."""


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

    def run_input_thread(self) -> None:
        """Read until the app ends. Nothing wakes the thread while nothing is typed."""
        reading = _Reading(KeyParser(self._debug))
        self._read_typed_before(reading)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._wakes is not None:
                selector.register(self._wakes[0], selectors.EVENT_READ)
            while not (self.exit_event.is_set() or self._is_ending):
                self._ask(reading)
                if not self._read_next(reading, selector):
                    return

    def _read_typed_before(self, reading: "_Reading") -> None:
        """Read what was typed until the terminal is owned, in the pieces that are delivered."""
        while (acquired := self._acquired) is not None:
            acquired.wait()
            acquired.clear()  # first: what comes while this reads sets it again
            if not self._typed:
                continue
            early, is_last = self._typed.popleft()
            if self._typed:
                acquired.set()
            if is_last:
                self._acquired = None
            self._deliver(reading.typed.feed(reading.decode(early)), reading)
            self._deliver(
                reading.typed.flush(), reading
            )  # all of it was typed before: nothing decides about it any more
            self.process_message(TypedDelivered(is_last=is_last))

    def _ask(self, reading: "_Reading") -> None:
        """Send the questions that are to be asked: here, so that an answer is expected before it can come."""
        if self._is_to_ask:
            self._is_to_ask = False
            reading.typed.expect_reply()
            self.write(ASK)
            self.flush()
        if self._are_pictures_to_ask:
            from opencode_tui.tui.pictures.replies import Replies, cell_size, questions  # only for the first picture

            self._are_pictures_to_ask = False
            self.write(questions(os.environ))
            self.flush()
            reading.replies = Replies(cell_size(self.fileno))

    def _read_next(self, reading: "_Reading", selector: selectors.BaseSelector) -> bool:
        """Wait for input, or for the pause that decides about what was read, and deliver it; return False at its end."""
        wake = self._wakes[0] if self._wakes is not None else None
        is_quiet = wake is not None and reading.is_quiet
        pause_s = UNDECIDED_S if reading.typed.is_undecided else WAIT_S
        ready = {key.fd for key, _ in selector.select(None if is_quiet else pause_s)}
        if wake is not None and wake in ready:
            _read(wake)
        if self.fileno in ready:
            read = _read(self.fileno)
            if not read:
                if not os.isatty(self.fileno):
                    self.process_message(TerminalGone())
                return False
            reading.read_at = time.monotonic()
            self._deliver(reading.typed.feed(reading.decode(read)), reading)
        elif not ready:
            if reading.replies is not None:
                self._deliver_keys(reading.replies.release(), reading)
            self._deliver(reading.typed.pause(), reading)
        for event in reading.parser.tick():
            self.process_message(event)
        return True

    def _deliver(self, pieces: Sequence[Piece], reading: "_Reading") -> None:
        """Send what was read to the app: pastes, replies, and keys without the replies about pictures."""
        for piece in pieces:
            if isinstance(piece, events.Paste):
                self.process_message(piece)
            elif isinstance(piece, Reply):
                self._deliver_reply(piece, reading)
            else:
                self._deliver_keys(self._without_replies(piece, reading), reading)

    def _deliver_keys(self, data: str, reading: "_Reading") -> None:
        """Send what was typed to the app."""
        read = reading.parser.feed(data) if data else ()
        for event in with_runs(event for event in read if not isinstance(event, events.Paste)):  # `DROP_ESCAPE`
            self.process_message(event)

    def _without_replies(self, data: str, reading: "_Reading") -> str:
        if reading.replies is None:
            return data
        data, terminal = reading.replies.feed(data)
        if terminal is not None:
            self.process_message(PicturesDetected(terminal))
        return data

    def _deliver_reply(self, reply: Reply, reading: "_Reading") -> None:
        """Send what the terminal replied to the app."""
        background = _BACKGROUND.fullmatch(reply.text)
        if background is not None:
            self.process_message(BackgroundDetected(is_dark(*background.groups())))
        elif not reply.text:
            self.process_message(UntypedDropped())
        else:
            self._without_replies(reply.text, reading)


class _Reading:
    """What the reading thread knows of the input so far."""

    def __init__(self, parser: KeyParser) -> None:
        self.parser = parser
        self.typed = TypedInput()
        self.decode = getincrementaldecoder("utf-8")("replace").decode
        self.replies: Replies | None = None
        """The replies about pictures, once they were asked for."""
        self.read_at = time.monotonic()

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is left to look for until more is read."""
        is_waiting = self.typed.is_waiting or (self.replies is not None and self.replies.is_waiting)
        return not is_waiting and time.monotonic() > self.read_at + _QUIET_S


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
