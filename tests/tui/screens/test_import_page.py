"""The page that imports sessions of other programs, with the real engine."""

from pathlib import Path

import pytest

from tests.support.importing.fixtures import PROJECT, unpack
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen


@pytest.fixture
def store(environ: dict[str, str], tmp_path: Path) -> Path:
    """A store of OpenCode 1.1 whose sessions worked in this folder, and a database of 1.18."""
    data = unpack("1.1.65", Path(environ["XDG_DATA_HOME"]) / "opencode")
    for path in (data / "storage" / "session").rglob("*.json"):
        path.write_text(
            path.read_text().replace(PROJECT, str(tmp_path)).replace('"projectID": "', '"projectID": "global", "x": "')
        )
    (data / "storage" / "session").glob("*").__next__().rename(data / "storage" / "session" / "global")
    return unpack("1.18.33", data)


@pytest.mark.slow
async def test_the_welcome_page_suggests_the_import_until_something_was_imported(environ, tmp_path: Path, store: Path):
    async with screen(environ, tmp_path) as page:
        await page.sees("Sessions of other programs were found")
        await page.send("/import")
        text = await page.sees("enter import")
        assert "8 sessions to import" in text
        assert "OpenCode 1.1 " in text and "OpenCode 1.18" in text
        assert "space choose" in text and "esc back" in text
        await page.press("enter")
        await page.sees("Imported 8 sessions")
        await page.press("escape")
        assert await page.world.client.imports.available() is False


@pytest.mark.slow
async def test_one_store_is_chosen_shown_imported_and_its_session_opened(environ, tmp_path: Path, store: Path):
    async with screen(environ, tmp_path, Answer(text="Going on.")) as page:
        await page.send("/import")
        await page.sees("8 sessions to import")
        await page.press("down", "space")
        await page.sees("4 sessions to import")
        await page.press("d")
        text = await page.sees("Would import 4 sessions")
        assert "16 messages" in text and "delegate" in text
        assert await page.world.client.sessions.everywhere() == []
        await page.press("escape")
        await page.sees("4 sessions to import")
        await page.press("enter")
        await page.sees("Imported 4 sessions")
        await page.press("enter")
        await page.sees("Compacted")
        await page.send("and now")
        await page.sees("Going on.")


@pytest.mark.slow
async def test_without_a_store_the_page_names_the_command(environ, tmp_path: Path):
    async with screen(environ, tmp_path) as page:
        await page.send("/import")
        await page.sees("opencode-tui import opencode FOLDER")
