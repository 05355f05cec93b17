"""Pictures are read within limits, in a thread, and take the form that the terminal shows."""

import asyncio
import base64
import os
import re
from pathlib import Path

import pytest

from opencode_tui.tui.output.pictures import KittyStrips, Shown, SixelStrips, runs_of
from opencode_tui.tui.pictures.forms import MAX_BYTES, UPPER_HALF, Pictures, Terminal, make_form, read_source
from opencode_tui.tui.state.message import PictureSource, source_of
from tests.support.rows import each
from tests.support.terminal.pictures import png
from tests.support.world.waiting import PATIENCE_S


def given(data: bytes) -> PictureSource:
    """Return a picture of an attachment."""
    found = source_of("a.png", "image/png", "data:image/png;base64," + base64.b64encode(data).decode())
    assert found is not None
    return found


def test_half_blocks_have_two_pixels_each_and_never_more_than_the_picture() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    form = make_form(1, (given(png(6, 5)), 48, 12), Terminal("blocks")).form
    assert (form.facts.split("  ")[0], form.columns) == ("6×5", 6)
    assert ["".join(text for text, *_ in row) for row in form.rows] == [UPPER_HALF * 6] * 3


def test_a_form_of_the_terminal_has_tokens_and_its_data() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    kitty = make_form(7, (given(png(40, 40)), 48, 12), Terminal("kitty", (10, 20)))
    assert [[run[1:] for run in runs_of(_cells(row[0].text))] for row in kitty.form.rows] == [
        [(7, 0, 0, 4)],
        [(7, 1, 0, 4)],
    ]
    assert isinstance(kitty.strips, KittyStrips)
    begun = kitty.strips.begin()
    assert begun.startswith("\x1b_Ga=t,f=100,t=d,i=") and begun.endswith("\x1b\\")
    data = "".join(re.findall(r"\x1b_G[^;]*;([^\x1b]*)\x1b", begun))
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert "x=10,y=20,w=20,h=20" in kitty.strips.strip(1, 1, 2)
    sixel = make_form(7, (given(png(40, 40)), 48, 12), Terminal("sixel", (10, 20)))
    assert isinstance(sixel.strips, SixelStrips)
    assert sixel.strips.strip(0, 0, 4).startswith("\x1bP") and not sixel.strips.strip(0, 1, 3)


def _cells(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


@each(
    ("data", "words"),
    [
        (png(2, 2, said=(60_000, 60_000)), "too large to show"),
        (png(1, 1, said=(30_000, 1)), "too large to show"),
        (png(2, 2, said=(0, 5)), "damaged picture"),
        (png(200, 200)[:200], "damaged picture"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "unknown format"),
        (b"", "not readable"),
    ],
)
def test_a_bomb_and_a_damaged_picture_are_a_line_of_words(data: bytes, words: str) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    form = make_form(1, (given(data), 48, 12), Terminal("blocks")).form
    assert words in form.facts and not form.rows


def test_a_pipe_a_folder_and_a_large_file_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    (tmp_path / "b.png").mkdir()
    with (tmp_path / "c.png").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    for name in ("a.png", "b.png", "c.png", "d.png", "\0"):
        assert read_source(PictureSource(name, str(tmp_path / name))) == b""


def test_without_colors_a_picture_is_its_size_alone() -> None:
    form = make_form(1, (given(png(640, 480)), 48, 12), Terminal("none")).form
    assert form.facts.startswith("640×480") and not form.rows


async def test_a_picture_is_read_once_the_terminal_has_answered_and_then_kept() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    shown, ready = Shown(), asyncio.Event()
    pictures, source = Pictures(shown), given(png(20, 20))
    assert pictures.form(source, 48, 12, ready.set) is None
    await asyncio.sleep(0)
    assert not ready.is_set() and not shown
    pictures.use(Terminal("kitty"))
    async with asyncio.timeout(PATIENCE_S):
        await ready.wait()
    assert shown and shown.is_kitty
    assert pictures.form(source, 48, 12, ready.set) is pictures.form(source, 48, 12, ready.set) is not None
    pictures.use(Terminal("blocks"))
    assert not shown and pictures.form(source, 48, 12, ready.set) is None
