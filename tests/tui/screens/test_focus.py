"""The focused conversation: every item by key, the keys in help, in the status line and settings; the focus of the prompt."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from opencode_tui.schema.api.keybinds import ACTIONS
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


FOCUS = [action for action in ACTIONS if action.scope == "item"]
FIRST, LAST = "The first **response**.", "The last response."


async def two_turns(page: Page) -> None:
    await page.send("one")
    await page.sees("The first response.")
    await page.sees("Done")
    await page.send("two")
    await page.sees(LAST)
    await page.sees("Done")


async def test_any_response_is_copied_by_key(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text=FIRST), Answer(text=LAST)) as page:
        await two_turns(page)
        await page.press("ctrl+up", "y")
        await page.sees("Copied")
        assert page.app.clipboard == LAST
        await page.press("up", "up", "y")
        await page.sees("▎ The first response.")
        assert page.app.clipboard == FIRST
        await page.press("k", "y")
        assert page.app.clipboard == "one"
        await page.press("escape")
        await page.sees_no_more("y copy")
        assert page.app.focused is page.app.chat.prompt.editor


async def test_the_status_line_names_the_keys_while_the_conversation_has_the_focus(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text=LAST)) as page:
        await page.send("one")
        await page.sees(LAST)
        await page.sees("Done")
        await page.press("ctrl+up")
        await page.sees("/ find   f fork   u undo   y copy   esc prompt")
        await page.press("escape")
        await page.sees("tab agent")


async def test_help_lists_the_keys(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(120, 50)) as page:
        await page.press("f1")
        await page.type("item")
        text = await page.sees("Copy the item")
        named = [action.name for action in FOCUS if "item" in action.name]
        assert len(named) >= 9
        assert [name for name in named if name not in text] == []
        assert "up, k" in text and "right, space" in text


@pytest.mark.parametrize(("keys", "old", "new"), [("g", "y", "g"), ("<leader>5", "y", "ctrl+x 5")])
async def test_another_key_of_the_settings_copies_the_item(
    environ: dict[str, str], folder: Path, keys: str, old: str, new: str
) -> None:
    settings = {"keybinds": {"item_copy": keys}}
    async with screen(environ, folder, Answer(text=LAST), settings=settings) as page:
        notices = await page.world.client.settings.notices()
        assert not [one for one in notices.warnings if "keybinds" in one]
        await page.send("one")
        await page.sees(LAST)
        await page.sees("Done")
        await page.press("ctrl+up")
        await page.sees(f"{new} copy")
        await page.press(old, "ctrl+up")  # a key without an action is typed into the prompt
        assert page.app.clipboard != LAST
        await page.press(*new.split())
        await page.sees("Copied")
        assert page.app.clipboard == LAST


async def test_the_keys_are_characters_while_one_types(environ: dict[str, str], folder: Path) -> None:
    typed = "jky cour f/ "
    async with screen(environ, folder, Answer(text=LAST)) as page:
        await page.send("one")
        await page.sees(LAST)
        await page.sees("Done")
        await page.type(f"a{typed}")
        assert page.app.chat.prompt.editor.text == f"a{typed}"


@pytest.mark.parametrize(("action", "key"), [("item_copy", "enter"), ("item_copy", "k"), ("item_leave", "y")])
async def test_a_key_with_two_uses_is_reported(environ: dict[str, str], folder: Path, action: str, key: str) -> None:
    async with screen(environ, folder, settings={"keybinds": {action: key}}) as page:
        notices = await page.world.client.settings.notices()
        assert len([one for one in notices.warnings if f"keybinds.{action}" in one and key in one]) == 1


async def test_keys_right_behind_one_that_moves_the_focus_are_for_what_has_it_then(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text=FIRST), Answer(text=LAST)) as page:
        await two_turns(page)
        for key in ("ctrl+up", "up", "up", "y", "escape"):  # all at once, as a slow machine reads them
            page.app.post_message(events.Key(key, None))
        page.app.post_message(events.Key("z", "z"))
        await page.sees("▎ z")
        await until(lambda: page.app.clipboard == FIRST)  # beside the keys


async def test_a_panel_that_closes_while_it_opens_leaves_the_keys_to_the_prompt(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        panels, editor = page.app.chat.opened.panels, page.app.chat.prompt.editor
        for steps in range(30):  # of the event loop
            panels.open(TextPanel(TextAsk("Name", "save"), done=print, back=panels.close))
            for _ in range(steps):
                await asyncio.sleep(0)
            panels.close()
            await page.press("x")
            assert editor.text == "x" * (steps + 1)


async def test_a_prompt_that_is_shown_again_keeps_the_focus(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text=LAST)) as page:
        await page.send("one")
        await page.sees(LAST)
        await page.sees("Done")
        editor = page.app.chat.prompt.editor
        editor.post_message(events.Hide())  # as a layout sends it that is late
        await page.type("jy")
        assert page.app.focused is editor
        assert editor.text == "jy"
