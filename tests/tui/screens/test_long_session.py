"""A long session is shown from its end; what needs older messages reads them: scrolling, the first line, finding, undo."""

import asyncio
from pathlib import Path

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import open_engine
from opencode_tui.schema.error import StorageError
from opencode_tui.storage.paths import find_paths
from opencode_tui.tui.options import StartOptions
from opencode_tui.tui.pages import timeline, timeline_reader
from opencode_tui.tui.pages.timeline_reader import FIRST, GROUP, TimelineReader
from opencode_tui.tui.state.controller import END, SessionController
from tests.support.faults.file_log import LoggedFiles
from tests.support.sessions.records import assistant, session_info, user, write_records
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


TURNS = END // 2 + 20
"""Turns of the session, of two messages each: the first 20 are older than what is read."""


def stored(environ: dict[str, str], folder: Path, *, turns: int = TURNS) -> str:
    """Write a session of the folder with many turns; return its ID."""
    info = session_info("ses_test", project_id="global", directory=str(folder), title="A long one")
    messages = []
    for number in range(turns):
        request = user(f"Question {number} of many")
        messages += [request, assistant(f"Answer {number}.", parent=request, cost=0.01)]
    write_records(find_paths(environ), info, messages)
    return info.id


async def shown(page: Page) -> None:
    """Wait until the end of the session is on the screen."""
    text = await page.sees(f"Answer {TURNS - 1}.")
    assert "Question 0 " not in text
    assert not page.app.chat.opened.control.is_whole


def row_of(page: Page, words: str) -> int:
    """Return the number of the row with these words."""
    return next(at for at, line in enumerate(page.text().splitlines()) if words in line)


def held(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> asyncio.Event:
    """Let a method begin when the returned event is set."""
    goes_on, method = asyncio.Event(), getattr(owner, name)

    async def wait(self: object) -> None:
        await goes_on.wait()
        await method(self)

    monkeypatch.setattr(owner, name, wait)
    return goes_on


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


async def test_what_reads_the_older_messages_says_so(
    environ: dict[str, str], folder: Path, options: StartOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = held(monkeypatch, SessionController, "load_whole")
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        await page.press("ctrl+g")
        await page.sees("Loading the older messages")
        goes_on.set()
        await page.sees("Question 0 of many")
        await page.sees_no_more("Loading")


async def test_an_older_text_is_found(environ: dict[str, str], folder: Path, options: StartOptions) -> None:
    async with screen(environ, folder, options=options) as page:
        await shown(page)
        await page.press("ctrl+x", "slash")
        await page.sees("Find")
        await page.type("Question 3 of")
        await page.press("enter")
        await page.sees("1 of 1")
        await page.sees("Question 3 of many")


async def test_the_timeline_reads_the_newest_turns_before_it_is_shown_and_each_older_message_once(
    environ: dict[str, str], folder: Path
) -> None:
    """The last message is read whole, too: the row of the last turn has its first line."""
    files, turns = LoggedFiles(), FIRST // 2 + GROUP
    session_id = stored(environ, folder, turns=turns)
    async with open_engine(environ, files=files) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        reader = TimelineReader(client.messages, session_id, ())

        def read() -> int:
            return sum("/part/" in call.path for call in files.calls if call.act == "read")

        await reader.start()
        assert read() == FIRST + 1 and [one.text for one in reader.found][-1] == f"Question {turns - 1} of many"
        while reader.left:
            await reader.read_older()
        assert read() == 2 * turns + 1
        assert [one.text for one in reader.found] == [f"Question {number} of many" for number in range(turns)]
        assert read() == 2 * turns + 1 and engine.store.message_ids(session_id) is None


async def test_the_timeline_is_used_while_its_older_turns_are_read(
    environ: dict[str, str], folder: Path, options: StartOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = held(monkeypatch, TimelineReader, "read_older")
    monkeypatch.setattr(timeline_reader, "FIRST", 40)
    monkeypatch.setattr(timeline_reader, "GROUP", 30)
    monkeypatch.setattr(timeline, "SHOWN_AFTER_S", 0)
    async with screen(environ, folder, options=options, size=(140, 40)) as page:
        await shown(page)
        await page.press("ctrl+x", "g")
        await page.sees(f"20 turns · 0 steps with changes · reading {2 * TURNS - 40} older messages")
        await page.press(*["up"] * 3)
        await page.sees("Removes 4 turns")
        row = row_of(page, f"Question {TURNS - 4} of many")
        goes_on.set()
        text = await page.sees(f"{TURNS} turns · 0 steps with changes  ")
        assert "older" not in text and row_of(page, f"Question {TURNS - 4} of many") == row
        await page.press("slash", *"Question")
        await page.type(" 77")
        await page.sees("1 turn ·")
        await page.press("enter", "enter")
        await page.sees("Answer 77.")


async def test_the_timeline_says_which_turns_it_cannot_read(
    environ: dict[str, str], folder: Path, options: StartOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_reader: TimelineReader) -> None:
        raise StorageError("cannot read the records: the disk is gone")

    monkeypatch.setattr(timeline_reader, "FIRST", 40)
    monkeypatch.setattr(TimelineReader, "read_older", fails)
    async with screen(environ, folder, options=options, size=(140, 40)) as page:
        await shown(page)
        await page.press("ctrl+x", "g")
        await page.sees("cannot read the records: the disk is gone")
        await page.sees(f"20 turns · 0 steps with changes · {2 * TURNS - 40} older messages not read")
        await page.press("enter")
        await page.sees(f"Answer {TURNS - 1}.")


async def test_the_key_to_the_first_turn_goes_there_also_while_older_turns_are_read(
    environ: dict[str, str], folder: Path, options: StartOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline_reader, "FIRST", 40)
    monkeypatch.setattr(timeline_reader, "GROUP", 30)
    async with screen(environ, folder, options=options, size=(140, 40)) as page:
        await shown(page)
        for key in ("ctrl+x", "g", "home"):
            page._deliver(key)
        await page.sees(f"{TURNS} turns ·")
        await page.sees(f"Removes {TURNS} turns")
        assert "Question 0 of many" in page.text()
        await page.press("enter")
        await page.sees("Answer 0.")


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
