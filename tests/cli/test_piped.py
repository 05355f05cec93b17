"""What `run` reads from standard input: a pipe that stays open and empty holds no message, and nothing is used or left silently."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.cli.run import piped
from opencode_tui.cli.run.piped import piped_text
from opencode_tui.schema.error import OpencodeError
from tests.support.world.waiting import wait_until

Say = list[str]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Say:
    monkeypatch.setattr(piped, "NAMED_AFTER_S", 0.01)
    monkeypatch.setattr(piped, "EMPTY_S", 0.03)
    lines = list[str]()
    monkeypatch.setattr(piped, "say", lines.append)
    return lines


class Pipe:
    """The other end of standard input."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Write all; blocks while the reader has much to read."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """End the input."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


@pytest.fixture(params=["pipe", "socket"])
def pipe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    near, far = os.pipe() if request.param == "pipe" else (one.detach() for one in socket.socketpair())
    made = Pipe(far)
    with os.fdopen(near) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield made
        made.close()


def test_a_pipe_that_nobody_closes_does_not_hold_a_message(pipe: Pipe, said: Say) -> None:
    assert piped_text(is_needed=False) == ""
    first, second = said
    assert first.startswith("reading standard input, at most 0.03 s") and "< /dev/null" in first
    assert second.startswith("nothing came on standard input within 0.03 s: going on without it")


def test_a_pipe_that_is_closed_without_a_word_says_nothing(pipe: Pipe, said: Say) -> None:
    pipe.close()
    assert (piped_text(is_needed=False), said) == ("", [])


def test_data_follow_the_message_and_are_counted(pipe: Pipe, said: Say) -> None:
    pipe.write(b"two\nlines\n")
    pipe.close()
    assert piped_text(is_needed=False) == "two\nlines\n"
    assert said == ["the message is followed by 10 B of standard input; in a loop `< /dev/null` leaves its lines"]


def test_data_that_began_are_read_to_their_end_however_long_it_takes(pipe: Pipe, said: Say) -> None:
    def write() -> None:
        pipe.write(b"first ")
        wait_until(lambda: said)
        pipe.write(b"second")
        pipe.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert piped_text(is_needed=False) == "first second"
    thread.join()
    assert said[0] in ("reading standard input to its end", piped._words(is_needed=False, has_begun=False))
    assert len(said) == 2


def test_a_message_in_the_pipe_is_waited_for_with_a_word(
    pipe: Pipe, said: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piped, "EMPTY_S", 0.0)

    def write() -> None:
        wait_until(lambda: said)
        pipe.write(b"explain")
        pipe.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert piped_text(is_needed=True) == "explain"
    thread.join()
    assert said == ["reading the message from standard input; give one as an argument to do without"]


def test_much_data_are_read_whole(pipe: Pipe, said: Say) -> None:
    text = b"0123456789\n" * 50_000

    def write() -> None:
        pipe.write(text)
        pipe.close()

    thread = threading.Thread(target=write)
    thread.start()
    assert piped_text(is_needed=True).encode() == text
    thread.join()


def test_what_is_no_text_is_read_too(pipe: Pipe, said: Say) -> None:
    pipe.write(b"\xff\xfe")
    pipe.close()
    assert piped_text(is_needed=True) == "\ufffd\ufffd"


@pytest.mark.parametrize(("text", "count"), [("", 0), ("  \n", 0), ("words", 1)])
def test_a_file_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Say, text: str, count: int
) -> None:
    file = tmp_path / "input"
    file.write_text(text)
    with file.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert piped_text(is_needed=False) == text
    assert len(said) == count


def test_nothing_is_read_without_a_standard_input(monkeypatch: pytest.MonkeyPatch, said: Say) -> None:
    with open(os.devnull) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert piped_text(is_needed=False) == ""
    assert piped_text(is_needed=False) == ""  # it is closed now
    monkeypatch.setattr(sys, "stdin", None)
    assert piped_text(is_needed=True) == ""
    assert said == []


def test_a_standard_input_that_cannot_be_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Say
) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with open(os.devnull) as stdin:
        os.dup2(descriptor, stdin.fileno())
        os.close(descriptor)
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(OpencodeError, match=r"cannot read standard input .*; pass the message as an argument"):
            piped_text(is_needed=True)
