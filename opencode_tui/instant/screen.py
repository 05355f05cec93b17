"""The terminal from the start of the program until the TUI takes it over: modes, the first frame, typed keys."""

import _thread
import os
import select
import sys
import termios

from opencode_tui.instant.line import TypedLine, cells_of
from opencode_tui.instant.page import is_on, plain_page, read_page, sgr

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Mapping, Sequence

    from opencode_tui.instant.page import Cell, Page

    Attributes = list[int | list[bytes | int]]
else:
    import _signal  # `signal` imports much more

MODES_ON = ("\x1b[?1049h", "\x1b[?25l", "\x1b[?2004h", "\x1b[?7l")
"""The other screen, no cursor, bracketed pastes, no wrapping: the driver that takes over does not write these again."""

_MODES_OFF = "\x1b[m\x1b[?2004l\x1b[?7h\x1b[?1049l\x1b[?25h"
_ALL_MODES_OFF = "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?2048l\x1b[?1004l\x1b[<u" + _MODES_OFF
"""Those of the driver as well."""

_IFLAG, _LFLAG, _CC = 0, 3, 6
_CHUNK = 4096
_POLL_S = 0.1
"""Seconds between two looks at the size of the terminal."""
_PAUSE_S = 0.2
"""Maximum seconds until the thread has drawn what it draws."""
_SWITCH_S, _USUAL_SWITCH_S = 0.0005, 0.005
"""Seconds after which a thread that imports lets the echo of a key go first, and Python's own value. The TUI keeps the first."""
_LEAST_SIZE = (20, 5)


class InstantScreen:
    """Shows the page and typed keys on a thread of its own, until `hand_over` or `end`."""

    def __init__(self, environ: "Mapping[str, str]", folder: str) -> None:
        self.attributes_before: Attributes = termios.tcgetattr(0)
        """The settings of the terminal before the program."""
        self.page = _page(environ, folder)
        """The page that is shown."""
        self._environ = environ
        self._folder = folder
        self._typed = b""
        self._handed = 0
        """Bytes of it that the TUI has."""
        self._line = TypedLine(self.page.prompt[2] - 2)
        self._shown = self.page.hint_cells()
        self._guard = _thread.allocate_lock()
        """Held while the thread draws, or while the terminal changes its owner."""
        self._running = _thread.allocate_lock()
        """Held while the thread runs."""
        self._wake, self._waker = os.pipe()
        self.is_moved = False
        """Whether the window has changed its size since the page was drawn whole: it may have cut or moved the cells."""
        self._is_owner = False
        self._is_paused = False
        self._on_stuck: Callable[[], object] | None = None

    def begin(self) -> None:
        """Switch the terminal, show the page and start the thread. Signals that come meanwhile wait."""
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _HANDLERS)
        try:
            for number, handler in _HANDLERS.items():
                is_ignored = _signal.getsignal(number) is _signal.SIG_IGN
                if number == _signal.SIGHUP and is_ignored:  # by `nohup`: without its terminal it would stay forever
                    _signal.signal(number, handler)
                if _signal.getsignal(number) in (_signal.SIG_DFL, _signal.default_int_handler):
                    _signal.signal(number, handler)
            self._is_owner = True
            self._enter()
            if select.select([0], [], [], 0)[0]:
                self._read(is_cooked=True)
            sys.setswitchinterval(_SWITCH_S)
            self._start_thread()
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)

    def wait_for_driver(self, on_stuck: "Callable[[], object]") -> None:
        """Call `on_stuck` when a key waits for the TUI, from any thread; the program is no longer ended by ctrl+c here."""
        with self._guard:
            self._on_stuck = on_stuck
        if self.waits:
            on_stuck()

    @property
    def waits(self) -> bool:
        """Whether a key was typed whose effect needs the TUI."""
        return self._line.is_stuck or self._line.wants_to_quit

    @property
    def wants_to_quit(self) -> bool:
        """Whether the user asks to end the program."""
        return self._line.wants_to_quit

    def read_typed(self, least: int = 1) -> bytes:
        """Return what was typed and was not returned before; it is shown here as before.

        Returns b"" until `least` bytes were typed, and while a key waits for the TUI or is incomplete.
        """
        with self._guard:
            is_enough = len(self._typed) - self._handed >= least
            return self._unread() if is_enough and self._line.is_whole else b""

    def hand_over(self) -> bytes:
        """Give the terminal away with its modes on, which the caller then switches off; return the rest of what was typed."""
        self._end_thread()
        with self._guard:
            self._is_owner, self._on_stuck = False, None
            return self._unread()

    @property
    def prompt_cells(self) -> "list[Cell]":
        """The cells of the prompt's line as they are shown."""
        return self._shown

    def end(self) -> None:
        """Restore the terminal, if it was not given away, and drop what was typed."""
        self._end_thread()
        sys.setswitchinterval(_USUAL_SWITCH_S)
        with self._guard:
            self._restore()

    def pause(self) -> None:
        """Give the terminal to the shell, in its original state."""
        is_held = self._guard.acquire(timeout=_PAUSE_S)
        self._is_paused = True
        self._leave(_MODES_OFF, termios.TCSANOW)
        if is_held:
            self._guard.release()

    def resume(self) -> None:
        """Own the terminal again and show the page."""
        self._enter()
        self._shown = self.page.hint_cells()
        self._is_paused = False
        self._refresh()

    def die(self) -> None:
        """Restore the terminal whoever owns it, as the process is ended by a signal."""
        self._guard.acquire(timeout=_PAUSE_S)
        self._is_paused = True
        self._leave(_ALL_MODES_OFF if not self._is_owner else _MODES_OFF, termios.TCSAFLUSH)

    def _unread(self) -> bytes:
        unread, self._handed = self._typed[self._handed :], len(self._typed)
        return unread

    def _enter(self) -> None:
        self.is_moved = False
        raw = termios.tcgetattr(0)
        raw[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[_IFLAG] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        raw[_CC][termios.VMIN] = 1
        termios.tcsetattr(0, termios.TCSANOW, raw)
        _write("".join(MODES_ON) + self.page.draw() + "\x1b[m")

    def _leave(self, modes: str, when: int) -> None:
        try:
            if _is_in_foreground():
                _write(modes)
                termios.tcsetattr(0, when, self.attributes_before)
        except (OSError, termios.error):
            return  # the terminal is gone

    def _restore(self) -> None:
        if self._is_owner:
            self._is_owner = False
            self._leave(_MODES_OFF, termios.TCSAFLUSH)

    def _start_thread(self) -> None:
        self._running.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:
            self._running.release()
            raise

    def _end_thread(self) -> None:
        """Wait until the thread has ended; it reads nothing more."""
        if _owner.pop("screen", None) is self:
            os.write(self._waker, b"\0")
            self._running.acquire()
            self._running.release()
            os.close(self._wake)
            os.close(self._waker)

    def _run(self) -> None:
        try:
            while self._wait_for_key():
                pass
        except OSError:
            return  # the terminal is gone, which the program learns by SIGHUP
        finally:
            self._running.release()

    def _wait_for_key(self) -> bool:
        """Apply the next keys or the terminal's new size; return False when the thread is to end."""
        ready = select.select([0, self._wake], [], [], _POLL_S)[0]
        if self._wake in ready:
            return False
        with self._guard:
            if self._is_paused:
                return True
            if self.is_moved or os.get_terminal_size(1) != self.page.size:
                self._resize()
            is_open = 0 not in ready or self._read(is_cooked=False)
            if self._line.wants_to_quit and self._on_stuck is None:
                self._restore()
                os._exit(0)  # nothing is open yet; the main thread imports
            on_stuck = self._on_stuck if 0 in ready and self.waits else None
        if on_stuck is not None:
            on_stuck()
        return is_open

    def _read(self, *, is_cooked: bool) -> bool:
        """Read what was typed and show it; return whether the terminal is there."""
        data = os.read(0, _CHUNK)
        if is_cooked:  # typed before: the terminal has made a line feed of enter, and a zero of ctrl+d
            data = data.replace(b"\n", b"\r").replace(b"\0", b"\x04")
        self._typed += data
        self._line.feed(data)
        self._refresh()
        return bool(data)

    def _resize(self) -> None:
        self.is_moved = False  # first: a change that comes while this draws is another one
        self.page = _page(self._environ, self._folder)
        self._line = TypedLine(self.page.prompt[2] - 2)
        self._line.feed(self._typed)
        _write("\x1b[m\x1b[2J" + self.page.draw() + "\x1b[m")
        self._shown = self.page.hint_cells()
        self._refresh()

    def _refresh(self) -> None:
        """Write the cells of the prompt's line that differ from what is shown."""
        if not self.page.is_echoing:
            return
        wanted, shown = self._cells(), self._shown
        changed = [at for at, pair in enumerate(zip(shown, wanted, strict=True)) if pair[0] != pair[1]]
        if not changed:
            return
        x, y, _ = self.page.prompt
        first, last = changed[0], changed[-1] + 1
        while first and not wanted[first][0]:
            first -= 1  # the second cell of a wide character
        self._shown = wanted
        pieces, pen = [f"\x1b[{y + 1};{x + first + 1}H"], None
        for letter, its in wanted[first:last]:
            if its != pen:
                pieces.append(sgr(its))
                pen = its
            pieces.append(letter)
        _write("".join(pieces) + "\x1b[m")

    def _cells(self) -> "list[Cell]":
        line, (pen, cursor) = self._line, self.page.pens
        if not line.text:
            return self.page.hint_cells()
        cells: list[Cell] = []
        for at, letter in enumerate(line.text):
            its = cursor if at == line.cursor else pen
            cells += [(letter, its), ("", its)][: cells_of(letter)]
        blank = (" ", ("", "", pen[2]))
        cells.append((" ", cursor) if line.cursor == len(line.text) else blank)
        return cells + [blank] * (self.page.prompt[2] - len(cells))


_owner: "dict[str, InstantScreen]" = {}
"""The screen that owns the terminal, as `screen`: there is one terminal."""

_first: "dict[str, InstantScreen]" = {}
"""The same after it was given away: what the terminal was like before is still known."""


def live() -> InstantScreen | None:
    """Return the screen that owns the terminal; None when the TUI owns it, or nothing was shown."""
    return _owner.get("screen")


def attributes_before() -> "Attributes | None":
    """Return the terminal's settings before the program; None when nothing was shown before the TUI."""
    first = _first.get("screen")
    return None if first is None else first.attributes_before


def begin(arguments: "Sequence[str]", environ: "Mapping[str, str]") -> None:
    """Show the first frame, if these arguments open the TUI with a start page in this terminal."""
    try:
        folder = _folder_of(arguments)
        if folder is None or not _is_usable(environ):
            return
        screen = InstantScreen(environ, folder)
        _owner["screen"] = _first["screen"] = screen
        screen.begin()
    except (OSError, RuntimeError, termios.error):
        # The terminal or the folder went away, as the TUI will say, or no thread could be started.
        end()
        _owner.clear()
        _first.clear()


def end() -> None:
    """Restore the terminal, if it was not given away: something else than the TUI is shown next."""
    screen = live()
    if screen is not None:
        screen.end()


def _folder_of(arguments: "Sequence[str]") -> str | None:
    """Return the real folder that the TUI opens, None when the arguments ask for anything else."""
    if not arguments:
        return os.getcwd()
    (first, *more) = arguments
    is_folder = not more and (os.sep in first or first in (".", "..")) and not first.startswith("-")
    return os.path.realpath(first) if is_folder and os.path.isdir(first) else None


def _is_usable(environ: "Mapping[str, str]") -> bool:
    """Return whether it is switched on, and the standard streams are one terminal of a usual kind, with this in its foreground."""
    if not is_on(environ) or environ.get("TERM", "dumb") in ("dumb", "unknown", ""):
        return False
    if any(name in environ for name in _UNUSUAL):
        return False
    try:
        columns, rows = os.get_terminal_size(1)
        is_one = os.isatty(0) and os.fstat(0).st_rdev == os.fstat(1).st_rdev == os.fstat(2).st_rdev
    except OSError:
        return False
    return is_one and _is_in_foreground() and columns >= _LEAST_SIZE[0] and rows >= _LEAST_SIZE[1]


def _is_in_foreground() -> bool:
    """Return whether this may change the terminal; it would stop in the background of a shell that controls jobs."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return True  # it is not the terminal that controls this process


_UNUSUAL = ("COLUMNS", "LINES", "TEXTUAL_ALLOW_SIGNALS", "TEXTUAL", "_OPENCODE_TUI_COMPLETE")
"""Variables that give the screen another size or other keys, or that ask for something else."""


def _page(environ: "Mapping[str, str]", folder: str) -> "Page":
    columns, rows = os.get_terminal_size(1)
    size = (columns, rows)
    return read_page(environ, folder, size) or plain_page(size)


def _die(number: int, _frame: object) -> None:
    """Restore the terminal and end as the signal does."""
    for screen in _first.values():
        screen.die()
    _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _stop(_number: int, _frame: object) -> None:
    """Stop as the shell asks, with the terminal in its original state in the meantime."""
    from opencode_tui.instant.job import stop_job  # rarely needed

    screen = live()
    if screen is not None:
        screen.pause()
    stop_job()
    if screen is not None:
        screen.resume()


def _mark_moved(_number: int, _frame: object) -> None:
    """Have the page drawn whole again: after a change of the window, even if it has its former size, and after a stop."""
    for screen in _first.values():
        screen.is_moved = True


_HANDLERS: "Mapping[int, Callable[[int, object], None]]" = {
    _signal.SIGTERM: _die,
    _signal.SIGHUP: _die,
    _signal.SIGINT: _die,
    _signal.SIGTSTP: _stop,
    _signal.SIGCONT: _mark_moved,
    _signal.SIGWINCH: _mark_moved,
}
"""What signals do until the TUI or the command line has handlers of its own."""


def _write(text: str) -> None:
    data = text.encode()
    while data:
        data = data[os.write(2, data) :]
