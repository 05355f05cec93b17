"""Questions of `run` and `--plain` that another client answers, and those whose events were lost."""

import asyncio
import os
import pty
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest

from opencode_tui.cli.run.json_report import JsonReporter
from opencode_tui.cli.run.terminal_lines import TerminalLines
from opencode_tui.cli.run.turn import RunPrompts, answer
from opencode_tui.cli.style import style_of
from opencode_tui.client.client import Client, EventReader
from opencode_tui.client.policy import AskPerson
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.event.event import BusLagged, Envelope, PermissionAsked, QuestionAsked
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import MODEL, opened
from tests.support.world.waiting import PATIENCE_S

COMMAND = Answer(calls=(Call("bash", {"command": "echo one", "description": "says"}),))
SECOND = Answer(calls=(Call("bash", {"command": "printf two", "description": "says"}),))
COLOR = {"question": "Which color?", "header": "Color", "options": [{"label": "Red"}, {"label": "Blue"}]}
QUESTION = Answer(calls=(Call("question", {"questions": [COLOR]}),))
DONE = Answer(text="done")
SETTINGS = {"permission": {"bash": "ask"}}


class Keyboard:
    """A terminal without a program: what is typed, and what was shown."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        self.shown = StringIO()
        self.lines = TerminalLines(slave, err=self.shown)
        self._slave = slave

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def until(self, words: str) -> None:
        """Wait until these words were shown, and a line is read."""
        while words not in self.shown.getvalue() or not self.shown.getvalue().endswith("> "):
            await asyncio.sleep(0.01)

    def close(self) -> None:
        os.close(self._master)
        os.close(self._slave)


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    made = Keyboard()
    yield made
    made.close()


def running(
    client: Client, session: SessionInfo, environ: dict[str, str], lines: TerminalLines | None
) -> Awaitable[int]:
    prompts = RunPrompts(lines, client, style_of(None, environ), AskPerson())
    given = PromptInput(model=MODEL, parts=[TextInput(text="go")])
    return asyncio.create_task(answer(client, session, given, JsonReporter(session.id), prompts))


async def waiting(client: Client) -> str:
    """Return the ID of the request that waits."""
    while not (found := [*await client.permissions.pending(), *await client.questions.pending()]):
        await asyncio.sleep(0.01)
    return found[0].id


ELSEWHERE: dict[str, tuple[Answer, str, Callable[[Client, str], Awaitable[bool]]]] = {
    "allowed": (COMMAND, "echo one", lambda client, name: client.permissions.reply(name, "once")),
    "allowed-always": (COMMAND, "echo one", lambda client, name: client.permissions.reply(name, "always")),
    "rejected": (COMMAND, "echo one", lambda client, name: client.permissions.reply(name, "reject", "use printf")),
    "answered": (QUESTION, "Which color?", lambda client, name: client.questions.reply(name, [["Red"]])),
}


@pytest.mark.fast_cases("rejected")
@pytest.mark.parametrize("case", ELSEWHERE)
async def test_a_question_that_another_client_answers_makes_way_for_the_next(
    environ: dict[str, str], tmp_path: Path, keyboard: Keyboard, case: str
):
    asks, words, reply = ELSEWHERE[case]
    async with opened(environ, tmp_path, asks, SECOND, DONE, settings=SETTINGS, policy=AskPerson()) as world:
        session = await world.new_session()
        work = running(world.client, session, environ, keyboard.lines)
        async with asyncio.timeout(PATIENCE_S):
            await keyboard.until(words)
            assert await reply(world.client, await waiting(world.client))
            await keyboard.until("printf two")
            shown = keyboard.shown.getvalue()
            assert shown.count("Answered elsewhere.") == 1
            assert "Allowed once" not in shown and "Rejected" not in shown
            keyboard.type("y\n")
            assert await work == 0
        assert keyboard.shown.getvalue().count("Answered elsewhere.") == 1
        assert "Allowed once" in keyboard.shown.getvalue()


async def test_a_question_that_is_dismissed_elsewhere_ends_with_its_turn(
    environ: dict[str, str], tmp_path: Path, keyboard: Keyboard
):
    async with opened(environ, tmp_path, QUESTION, settings=SETTINGS, policy=AskPerson()) as world:
        session = await world.new_session()
        work = running(world.client, session, environ, keyboard.lines)
        async with asyncio.timeout(PATIENCE_S):
            await keyboard.until("Which color?")
            assert await world.client.questions.reject(await waiting(world.client))
            await work


class Losing:
    """A client whose events of questions are lost, as those that come while the connection to a server is."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def events(self) -> "LosingReader":
        return LosingReader(self._client.events())


class LosingReader:
    def __init__(self, events: EventReader) -> None:
        self._events = events

    def __enter__(self) -> "LosingReader":
        self._events.__enter__()
        return self

    def __exit__(self, *given: Any) -> None:
        self._events.__exit__(*given)

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self

    async def __anext__(self) -> Envelope:
        return lost(await anext(self._events))

    def poll(self) -> Envelope | None:
        found = self._events.poll()
        return None if found is None else lost(found)


def lost(envelope: Envelope) -> Envelope:
    is_question = isinstance(envelope.event, PermissionAsked | QuestionAsked)
    return Envelope("", BusLagged()) if is_question else envelope


@pytest.mark.parametrize(
    ("asks", "words", "typed"),
    [(COMMAND, "echo one", "y\n"), (QUESTION, "Which color?", "2\n")],
    ids=["command", "question"],
)
async def test_what_was_asked_in_lost_events_is_asked(
    environ: dict[str, str], tmp_path: Path, keyboard: Keyboard, asks: Answer, words: str, typed: str
):
    async with opened(environ, tmp_path, asks, DONE, settings=SETTINGS, policy=AskPerson()) as world:
        session = await world.new_session()
        work = running(cast(Client, Losing(world.client)), session, environ, keyboard.lines)
        async with asyncio.timeout(PATIENCE_S):
            await keyboard.until(words)
            keyboard.type(typed)
            assert await work == 0
        assert "Answered elsewhere." not in keyboard.shown.getvalue()


@pytest.mark.parametrize("asks", [COMMAND, QUESTION], ids=["command", "question"])
async def test_what_was_asked_in_lost_events_is_rejected_without_a_terminal(
    environ: dict[str, str], tmp_path: Path, asks: Answer
):
    async with opened(environ, tmp_path, asks, DONE, settings=SETTINGS, policy=AskPerson()) as world:
        session = await world.new_session()
        async with asyncio.timeout(PATIENCE_S):
            await running(cast(Client, Losing(world.client)), session, environ, None)
        assert await world.client.permissions.pending() == [] and await world.client.questions.pending() == []
