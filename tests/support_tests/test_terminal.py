"""The terminal of tests: a signal that comes at once reaches the program in it, and what it writes is drawn as it is."""

import signal
from pathlib import Path

import pytest

from tests.support.terminal.command import Terminal
from tests.support.terminal.screen_terminal import ScreenTerminal


def test_a_hang_up_in_the_first_moment_ends_the_program_although_nohup_started_the_tests(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Terminal(["-c", "input()"], folder=tmp_path, environ={}) as terminal:
            terminal.process.send_signal(signal.SIGHUP)
            assert terminal.wait() == -signal.SIGHUP
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_character_that_comes_in_two_pieces_is_drawn_once(tmp_path: Path, cut: int) -> None:
    data = "日本語".encode()
    with ScreenTerminal(["-c", ""], folder=tmp_path, environ={}) as terminal:
        terminal.take(data[:cut])
        terminal.take(data[cut:])
        assert (terminal.lines()[0].rstrip(), terminal.text) == ("日本語", "日本語")
