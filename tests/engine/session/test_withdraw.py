"""A queued request is withdrawn or answered, never both, at any moment."""

import asyncio
import json

import pytest

from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_script import Answer
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
