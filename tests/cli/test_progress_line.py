"""The line of a terminal that says what a command works on."""

import os
import pty
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from opencode_tui.cli import progress_line as module
from opencode_tui.cli.progress_line import progress_line


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, *, after_s: float, name: str = "xterm") -> Generator[int]:
    """Make a terminal standard error for the context, and yield the descriptor of its other side."""
    other, own = pty.openpty()
    with os.fdopen(own, "w") as stream, monkeypatch.context() as changed:
        changed.setattr(sys, "stderr", stream)
        changed.setattr(module, "SHOWN_AFTER_S", after_s)
        changed.setenv("TERM", name)
        yield other
    os.close(other)


def read_until(descriptor: int, words: str) -> str:
    found = ""
    while words not in found:
        found += os.read(descriptor, 1000).decode()
    return found


def report(words: str) -> None:
    """Write a line as a command does after its work."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def test_work_that_lasts_is_named_with_its_time_and_the_line_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, after_s=0) as screen:
        with progress_line("Reading the session") as line:
            shown = read_until(screen, " s\x1b[0m")
            line.words = "Copying the messages"
            read_until(screen, "Copying the messages  ")
        report("done")
        assert shown.startswith("\r\x1b[2KReading the session  \x1b[2m")
        assert read_until(screen, "done\r\n").endswith("\r\x1b[2Kdone\r\n")


def test_an_error_removes_the_line_before_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, after_s=0) as screen:

        def fail() -> None:
            with progress_line("Undoing"):
                read_until(screen, "Undoing")
                raise ValueError("wrong")

        with pytest.raises(ValueError, match="wrong"):
            fail()
        report("wrong")
        assert read_until(screen, "wrong\r\n").endswith("\r\x1b[2Kwrong\r\n")


@pytest.mark.parametrize(("after_s", "name"), [(3600, "xterm"), (0, "dumb")])
def test_short_work_and_a_terminal_without_control_sequences_show_nothing(
    monkeypatch: pytest.MonkeyPatch, after_s: float, name: str
) -> None:
    with terminal(monkeypatch, after_s=after_s, name=name) as screen:
        with progress_line("Reading the session"):
            pass
        report("done")
        assert read_until(screen, "done\r\n") == "done\r\n"
