"""Questions in terminals with few rows: what is asked can be read, and nothing is answered before that."""

import asyncio
import re

import pytest

from opencode_tui.schema.api.question import Question, QuestionOption
from opencode_tui.tui.dialogs.panel import Panel
from tests.support.terminal.screen import Page
from tests.tui.dialogs.test_permission import asked, question
from tests.tui.dialogs.test_question import asks

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

SIZES = [(20, 5), (30, 8), (40, 10), (60, 12), (80, 14), (80, 19), (140, 40)]
KEYED = [size for size in SIZES if size[0] > 20]
"""Sizes that have space for all keys."""

COMMAND = "echo ASKME; rm -rf important"
LONG = "\n".join([COMMAND, *(f"echo line{number}" for number in range(1, 30))])
OPTIONS = [QuestionOption(label=label) for label in ("Yes, delete it", "No", "Ask me later")]
WORDY = " ".join(["The old database is in use by three services."] * 4)


def words_of(page: Page) -> list[str]:
    """Return the words of the screen without the bar at the left."""
    return re.sub(r"[▎]", " ", page.text()).split()


async def wait_over() -> None:
    await asyncio.sleep(1.5)


@pytest.mark.parametrize("command", [COMMAND, LONG], ids=["short", "long"])
@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_command_is_read_and_then_approved(size: tuple[int, int], command: str) -> None:
    request = asked("outside", "echo *", command=command, reasons=["Accesses the network."])
    async with question(request, size) as (page, replies):
        await wait_over()
        assert "echo" in words_of(page) and "run" in words_of(page), page.text()
        await page.press("y")
        assert [reply[0] for reply in replies] == ["once"]


@pytest.mark.parametrize("size", KEYED, ids=str)
async def test_all_keys_are_shown_with_the_command(size: tuple[int, int]) -> None:
    async with question(asked("outside", "echo *", command=LONG), size) as (page, _):
        await wait_over()
        text = page.text()
        assert [one for one in ("y run once", "a always", "e edit", "n reject") if one not in text] == [], text


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_word_of_a_long_command_can_be_read(size: tuple[int, int]) -> None:
    async with question(asked("outside", "echo *", command=LONG), size) as (page, replies):
        await wait_over()
        seen = set(words_of(page))
        for _ in range(120):
            await page.press("down")
            seen |= set(words_of(page))
        whole = {word for word in LONG.split() if len(word) <= size[0] - 12}  # others are broken
        assert whole - seen == set()
        assert replies == []


@pytest.mark.parametrize("key", ["y", "a"])
async def test_nothing_is_answered_where_no_row_of_the_question_is_shown(key: str) -> None:
    async with question(asked("outside", "echo *", command=COMMAND), (40, 24)) as (page, replies):
        await page.sees("y run once")
        panel = page.app.query_one(Panel)
        await page.resize(40, 1)
        panel.guard_again()  # as a question that appears now
        await page._settle()
        await wait_over()
        await page.press(key)
        assert replies == []
        await page.resize(40, 10)
        await page.press(key)  # it has just appeared
        assert replies == []
        await wait_over()
        assert "echo" in words_of(page)
        await page.press(key)
        assert len(replies) == 1


@pytest.mark.parametrize("asked_for", ["Delete it?", WORDY], ids=["short", "long"])
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_number_chooses_an_option_that_was_shown(size: tuple[int, int], number: int, asked_for: str) -> None:
    wanted = Question(question=asked_for, options=OPTIONS)
    label = OPTIONS[number - 1].label
    async with asks(wanted, size=size) as (page, answers):
        await wait_over()
        begin = label.split()[0]
        was_shown = begin in words_of(page)
        await page.press(str(number))
        if not was_shown:
            assert answers == []
            assert begin in words_of(page), page.text()
            await wait_over()
            await page.press(str(number))
        assert answers == [[[label]]]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_enter_chooses_no_option_that_was_not_shown(size: tuple[int, int]) -> None:
    async with asks(Question(question=WORDY, options=OPTIONS), size=size) as (page, answers):
        await wait_over()
        was_shown = "Yes," in words_of(page)
        await page.press("enter")
        assert answers == ([[["Yes, delete it"]]] if was_shown else [])
        if not was_shown:
            await wait_over()
            await page.press("enter")
            assert answers == [[["Yes, delete it"]]]
