"""The help opens from every page over the chat, and lists the keys of that page."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.keybinds import BY_ID
from opencode_tui.tui.keys.keyed import KeyedScreen
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen, screen_lines

pytestmark = pytest.mark.slow


COMMANDS = ("/status", "/context", "/ledger", "/running", "/permissions", "/mcp", "/plugins", "/skills")
"""Commands whose page has no typed text."""

TYPED = ("/sessions", "/settings", "/search")
"""Commands whose page has one."""

WRITES = (Answer(calls=(Call("write", {"filePath": "new.py", "content": "one = 1\n"}),)), Answer(text="Written."))


async def open_page(page: Page, command: str) -> KeyedScreen:
    """Open the page of a command."""
    await page.type(f"{command} ")
    await page.press("enter")
    await page.sees("back")
    shown = page.app.screen
    assert isinstance(shown, KeyedScreen)
    return shown


async def test_a_page_shows_its_keys_by_both_keys(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Hello."), size=(110, 40)) as page:
        await page.send("hi")
        await page.sees("Hello.")
        for command in COMMANDS:
            shown = await open_page(page, command)
            for key in ("f1", "question_mark"):
                await page.press(key)
                assert "Close the page" in await page.sees("Keyboard shortcuts"), command
                assert "Choose a model" not in page.text(), command
                await page.press("escape")
                await page.sees_no_more("Keyboard shortcuts")
                assert page.app.screen is shown, command
            await page.press("escape")
            await page.sees("Ask anything")


async def test_a_question_mark_is_text_where_one_types_and_f1_is_the_help(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Hello."), size=(110, 40)) as page:
        await page.send("hi")
        await page.sees("Hello.")
        for command in TYPED:
            shown = await open_page(page, command)
            await page.press("question_mark")
            assert page.app.screen is shown, command
            await page.sees("▎ ?")
            await page.press("f1")
            assert "Close the list" in await page.sees("Keyboard shortcuts"), command
            await page.press("escape")
            await page.sees_no_more("Keyboard shortcuts")
            await page.sees("▎ ?")
            await page.press("escape")
            await page.sees("Ask anything")


async def test_the_page_of_changes_shows_its_keys_and_runs_one(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, *WRITES, size=(140, 44)) as page:
        await page.send("write it")
        await page.sees("Written.")
        await page.sees("Done")
        await page.press("ctrl+x", "d")
        await page.sees("u side by side")
        await page.press("question_mark")
        assert "Wrap or truncate lines" in await page.sees("Side by side, or unified")
        await page.type("unified")
        await page.press("enter")
        await page.sees("u unified")
        style = next(one.style for one in screen_lines(page.app)[1] if "new.py" in one.text)
        assert style is not None and style.bold  # the page is not muted any more


async def test_the_help_of_the_sessions_page_names_the_keys_that_work_there(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder, Answer(text="Hello."), size=(110, 60)) as page:
        await page.send("hi")
        await page.sees("Hello.")
        await open_page(page, "/sessions")
        await page.press("f1")
        lines = (await page.sees("Keyboard shortcuts")).splitlines()
        for name, key in (("Rename selected session", "ctrl+r"), ("Row above", "up")):
            line = next(one for one in lines if name in one)
            assert line.split()[-1] == key
        await page.type("rename selected")
        await page.press("enter")
        await page.sees("Rename")
        await page.sees_no_more("Keyboard shortcuts")


async def test_the_keys_of_the_help_are_those_of_the_settings(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, settings={"keybinds": {"help_view": "f9"}}) as page:
        await open_page(page, "/status")
        await page.press("f1", "question_mark")
        assert "Keyboard shortcuts" not in page.text()
        await page.press("f9")
        await page.sees("Keyboard shortcuts")


async def test_a_list_over_the_screen_stays_when_f1_is_pressed(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+p")
        await page.sees("What do you want to do?")
        await page.press("f1")
        await page.sees("What do you want to do?")


def test_no_other_action_has_a_key_of_the_help() -> None:
    row = BY_ID["help_view"]
    keys = set(row.keys.split(","))
    assert row.on_pages and keys == {"f1", "?"}
    assert [one.id for one in BY_ID.values() if keys & set(one.keys.split(","))] == [row.id]
