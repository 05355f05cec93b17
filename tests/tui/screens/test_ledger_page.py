"""The page of what a compaction keeps, with the real engine: reached from the context page and by its command."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen


@pytest.mark.slow
async def test_entries_are_added_changed_removed_and_restored(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="fine"), size=(120, 30)) as page:
        await page.send("Always use tabs. Then list this folder.")
        await page.sees("fine")
        await page.press("ctrl+x", "i")
        await page.sees("what that keeps")
        await page.press("l")
        text = await page.sees("kept by the next compaction")
        assert "Rule" in text and "Always use tabs." in text and "Last request" in text
        await page.press("e", "ctrl+u")
        await page.type("Always use spaces.")
        await page.press("enter")
        text = await page.sees("edited")
        assert "Always use spaces." in text and "r restore" in text
        await page.press("a")
        await page.type("The API is frozen.")
        await page.press("enter")
        await page.sees("added")
        await page.press("x")
        await page.sees("removed")
        await page.press("end", "r")
        text = await page.sees("Always use tabs.")
        assert "removed" not in text
        await page.press("a")
        await page.type("never mind")
        await page.press("escape")
        text = await page.sees("add an entry")
        assert "never mind" not in text
        await page.press("escape")
        await page.sees("what that keeps")


@pytest.mark.slow
async def test_the_message_of_an_entry_is_shown_in_the_chat(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="fine")) as page:
        await page.send("Never push.")
        await page.sees("fine")
        await page.send("/ledger")
        await page.sees("What a compaction keeps")
        await page.press("enter")
        await page.sees("Ask anything")
