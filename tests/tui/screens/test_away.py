"""What is shown when the user comes back: a line for each session that did something, and nothing when none did."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events

from opencode_tui.schema.api.inbox import Done
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.chat.chat import AWAY_MS, SEEN
from opencode_tui.tui.options import StartOptions
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session
from tests.support.world.waiting import until

pytestmark = pytest.mark.usefixtures("jumping_clock")

HERE = [
    Done(info=session("Shown"), state="done", turns=1),
    Done(
        info=session("Dark mode", id="ses_dark"), state="asks", turns=2, files=3, additions=96, deletions=14, cost=0.57
    ),
    Done(info=session("Release", id="ses_release"), state="failed", turns=1),
]


class Clock:
    """Seconds since 1970, which a test moves."""

    now = NOON / 1000

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def screen_of(
    clock: Clock, *, is_continued: bool = False, left: float = 0.0
) -> AsyncGenerator[tuple[Page, Script, Path]]:
    """Show a session; `left` are the seconds since a screen was left, 0 for never. The path is the file that says so."""
    load_actions()
    story = Story()
    story.user("do it", "1")
    infos = [one.info for one in HERE]
    script = Script(infos, story.messages, done=HERE, directory=Path(ROOT))
    client = ScriptedClient(script)
    seen = Path((await client.project.places()).state, SEEN)
    if left:
        seen.touch()
        os.utime(seen, (clock.now - left, clock.now - left))
    options = StartOptions(script.directory, session_id=None if is_continued else SESSION, is_continued=is_continued)
    app = OpenCodeApp(options, look(), clock=clock)
    async with app.run_test(size=(100, 30)) as pilot:
        app.attach(as_client(client))
        page: Any = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        yield page, script, seen


async def be_away(page: Page, clock: Clock, ms: int) -> None:
    page.app.post_message(events.AppBlur())
    await page.pilot.pause()
    clock.now += ms / 1000
    page.app.post_message(events.AppFocus())
    await page.pilot.pause()


@pytest.mark.slow
async def test_after_ten_minutes_the_other_sessions_have_a_line_each_and_enter_opens_one() -> None:
    clock = Clock()
    async with screen_of(clock) as (page, _, _):
        await page.sees("Ask anything")
        await be_away(page, clock, AWAY_MS - 1)
        assert "While you were away" not in page.text()
        await be_away(page, clock, AWAY_MS)
        text = await page.sees("While you were away")
        assert "2 turns, 3 files +96 −14, $0.57, asks you" in text and "1 turn, failed" in text
        assert "Shown" not in text.partition("While you were away")[2]
        await page.answer("down", "enter")
        await page.sees_no_more("While you were away")
        assert page.session_id == "ses_release"


@pytest.mark.slow
async def test_text_goes_into_the_prompt_and_closes_the_lines() -> None:
    clock = Clock()
    async with screen_of(clock) as (page, _, _):
        await page.sees("Ask anything")
        await be_away(page, clock, AWAY_MS)
        await page.sees("While you were away")
        await page.answer("h", "i")
        await page.sees_no_more("While you were away")
        assert page.app.chat.prompt.editor.text == "hi"


@pytest.mark.slow
async def test_nothing_is_shown_when_nothing_happened() -> None:
    clock = Clock()
    async with screen_of(clock) as (page, script, _):
        await page.sees("Ask anything")
        script.done = HERE[:1]  # what happened in the shown session is seen
        await be_away(page, clock, AWAY_MS)
        await page.type("x")
        assert "While you were away" not in page.text()


async def test_a_start_that_continues_shows_what_happened_since_the_last_screen() -> None:
    clock = Clock()
    async with screen_of(clock, is_continued=True, left=7200) as (page, _, seen):
        text = await page.sees("While you were away")
        assert "2 h" in text and "Shown" in text.partition("While you were away")[2]
        page.app.chat.opened.leave()
        await page.ends()
        await until(lambda: clock.now - 7200 < seen.stat().st_mtime)  # the screen does not wait for a slow disk


@pytest.mark.slow
async def test_the_first_start_and_one_that_does_not_continue_show_nothing() -> None:
    async with screen_of(Clock(), is_continued=True) as (page, _, _):
        await page.sees("Ask anything")
        await page.type("x")
        assert "While you were away" not in page.text()
    async with screen_of(Clock(), left=7200) as (page, _, _):
        await page.sees("Ask anything")
        await page.type("x")
        assert "While you were away" not in page.text()
