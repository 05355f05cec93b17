"""The panel for an agent's own question."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.dialogs.question import QuestionPanel
from opencode_tui.tui.options import StartOptions
from tests.support.terminal.conversation import NOON, ROOT, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

pytestmark = pytest.mark.usefixtures("jumping_clock")


ASKED = (
    "Which database should the new service for the import of the customers' invoices use, given that the team has "
    "to run the migration of the old data by hand?"
)
OPTIONS = [
    QuestionOption(
        label="PostgreSQL", description="The team knows it, and it has logical replication for the old data."
    ),
    QuestionOption(label="SQLite", description="Nothing to run."),
    QuestionOption(label="Files"),
]


@asynccontextmanager
async def asks(
    *questions: Question, width: int = 110, size: tuple[int, int] | None = None
) -> AsyncGenerator[tuple[Page, list[list[list[str]]]]]:
    """Open a session whose agent asks this; give its screen, and the answers that arrive."""
    load_actions()
    story = Story()
    story.user("ask me", "1")
    told = Script([session("Ask")], story.messages, directory=Path(ROOT))
    told.questions = [QuestionRequest(id="que_1", session_id=SESSION, questions=list(questions))]
    app = OpenCodeApp(StartOptions(told.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=size or (width, 34)) as pilot:
        app.attach(as_client(ScriptedClient(told)))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        await page.sees("type an answer" if size is None else "enter select")
        answers: list[list[list[str]]] = []
        app.query_one(QuestionPanel)._answer = answers.append
        yield page, answers


@pytest.mark.fast_cases("down enter-S Q L i t e")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("enter",), "PostgreSQL"),
        (("down", "enter"), "SQLite"),
        (("down", "down", "enter"), "Files"),
        (("down", "down", "down", "enter"), "PostgreSQL"),
        (("up", "enter"), "Files"),
        (("down", "up", "enter"), "PostgreSQL"),
        (("3",), "Files"),
    ],
    ids=" ".join,
)
async def test_the_first_option_is_selected_and_each_arrow_moves_by_one(keys: tuple[str, ...], expected: str) -> None:
    async with asks(Question(question="Which?", header="", options=OPTIONS)) as (page, answers):
        await page.answer(*keys)
        await page.pilot.pause()
        assert answers == [[[expected]]]


@pytest.mark.slow
async def test_several_answers_are_ticked_in_boxes() -> None:
    asked = Question(question="Which?", header="", options=OPTIONS, multiple=True)
    async with asks(asked) as (page, answers):
        text = await page.sees("☐ 1  PostgreSQL")
        assert "☐ 3  Files" in text
        await page.answer("enter")
        await page.sees("Tick an answer first")
        await page.answer("down", "space", "3")
        text = await page.sees("☑ 3  Files")
        assert "☐ 1  PostgreSQL" in text and "☑ 2  SQLite" in text and "Tick an answer first" not in text
        await page.answer("enter")
        await page.pilot.pause()
        assert answers == [[["SQLite", "Files"]]]


@pytest.mark.slow
async def test_each_of_several_questions_begins_with_its_first_option() -> None:
    first, second = (Question(question=text, header="", options=OPTIONS) for text in ("One?", "Two?"))
    async with asks(first, second) as (page, answers):
        await page.answer("down", "enter")
        await page.sees("Two?")
        await page.answer("enter")
        await page.pilot.pause()
        assert answers == [[["SQLite"], ["PostgreSQL"]]]


@pytest.mark.fast_cases("60")
@pytest.mark.parametrize("width", [60, 80, 110, 160])
async def test_nothing_of_an_option_is_cut(width: int) -> None:
    async with asks(Question(question=ASKED, header="", options=OPTIONS), width=width) as (page, _):
        shown = " ".join(line.lstrip(" ▎") for line in page.text().splitlines())
        shown = " ".join(shown.split())
        assert ASKED in shown
        assert [one for one in OPTIONS if one.label not in shown or one.description not in shown] == []


@pytest.mark.fast_cases("110")
@pytest.mark.parametrize("width", [60, 80, 110])
async def test_an_answered_question_shows_both_in_full(width: int) -> None:
    load_actions()
    story = Story()
    story.user("ask me", "1")
    answer = "PostgreSQL, with logical replication of the old tables"
    story.answer([story.tool("question", {"questions": [{"question": ASKED}]}, answers=[[answer]])])
    told = Script([session("Ask")], story.messages, directory=Path(ROOT))
    app = OpenCodeApp(StartOptions(told.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=(width, 34)) as pilot:
        app.attach(as_client(ScriptedClient(told)))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        text = " ".join((await page.sees("replication of the old")).split())
        assert ASKED in text and answer in text


@pytest.mark.slow
async def test_the_chosen_row_of_a_long_list_stays_in_sight() -> None:
    load_actions()
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
