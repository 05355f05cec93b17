"""A queued request is withdrawn or answered, never both, at any moment."""

import asyncio
import json
from pathlib import Path

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import provider_config
from tests.support.world.engine import opened

pytestmark = pytest.mark.slow


MODEL = ModelRef(provider_id="fake", model_id="fake-model")


def request(text: str) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=text)])


@pytest.mark.parametrize("delay_ms", [0, 20, 60, 100, 110, 120, 130, 140, 150, 160, 180, 220, 300])
async def test_a_withdrawn_request_is_never_sent(environ: dict[str, str], tmp_path, delay_ms: int) -> None:
    answer = Answer(text="one two three four five", delay_ms=20)
    async with opened(environ, tmp_path, answer, settings={"model": "fake/fake-model"}) as world:
        session = await world.client.sessions.create(CreateSession())
        stored: list[str] = []
        first = asyncio.create_task(world.client.prompts.prompt(session.id, request("begin")))
        while not world.server.bodies:
            await asyncio.sleep(0.005)
        second = asyncio.create_task(
            world.client.prompts.prompt(session.id, request("second thoughts"), stored=stored.append)
        )
        while not stored:
            await asyncio.sleep(0)
        await asyncio.sleep(delay_ms / 1000)
        is_taken = await world.client.prompts.withdraw(session.id, stored[0])
        await asyncio.gather(first, second)
        messages = await world.client.messages.list(session.id)
        is_sent = "second thoughts" in json.dumps(world.server.bodies)
        assert is_sent is not is_taken
        assert (stored[0] in [one.info.id for one in messages]) is not is_taken


async def test_what_another_engine_withdrew_is_gone_once_the_turn_has_ended(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """The engine that runs the session removes it; its own list is not asked for before the session is free."""
    paths = find_paths(environ)
    answer = Answer(text="one two three four five", delay_ms=40)
    async with opened(environ, tmp_path, answer, settings={"model": "fake/fake-model"}) as world:
        content = {"provider": provider_config(world.server.base_url), "username": "other"}
        async with open_client({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}, tmp_path) as other:
            session = await world.client.sessions.create(CreateSession())
            first = asyncio.create_task(world.client.prompts.prompt(session.id, request("begin")))
            while not world.server.bodies:
                await asyncio.sleep(0.005)
            stored = asyncio.get_running_loop().create_future()
            waiting = request("later").changed(delivery="queue")
            second = asyncio.create_task(
                world.client.prompts.prompt(session.id, waiting, stored=lambda one: stored.set_result(one))
            )
            file = paths.storage / "message" / session.id / f"{await stored}.json"
            assert file.exists() and await other.prompts.withdraw(session.id, await stored)
            second.cancel()  # else it starts a run, which removes the request too
            await first
            locks = Locks(paths)
            while locks.is_running(session.id):
                await asyncio.sleep(0.01)
            assert not file.exists()
            assert await stored not in [one.info.id for one in await world.client.messages.list(session.id)]
