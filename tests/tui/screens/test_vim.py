"""Vim mode in the prompt of the real screen."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen


@pytest.mark.slow
async def test_the_prompt_is_edited_and_sent_with_the_keys_of_vim(environ: dict[str, str], folder: Path) -> None:
    answers = Answer(text="first answer"), Answer(text="second answer")
    async with screen(environ, folder, *answers, settings={"tui": {"vim": True}}) as page:
        editor = page.app.chat.prompt.editor
        await page.sees("vim insert")
        await page.type("one two jk")
        assert editor.text == "one two jk"
        await page.press("escape")
        await page.sees("vim normal")
        await page.type("0dw")
        assert editor.text == "two jk"
        await page.press("u", "ctrl+r", "left", "A", "!", "escape", "o")
        await page.type("three")
        assert editor.text == "two jk!\nthree"
        await page.press("escape", "enter")
        await page.sees("first answer")
        await page.sees("vim insert")
        assert editor.text == ""


@pytest.mark.slow
async def test_k_and_j_recall_prompts_at_the_edges_and_the_selection_is_shown(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="answer"), settings={"tui": {"vim": True}}) as page:
        editor = page.app.chat.prompt.editor
        await page.send("earlier prompt")
        await page.sees("answer")
        await page.type("draft")
        await page.press("escape", "k")
        assert editor.text == "earlier prompt"
        await page.press("j")
        assert editor.text == "draft"
        await page.press("0", "v", "e")
        assert editor.selection == ((0, 0), (0, 4)), "the cursor is on the last selected character"
        await page.sees("vim visual")
        await page.press("V")
        await page.sees("vim visual line")
        await page.press("escape", "x")
        assert editor.text == "draf"
        await page.press("ctrl+x", "s")
        await page.sees("Sessions")
        assert editor.text == "draf", "a key after the leader is no key of vim"


@pytest.mark.slow
async def test_vim_is_switched_by_its_command_and_completes_in_insert_mode_only(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        box = page.app.chat.prompt
        await page.send("/vim")
        await page.sees("vim mode on")
        await page.type("/vi")
        await page.sees("Toggle vim mode")
        await page.press("escape")
        await page.sees_no_more("Toggle vim mode")
        assert box.vim_mode == "vim insert"
        await page.press("escape")
        assert box.vim_mode == "vim normal"
        await page.press("x", "i")
        assert not page.app.chat.opened.completing.is_shown
        await page.type("im")
        await page.press("escape", "escape")
        box.editor.put("/vim")
        await page.press("enter")
        await page.sees("vim mode off")
        assert box.vim_mode == ""
