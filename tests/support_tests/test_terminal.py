"""The terminal of tests: a signal that comes at once reaches the program in it."""

import signal
from pathlib import Path

from tests.support.terminal.command import Terminal


def test_a_hang_up_in_the_first_moment_ends_the_program_although_nohup_started_the_tests(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Terminal(["-c", "input()"], folder=tmp_path, environ={}) as terminal:
            terminal.process.send_signal(signal.SIGHUP)
            assert terminal.wait() == -signal.SIGHUP
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
