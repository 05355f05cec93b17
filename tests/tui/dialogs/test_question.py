"""The panel for an agent's own question."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.tui import preload
from opencode_tui.tui.app import OpenCodeApp
from opencode_tui.tui.options import StartOptions
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.usefixtures("jumping_clock")


async def test_the_chosen_row_of_a_long_list_stays_in_sight() -> None:
    preload.load()
    story = Story()
    story.user("ask me", "1")
    options = [QuestionOption(label=f"way {number}.") for number in range(40)]
    told = Script([session("Ask")], story.messages, directory=Path(ROOT))
    told.questions = [
        QuestionRequest(
            id="que_1", session_id=SESSION, questions=[Question(question="Which way?", header="", options=options)]
        )
    ]
    app = OpenCodeApp(StartOptions(told.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=(110, 34)) as pilot:
        app.attach(as_client(ScriptedClient(told)))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        assert "way 39." not in await page.sees("way 3.")
        await page.answer("up")
        assert "way 3." not in await page.sees("way 39.")
        await page.press("down")
        await page.sees("way 3.")
