"""What the mouse selects in the chat is on the clipboard at once; ctrl+c then copies, and clears and quits nothing."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


async def select_the_answer(page: Page, words: str) -> None:
    await page.sees("Title: what is it?")  # a row above, which comes some time after the answer
    row = await page.row(words)
    await page.pilot.mouse_down(offset=(3, row))
    await page.pilot.hover(offset=(10, row))
    await page.pilot.hover(offset=(3 + len(words), row))
    await page.pilot.mouse_up(offset=(3 + len(words), row))


async def test_what_the_mouse_selects_is_copied(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="Forty-two it is.")) as page:
        await page.send("what is it?")
        await page.sees("✓ Done")
        await select_the_answer(page, "Forty-two it is.")
        await page.sees("Copied")
        assert page.app.clipboard == "Forty-two it is."


async def test_ctrl_c_on_a_selection_keeps_the_prompt_and_the_program(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="Forty-two it is.")) as page:
        await page.send("what is it?")
        await page.sees("✓ Done")
        await page.type("half a thought")
        await select_the_answer(page, "Forty-two it is.")
        await page.press("ctrl+c")
        assert "half a thought" in page.text() and not page.app.screen.get_selected_text()
        await page.press("ctrl+c")
        await page.sees("Ask anything")
