"""A long session is shown from its end; what needs older messages reads them: scrolling, the first line, finding, undo."""

from pathlib import Path

import pytest

from opencode_tui.storage.paths import find_paths
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.state.controller import END
from tests.support.sessions.records import assistant, session_info, user, write_records
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until

TURNS = END // 2 + 20
"""Turns of the session, of two messages each: the first 20 are older than what is read."""


def stored(environ: dict[str, str], folder: Path) -> str:
    """Write a session of the folder with many turns; return its ID."""
    info = session_info("ses_test", project_id="global", directory=str(folder), title="A long one")
    messages = []
    for number in range(TURNS):
        request = user(f"Question {number} of many")
        messages += [request, assistant(f"Answer {number}.", parent=request, cost=0.01)]
    write_records(find_paths(environ), info, messages)
    return info.id


async def shown(page: Page) -> None:
    """Wait until the end of the session is on the screen."""
    text = await page.sees(f"Answer {TURNS - 1}.")
    assert "Question 0 " not in text
    assert not page.app.chat.opened.control.is_whole


@pytest.fixture
def options(environ: dict[str, str], folder: Path) -> StartOptions:
    """Those that open the session."""
    return StartOptions(folder, session_id=stored(environ, folder))


async def test_the_end_is_shown_and_the_first_line_is_one_key_away(
    environ: dict[str, str], folder: Path, options: StartOptions
) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        await page.press("ctrl+g")
        await page.sees("Question 0 of many")
        control = page.app.chat.opened.control
        assert control.is_whole and control.facts is not None
        assert control.facts.cost == pytest.approx(0.01 * TURNS)


async def test_a_cost_has_what_was_not_read(environ: dict[str, str], folder: Path, options: StartOptions) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        control = page.app.chat.opened.control
        assert control.facts is not None
        await control.add_older_cost()
        assert control.facts.cost == pytest.approx(0.01 * TURNS) and control.facts.read_cost < 0.011 * END / 2


async def test_scrolling_up_goes_on_in_the_older_messages(
    environ: dict[str, str], folder: Path, options: StartOptions
) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        await page.press(*["pageup"] * 20)
        control = page.app.chat.opened.control
        await until(lambda: control.is_whole)
        await page.press(*["pageup"] * 10)
        await page.sees("Question 0 of many")


async def test_an_older_text_is_found(environ: dict[str, str], folder: Path, options: StartOptions) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        await page.press("ctrl+x", "slash")
        await page.sees("Find")
        await page.type("Question 3 of")
        await page.press("enter")
        await page.sees("1 of 1")
        await page.sees("Question 3 of many")


async def test_an_undo_goes_back_to_an_older_message(
    environ: dict[str, str], folder: Path, options: StartOptions
) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        client = page.world.client
        first = (await client.messages.list("ses_test"))[6].info.id
        await client.undo.revert("ses_test", first)
        await page.sees("Answer 2.")
        await page.sees_no_more(f"Answer {TURNS - 1}.")
