"""Before an undo one can look at what the turn changed, and reads where undo is off."""

from pathlib import Path

import pytest

from opencode_tui.tui.options import StartOptions
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


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
        assert "A notes.md   deleted: created by the agent" in await page.sees("3 messages undone · 1 file removed")


async def test_where_undo_is_off_the_start_the_panel_and_the_chat_say_so(
    environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "csvkit"
    folder.mkdir()
    settings, reason = {"snapshot": False}, "undo is off here: `snapshot` is false in your settings"
    answers = Answer(calls=(WRITE,)), Answer(text="Written.")
    async with screen(environ, folder, *answers, settings=settings, size=(150, 40)) as page:
        await page.sees("Undo is off here: `snapshot` is false in your settings")
        await page.send("write it")
        await page.sees("Done")
        session_id = page.session_id
        await page.press("ctrl+x", "g")
        await page.sees(f"Files unchanged ({reason[:12]}")
        await page.press("escape")
        await page.press("ctrl+x", "u")
        panel = await page.sees("y undo messages")
        assert f"Files unchanged ({reason})" in panel and "notes.md    stays as it is" in panel
        await page.answer("y")
        marker = await page.sees("3 messages undone, files unchanged")
        assert reason[1:] in marker and "1 kept" not in marker
        await page.press("ctrl+x", "r")
        await page.sees("Messages restored")
    assert (folder / "notes.md").exists()
    options = StartOptions(folder, session_id=session_id)
    async with screen(environ, folder, options=options, settings=settings) as page:
        await page.sees("Undo is off here  `snapshot` is false in your settings")


async def test_what_is_typed_behind_the_key_that_closes_a_question_is_for_the_prompt(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """All keys are in the queue of the program before the question handles the first of them."""
    async with screen(environ, tmp_path, Answer(text="Well.")) as page:
        await page.send("begin")
        await page.sees("✓ Done")
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.answer()
        page._deliver("escape")
        await page.type("hello")
        await page.sees_no_more("Undo from here?")
        assert page.app.chat.prompt.editor.text == "hello"


async def test_the_conversation_is_at_its_end_after_an_undo_a_redo_and_a_preview(
    environ: dict[str, str], folder: Path
) -> None:
    long = Answer(text="\n\n".join(f"paragraph {number}" for number in range(40)))
    new = [Call("write", {"filePath": f"{name}.txt", "content": "x\n"}) for name in "abcdef"]
    async with screen(environ, folder, long, Answer(calls=tuple(new)), long, size=(60, 20)) as page:
        await page.send("one")
        await page.sees("paragraph 39")
        await page.send("two")
        await page.sees("6 tools")
        view = page.app.chat.opened.view
        for key, after in (("escape", "paragraph 39"), ("y", "f.txt")):
            await page.press("ctrl+x", "u")
            await page.sees("Undo from here?")
            await page.answer(key)
            await page.sees(after)
            await until(lambda: view.is_following)
        await page.press("ctrl+x", "r")
        await page.sees("paragraph 39")
        await until(lambda: view.is_following)
