"""A question that appears while the user does something else: no key of that answers it, and text goes on in the prompt."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual import events

from opencode_tui.schema.api.question import Question, QuestionOption, QuestionRequest
from opencode_tui.schema.event.event import Event, PermissionAsked, PermissionReplied, QuestionAsked
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.session import BusyStatus
from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.panel import Panel
from opencode_tui.tui.keys.keyed import cancels, confirms
from opencode_tui.tui.options import StartOptions
from tests.support.terminal.conversation import NOON, SESSION, Story
from tests.support.terminal.screen import Page, look
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jumping_clock")]

SENTENCE = "please run the tests on this machine and say what happened 1 2"
"""It has the keys of all answers."""

PERMISSION, QUESTION, NOTICE = "permission", "question", "notice"


class Desk:
    """A screen whose agent asks when a test says so; `answers` is what was answered."""

    def __init__(self, page: Page, client: ScriptedClient) -> None:
        self.page = page
        self.answers: list[object] = []
        self._client = client
        self._asked = 0
        client.permissions.answer(reply=self._replied)
        client.questions.answer(reply=self._replied, reject=self._replied)

    def _replied(self, id: str, *given: Any, **_: Any) -> bool:
        self.answers.append(given)
        script = self._client.script
        script.permissions[:] = [one for one in script.permissions if one.id != id]
        script.questions[:] = [one for one in script.questions if one.id != id]
        self._send(PermissionReplied(session_id=SESSION, request_id=id, reply="once"))
        return True

    def _send(self, event: Event) -> None:
        self._client.send(event)

    @property
    def draft(self) -> str:
        """The text of the prompt."""
        return self.page.app.chat.prompt.editor.text

    @property
    def panel(self) -> Panel:
        """The question."""
        return self.page.app.chat.query_one(Panel)

    async def ask(self, kind: str = PERMISSION) -> None:
        """Ask now; wait until the question is there, also below a page, not until it accepts keys."""
        self._asked += 1
        id = f"{self._asked}"
        if kind == PERMISSION:
            facts: dict[str, Any] = {"permission": "bash", "patterns": ["echo hi"], "always": ["echo *"]}
            self._client.script.permissions.append(PermissionRequest(id=id, session_id=SESSION, **facts))
            self._send(PermissionAsked(id=id, session_id=SESSION, **facts))
        elif kind == QUESTION:
            options = [QuestionOption(label="Yes, delete it"), QuestionOption(label="No")]
            asked = Question(question="Delete the old database?", options=options)
            self._client.script.questions.append(QuestionRequest(id=id, session_id=SESSION, questions=[asked]))
            shape = {"question": asked.question, "header": "", "options": [{"label": one.label} for one in options]}
            self._send(QuestionAsked(id=id, session_id=SESSION, questions=[shape]))
        else:
            act, chat = confirms("go on", lambda: self.answers.append("yes")), self.page.app.chat.opened
            close = cancels("close", lambda: self.answers.append("no"))
            question = Confirmation("Go on?", ["It goes on."], "", (act, close), is_asked_for=False)
            chat.panels.open(ConfirmPanel(question))
        chat = self.page.app.chat
        for _ in range(100):
            if chat.query(Panel) and (
                self.page.app.screen is not chat or self.panel.title()[0][0][0] in self.page.text()
            ):
                return
            await asyncio.sleep(0.001)
        raise AssertionError(self.page.text())

    async def type(self, text: str, gap_s: float) -> None:
        """Type with a gap before each key."""
        for letter in text:
            await self.keys({" ": "space"}.get(letter, letter), gap_s=gap_s)

    async def keys(self, *keys: str, gap_s: float) -> None:
        """Press keys with a gap before each."""
        for key in keys:
            await asyncio.sleep(gap_s)
            self.page._deliver(key)
            await self.page._keys_handled()

    def wait_over(self) -> None:
        """Let the question accept keys, as if the user had waited."""
        assert self.panel._guard.accepts(time.monotonic_ns() // 1_000_000 + 10_000)


@asynccontextmanager
async def desk(size: tuple[int, int] = (110, 34)) -> AsyncGenerator[Desk]:
    load_actions()
    story = Story()
    story.user("do it", "1")
    script = Script([session("Work")], story.messages, {SESSION: BusyStatus()})
    client = ScriptedClient(script)
    app = OpenCodeApp(StartOptions(script.directory, session_id=SESSION), look(), clock=lambda: NOON / 1000)
    async with app.run_test(size=size) as pilot:
        app.attach(as_client(client))
        page = Page(app, pilot, world=None)  # pyright: ignore[reportArgumentType] - nothing here asks for the engine
        await page.sees("do it")
        await asyncio.sleep(1)
        yield Desk(page, client)


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION, NOTICE])
@pytest.mark.parametrize("gap_s", [0.03, 0.16, 0.22, 0.35, 0.6, 0.95])
@pytest.mark.parametrize("typed", [1, 7])
async def test_a_sentence_that_is_being_typed_answers_nothing_and_is_whole_in_the_prompt(
    kind: str, gap_s: float, typed: int
) -> None:
    async with desk() as one:
        await one.type(SENTENCE[:typed], gap_s)
        await one.ask(kind)
        await one.type(SENTENCE[typed:], gap_s)
        await one.keys("enter", gap_s=gap_s)
        assert (one.answers, one.draft) == ([], SENTENCE)


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION])
@pytest.mark.parametrize(("before_s", "first_s", "gap_s"), [(2.5, 0.8, 0.3), (1.5, 0.5, 0.2), (0.1, 0.9, 0.9)])
async def test_a_user_who_thinks_in_the_middle_of_a_sentence_answers_nothing(
    kind: str, before_s: float, first_s: float, gap_s: float
) -> None:
    async with desk() as one:
        await one.type("please", 0.2)
        await asyncio.sleep(before_s)
        await one.ask(kind)
        await one.type("y", first_s)
        await one.type(" and also", gap_s)
        assert (one.answers, one.draft) == ([], "pleasey and also")


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION])
async def test_a_sentence_that_begins_right_behind_the_question_goes_on_in_the_prompt(kind: str) -> None:
    async with desk() as one:
        await one.ask(kind)
        await one.type(SENTENCE, 0.3)
        assert (one.answers, one.draft) == ([], SENTENCE)


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION])
@pytest.mark.parametrize(
    ("keys", "draft"),
    [
        (["backspace", "a", "n"], "ruan"),
        (["left", "left", "y"], "ryun"),
        (["home", "a", "e", "end", "n"], "aerunn"),
        (["backspace", "backspace", "backspace", "1", "2"], "12"),
        (["ctrl+w", "y", "enter", "n"], "yn"),
        (["ctrl+j", "y"], "run\ny"),
        (["enter", "enter", "y"], "runy"),
    ],
)
async def test_keys_that_edit_the_text_go_on_in_the_prompt(kind: str, keys: list[str], draft: str) -> None:
    async with desk() as one:
        await one.type("run", 0.22)
        await one.ask(kind)
        await one.keys(*keys, gap_s=0.3)
        assert (one.answers, one.draft) == ([], draft)


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION, NOTICE])
async def test_a_paste_right_behind_the_question_goes_into_the_prompt(kind: str) -> None:
    async with desk() as one:
        await one.type("run ", 0.22)
        await one.ask(kind)
        await asyncio.sleep(0.3)
        await one.page.app.on_event(events.Paste("yes, always"))
        await one.type(" and", 0.6)
        assert (one.answers, one.draft) == ([], "run yes, always and")


async def test_a_key_that_is_held_answers_nothing() -> None:
    async with desk() as one:
        await one.type("yyyy", 0.03)
        await one.ask()
        await one.type("y" * 60, 0.03)
        assert (one.answers, one.draft) == ([], "y" * 64)


@pytest.mark.parametrize("second", [PERMISSION, QUESTION])
async def test_a_second_question_right_behind_the_first_gets_no_key_of_a_sentence(second: str) -> None:
    async with desk() as one:
        await one.ask()
        await one.keys("y", gap_s=0.5)
        await asyncio.sleep(0.05)
        await one.ask(second)
        await one.type(SENTENCE, 0.25)
        assert (len(one.answers), one.draft) == (1, SENTENCE)


@pytest.mark.parametrize(
    ("kind", "key", "answer"),
    [(PERMISSION, "y", ("once", None)), (PERMISSION, "a", ("always", None)), (QUESTION, "2", ([["No"]],))],
)
@pytest.mark.parametrize("wait_s", [0.45, 2.0])
async def test_a_prompt_at_rest_lets_a_question_answer_as_soon_as_before(
    kind: str, key: str, answer: tuple[object, ...], wait_s: float
) -> None:
    async with desk() as one:
        await one.ask(kind)
        await one.keys(key, gap_s=wait_s)
        assert (one.answers, one.draft) == ([answer], "")


@pytest.mark.parametrize(
    ("kind", "key", "answer"), [(PERMISSION, "y", ("once", None)), (QUESTION, "enter", ([["Yes, delete it"]],))]
)
async def test_an_old_draft_makes_nobody_wait(kind: str, key: str, answer: tuple[object, ...]) -> None:
    async with desk() as one:
        await one.type("an old draft", 0.2)
        await asyncio.sleep(5)
        await one.ask(kind)
        await one.keys(key, gap_s=0.45)
        assert (one.answers, one.draft) == ([answer], "an old draft")


@pytest.mark.parametrize(
    ("kind", "key", "answer"), [(PERMISSION, "y", ("once", None)), (QUESTION, "enter", ([["Yes, delete it"]],))]
)
async def test_a_user_who_stops_typing_answers_after_a_second(kind: str, key: str, answer: tuple[object, ...]) -> None:
    async with desk() as one:
        await one.type("please", 0.2)
        await one.ask(kind)
        await one.type(" and", 0.2)
        await one.keys(key, gap_s=1.05)
        assert (one.answers, one.draft) == ([answer], "please and")


async def test_an_answer_is_no_text_before_the_next_question() -> None:
    async with desk() as one:
        await one.ask()
        await one.keys("y", gap_s=0.5)
        await one.ask()
        await one.keys("y", gap_s=0.45)
        assert (len(one.answers), one.draft) == (2, "")


async def test_a_sent_prompt_is_no_text_that_is_being_typed() -> None:
    async with desk() as one:
        await one.type("go", 0.1)
        one.page.app.chat.prompt.pop_draft()  # as the enter that sends it
        await one.ask()
        await one.keys("y", gap_s=0.45)
        assert len(one.answers) == 1


async def look_at_list(one: Desk) -> Callable[[], None]:
    await one.page.press("ctrl+p")
    await one.page.sees("What do you want to do?")
    return lambda: one.page.press_at_once("escape", *"yn12")


async def look_at_page(one: Desk) -> Callable[[], None]:
    await one.page.press("ctrl+x", "z")
    await one.page.sees("What runs")
    return lambda: one.page.press_at_once("escape", *"yn12")


async def suspend(one: Desk) -> Callable[[], None]:
    def resume() -> None:
        one.page.app.app_resume_signal.publish(one.page.app)
        one.page.press_at_once(*"yn12")

    return resume


async def look_elsewhere(one: Desk) -> Callable[[], None]:
    await one.page.app.on_event(events.AppBlur())
    await asyncio.sleep(0.1)

    def come_back() -> None:
        one.page.app.on_app_focus()
        one.page.press_at_once(*"yn12")

    return come_back


@pytest.mark.parametrize("kind", [PERMISSION, QUESTION, NOTICE])
@pytest.mark.parametrize("leave", [look_at_list, look_at_page, suspend, look_elsewhere])
async def test_a_question_that_came_while_something_else_was_shown_is_read_before_it_is_answered(
    kind: str, leave: Callable[[Desk], Any]
) -> None:
    async with desk() as one:
        come_back = await leave(one)
        await one.ask(kind)
        await asyncio.sleep(5)
        one.wait_over()
        come_back()
        await one.page._settle()
        assert (one.answers, one.draft) == ([], "yn12")
        await one.keys("1" if kind == QUESTION else "y", gap_s=1.1)
        assert len(one.answers) == 1


async def test_a_question_that_was_seen_before_the_terminal_lost_the_focus_goes_on() -> None:
    async with desk() as one:
        await one.ask()
        await asyncio.sleep(1)
        come_back = await look_elsewhere(one)
        come_back()
        await one.page._settle()
        assert len(one.answers) == 1


async def test_a_panel_whose_own_key_opened_a_page_goes_on_behind_it() -> None:
    async with desk() as one:
        chat, answers = one.page.app.chat.opened, one.answers
        act, close = confirms("go on", lambda: answers.append("yes")), cancels("close", lambda: answers.append("no"))
        chat.panels.open(ConfirmPanel(Confirmation("Go on?", ["It goes on."], "", (act, close))))
        await one.page.sees("Go on?")
        await asyncio.sleep(1)
        await one.page.press("ctrl+x", "z")
        await one.page.sees("What runs")
        one.page.press_at_once("escape", "y")
        await one.page._settle()
        assert answers == ["yes"]
