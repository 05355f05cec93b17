"""Keys that were typed for the screen run nothing in the shell."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import wait_until

pytestmark = pytest.mark.slow


SHELL = """
import os, select, subprocess, sys, termios
before = termios.tcgetattr(0)
subprocess.run([sys.executable, *sys.argv[1:]])
is_as_before = termios.tcgetattr(0) == before
left = os.read(0, 1000) if select.select([0], [], [], 0)[0] else b""
print("The shell reads", left, "and has its terminal again" if is_as_before else "in a strange terminal", flush=True)
"""

LEAVES = """
import os, termios
from opencode_tui.cli import typeahead
from opencode_tui.cli.typeahead import TypeaheadGuard
typeahead.QUIET_S, typeahead.TIMEOUT_S = 3, 60  # a loaded machine may be late with a letter
keys = TypeaheadGuard(0)
quiet = termios.tcgetattr(0)
quiet[3] &= ~(termios.ECHO | termios.ICANON)
termios.tcsetattr(0, termios.TCSANOW, quiet)
print("closing", flush=True)
os.read(0, 1)  # the rest came with it
{act}
keys.restore()
"""


def run(folder: Path, environ: dict[str, str], *arguments: str) -> ScreenTerminal:
    """A program in a terminal, with a parent process that reads afterwards as a shell does."""
    environ = {**environ, "PYTHONPATH": str(PACKAGE_ROOT)}
    return ScreenTerminal(["-c", SHELL, *arguments], folder=folder, environ=environ)


def test_what_is_typed_while_it_closes_is_dropped(tmp_path: Path, environ: dict[str, str]) -> None:
    with run(tmp_path, environ, "-c", LEAVES.format(act="")) as terminal:
        terminal.sees("closing")
        terminal.type("echo leaked\n")
        text = terminal.sees("has its terminal again")
        assert "reads b''" in text and "leaked" not in text


@pytest.mark.parametrize("is_expected", [True, False])
def test_a_line_that_was_begun_is_dropped_as_a_whole(
    tmp_path: Path, environ: dict[str, str], is_expected: bool
) -> None:
    act = f"keys.wait_for_quiet(is_expected={is_expected})"
    with run(tmp_path, environ, "-c", LEAVES.format(act=act)) as terminal:
        terminal.sees("closing")
        terminal.type("ec")
        for letter in "ho leaked\n":
            terminal.type(letter)
            terminal.read_for(0.04)
        text = terminal.sees("has its terminal again")
        assert "reads b''" in text and "leaked" not in text


def test_a_screen_that_closes_by_itself_leaves_nothing_of_the_prompt_to_the_shell(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with run(tmp_path, environ, "-m", "opencode_tui", "attach", "http://127.0.0.1:9") as terminal:
        terminal.sees("Ask")
        terminal.type("delete all")
        while b"\x1b[?1049l" not in terminal.raw:
            terminal.read_for(0.01)
        terminal.type(" the old files\r")
        text = terminal.sees("has its terminal again")
        assert "reads b''" in text and "old files" not in text
        assert "no connection to" in text


REPLACED = """
import os, signal
plain = signal.signal
def set_and_send(number, handler):
    plain(number, handler)
    if number == signal.SIGTERM and handler is signal.SIG_DFL:
        os.kill(os.getpid(), number)
signal.signal = set_and_send
from opencode_tui.__main__ import main
main()
"""


def test_no_signal_ends_the_process_at_once_while_its_handler_is_replaced(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    with run(tmp_path, environ, "-c", REPLACED, "attach", "http://127.0.0.1:9") as terminal:
        assert "no connection to" in terminal.sees("has its terminal again")


def test_a_signal_while_keys_are_dropped_restores_the_terminal(tmp_path: Path, environ: dict[str, str]) -> None:
    with run(tmp_path, environ, "-m", "opencode_tui", "attach", "http://127.0.0.1:9") as terminal:
        terminal.sees("Ask")
        shell = terminal.process.pid
        screen = int(Path(f"/proc/{shell}/task/{shell}/children").read_text())
        terminal.read_until(lambda: b"\x1b[?1049l" in terminal.raw)
        terminal.type("x")
        wait_until(lambda: not terminal.has_unread)  # nobody reads it: it is dropped, and more is waited for
        with suppress(ProcessLookupError):
            os.kill(screen, signal.SIGTERM)
        terminal.sees("has its terminal again")
