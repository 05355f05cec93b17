"""The terminal is as before however the program ends before the TUI, and what was typed is handed on. In pseudo-terminals."""

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
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from opencode_tui.instant.page import SWITCH
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import PATIENCE_S

_PROGRAM = """
import fcntl, os, sys, termios
import _signal
_signal.signal(_signal.SIGHUP, _signal.SIG_IGN if "LIKE_NOHUP" in os.environ else _signal.SIG_DFL)  # the tests may run under it
_signal.signal(_signal.SIGINT, _signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
before = set(sys.modules)
from opencode_tui.instant import screen
screen.begin(sys.argv[2:], os.environ)
more = sorted(set(sys.modules) - before)
import time
def hang():
    while True: time.sleep(0.01)  # as imports do, it lets handlers of signals run
exec(sys.argv[1])
screen.end()
"""
_OFF = b"\x1b[?2004l\x1b[?7h\x1b[?1049l\x1b[?25h"


class Child:
    """A program in a terminal of its own that shows the first frame, and then does as `body` says."""

    def __init__(self, body: str, *arguments: str, environ: Mapping[str, str], before: bytes = b"") -> None:
        self.master, self.slave = pty.openpty()
        os.write(self.master, before)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.raw = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, body, *arguments],
            env={"TERM": "xterm", "PYTHONPATH": str(PACKAGE_ROOT), "PATH": os.environ["PATH"], **environ},
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def sees(self, words: bytes) -> None:
        end = time.monotonic() + PATIENCE_S
        while words not in self.raw:
            assert select.select([self.master], [], [], max(0.0, end - time.monotonic()))[0], self.raw
            self.raw += os.read(self.master, 65536)

    def ends(self) -> int:
        """Return the exit code; the terminal must have its settings and modes of before."""
        code = self.process.wait(PATIENCE_S)
        with contextlib.suppress(OSError):
            while select.select([self.master], [], [], 0)[0]:
                self.raw += os.read(self.master, 65536)
        assert termios.tcgetattr(self.slave) == self.before
        assert self.raw.count(b"\x1b[?1049h") == self.raw.count(b"\x1b[?1049l")
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[object]:
    """Starts such programs."""
    children: list[Child] = []

    def begin(body: str, *arguments: str, before: bytes = b"", **environ: str) -> Child:
        child = Child(body, *arguments, environ={"XDG_CACHE_HOME": str(tmp_path), **environ}, before=before)
        children.append(child)
        return child

    yield begin
    for child in children:
        child.close()


def test_typed_keys_are_shown_at_once_and_every_byte_is_handed_on(start) -> None:
    child = start(
        "while len(screen.live()._typed) < 9: time.sleep(0.001)\nprint(screen.live().hand_over(), flush=True)"
    )
    child.sees(b"Ask anything")
    child.type(b"ab\x1b[Dc")
    child.sees(b"c\x1b[0;7mb")
    child.type(b"\r\x10d")
    child.sees(repr(b"ab\x1b[Dc\r\x10d").encode())
    child.process.wait(PATIENCE_S)
    assert b"1049l" not in child.raw  # the caller of `hand_over` owns the terminal
    assert child.raw.count(b"d") == child.raw.split(b"Ask")[0].count(b"d") + 1  # that of the bytes


def test_what_was_read_before_the_terminal_is_handed_over_is_not_handed_on_again(start) -> None:
    wait = "\nwhile len(screen.live()._typed) < {}: time.sleep(0.001)\n"
    read = "print(screen.live().read_typed(), flush=True)"
    body = wait.format(2) + read + wait.format(3) + read + "\nprint(screen.live().hand_over(), flush=True)"
    child = start(body)
    child.sees(b"Ask anything")
    child.type(b"ab")
    child.sees(b"b'ab'")
    child.type(b"\x10")  # its effect needs the TUI: it waits
    child.sees(b"b''")
    child.sees(b"b'\\x10'")


def test_few_keys_wait_for_the_change_of_owners_and_more_are_read_before(start) -> None:
    wait = "\nwhile len(screen.live()._typed) < {}: time.sleep(0.001)\n"
    read = "print(screen.live().read_typed(3), flush=True)"
    child = start(wait.format(2) + read + wait.format(3) + read)
    child.sees(b"Ask anything")
    child.type(b"ab")
    child.sees(b"b''")
    child.type(b"c")
    child.sees(b"b'abc'")


def test_what_the_terminal_itself_edited_before_is_handed_on_once_and_shown_once(start) -> None:
    child = start("print(screen.live().hand_over(), flush=True)", before=b"ab\x7fc")
    child.sees(repr(b"ac").encode())
    shown = child.raw.split(b"\x1b[?1049h")[1].split(b"Ask anything")[1]
    assert shown.count(b"ac") == 2  # the echo on the page, and the bytes


@pytest.mark.parametrize(("typed", "keys"), [(b"a\n", b"a\r"), (b"a\x04", b"a\x04"), (b"\r\x1b[D", b"\r\x1b[D")])
def test_keys_that_a_terminal_changes_in_its_own_lines_are_the_keys_again(start, typed: bytes, keys: bytes) -> None:
    child = start("print(screen.live().hand_over(), flush=True)", before=typed)
    child.sees(repr(keys).encode())


@pytest.mark.parametrize(("end", "seconds"), [("hand_over", "0.0005"), ("end", "0.005")])
def test_the_screen_keeps_that_threads_give_way_to_keys(start, end: str, seconds: str) -> None:
    child = start(f"screen.live().{end}(); print('switches after', sys.getswitchinterval(), flush=True)")
    child.sees(f"switches after {seconds}\r\n".encode())


def test_it_imports_nothing_that_costs_time(start) -> None:
    child = start("screen.end(); print('[', *more, ']')")
    child.sees(b"]\r\n")
    names = child.raw.split(b"[ ")[-1].split()[:-1]
    ours = [
        b"opencode_tui",
        b"opencode_tui.instant",
        *(b"opencode_tui.instant." + one for one in (b"line", b"page", b"screen")),
    ]
    assert sorted(names) == sorted([*ours, b"select"])  # and `termios`, which the test has imported


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("body", ["hang()", "screen.live().hand_over(); hang()"])
def test_a_signal_restores_the_terminal_whoever_owns_it(start, number: signal.Signals, body: str) -> None:
    child = start(body)
    child.sees(b"Ask anything")
    child.process.send_signal(number)
    assert child.ends() == -number
    assert _OFF in child.raw


def test_a_hang_up_ends_it_although_nohup_started_it(start) -> None:
    child = start("hang()", LIKE_NOHUP="1")
    child.sees(b"Ask anything")
    child.process.send_signal(signal.SIGHUP)
    assert child.ends() == -signal.SIGHUP


def test_a_crash_is_shown_in_the_shells_own_screen(start) -> None:
    child = start("try:\n 1 / 0\nfinally:\n screen.end()")
    assert child.ends() == 1
    assert child.raw.index(_OFF) < child.raw.index(b"ZeroDivisionError")


def test_ctrl_c_twice_quits(start) -> None:
    child = start("hang()")
    child.sees(b"Ask anything")
    child.type(b"\x03\x03")
    assert child.ends() == 0


def test_it_stops_as_the_shell_asks_and_goes_on(start) -> None:
    child = start("hang()")
    child.type(b"ab")
    child.sees(b"b\x1b[0;7m")
    child.process.send_signal(signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(child.process.pid, os.WUNTRACED)[1])
    assert termios.tcgetattr(child.slave) == child.before
    child.raw = b""
    child.process.send_signal(signal.SIGCONT)
    child.sees(b"ab\x1b[0;7m")


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["-c"], {}),
        (["run"], {}),
        ([".", "--plain"], {}),
        (["/nonexistent/folder"], {}),
        ([], {"TERM": "dumb"}),
        ([], {"LINES": "24"}),
        ([], {SWITCH: "false"}),
        ([], {SWITCH: "0"}),
    ],
)
def test_nothing_is_shown_where_it_does_not_apply(start, arguments: list[str], environ: dict[str, str]) -> None:
    child = start("print('live', screen.live())", *arguments, **environ)
    child.sees(b"live None")
    assert b"\x1b" not in child.raw
    assert child.ends() == 0


def test_another_size_is_drawn_anew(start) -> None:
    child = start("hang()")
    child.type(b"abc")
    child.sees(b"c\x1b[0;7m")
    child.raw = b""
    child.resize(60, 20)
    child.sees(b"\x1b[18;4H\x1b[0mabc")


def test_the_page_is_drawn_anew_when_the_window_had_another_size_for_a_moment(start) -> None:
    child = start("hang()")
    child.type(b"abc")
    child.sees(b"c\x1b[0;7m")
    child.raw = b""
    child.resize(60, 20)
    child.resize(100, 30)
    child.sees(b"\x1b[2J")
    child.sees(b"\x1b[27;4H\x1b[0mabc")
