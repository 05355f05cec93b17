"""What the settings remove from requests, for servers that reject fields that they do not know."""

from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_script import Answer
from tests.support.world.engine import opened


async def test_null_in_the_settings_removes_what_a_request_always_has(environ, tmp_path):
    options = {"stream_options": None, "promptCacheKey": None, "maxTokens": None}
    strict = {"strict": {"limit": {"context": 9_000, "output": 900}, "options": options}}
    async with opened(environ, tmp_path, Answer(text="ok"), models={"fake": strict}) as world:
        session = await world.new_session()
        model = ModelRef(provider_id="fake", model_id="strict")
        await world.client.prompts.prompt(session.id, PromptInput(model=model, parts=[TextInput(text="hi")]))
        (body,) = [body for body in world.server.bodies if body["model"] == "strict" and "tools" in body]
    assert body.keys() == {"model", "messages", "stream", "tools"}
