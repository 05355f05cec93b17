"""A stranger's folder: what it would start is listed, and counts only after a yes."""

import json
from pathlib import Path

import pytest

from tests.support.terminal.screen import screen


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that would start and loosen things."""
    work = tmp_path / "stranger"
    work.mkdir()
    settings = {"permission": {"bash": "allow"}, "command": {"hello": {"template": "say !`echo hi`"}}, "keybinds": {}}
    (work / "opencode.json").write_text(json.dumps(settings))
    return work


@pytest.mark.slow
async def test_a_yes_puts_in_force_what_was_listed(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.sees("Inactive until you trust this folder")
        await page.send("/trust")
        text = await page.sees("Trust this folder?")
        assert "permission.bash" in text and "command.hello" in text
        await page.answer("y")
        await page.sees("Folder trusted")
        assert (await page.world.client.settings.notices()).ignored == []
        assert "Inactive until" not in page.text()


async def test_a_no_changes_nothing(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.press("ctrl+x", "w")
        await page.sees("Trust this folder?")
        await page.answer("escape")
        await page.sees("Ask")
        assert (await page.world.client.settings.notices()).ignored


@pytest.mark.slow
async def test_what_changes_behind_the_question_is_not_trusted(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, size=(140, 34)) as page:
        await page.press("ctrl+x", "w")
        await page.sees("Trust this folder?")
        (folder / "opencode.json").write_text(json.dumps({"permission": {"bash": "allow", "edit": "allow"}}))
        await page.answer("y")
        await page.says("changed since it was listed")
        assert (await page.world.client.settings.notices()).ignored


@pytest.mark.slow
async def test_a_folder_without_such_files_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "calm").mkdir()
    async with screen(environ, tmp_path / "calm") as page:
        await page.press("ctrl+x", "w")
        await page.sees("Nothing needs your trust")


@pytest.mark.slow
async def test_the_commands_of_a_folder_that_is_trusted_now_are_completed(
    environ: dict[str, str], folder: Path
) -> None:
    async with screen(environ, folder) as page:
        await page.type("/hel")
        assert "/hello" not in await page.sees("/help")
        await page.press("ctrl+c")
        await page.send("/trust")
        await page.sees("Trust this folder?")
        await page.answer("y")
        await page.sees("Folder trusted")
        await page.type("/hel")
        await page.sees("/hello")
