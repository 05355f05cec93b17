"""The real command in a real pseudo-terminal: bytes in, a screen out."""

import json
import os
import platform
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


_SOON_MS = 1_500
"""A limit of a wait below which something is done every second."""


class Place:
    """A folder, an environment and a scripted model."""

    def __init__(self, folder: Path, environ: dict[str, str], server: ModelServer) -> None:
        self.folder = folder
        self.server = server
        self._environ = environ

    def open(
        self,
        *arguments: str,
        size: tuple[int, int] = (110, 34),
        term: str = "xterm-256color",
        environ: Mapping[str, str] | None = None,
    ) -> ScreenTerminal:
        settings = {
            "provider": provider_config(self.server.base_url),
            "model": "fake/fake-model",
            "permission": {"edit": "ask"},
        }
        environ = {
            **self._environ,
            **(environ or {}),
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "PYTHONPATH": str(PACKAGE_ROOT),
        }
        words = arguments if arguments[:1] == ("-c",) else ("-m", "opencode_tui", *arguments)
        return ScreenTerminal(words, folder=self.folder, environ=environ, size=size, term=term)


@pytest.fixture
def place(tmp_path: Path, environ: dict[str, str]) -> Iterator[Place]:
    """An empty folder."""
    folder = tmp_path / "csvkit"
    folder.mkdir()
    with ModelServer() as server:
        yield Place(folder, environ, server)


def test_a_megabyte_is_pasted_as_one_attachment_and_without_a_prompt_nothing_is_stored(place: Place) -> None:
    with place.open() as screen:
        screen.sees("fake-model")
        screen.paste("a line of a large paste\n" * 43_000)
        screen.sees("[Pasted 43000 lines]")
        screen.type("x")
        screen.sees("[Pasted 43000 lines]x")
        screen.type("\x03")
        screen.sees("Ask anything")
        screen.type("\x04")
        screen.sees("again to quit")
        screen.type("\x04")
        assert screen.ends() == 0
        assert b"opencode-tui -s" not in screen.raw


@pytest.mark.parametrize("term", ["dumb", "vt100", "linux", "screen-256color"])
def test_any_terminal_will_do(place: Place, term: str) -> None:
    with place.open(term=term) as screen:
        screen.sees("Ask anything")
        screen.type("hello\r")
        screen.sees("Echo: hello")


def test_links_and_progress_reach_the_terminal_and_a_kill_removes_the_progress(place: Place) -> None:
    (place.folder / "a.py").write_text("x = 1\n")
    with place.open(environ={"TERM_PROGRAM": "ghostty", "TMUX": ""}) as screen:
        screen.sees("Ask anything")
        screen.type('<<tool read {"filePath": "a.py"}>> see https://example.org/x\r')
        screen.expect("\x1b]9;4;3;0\x07")
        awaited = {"/csvkit/a.py\x1b\\", ";https://example.org/x\x1b\\", "\x1b]9;4;0;0\x07"}
        # In any order: progress is not a part of a frame.
        screen.read_until(lambda: all(one in screen.text for one in awaited))
        screen.type("<<slow 300>> <<words 99>>\r")
        screen.expect("\x1b]9;4;3;0\x07")
        os.kill(screen.process.pid, signal.SIGTERM)
        screen.expect("\x1b]9;4;0;0\x07")
        screen.ends()


def test_the_c_locale_gets_plain_signs_only(place: Place) -> None:
    with place.open(environ={"LC_ALL": "C"}) as screen:
        screen.sees("Ask anything")
        screen.type("hello\r")
        screen.sees("Echo: hello")
        text = screen.sees("v Done")
    assert [letter for letter in text if not letter.isascii()] == []


def test_without_colors_every_cell_has_the_terminals_own(place: Place) -> None:
    with place.open(environ={"NO_COLOR": "1"}) as screen:
        screen.sees("Ask anything")
        screen.type("typed")
        screen.sees("typed")
        sequences = set(re.findall(rb"\x1b\[([0-9;]*)m", bytes(screen.raw)))
        own = {style[:2] for row in screen.cells() for text, style in row if text != " "}
    assert own == {("default", "default")}
    assert [one for one in sequences if b"38;" in one or b"48;" in one] == []


def test_the_theme_follows_the_terminals_background_no_key_is_lost_and_a_hang_up_ends_it_in_order(place: Place) -> None:
    with place.open() as terminal:
        terminal.sees("Ask")
        terminal.type("ab\x1b]11;rgb:fafa/fafa/f5f5\x1b\\cd")
        assert "abcd" in terminal.sees("abcd")
        terminal.read_until(lambda: b"\x1b]11;?\x1b\\" in terminal.raw)
        terminal.read_until(lambda: b"48;2;252;251;249" in terminal.raw)
        terminal.type("\x1b]11;rgb:1010/1010/10")
        terminal.read_for(0.02)
        terminal.type("10\x07ef")
        terminal.sees("abcdef")
        terminal.read_until(lambda: terminal.raw.rfind(b"48;2;21;22;27") > terminal.raw.rfind(b"48;2;252;251;249"))
        terminal.process.terminate()
        assert terminal.ends() == 0
        assert b"\x1b[?1049l" in terminal.raw


def test_keys_act_in_order_the_window_changes_and_closing_it_during_a_turn_leaves_no_error(
    place: Place, paths: Paths
) -> None:
    with place.open() as terminal:
        terminal.sees("fake-model")
        for typed, left in [("abc\x04d", "abcd"), ("abc\x03de", "de"), ("ab\x1b[Hc", "cab")] * 3:
            terminal.type(typed)
            text = terminal.sees(left)
            assert "again to quit" not in text and "abcde" not in text, repr(typed)
            terminal.type("\x03")
            terminal.sees("Ask anything")
            terminal.read_for(0.1)
            assert "again to quit" not in terminal.sees("Ask anything"), repr(typed)

        terminal.type("one\rtwo")
        terminal.sees("Echo: one")
        terminal.type("\r")
        terminal.sees("Echo: two")

        for size in ((40, 14), (160, 50), (20, 6), (110, 34)):
            terminal.resize(*size)
            terminal.read_for(0.4)
        terminal.sees("Echo: two")
        terminal.sees("f1 help")

        terminal.type("count <<slow 20>> <<words 900>>\r")
        terminal.sees("word5 ")
        terminal.hang_up()
        terminal.process.wait(PATIENCE_S)
    assert list(paths.log.glob("error-*")) == []


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="reads system calls by their numbers"
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read the system calls of the program")
def test_at_rest_one_thread_looks_at_the_branch_and_nothing_else_wakes_the_program(place: Place) -> None:
    make_repo(place.folder)
    with place.open() as screen:
        screen.sees("fake-model")
        screen.type("hello\r")
        screen.sees("Echo: hello")

        def is_at_rest() -> bool:
            screen.read_for(0.02)
            return waits_of(screen.process.pid) == Counter(without_limit=1, soon=1)

        wait_until(is_at_rest)
        screen.type("still there")
        screen.sees("still there")


def waits_of(pid: int) -> Counter[str]:
    """Return how many threads run, wait with a limit that is soon, and whether any waits without one or with a later one."""
    found = Counter(without_limit=0)
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            number, *words = (task / "syscall").read_text().split()
        except OSError:  # the thread ended meanwhile
            number = "running"
            words = []
        if number == "running":
            found["runs"] += 1
            continue
        arguments = [int(word, 16) for word in words[:6]]
        match int(number):
            case 202 | 270 | 23:  # futex, pselect6, select: the limit is at an address
                is_soon = arguments[3 if number == "202" else 4] != 0
            case 232 | 281:  # epoll_wait, epoll_pwait: milliseconds, -1 for none
                is_soon = arguments[3] < _SOON_MS
            case _:
                is_soon = True
        found["soon" if is_soon else "without_limit"] += 1
    found["without_limit"] = min(found["without_limit"], 1)
    return found


_FAILS = """
import runpy, sys
from textual.drivers.linux_driver import LinuxDriver
def fail(*_):
    raise SystemError("no mouse")
setattr(LinuxDriver, sys.argv.pop(), fail)
runpy.run_module("opencode_tui", run_name="__main__")
"""
"""Runs the program with a step of the start of the screen that fails, the last argument."""


@pytest.mark.parametrize("is_early", [True, False], ids=["after the first frame", "without one"])
@pytest.mark.parametrize("step", ["_get_terminal_size", "_enable_mouse_support", "_query_in_band_window_resize"])
def test_a_screen_that_cannot_start_leaves_the_terminal_as_it_was(place: Place, step: str, is_early: bool) -> None:
    own = {} if is_early else {"OPENCODE_TUI_FIRST_FRAME": "0"}
    with place.open("-c", _FAILS, step, environ=own) as terminal:
        terminal.read_until(lambda: b"no mouse" in terminal.raw)
        terminal.ends()
        after = terminal.raw[terminal.raw.rfind(b"\x1b[?1049l") :]
        assert b"\x1b[?1049l" in terminal.raw and b"\x1b[?1049h" not in after
        assert terminal.attributes() == terminal.attributes_before
