"""An engine without a terminal ends 60 s after the last thing that needed it, and not before: each of these things by itself."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client.client import Client
from opencode_tui.client.shared import SharedClient, open_shared
from opencode_tui.client.thread import EngineThread
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.tui.state.screen_settings import ScreenSettings
from tests.engine.mcp.conftest import COMMAND
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


REST_S = ScreenSettings().rest_s
End = Callable[[], Awaitable[object]]
"""Ends what needs the engine."""


class EngineClock:
    """Sets the clock of the engine's event loop."""

    def __init__(self, thread: EngineThread) -> None:
        self.now = thread.coroutine(self._now)
        self.stop_at = thread.coroutine(self._stop_at)
        self.jump = thread.coroutine(self._jump)

    async def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _stop_at(self, moment: float) -> None:
        """Let the clock show this moment until the next jump; timers that are due by then have fired when this returns."""
        asyncio.get_running_loop().time = lambda: moment
        await self._let_fire()

    async def _jump(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        true_time = type(loop).time
        offset = loop.time() + seconds - true_time(loop)
        loop.time = lambda: true_time(loop) + offset
        await self._let_fire()

    @staticmethod
    async def _let_fire() -> None:
        for _ in range(10):
            await asyncio.sleep(0)


class World:
    """The client whose terminal is left, and what the model answers."""

    def __init__(self, client: Client, model: ModelServer, variables: dict[str, str], folder: Path) -> None:
        self.client = client
        self.model = model
        self.variables = variables
        self.folder = folder
        self.sent: list[asyncio.Task[object]] = []

    async def send(self, text: str) -> str:
        info = await self.client.sessions.create(CreateSession(title="named"))
        model = ModelRef(provider_id="fake", model_id="fake-model")
        request = PromptInput(model=model, parts=[TextInput(text=text)])
        self.sent.append(asyncio.create_task(self.client.prompts.prompt(info.id, request)))
        return info.id


async def a_run(world: World) -> End:
    may_end = threading.Event()
    world.model.script(Answer(text="begun HELD", holds=(("HELD", may_end),)))
    await world.send("go")
    await until(lambda: world.model.requests)
    return lambda: asyncio.to_thread(may_end.set)


async def a_question(world: World) -> End:
    await world.send('ask <<tool bash {"command": "touch asked", "description": "asks"}>>')
    while not (asked := await world.client.permissions.pending()):
        await asyncio.sleep(0.01)
    return lambda: world.client.permissions.reply(asked[0].id, "reject")


async def a_background_command(world: World) -> End:
    await world.send('start <<tool bash {"command": "sleep 9999", "description": "waits", "background": true}>>')
    await asyncio.gather(*world.sent)
    [command] = await world.client.background.list()
    return lambda: world.client.background.stop(command.id)


async def another_terminal(world: World) -> End:
    may_end = asyncio.Event()

    async def use() -> None:
        async with open_shared(world.variables, world.folder, serve=serve_terminals) as other:
            await other.sessions.list()
            await may_end.wait()

    terminal = asyncio.create_task(use())
    client = world.client
    assert isinstance(client, SharedClient)
    await until(lambda: client.terminals == 1)

    async def end() -> None:
        may_end.set()
        await terminal

    return end


async def a_run_with_a_server_beside_it(world: World) -> End:
    end = await a_run(world)
    await world.client.mcp.connect("one")
    assert [one.state for one in await world.client.mcp.servers()] == ["connected"]
    return end


@pytest.mark.parametrize(
    "begin", [a_run, a_question, a_background_command, another_terminal, a_run_with_a_server_beside_it]
)
async def test_an_engine_that_was_left_ends_a_minute_after_the_last_thing_that_needed_it(
    begin: Callable[[World], Awaitable[End]], environ: dict[str, str], model: ModelServer, tmp_path: Path
):
    (tmp_path / "work").mkdir()
    given = {"provider": model.config(), "permission": {"bash": {"*": "allow", "touch *": "ask"}}, "snapshot": False}
    if begin is a_run_with_a_server_beside_it:
        given["mcp"] = {"one": {"type": "local", "command": COMMAND}}
    variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(given)}
    async with open_shared(variables, tmp_path / "work", serve=serve_terminals) as client:
        assert isinstance(client, SharedClient)
        thread, clients = client._thread, client._clients
        assert thread is not None and clients is not None
        clock = EngineClock(thread)
        world = World(client, model, variables, tmp_path / "work")
        end = await begin(world)
        client.detach()
        for call in world.sent:
            call.cancel()
        await asyncio.gather(*world.sent, return_exceptions=True)
        staying = asyncio.create_task(client.stay(REST_S))
        await clock.jump(REST_S + 1)
        await clock.now()
        assert not staying.done(), "it is needed"
        before = await clock.now()
        await end()
        await until(lambda: not (client.terminals or clients.is_working or thread.has_left_calls))
        await clock.stop_at(before + REST_S - 1)
        await clock.now()
        assert not staying.done(), "it waits"
        async with asyncio.timeout(100):
            while not staying.done():
                await clock.jump(REST_S)
                await asyncio.wait({staying}, timeout=0.1)
        await staying
