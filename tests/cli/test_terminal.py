"""What the commands have to do with the terminal: which signals end them."""

import signal
from collections.abc import Iterator

import pytest

from opencode_tui.cli.terminal import ending_signals


@pytest.fixture(autouse=True)
def hang_up() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_hang_up_ends_a_command_unless_nohup_made_it_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM]
