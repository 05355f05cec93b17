"""The real program on a terminal: what it draws step by step equals a repaint, and a slow terminal delays nothing but itself."""

import json
import os
import pty
import signal
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.terminal.threads import is_awake
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


LONG = "".join(
    f"Line {name} of a long answer with `code` and **weight**, 日本語 too.\n\n```py\nrow = {name}\n```\n\n"
    for name in (f"{first}{second}" for first in "abcde" for second in "uvwxyz")
)
LETTER = "Ж"
PIECE = 1024


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A scripted model."""
    with ModelServer() as server:
        yield server


def opened(server: ModelServer, folder: Path, environ: dict[str, str], size: tuple[int, int]) -> ScreenTerminal:
    """Open the program in a folder."""
    config = {"provider": provider_config(server.base_url), "model": "fake/fake-model"}
    environ = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(config), "PYTHONPATH": str(PACKAGE_ROOT)}
    return ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=environ, size=size)


def assert_equals_repaint(screen: ScreenTerminal) -> None:
    """Have the whole screen written again and compare."""
    read_until_asleep(screen)
    before, shown = cells(screen), screen.shown()
    written = len(screen.raw)
    os.kill(screen.process.pid, signal.SIGWINCH)
    screen.read_until(lambda: b"\x1b[m" in screen.raw[written:])  # nothing is assumed of the style either
    read_until_asleep(screen)
    different = [y for y, (one, other) in enumerate(zip(before, cells(screen), strict=True)) if one != other]
    assert different == [], f"rows {different} of\n{shown}\n{screen.shown()}"


def cells(screen: ScreenTerminal) -> list[list[tuple[str, tuple[object, ...]]]]:
    """Return what is seen in each cell; figures such as seconds may change meanwhile."""
    return [[("0" if text.isdigit() else text, style) for text, style in row] for row in screen.cells()]


@pytest.mark.parametrize("size", [(110, 34), (130, 40)], ids=["alone", "with the sidebar"])
def test_a_screen_after_many_frames_equals_a_repaint(
    tmp_path: Path, environ: dict[str, str], server: ModelServer, size: tuple[int, int]
) -> None:
    server.script(Answer(text=f"{LONG}The last line.", delta_size=16, delay_ms=1))
    with opened(server, tmp_path, environ, size) as screen:
        screen.sees("fake-model")
        screen.type("go on\r")
        screen.sees("The last line.")
        screen.sees("Done")
        assert_equals_repaint(screen)
        screen.press("pageup")
        screen.press("pageup")
        screen.scroll(2)
        screen.press("ctrl+p")
        assert_equals_repaint(screen)
        screen.press("escape")
        screen.resize(90, 24)
        assert_equals_repaint(screen)


def test_a_terminal_that_takes_nothing_delays_neither_the_engine_nor_a_key(
    tmp_path: Path, environ: dict[str, str], server: ModelServer
) -> None:
    done = tmp_path / "done.txt"
    server.script(
        Answer(
            text=LONG * 3, delta_size=64, delay_ms=2, calls=(Call("write", {"filePath": str(done), "content": "x"}),)
        ),
        Answer(text="The last line."),
    )
    with opened(server, tmp_path, environ, (110, 34)) as screen:
        screen.sees("fake-model")
        screen.type("go on\r")
        wait_until(done.exists)  # nothing is read meanwhile
        screen.type(LETTER)
        wait_until(lambda: not any(is_awake_after(screen.process.pid, 0.02) for _ in range(20)))
        begin = len(screen.raw)
        screen.read_until(lambda: LETTER.encode() in screen.raw[begin:])
        assert screen.raw.index(LETTER.encode(), begin) - begin < held_by_a_terminal() + 2 * PIECE
        screen.sees("The last line.")
        assert_equals_repaint(screen)


def read_until_asleep(screen: ScreenTerminal) -> None:
    """Take in what comes until no thread of the program runs for a moment."""
    quiet = 0
    while quiet < 10:
        before = len(screen.raw)
        screen.read_for(0.02)
        quiet = 0 if len(screen.raw) > before or is_awake(screen.process.pid) else quiet + 1


def wait_until(is_so: Callable[[], object]) -> None:
    """Wait without reading from the terminal."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_awake_after(pid: int, seconds: float) -> bool:
    """Return whether a thread of the program runs after a while."""
    time.sleep(seconds)
    return is_awake(pid)


def held_by_a_terminal() -> int:
    """Return how many bytes the system keeps for a terminal that reads nothing."""
    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        os.set_blocking(slave, False)
        held = 0
        with suppress(BlockingIOError):
            while True:
                held += os.write(slave, b"x" * PIECE)
        return held
    finally:
        os.close(master)
        os.close(slave)
