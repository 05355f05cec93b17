"""What the activity row says while the program waits for the other side."""

import re
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from opencode_tui.tui.chat.chat import DELAY_S
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


async def test_the_row_names_a_wait_with_its_seconds_and_its_deadline(
    environ: dict[str, str], tmp_path: Path, quick_names: None
) -> None:
    go_on, end = threading.Event(), threading.Event()
    slow = Answer(text="one two three", holds=(("one", go_on), ("three", end)))
    async with screen(environ, tmp_path, slow) as page:
        await page.send("hello")
        text = await page.sees("Waiting for the first byte of fake")
        assert re.search(r"Waiting for the first byte of fake  \d+ s, at most 5 m .*interrupt", text)
        go_on.set()
        text = await page.sees("Waiting for more from fake")
        assert "one two" in text
        end.set()
        await page.sees("Done")


async def test_a_change_is_shown_before_the_next_second_of_a_run(
    environ: dict[str, str], tmp_path: Path, no_names: None
) -> None:
    """The row once said for a second after a tool that the model was waited for, although text came."""
    end = threading.Event()
    async with screen(environ, tmp_path, Answer(text="begun here and ended", holds=(("ended", end),))) as page:
        await page.send("hello")
        await page.sees("begun here")
        await page.sees("Writing")
        chrome = page.app.chat.opened.chrome
        chrome.refresh()
        assert chrome._timer is not None and chrome._timer._interval == 1
        chrome.soon()
        assert chrome._timer._interval == DELAY_S
        end.set()
        await page.sees("Done")


class _UnreadablePage(ListPage):
    """Fails as no page expects it."""

    every_s = 0.02

    async def load(self) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    def summary(self) -> str:
        return ""

    def entries(self) -> Sequence[ListRow]:
        return ()

    def page_actions(self) -> Sequence[KeyAction]:
        return ()


async def test_a_page_whose_loading_fails_says_why(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        page.app.push_screen(_UnreadablePage())
        await page.sees("FileNotFoundError: [Errno 2] No such file or directory; the log has the details")
        await page.press("escape")
        await page.sees("Ask anything")
