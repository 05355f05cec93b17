"""The real command in a real pseudo-terminal: bytes in, a screen out."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import PACKAGE_ROOT
from tests.support.emulated import Emulated
from tests.support.model_script import Answer, Call
from tests.support.model_server import ModelServer, provider_config

LEADER = "\x18"
ESCAPE = "\x1b"


class Place:
    """A folder, an environment and a scripted model."""

    def __init__(self, folder: Path, environ: dict[str, str], server: ModelServer) -> None:
        self.folder = folder
        self.server = server
        self._environ = environ

    def open(self, *arguments: str, size: tuple[int, int] = (110, 34), term: str = "xterm-256color") -> Emulated:
        settings = {
            "provider": provider_config(self.server.base_url),
            "model": "fake/fake-model",
            "permission": {"edit": "ask"},
        }
        environ = {
            **self._environ,
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "PYTHONPATH": str(PACKAGE_ROOT),
            "LANG": "C.UTF-8",
            "TERM": term,
            "COLORTERM": "truecolor" if term != "dumb" else "",
        }
        return Emulated(["-m", "opencode_tui", *arguments], folder=self.folder, environ=environ, size=size)


@pytest.fixture
def place(tmp_path: Path, environ: dict[str, str]) -> Iterator[Place]:
    """An empty folder."""
    folder = tmp_path / "csvkit"
    folder.mkdir()
    with ModelServer() as server:
        yield Place(folder, environ, server)


def test_a_day_of_work_prompt_permission_edit_undo_redo_fork_compact_resume(place: Place) -> None:
    write = Call("write", {"filePath": "notes.md", "content": "# Notes\n"})
    place.server.script(Answer(text="I write it.", calls=(write,)), Answer(text="It is written."))
    notes = place.folder / "notes.md"
    with place.open() as screen:
        screen.sees("Ask anything")
        screen.type("write notes\r")
        screen.sees("edit once")
        screen.rests(0.6)
        screen.type("y")
        screen.sees("It is written.")
        screen.sees("Done")
        assert notes.read_text() == "# Notes\n"
        screen.type(LEADER + "u")
        screen.sees("Undo everything after this point?")
        screen.sees("removed, the agent made it")
        screen.rests(0.6)
        screen.type("y")
        screen.sees("3 messages undone")
        assert not notes.exists()
        screen.type(LEADER + "r")
        screen.sees("It is written.")
        assert notes.read_text() == "# Notes\n"
        screen.type("\x03" + LEADER + "f")
        screen.sees("(fork #1)")
        screen.type("one more\r")
        screen.sees("Echo: one more")
        screen.sees("Done")
        screen.type(LEADER + "c")
        screen.sees("≡ Compacted")
        screen.type(LEADER + "q")
        assert screen.wait() == 0
        found = re.search(r"opencode-tui -s (ses_\w+)", screen.written.decode())
        assert found is not None
    with place.open("-s", found[1]) as screen:
        screen.sees("Echo: one more")
        screen.sees("≡ Compacted")


def test_keys_are_taken_from_the_first_frame_on(place: Place) -> None:
    with place.open() as screen:
        screen.sees("Ask anything")
        screen.type("typed at once\r")
        screen.sees("Echo: typed at once")


def test_a_question_is_answered_by_the_mouse(place: Place) -> None:
    write = Call("write", {"filePath": "notes.md", "content": "# Notes\n"})
    place.server.script(Answer(calls=(write,)), Answer(text="It is written."))
    with place.open() as screen:
        screen.sees("Ask anything")
        screen.type("write notes\r")
        screen.sees("edit once")
        screen.rests(0.6)
        screen.click("edit once")
        screen.sees("It is written.")


def test_a_megabyte_is_pasted_as_one_attachment(place: Place) -> None:
    with place.open() as screen:
        screen.sees("fake-model")
        screen.paste("a line of a large paste\n" * 43_000)
        screen.sees("[Pasted 43001 lines]")
        screen.type("x")
        screen.sees("[Pasted 43001 lines]x")


def test_the_window_may_become_small_and_large_again(place: Place) -> None:
    with place.open() as screen:
        screen.sees("fake-model")
        screen.type("hello\r")
        screen.sees("Echo: hello")
        for size in ((40, 14), (160, 50), (20, 6), (110, 34)):
            screen.resize(size)
            screen.rests(0.4)
        screen.sees("Echo: hello")
        screen.sees("ctrl+p commands")


@pytest.mark.parametrize("term", ["dumb", "linux", "screen-256color", "tmux-256color"])
def test_any_terminal_will_do(place: Place, term: str) -> None:
    with place.open(term=term) as screen:
        screen.sees("Ask anything")
        screen.type("hello\r")
        screen.sees("Echo: hello")


def test_a_hang_up_ends_it_in_order(place: Place) -> None:
    with place.open() as screen:
        screen.sees("fake-model")
        screen.process.terminate()
        assert screen.wait() == 0
        assert b"\x1b[?1049l" in screen.written


def test_without_a_word_nothing_is_stored(place: Place) -> None:
    with place.open() as screen:
        screen.sees("fake-model")
        screen.type("\x04")
        assert screen.wait() == 0
        assert b"opencode-tui -s" not in screen.written
