"""The check of a session on the screen: `/until`, its row above the prompt, its keys."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


async def test_a_check_works_until_it_passes_and_its_row_says_what_it_did(
    environ: dict[str, str], folder: Path
) -> None:
    write = Answer(calls=(Call("write", {"filePath": "ok.txt", "content": "x"}),))
    async with screen(environ, folder, write, Answer(text="I wrote it")) as page:
        await page.send("/until test -e ok.txt")
        text = await page.sees("✓ Done")
        assert "▎ Check failed: exit 1 (turn 1 of 10)" in text
        assert "✓ check  test -e ok.txt  passed" in text and " s ago" in text
        (folder / "ok.txt").unlink()
        await page.press("f5")
        await page.sees("✗ check  test -e ok.txt  exit 1")
        await page.sees("f5 again")  # once the session is idle
        assert len(page.world.server.bodies) == 2
        await page.send("/until off")
        await page.sees("The check is off")
        await page.sees_no_more("✗ check")  # the row ends with the record, the message comes with the answer
        await page.press("f5")
        await page.sees("No check is set")
