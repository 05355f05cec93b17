"""The first frame of a start and the keys typed into it, in real terminals: the same picture and the same prompt as later."""

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.instant.page import plain_page
from opencode_tui.tui.terminal_app import COMPLETE_S, TYPED_S
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


TRIES = 5
_TAKEN = b"\x1b[>25u"
"""What the driver writes when it owns the terminal."""

_INTERRUPTED = """
import os, signal, sys, weakref
class Thing: pass
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            thing = Thing()
            kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del thing
sys.meta_path.insert(0, Finder())
"""
"""Interrupts the program in a callback while it imports its command line."""


def pages(environ: dict[str, str]) -> list[Path]:
    """Return the stored pages."""
    return [one for one in Path(environ["HOME"]).glob(".cache/opencode-tui/first-frame/*") if not one.suffix]


def keep_a_page(start: Open, home: dict[str, str], **options: Any) -> None:
    """Start once and wait until the start page is stored."""
    with start(**options) as terminal:
        end = time.monotonic() + PATIENCE_S
        while not pages(home):
            assert time.monotonic() < end, terminal.shown()
            terminal.read_for(0.05)


@pytest.mark.parametrize(
    ("term", "size", "variables"),
    [
        ("xterm-256color", (110, 34), {}),
        ("xterm-kitty", (20, 5), {}),
        ("linux", (79, 25), {}),
        ("vt100", (120, 40), {}),
        ("screen-256color", (140, 26), {"STY": "1"}),
        ("tmux-256color", (300, 100), {"TMUX": "1"}),
        ("xterm", (80, 24), {"NO_COLOR": "1"}),
        ("xterm-256color", (100, 30), {"COLORFGBG": "0;15"}),
    ],
)
def test_the_first_frame_is_the_real_one_with_what_was_typed(
    start: Open, environ: dict[str, str], term: str, size: tuple[int, int], variables: dict[str, str]
) -> None:
    keep_a_page(start, environ, term=term, size=size, environ=variables)
    stored = pages(environ)[0].read_text().split("\n")[3].split()[:3]
    assert plain_page(size).prompt == tuple(map(int, stored))
    for _ in range(TRIES):
        began = time.monotonic()
        with start(term=term, size=size, environ=variables) as terminal:
            terminal.read_until(lambda: b"Ask" in terminal.raw)
            terminal.type("some w\x1b[D\x1b[Do\x7fo")
            terminal.sees("someo w")
            first = terminal.cells()
            terminal.read_until(lambda: _TAKEN in terminal.raw)
            acquired = time.monotonic()
            del terminal.raw[: terminal.raw.index(_TAKEN)]
            terminal.type("!")  # the first screen reads no more: the app shows it
            terminal.sees("someo! w")
            is_at_once = acquired < began + COMPLETE_S and time.monotonic() < acquired + TYPED_S
            terminal.type("\x7f")
            # all but the status line, which names keys, some of which are for a text
            terminal.read_until(lambda terminal=terminal, first=first: terminal.cells()[:-1] == first[:-1])
            written = re.sub(rb"\x1b[\[\]][^a-zA-Z\\\x07]*[a-zA-Z\\\x07]", b"", bytes(terminal.raw))
            if is_at_once:  # else the machine was so busy that the page was replaced before it was complete
                assert len(written) < 200, written
                return


def test_what_is_typed_from_the_start_on_is_sent_in_order(start: Open, server: ModelServer) -> None:
    with start() as terminal:
        terminal.read_until(lambda: b"Ask" in terminal.raw)
        terminal.type("one\rtwo\x7f\x7fhree\x1b[H\x1b[C")
        terminal.type("X")
        terminal.sees("Echo: one")
        assert "tXhree" in terminal.sees("tXhree")
        assert terminal.raw.count(b"\x1b[?1049h") == terminal.raw.count(b"\x1b[?2004h") == 1
        terminal.process.terminate()
        assert terminal.ends() == 0
        assert terminal.raw.count(b"\x1b[?1049l") == 1
    assert len(server.requests) <= 2  # the second one may ask for a title


@pytest.mark.parametrize("other", [(140, 40), (60, 20)])
def test_a_window_that_has_another_size_for_a_moment_shows_every_cell(start: Open, other: tuple[int, int]) -> None:
    with start() as terminal:
        terminal.read_until(lambda: _TAKEN in terminal.raw)
        terminal.type("one 字 two")
        for words in ("one 字 two", "Type a request", "▣ sandbox", "f1 help"):
            terminal.sees(words)
        terminal.sees_no_more("Opening")
        whole = terminal.lines()
    for pause in (0.0, 0.3, 0.7):
        with start() as terminal:
            terminal.read_until(lambda terminal=terminal: b"Ask" in terminal.raw)
            terminal.type("one 字")
            terminal.read_for(pause)
            terminal.resize(*other)
            terminal.resize(110, 34)
            terminal.type(" two")
            terminal.read_until(lambda terminal=terminal: _TAKEN in terminal.raw)
            terminal.read_until(lambda terminal=terminal: terminal.lines() == whole)


def test_a_window_that_is_dragged_is_drawn_in_its_last_size(start: Open) -> None:
    """A change of the size that comes while another one is reported is not overtaken by it."""
    with start() as terminal:
        terminal.type("one 字 two")
        for words in ("one 字 two", "Type a request", "▣ sandbox", "f1 help"):
            terminal.sees(words)
        terminal.sees_no_more("Opening")
        whole = terminal.lines()
        for _ in range(40):
            for columns in range(100, 111):
                terminal.resize(columns, 34)
            terminal.read_until(lambda: terminal.lines() == whole)


@pytest.mark.parametrize("pause", [0.0, 0.2, 0.4, 0.6, 0.8])
def test_a_start_that_is_stopped_goes_on_with_what_was_typed(start: Open, pause: float) -> None:
    with start() as terminal:
        terminal.read_until(lambda: b"Ask" in terminal.raw)
        terminal.type("some words")
        terminal.read_for(pause)
        os.kill(terminal.process.pid, signal.SIGTSTP)
        while not os.waitpid(terminal.process.pid, os.WUNTRACED | os.WNOHANG)[0]:
            terminal.read_for(0.02)
        # The system may take in the keys only once the terminal is as before, and then shows them itself.
        ends = (b"\x1b[?25h", b"\x1b[?1004l")
        terminal.read_until(lambda: terminal.raw.rstrip().removesuffix(b"some words").rstrip().endswith(ends))
        assert terminal.attributes() == terminal.attributes_before
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.sees("▎ some words")
        terminal.type("!")
        terminal.sees("▎ some words!")


def test_a_screen_that_is_continued_without_having_left_is_not_started_again(start: Open) -> None:
    with start() as terminal:
        terminal.read_until(lambda: _TAKEN in terminal.raw)
        terminal.type("ab")
        terminal.sees("▎ ab")
        own = terminal.attributes()
        os.kill(terminal.process.pid, signal.SIGSTOP)
        while not os.waitpid(terminal.process.pid, os.WUNTRACED | os.WNOHANG)[0]:
            terminal.read_for(0.02)
        terminal.set_attributes(terminal.attributes_before)  # as a shell does
        os.kill(terminal.process.pid, signal.SIGCONT)
        wait_until(lambda: terminal.attributes() == own)
        terminal.type("c")
        terminal.sees("▎ abc")
        assert terminal.raw.count(_TAKEN) == 1
        terminal.process.terminate()
        assert terminal.ends() == 0
        assert terminal.attributes() == terminal.attributes_before


def test_an_interrupt_in_a_callback_of_an_import_ends_the_program(start: Open, tmp_path: Path) -> None:
    # Python ignores exceptions there
    (tmp_path / "sitecustomize.py").write_text(_INTERRUPTED)
    with start(environ={"PYTHONPATH": str(tmp_path)}) as terminal:
        assert terminal.ends() == 130
        assert terminal.attributes() == terminal.attributes_before
        assert terminal.raw.count(b"\x1b[?1049h") == terminal.raw.count(b"\x1b[?1049l") == 1


def test_the_key_that_clears_the_prompt_does_not_quit_behind_text_and_an_early_enter(start: Open) -> None:
    with start() as terminal:
        terminal.read_until(lambda: b"Ask" in terminal.raw)
        terminal.type("\r\x03word \x03two")
        terminal.read_until(lambda: any(words in terminal.shown() for words in ("▎ two", "▎ word two")))


def test_the_key_that_quits_is_pressed_twice_while_the_first_page_is_shown(
    start: Open, environ: dict[str, str], folder: Path, tmp_path: Path
) -> None:
    folder.rmdir()
    make_repo(folder).commit(**{"a.txt": "a\n"})
    stalls = tmp_path / "bin" / "git"
    stalls.parent.mkdir()
    stalls.write_text("#!/bin/sh\nsleep 600\n")
    stalls.chmod(0o755)
    with start(environ={"PATH": f"{stalls.parent}:{environ['PATH']}"}) as terminal:
        terminal.read_until(lambda: b"Ask" in terminal.raw)
        terminal.type("\x03x")  # the first page shows neither
        terminal.sees("▎ x")
        terminal.type("y")
        terminal.sees("▎ xy")
