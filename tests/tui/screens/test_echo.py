"""A typed character is on the terminal before the editor has it, and the editor's own frame has nothing to add."""

import io
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from opencode_tui.tui.output.terminal_output import TerminalOutput
from tests.support.terminal.screen import Page, screen

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[@-~]")


class Painted(NamedTuple):
    """A frame: the prompt's text when it was painted, and the characters that were written."""

    text: str
    written: str


async def paint_at_once(page: Page) -> list[Painted]:
    """Paint each frame when it is shown, on a terminal in memory; return the list of them."""
    await page.sees("Ask anything")
    driver, terminal, painted = page.app._driver, io.StringIO(), list[Painted]()
    assert driver is not None
    output = TerminalOutput(terminal, {"TERM": "xterm-256color"})

    def write(data: str) -> None:
        begin = terminal.tell()
        output.write(data)
        painted.append(Painted(page.app.chat.prompt.editor.text, _SEQUENCE.sub("", terminal.getvalue()[begin:])))

    vars(driver).update(output=output, write=write)
    page.app.refresh_all()
    await page.press("home")
    return painted


async def test_a_character_at_the_end_is_painted_before_the_editor_has_it_and_once(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, tmp_path) as page:
        painted = await paint_at_once(page)
        await page.type("ab")
        for text, letter in (("ab", "c"), ("abc", " "), ("abc ", "é")):
            painted.clear()
            await page.type(letter)
            drawn = f"{letter} "  # with the cursor
            assert Painted(text, drawn) in painted
            assert "".join(frame.written for frame in painted) == drawn


@pytest.mark.slow
async def test_elsewhere_the_editor_draws_it(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        painted, editor = await paint_at_once(page), page.app.chat.prompt.editor
        for keys, letter, text in (
            ((), "a", "a"),
            ((), "行", "a行"),
            (("left",), "b", "ab行"),
            (("home",), "c", "cab行"),
        ):
            await page.press(*keys)
            painted.clear()
            await page.type(letter)
            assert editor.text == text
            assert {frame.text for frame in painted if letter in frame.written} == {text}
