"""What was written and not sent: cleared, put aside, begun, left behind on the way out; it is there again."""

from pathlib import Path

import pytest
from textual import events

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in."""
    work = tmp_path / "csvkit"
    work.mkdir()
    return work


async def test_a_cleared_prompt_comes_back_with_its_paste(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Read.")) as page:
        await page.type("look at ")
        page.app.chat.prompt.editor.post_message(events.Paste("a row\n" * 20_000))
        await page.sees("[Pasted 20000 lines]")
        await page.press("ctrl+c")
        await page.sees("Ask anything")
        await page.press("up")
        await page.sees("look at [Pasted 20000 lines]")
        await page.press("enter")
        await page.sees("Read.")
        assert str(page.world.server.bodies).count("a row") >= 20_000


async def test_what_was_not_sent_is_the_first_that_up_brings_in_the_next_run(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        await page.type("kept for later")
        await page.press("ctrl+p", *"stash", "enter")
        await page.sees("Stashed (1)")
        await page.type("half a thought")
        await page.press("ctrl+x", "q")
        await page.ends()
    async with screen(environ, folder) as page:
        await page.press("up")
        await page.sees("half a thought")
        await page.press("up")
        await page.sees("kept for later")


async def test_enter_on_the_list_of_commands_does_not_quit(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+p")
        text = await page.sees("What do you want to do?")
        assert "New session" in text and "Quit" not in text
        await page.press("enter")
        await page.sees("Ask anything")
        assert page.app.is_running


@pytest.mark.parametrize("is_pasted", [False, True], ids=["typed", "pasted"])
async def test_a_command_behind_the_prompt_that_undo_put_back_is_a_command(
    environ: dict[str, str], folder: Path, is_pasted: bool
) -> None:
    async with screen(environ, folder, Answer(text="Made.")) as page:
        await page.send("make trap")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.answer("y")
        await page.sees("undone")
        editor = page.app.chat.prompt.editor
        if is_pasted:
            editor.post_message(events.Paste("/redo"))
            await page.press("enter")
        else:
            await page.type("/redo")
            await page.press("enter")
        await page.sees("Restored")
        assert len(page.world.server.bodies) == 1 and not editor.text


async def test_a_slash_inside_the_prompt_that_undo_put_back_is_a_character(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Made.")) as page:
        await page.send("look in src")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.answer("y")
        await page.sees("undone")
        editor = page.app.chat.prompt.editor
        await page.type(" or lib")
        await page.type("/a")
        assert editor.text == "look in src or lib/a"
