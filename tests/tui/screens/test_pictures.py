"""Pictures that the user attached, the model read or a command made are shown, open by a key, and can be switched off."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.pictures import png
from tests.support.terminal.screen import screen
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


BLOCKS = "▀" * 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a picture."""
    made = make_repo(tmp_path / "plots")
    (made.path / "pic.png").write_bytes(png(8, 8))
    return made.path


async def test_a_picture_that_was_read_is_shown_opens_on_a_page_and_folds(
    environ: dict[str, str], folder: Path
) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    answers = Answer(calls=(Call("read", '{"filePath": "pic.png"}'),)), Answer(text="A red square.")
    async with screen(environ, folder, *answers) as page:
        await page.type("what is it")
        await page.press("enter")
        await page.sees("A red square.")
        assert "8×8" in await page.sees(BLOCKS)
        await page.press("ctrl+up", "up", "enter")
        text = await page.sees("open in your viewer")
        assert "pic.png" in text and BLOCKS in text
        await page.press("escape")
        await page.sees("A red square.")
        await page.press("left")
        await page.sees_no_more(BLOCKS)


async def test_a_picture_that_a_command_made_is_below_the_command(environ: dict[str, str], folder: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    call = Call("bash", '{"command": "cp pic.png plot.png", "description": "plot"}')
    async with screen(environ, folder, Answer(calls=(call,)), Answer(text="Plotted.")) as page:
        await page.type("plot it")
        await page.press("enter")
        await page.sees("Plotted.")
        assert "plot.png  8×8" in await page.sees(BLOCKS)


@pytest.mark.parametrize("how", ["off", "blocks"])
async def test_the_setting_switches_pictures_off(environ: dict[str, str], folder: Path, how: str) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    (folder / "opencode.json").write_text(f'{{"tui": {{"images": "{how}"}}}}')
    answers = Answer(calls=(Call("read", '{"filePath": "pic.png"}'),)), Answer(text="A red square.")
    async with screen(environ, folder, *answers) as page:
        await page.type("what is it")
        await page.press("enter")
        await page.sees("A red square.")
        if how == "off":
            assert "8×8" not in page.text()
        else:
            await page.sees(BLOCKS)
