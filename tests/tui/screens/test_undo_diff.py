"""Before an undo one can look at what the turn changed."""

from pathlib import Path

from opencode_tui.tui.options import StartOptions
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

WRITE = Call("write", {"filePath": "notes.md", "content": "# A heading\n"})


async def test_the_undo_panel_opens_the_turns_diff_and_asks_on_afterwards(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "csvkit"
    folder.mkdir()
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("Done")
        await page.press("ctrl+x", "u")
        await page.sees("show the diff")
        await page.answer("d")
        await page.sees("# A heading")
        await page.sees("next change")
        await page.press("escape")
        await page.sees("Undo from here?")
        assert (folder / "notes.md").exists()
        await page.answer("y")
        await page.sees("undone")
        assert not (folder / "notes.md").exists()


async def test_a_session_that_is_opened_again_lists_what_its_undo_did_with_files(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "csvkit"
    folder.mkdir()
    async with screen(environ, folder, Answer(calls=(WRITE,)), Answer(text="Written.")) as page:
        await page.send("write it")
        await page.sees("Done")
        session_id = page.session_id
        await page.press("ctrl+x", "u")
        await page.sees("show the diff")
        await page.answer("y")
        await page.sees("undone")
    async with screen(environ, folder, options=StartOptions(folder, session_id=session_id)) as page:
        assert "A notes.md   deleted: created by the agent" in await page.sees("3 messages undone · 1 file restored")
