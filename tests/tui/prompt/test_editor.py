"""What stands in the prompt's editor is what was typed, also where it is drawn in another way."""

from pathlib import Path

import pytest
from textual.containers import Vertical

from opencode_tui.tui.prompt.editor import Editor
from tests.support.terminal.screen import screen


async def test_flags_are_drawn_as_letters_and_sent_as_flags(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        editor = page.app.chat.prompt.editor
        editor.put("from 🇩🇪 to 🇫🇷 by rail")
        await page.sees("from DE to FR by rail")
        assert editor.text == "from 🇩🇪 to 🇫🇷 by rail"


@pytest.mark.slow
async def test_a_frame_between_the_removal_of_an_editor_and_the_next_layout_can_be_drawn(
    environ: dict[str, str], tmp_path: Path
) -> None:
    frames: list[str] = []

    class Panel(Vertical):
        def on_unmount(self) -> None:
            frames.append(self.app.export_screenshot())

    async with screen(environ, tmp_path) as page:
        panel = Panel(editor := Editor())
        await page.app.screen.mount(panel, before=0)
        editor.put("to be seen")
        editor.focus()
        await page.sees("to be seen")
        await panel.remove()
        assert len(frames) == 1


@pytest.mark.slow
async def test_keys_for_a_line_are_about_all_rows_of_a_wrapped_one(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, size=(60, 24)) as page:
        editor = page.app.chat.prompt.editor
        line = " ".join(f"word{number}" for number in range(20))
        editor.put(f"first\n{line}")
        await page.press("ctrl+a")
        assert editor.cursor_location == (1, 0)
        await page.press("ctrl+e")
        assert editor.cursor_location == (1, len(line))
        await page.press("alt+a")
        assert editor.cursor_location[1] > 0
        await page.press("ctrl+e", "ctrl+u")
        assert editor.text == "first\n"
        editor.put(f"first\n{line}")
        await page.press("ctrl+a", "ctrl+k")
        assert editor.text == "first\n"
