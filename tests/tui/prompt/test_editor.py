"""What stands in the prompt's editor is what was typed, also where it is drawn in another way."""

from pathlib import Path

from tests.support.terminal.screen import screen


async def test_flags_are_drawn_as_letters_and_sent_as_flags(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        editor = page.app.chat.prompt.editor
        editor.put("from 🇩🇪 to 🇫🇷 by rail")
        await page.sees("from DE to FR by rail")
        assert editor.text == "from 🇩🇪 to 🇫🇷 by rail"
