"""The key for the mode of approvals, and where the status line shows it."""

from pathlib import Path

import pytest

from opencode_tui.tui.options import StartOptions
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen


@pytest.mark.slow
async def test_the_key_changes_the_mode_of_the_session_and_of_new_ones(environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "csvkit"
    folder.mkdir()
    async with screen(environ, folder, Answer(text="Hi."), Answer(text="Ho.")) as page:
        await page.sees("   normal   ")
        await page.press("shift+tab")
        await page.sees("Approvals: auto  asks nothing, stays in the sandbox")
        await page.send("hello")
        await page.sees("Hi.")
        await page.sees("Done")  # the end of a turn replaces the message of the key
        first = page.session_id
        assert first is not None
        assert await page.world.client.permissions.approvals(first) == "auto"
        await page.press("shift+tab")
        await page.sees("Approvals: ask  asks for every edit and command")
        assert await page.world.client.permissions.approvals(first) == "ask"
        await page.press("ctrl+x", "n")
        await page.send("and again")
        await page.sees("Ho.")
        assert page.session_id not in (None, first)
        assert await page.world.client.permissions.approvals(str(page.session_id)) == "ask"
        await page.world.client.permissions.set_approvals(str(page.session_id), "normal")
        await page.sees("   normal   ")
    async with screen(environ, folder, options=StartOptions(folder, session_id=first)) as page:
        await page.sees("   ask   ")


@pytest.mark.slow
async def test_the_default_mode_is_that_of_the_settings(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {"experimental": {"approvals": "ask"}}
    async with screen(environ, tmp_path, settings=settings) as page:
        await page.sees("   ask   ")
