"""Keys of pages, lists and questions that the settings change."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


ASKS = {"permission": {"bash": {"*": "ask"}}}


async def test_a_question_is_answered_by_the_key_of_the_settings_only(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {**ASKS, "keybinds": {"permission_once": "o,f8"}}
    script = [
        Answer(calls=(Call("bash", {"command": "touch new", "description": "Create"}),)),
        Answer(text="It is there."),
    ]
    async with screen(environ, tmp_path, *script, settings=settings) as page:
        await page.send("go")
        await page.sees("o run once")
        await page.answer("y")
        assert "o run once" in page.text() and not (tmp_path / "new").exists()
        await page.answer("f8")
        await page.sees("It is there.")
        assert (tmp_path / "new").exists()


async def test_a_page_and_a_list_close_by_the_keys_of_the_settings(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {"keybinds": {"page_close": "f7,escape", "list_close": "f6", "list_down": "f5", "list_choose": "f4"}}
    async with screen(environ, tmp_path, settings=settings) as page:
        await page.press("ctrl+p")
        assert "f4 run" in await page.sees("f6 close")
        await page.press("f6")
        await page.sees_no_more("f6 close")
        await page.type("/status ")
        await page.press("enter")
        await page.sees("f7 back")
        await page.press("q")
        await page.sees("f7 back")
        await page.press("f7")
        await page.sees_no_more("f7 back")
