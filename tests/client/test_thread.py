"""The engine in a thread of its own: what a face can rely on."""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from opencode_tui.client import thread as engine_thread
from opencode_tui.client.thread import EngineThread, open_client_in_thread
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import ConfigError, NotFoundError, OpencodeError
from opencode_tui.schema.event.event import PartGrowth, PartUpdated, SessionIdle
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ReasoningPart, TextPart
from tests.support.provider.model_script import Answer
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.waiting import PATIENCE_S


@asynccontextmanager
async def started(environ: Mapping[str, str], folder: Path) -> AsyncGenerator[EngineThread]:
    thread = EngineThread()
    await thread.open(environ, folder)
    try:
        yield thread
    finally:
        await thread.close()


def request(text: str) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=text)])


async def wait_for_growth(world: World) -> None:
    with world.client.events() as events:
        async for envelope in events:
            if isinstance(envelope.event, PartGrowth):
                return


async def test_calls_run_in_the_thread_and_it_ends_with_the_client(environ: dict[str, str], tmp_path: Path):
    async def where() -> threading.Thread:
        return threading.current_thread()

    async with started(environ, tmp_path) as thread:
        found = await thread.coroutine(where)()
        assert (found.name, found.daemon) == ("engine", True)
    found.join(PATIENCE_S)
    assert not found.is_alive()


async def test_errors_arrive_as_what_they_are(environ: dict[str, str], tmp_path: Path):
    async with opened(environ, tmp_path, in_thread=True) as world:
        with pytest.raises(NotFoundError, match="ses_none"):
            await world.client.sessions.get("ses_none")


async def test_what_keeps_the_engine_from_opening_is_raised(environ: dict[str, str], tmp_path: Path):
    variables = {**environ, "OPENCODE_CONFIG_CONTENT": '{"model": 3}'}
    with pytest.raises(ConfigError, match="model"):
        async with open_client_in_thread(variables, tmp_path):
            pass


@pytest.mark.slow
async def test_a_canceled_call_is_canceled_in_the_engine(environ: dict[str, str], tmp_path: Path):
    began, canceled = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            canceled.set()
            raise

    async with started(environ, tmp_path) as thread:
        task = asyncio.create_task(thread.coroutine(work)())
        assert await asyncio.to_thread(began.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(canceled.wait, 10)


@pytest.mark.slow
async def test_callbacks_are_called_in_the_loop_of_the_face_before_the_result(environ: dict[str, str], tmp_path: Path):
    calls: list[tuple[str, threading.Thread]] = []
    async with opened(environ, tmp_path, Answer(text="hi"), in_thread=True) as world:
        session = await world.new_session()
        answer = await world.client.prompts.prompt(
            session.id, request("hello"), stored=lambda found: calls.append((found, threading.current_thread()))
        )
        assert isinstance(answer.info, AssistantMessage)
        assert calls == [(answer.info.parent_id, threading.current_thread())]


async def test_of_ten_thousand_deltas_none_is_lost_doubled_or_seen_too_early(environ: dict[str, str], tmp_path: Path):
    text = " ".join(f"word{number}" for number in range(10_000))
    grown: dict[str, str] = {}
    last: dict[str, str] = {}
    async with opened(environ, tmp_path, Answer(text=text, is_burst=True), in_thread=True) as world:
        session = await world.new_session()
        with world.client.events() as events:
            turn = asyncio.create_task(world.client.prompts.prompt(session.id, request("count")))
            async for envelope in events:
                event = envelope.event
                if isinstance(event, PartGrowth):
                    grown[event.part_id] = grown.get(event.part_id, "") + event.delta
                    part = event.record()
                    assert isinstance(part, TextPart | ReasoningPart)
                    assert part.text == grown[event.part_id]
                elif isinstance(event, PartUpdated) and event.part.id in grown and isinstance(event.part, TextPart):
                    last[event.part.id] = event.part.text
                elif isinstance(event, SessionIdle):
                    break
            await turn
    assert list(grown.values()) == list(last.values()) == [text]


async def test_closing_interrupts_a_turn_and_closes_its_records(environ: dict[str, str], tmp_path: Path):
    words = Answer(text="word " * 2_000, delay_ms=5)
    async with opened(environ, tmp_path, words, in_thread=True) as world:
        session = await world.client.sessions.create(CreateSession())
        turn = asyncio.create_task(world.client.prompts.prompt(session.id, request("talk")))
        await wait_for_growth(world)
    await asyncio.wait({turn})
    assert isinstance(turn.exception(), OpencodeError)
    async with opened(environ, tmp_path, in_thread=True) as world:
        answer = (await world.messages(session))[-1].info
    assert answer.time.completed
    assert answer.error.name == "MessageAbortedError"


async def fail() -> None:
    sys.exit(3)


async def fail_elsewhere() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(60)


@pytest.mark.parametrize("failing", [fail, fail_elsewhere])
async def test_a_failed_engine_is_reported_once_and_every_call_says_so(
    environ: dict[str, str], tmp_path: Path, failing: Callable[[], Awaitable[None]]
):
    thread = EngineThread()
    client = await thread.open(environ, tmp_path)
    with client.events() as events:
        with pytest.raises(OpencodeError, match=r"the engine failed \(SystemExit: 3\); .* start opencode-tui again"):
            await thread.coroutine(failing)()
        toasts = [one.event async for one in events if isinstance(one.event, ScreenToastShown) and not events.close()]
        assert [(toast.variant, "the engine failed" in toast.message) for toast in toasts] == [("error", True)]
    with pytest.raises(OpencodeError, match="the engine failed"):
        await client.sessions.list()
    with pytest.raises(OpencodeError, match="the engine failed"):
        await thread.close()


async def test_an_engine_that_does_not_respond_is_left_behind(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine_thread, "CLOSE_LIMIT_S", 0.2)
    release = threading.Event()

    async def block() -> threading.Thread:
        release.wait(PATIENCE_S)
        return threading.current_thread()

    thread = EngineThread()
    await thread.open(environ, tmp_path)
    blocked = asyncio.create_task(thread.coroutine(block)())
    await asyncio.sleep(0)
    with pytest.raises(OpencodeError, match="the engine did not stop"):
        await thread.close()
    release.set()
    (await blocked).join(PATIENCE_S)
