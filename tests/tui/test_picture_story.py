"""A picture in a terminal with kitty's graphics and in one with sixel, by the bytes that they get."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.pictures import png
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.waiting import wait_until
from tests.tui.test_terminal import Place

pytestmark = pytest.mark.slow


pytest.importorskip("PIL", reason="Pillow is not installed")

QUERY = re.compile(rb"\x1b_Gi=(\d+),s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\.*\x1b\[c", re.DOTALL)


@pytest.fixture
def place(tmp_path: Path, environ: dict[str, str]) -> Iterator[Place]:
    """A folder with a picture that the model reads."""
    folder = tmp_path / "plots"
    folder.mkdir()
    (folder / "pic.png").write_bytes(png(300, 200))
    with ModelServer() as server:
        server.script(Answer(calls=(Call("read", '{"filePath": "pic.png"}'),)), Answer(text="A red area."))
        yield Place(folder, environ, server)


def asked(screen: ScreenTerminal) -> bytes:
    """Let the model read the picture; return the ID of the terminal's question."""
    screen.sees("fake-model")
    screen.type("look\r")
    wait_until(lambda: screen.read_for(0.05) or QUERY.search(screen.raw))
    found = QUERY.search(screen.raw)
    assert found is not None
    return found[1]


def test_kitty_gets_a_png_and_a_placement_per_row_and_all_are_removed_at_the_end(place: Place) -> None:
    with place.open() as screen:
        number = asked(screen)
        screen.send(f"\x1b_Gi={number.decode()};OK\x1b\\\x1b[6;20;10t\x1b[?62;c")
        wait_until(lambda: screen.read_for(0.05) or screen.raw.count(b"\x1b_Ga=p,") >= 10)
        assert screen.raw.count(b"\x1b_Ga=t,f=100,t=d,i=") == 1
        assert b"c=30,r=1,x=0,y=0,w=300,h=20" in screen.raw
        screen.sees("A red area.")
        before = len(screen.raw)
        screen.press("ctrl+x", "l")  # the sessions in its place
        wait_until(lambda: screen.read_for(0.05) or b"\x1b_Ga=d,d=y," in screen.raw[before:])
        screen.press("escape")
        wait_until(lambda: screen.read_for(0.05) or b"\x1b_Ga=p," in screen.raw[before:])
        screen.type("\x04\x04")
        assert screen.ends() == 0
        assert screen.raw.index(b"\x1b_Ga=d,d=A") < screen.raw.rindex(b"\x1b[?1049l")


def test_sixel_is_written_a_row_at_a_time_and_the_replies_are_no_keys(place: Place) -> None:
    with place.open() as screen:
        asked(screen)
        screen.send("\x1b[6;20;10t\x1b[?1;0;256S\x1b[?64;1;4c")
        wait_until(lambda: screen.read_for(0.05) or screen.raw.count(b'\x1bP0;1;0q"1;1;300;20') >= 10)
        assert b"\x1b_Ga=" not in screen.raw
        screen.sees("Ask anything")


def test_a_terminal_that_does_not_answer_gets_half_blocks(place: Place) -> None:
    with place.open() as screen:
        asked(screen)
        screen.sees("▀▀▀▀▀▀▀▀")
