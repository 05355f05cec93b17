"""The changes page: long lines can be wrapped, in both forms, by key and by mouse, and one stays where one was."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from tests.support.terminal.screen import Page
from tests.tui.screens.test_looks import Situation, opened_app, press
from tests.tui.screens.test_looks_shown import changes

pytestmark = pytest.mark.usefixtures("jumping_clock")

TAIL = "mode w"
"""What stands at the end of the long line."""


@asynccontextmanager
async def page_of(size: tuple[int, int]) -> AsyncGenerator[Page]:
    app, act = opened_app(Situation(changes, size, act=press("ctrl+x", "d")))
    async with app.run_test(size=size) as pilot:
        await act(pilot)
        yield Page(app, pilot, cast("Any", None))


def first_line(page: Page) -> str:
    """The first row of code on the screen."""
    return next(line for line in page.text().splitlines() if line.split()[:1] and line.split()[0].isdigit())


@pytest.mark.slow
@pytest.mark.parametrize("size", [(162, 42), (60, 30)])
async def test_long_lines_are_wrapped_and_cut_again(size: tuple[int, int]) -> None:
    async with page_of(size) as page:
        assert TAIL not in page.text()
        await page.press("w")
        text = await page.sees("w truncate")
        assert TAIL in text
        await page.press("w")
        await page.sees("w wrap")
        assert TAIL not in page.text()


async def test_one_column_and_two_are_both_wrapped() -> None:
    async with page_of((162, 42)) as page:
        await page.press("w", "u")
        text = await page.sees("side by side")
        assert TAIL in text
        await page.press("u")
        assert "before session" in await page.sees("unified")
        assert TAIL in page.text()


@pytest.mark.slow
async def test_a_click_on_a_key_does_what_the_key_does() -> None:
    async with page_of((162, 42)) as page:
        lines = page.text().splitlines()
        row = next(at for at, line in enumerate(lines) if "w wrap" in line)
        await page.pilot.click(offset=(lines[row].index("w wrap") + 3, row))
        await page.sees("w truncate lines")
        await page.pilot.click(offset=(lines[row].index("next file") + 1, row))
        await page.sees("file 2 of 3")


@pytest.mark.slow
async def test_the_line_at_the_top_stays_there_in_another_form() -> None:
    async with page_of((162, 20)) as page:
        await page.press("n", "n", "down")
        assert "def row(self, values" in first_line(page)
        for key, words in (("w", "truncate lines"), ("u", "side by side"), ("w", "wrap"), ("u", "unified")):
            await page.press(key)
            await page.sees(words)
            assert "def row(self, values" in first_line(page), key
        await page.resize(70, 20)
        await page.press("w")
        await page.sees("w truncate")
        assert "def row(self, values" in first_line(page)
