"""A request that arrives during a turn joins it at the next step, or waits for its end."""

import asyncio
import json

import pytest

from opencode_tui.schema.api.request import CommandInput, CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import AssistantMessage, Delivery, UserMessage
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
SETTINGS = {"model": "fake/fake-model", "permission": {"bash": "allow"}}


def request(text: str, delivery: Delivery | None = None) -> PromptInput:
    return PromptInput(model=MODEL, delivery=delivery, parts=[TextInput(text=text)])


def slow_call() -> Answer:
    """Return the call of a command that runs until the test lets it end."""
    command = "until test -e go; do sleep 0.02; done"
    return Answer(calls=(Call("bash", {"command": command, "description": "wait"}),))


async def ask(world: World, session_id: str, text: str, delivery: Delivery | None = None) -> tuple[asyncio.Task, str]:
    """Send a request; return the task of its answer and its id."""
    stored: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(
        world.client.prompts.prompt(session_id, request(text, delivery), stored=stored.put_nowait)
    )
    return task, await stored.get()


async def talk(world: World, session_id: str) -> list[str]:
    """The texts of the conversation in the order of its records; waiting requests are marked."""
    found: list[str] = []
    for one in await world.client.messages.list(session_id):
        texts = "".join(getattr(part, "text", "") for part in one.parts)
        is_waiting = isinstance(one.info, UserMessage) and one.info.delivery == "queue"
        found += [f"waits: {texts}" if is_waiting else texts] if texts else []
    return found


async def until_running_tool(world: World, session_id: str) -> None:
    while not any(
        getattr(getattr(part, "state", None), "status", "") == "running"
        for one in await world.client.messages.list(session_id)
        for part in one.parts
    ):
        await asyncio.sleep(0.01)


async def test_queued_requests_are_answered_one_after_the_other_after_the_turn(environ, tmp_path) -> None:
    answers = (slow_call(), Answer(text="first done"), Answer(text="second done"), Answer(text="third done"))
    async with opened(environ, tmp_path, *answers, settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        second, _ = await ask(world, session.id, "two", "queue")
        third, _ = await ask(world, session.id, "three", "queue")
        assert (await talk(world, session.id))[-2:] == ["waits: two", "waits: three"]
        (tmp_path / "go").touch()
        await asyncio.gather(first, second, third)
        assert await talk(world, session.id) == ["one", "first done", "two", "second done", "three", "third done"]
        bodies = [json.dumps(body["messages"][1:]) for body in world.server.bodies]
        assert [("two" in one, "three" in one) for one in bodies[-4:]] == [
            (False, False),
            (False, False),
            (True, False),
            (True, True),
        ]
        assert "The user sent the following message" not in bodies[-1]


@pytest.mark.slow
async def test_a_command_waits_for_the_end_of_the_turn_or_joins_it(environ, tmp_path) -> None:
    settings = {**SETTINGS, "command": {"greet": {"template": "Greet $ARGUMENTS"}}}
    answers = (slow_call(), Answer(text="both done"), Answer(text="queued done"))
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        tasks = []
        sent: list[tuple[str, Delivery | None]] = [("later", "queue"), ("now", None)]
        for words, delivery in sent:
            stored: asyncio.Queue[str] = asyncio.Queue()
            given = CommandInput(command="greet", arguments=words, delivery=delivery)
            work = world.client.prompts.command(session.id, given, stored=stored.put_nowait)
            tasks.append(asyncio.create_task(work))
            await stored.get()
        (tmp_path / "go").touch()
        await asyncio.gather(first, *tasks)
        assert await talk(world, session.id) == ["one", "Greet now", "both done", "Greet later", "queued done"]


async def test_a_steering_request_joins_before_a_queued_one(environ, tmp_path) -> None:
    answers = (slow_call(), Answer(text="both done"), Answer(text="queued done"))
    async with opened(environ, tmp_path, *answers, settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        queued, _ = await ask(world, session.id, "later", "queue")
        steering, _ = await ask(world, session.id, "also this", "steer")
        (tmp_path / "go").touch()
        await asyncio.gather(first, queued, steering)
        assert await talk(world, session.id) == ["one", "also this", "both done", "later", "queued done"]


async def test_without_a_turn_a_queued_request_starts_one(environ, tmp_path) -> None:
    async with opened(environ, tmp_path, Answer(text="done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        await world.client.prompts.prompt(session.id, request("one", "queue"))
        assert await talk(world, session.id) == ["one", "done"]


async def test_a_queued_request_waits_after_an_interruption_and_is_sent_on_demand(environ, tmp_path) -> None:
    async with opened(environ, tmp_path, slow_call(), Answer(text="done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        queued, message_id = await ask(world, session.id, "later", "queue")
        await world.client.prompts.abort(session.id)
        for task in (first, queued):
            with pytest.raises(RunAborted):
                await task
        assert (await talk(world, session.id))[-1] == "waits: later"
        assert await world.client.prompts.send_now(session.id, message_id)
        while (await talk(world, session.id))[-1] != "done":
            await asyncio.sleep(0.01)
        assert (await talk(world, session.id))[-2:] == ["later", "done"]
        assert not await world.client.prompts.send_now(session.id, message_id)


@pytest.mark.fast_cases("steer")
@pytest.mark.parametrize("delivery", ["queue", "steer"])
async def test_sending_at_once_interrupts_the_response_that_is_written(environ, tmp_path, delivery: Delivery) -> None:
    slow = Answer(text=" ".join(f"word{n}" for n in range(400)), delay_ms=20)
    async with opened(environ, tmp_path, slow, Answer(text="done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        while "word3" not in "".join(await talk(world, session.id)):
            await asyncio.sleep(0.01)
        second, message_id = await ask(world, session.id, "now", delivery)
        assert await world.client.prompts.send_now(session.id, message_id)
        with pytest.raises(RunAborted):
            await first
        await asyncio.gather(second, return_exceptions=True)
        while (await talk(world, session.id))[-1] != "done":
            await asyncio.sleep(0.01)
        one, begun, now, done = await talk(world, session.id)
        assert (one, now, done) == ("one", "now", "done")
        assert "word399" not in begun


@pytest.mark.slow
async def test_sending_at_once_lets_running_tools_end(environ, tmp_path) -> None:
    async with opened(environ, tmp_path, slow_call(), Answer(text="both done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        second, message_id = await ask(world, session.id, "now", "queue")
        assert await world.client.prompts.send_now(session.id, message_id)
        (tmp_path / "go").touch()
        await asyncio.gather(first, second)
        assert await talk(world, session.id) == ["one", "now", "both done"]
        infos = [one.info for one in await world.client.messages.list(session.id)]
        assert [one.error for one in infos if isinstance(one, AssistantMessage)] == [None, None]


@pytest.mark.slow
async def test_a_queued_request_is_withdrawn_at_any_time(environ, tmp_path) -> None:
    async with opened(environ, tmp_path, slow_call(), Answer(text="done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        queued, message_id = await ask(world, session.id, "later", "queue")
        assert await world.client.prompts.withdraw(session.id, message_id)
        (tmp_path / "go").touch()
        await asyncio.gather(first, queued)
        assert await talk(world, session.id) == ["one", "done"]


@pytest.mark.fast_cases("queue")
@pytest.mark.parametrize("delivery", [None, "queue"])
async def test_a_request_that_comes_while_an_interrupted_turn_ends_is_answered(environ, tmp_path, delivery) -> None:
    async with opened(environ, tmp_path, slow_call(), Answer(text="done"), settings=SETTINGS) as world:
        session = await world.client.sessions.create(CreateSession())
        first, _ = await ask(world, session.id, "one")
        await until_running_tool(world, session.id)
        assert await world.client.prompts.abort(session.id)
        await world.client.prompts.prompt(session.id, request("two", delivery))
        with pytest.raises(RunAborted):
            await first
        assert (await talk(world, session.id))[-2:] == ["two", "done"]
