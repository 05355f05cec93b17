"""What is attached to the prompt can be seen, written out and removed, by key and by mouse."""

from pathlib import Path

import pytest
from textual.events import Paste

from opencode_tui.tui.prompt.draft import Attachment
from opencode_tui.tui.prompt.editor import Editor
from tests.support.terminal.screen import Page, screen

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + b"\0" * 8
TEXT = "\n".join(f"row {n}" for n in range(12))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in."""
    (tmp_path / "csvkit").mkdir()
    return tmp_path / "csvkit"


async def pasted(page: Page) -> Editor:
    editor = page.app.chat.prompt.editor
    editor.post_message(Paste(TEXT))
    await page.sees("[Pasted 12 lines]")
    return editor


@pytest.mark.slow
async def test_a_large_paste_is_opened_by_a_key_and_written_out(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        editor = await pasted(page)
        await page.press("ctrl+x", "v")
        await page.sees("row 11")
        await page.press("e")
        await page.sees_no_more("[Pasted")
        assert editor.text == TEXT


@pytest.mark.slow
async def test_a_click_on_a_marker_opens_it_and_a_click_removes_it(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        editor = await pasted(page)
        await page.pilot.click(Editor, offset=(4, 0))
        lines = (await page.sees("row 11")).splitlines()
        row = next(at for at, line in enumerate(lines) if "remove" in line)
        await page.pilot.click(offset=(lines[row].index("remove") + 2, row))
        await page.sees_no_more("row 11")
        assert editor.text == ""
        assert not page.app.chat.prompt.pop_draft().attachments


@pytest.mark.slow
async def test_escape_leaves_an_opened_attachment_as_it_was(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await pasted(page)
        await page.press("ctrl+x", "v")
        await page.sees("row 11")
        await page.press("escape")
        await page.sees("[Pasted 12 lines]")
        assert page.app.chat.prompt.pop_draft().whole == TEXT


@pytest.mark.slow
async def test_an_image_says_what_it_is(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.attach(Attachment(data=PNG, mime="image/png", name="shot.png"))
        await page.sees("[Image 1]")
        await page.press("ctrl+x", "v")
        text = await page.sees("640 × 480 pixels")
        assert "shot.png" in text


@pytest.mark.slow
async def test_delete_and_backspace_take_a_marker_as_a_whole(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        editor = await pasted(page)
        await page.press("x", "left", "backspace")
        assert editor.text == "x"
        editor.put("see [Pasted 12 lines] here")
        editor.move_cursor((0, 4))
        await page.press("delete")
        assert editor.text == "see  here"


@pytest.mark.slow
async def test_words_in_brackets_that_stand_for_nothing_open_nothing(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.put("[Pasted 3 lines]")
        await page.pilot.click(Editor, offset=(4, 0))
        await page.press("ctrl+x", "v")
        await page.sees("Nothing is attached")


@pytest.mark.slow
async def test_a_page_of_a_long_paste_comes_at_once(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        page.app.chat.prompt.editor.post_message(Paste("\n".join(f"row {n}." for n in range(200))))
        await page.sees("[Pasted 200 lines]")
        await page.press("ctrl+x", "v")
        await page.sees("row 3.")
        await page.press("pagedown")
        text = page.app.screen.focused
        assert text is not None and text.scroll_target_y == text.scroll_offset.y > 20


async def test_enter_directly_behind_a_large_paste_sends_it(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        for number in range(3):
            rows = "\n".join(f"row {row} of {number}." for row in range(20))
            page.app.post_message(Paste(rows))
            page.press_at_once("enter")
            await page.sees(f"row 19 of {number}.")
            await page.sees("✓ Done")
            assert page.app.chat.prompt.editor.text == ""
