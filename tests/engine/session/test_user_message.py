"""User messages: their agent, model and variant."""

import pytest

from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import ModelRef
from tests.support.world.engine import MODEL, opened

OTHER = ModelRef(provider_id="fake-anthropic", model_id="fake-model")
OWN = {"agent": {"deep": {"mode": "primary", "model": str(MODEL), "variant": "medium"}}}


def request(**fields):
    return PromptInput(agent="deep", no_reply=True, parts=[TextInput(text="x")], **fields)


@pytest.mark.parametrize(
    ("fields", "model", "variant"),
    [
        ({"model": OTHER}, OTHER, None),
        ({}, MODEL, "medium"),
        ({"variant": "high"}, MODEL, "high"),
        ({"model": OTHER, "variant": "high"}, OTHER, "high"),
    ],
)
async def test_an_agents_variant_belongs_to_its_own_model(environ, tmp_path, fields, model, variant):
    async with opened(environ, tmp_path, settings=OWN) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request(**fields))
        (message,) = await world.messages(session)
        assert (message.info.model, message.info.variant, message.info.agent) == (model, variant, "deep")


async def test_an_agents_variant_that_the_model_does_not_have_is_not_used(environ, tmp_path):
    agent = {"deep": {"mode": "primary", "variant": "xhigh"}}
    async with opened(environ, tmp_path, settings={"agent": agent}) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request(model=MODEL))
        (message,) = await world.messages(session)
        assert message.info.variant is None
        with pytest.raises(ConfigError, match="has no variant 'huge'; choose one of low, medium, high"):
            await world.client.prompts.check(request(model=MODEL, variant="huge"))
        with pytest.raises(ConfigError, match="fake-anthropic/fake-model has no variants"):
            await world.client.prompts.check(request(model=OTHER, variant="high"))


async def test_a_request_without_a_model_is_answered_by_the_one_before(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        for model in (OTHER, None):
            given = PromptInput(model=model, parts=[TextInput(text="x")])
            await world.client.prompts.prompt(session.id, given)
        assert [request.api for request in world.server.requests] == ["anthropic", "anthropic"]
