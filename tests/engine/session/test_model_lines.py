"""What the user reads of the model that answers: left out attachments, unlisted names, a model that is not there any more."""

import json
from pathlib import Path

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import FileInput, PromptInput, TextInput
from opencode_tui.schema.error import ModelNotFoundError
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.model import COPILOT_WARNING, MODEL_TITLE, ModelRef
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import RetryPart
from opencode_tui.text.retry import past_reason
from tests.support.provider.json_server import always, serve_json
from tests.support.provider.local_fakes import OLLAMA
from tests.support.provider.model_script import Answer, failure
from tests.support.provider.model_server import ModelServer
from tests.support.world.engine import World, opened

TEXT_ONLY = ModelRef(provider_id="fake", model_id="text-only")
PLAIN = ModelRef(provider_id="fake", model_id="plain")
OLD = ModelRef(provider_id="fake", model_id="older")
COPILOT = ModelRef(provider_id="github-copilot", model_id="gpt-5.5")
NEW = ModelRef(provider_id="fake", model_id="fake-model")
MODELS = {"fake": {"text-only": {"attachment": False}, "plain": {}}}

COMPLETE = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


def picture(name: str) -> FileInput:
    return FileInput(mime="image/png", filename=name, url=f"data:image/png;base64,{'A' * 100}")


class Lines:
    """The lines about the model that screens show."""

    def __init__(self, world: World) -> None:
        self._events = world.client.events()

    def read(self) -> list[str]:
        found: list[str] = []
        while (envelope := self._events.poll()) is not None:
            event = envelope.event
            if isinstance(event, ScreenToastShown) and event.title == MODEL_TITLE:
                found.append(event.message)
        return found


@pytest.mark.slow
async def test_a_model_that_is_not_known_to_accept_images_gets_none_and_that_is_said_once(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path, models=MODELS) as world:
        lines = Lines(world)
        session = await world.prompt("look", picture("a.png"), model=TEXT_ONLY)
        assert lines.read() == [
            "a.png left out: fake/text-only is not known to accept images and documents "
            "(provider.fake.models.text-only.attachment: true sends them)"
        ]
        assert "data:image" not in json.dumps(world.server.bodies)
        await world.prompt("go on", session=session, model=TEXT_ONLY)
        assert lines.read() == []
        await world.prompt("more", picture("b.png"), picture("c.png"), session=session, model=TEXT_ONLY)
        assert [line.partition(":")[0] for line in lines.read()] == ["2 attachments left out"]


@pytest.mark.fast_cases("refusal2", "refusal3")
@pytest.mark.parametrize(
    "refusal",
    [
        failure(404, "No endpoints found that support image input"),
        failure(400, "Invalid content type. image_url is only supported by certain models."),
        failure(400, "plain is not a multimodal model"),
        failure(500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        failure(400, "Failed to deserialize the JSON body: messages[1]: unknown variant `image_url`, expected `text`"),
        failure(400, "this model does not support image inputs"),
    ],
)
async def test_an_unknown_model_gets_images_and_falls_back_once_when_its_provider_refuses(
    refusal: Answer, environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path, refusal, Answer(text="seen"), models=MODELS) as world:
        session = await world.prompt("look", picture("a.png"), model=PLAIN)
        assert await world.answer(session) == "seen"
        await world.prompt("more", session=session, model=PLAIN)
        sent = [json.dumps(body["messages"]).count('"image_url": {') for body in world.server.bodies]
        assert sent == [1, 0, 0]
        (retry,) = [part for part in await world.parts(session) if isinstance(part, RetryPart)]
        assert past_reason("fake", retry) == "fake rejected an image or document; those so far are left out"


@pytest.mark.slow
async def test_an_older_session_goes_on_with_the_default_where_its_model_is_not_there(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path, models={"fake": {"older": {}}}) as world:
        session = await world.prompt("first", model=OLD)
    async with opened(environ, tmp_path) as world:
        lines = Lines(world)
        await world.prompt("second", session=session, model=OLD)
        said = "fake/older of this session is not available here; fake/fake-model goes on (/models chooses another)"
        assert lines.read() == [said]
        await world.prompt("third", session=session, model=OLD)
        await world.client.prompts.prompt(session.id, PromptInput(parts=[TextInput(text="fourth")]))
        assert lines.read() == [], "it is said once"
        answered = [one.info for one in await world.messages(session) if isinstance(one.info, AssistantMessage)]
        assert [one.model_id for one in answered] == ["older", "fake-model", "fake-model", "fake-model"]


async def test_an_older_session_can_be_compacted_and_described_without_its_model(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path, models={"fake": {"older": {}}}) as world:
        session = await world.prompt("first", model=OLD)
    async with opened(environ, tmp_path) as world:
        assert (await world.client.context.items(session.id)).model == NEW
        await world.client.context.compact(session.id, CompactSession())
        assert {body["model"] for body in world.server.bodies} == {"fake-model"}


async def test_a_session_whose_provider_has_no_key_goes_on_with_the_default(
    environ: dict[str, str], tmp_path: Path
) -> None:
    claude = ModelRef(provider_id="anthropic", model_id="claude-sonnet-5-5")
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        no_reply = PromptInput(model=claude, no_reply=True, parts=[TextInput(text="imported")])
        await world.client.prompts.prompt(session.id, no_reply)
        lines = Lines(world)
        await world.client.prompts.prompt(session.id, PromptInput(model=claude, parts=[TextInput(text="go on")]))
        assert [line.partition(";")[0] for line in lines.read()] == [f"{claude} of this session is not available here"]


async def test_a_model_that_the_session_never_used_is_not_replaced(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("first")
        with pytest.raises(ModelNotFoundError, match=r"no model fake/never; add it to provider\.fake\.models"):
            await world.prompt("second", session=session, model=ModelRef(provider_id="fake", model_id="never"))


async def test_an_unlisted_name_runs_and_what_is_assumed_is_said_once(environ: dict[str, str], tmp_path: Path) -> None:
    name = ModelRef(provider_id="groq", model_id="openai/gpt-oss-400b")
    with ModelServer() as server:
        options = {"baseURL": server.url("openai"), "apiKey": "fake-key-for-tests"}
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"groq": {"options": options}}})}
        async with open_client(variables, tmp_path) as client:
            world = World(client, server)
            lines = Lines(world)
            session = await world.prompt("hello", model=name)
            await world.prompt("again", session=session, model=name)
            assert lines.read() == [
                "groq/openai/gpt-oss-400b is not listed: the limits of openai/gpt-oss-120b are assumed, its price is unknown; "
                "provider.groq.models.openai/gpt-oss-400b sets limit and cost"
            ]


@pytest.mark.slow
async def test_copilot_says_once_whose_identity_its_requests_have(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        lines, session = Lines(world), await world.new_session()
        for text in ("first", "second"):
            no_reply = PromptInput(model=COPILOT, no_reply=True, parts=[TextInput(text=text)])
            await world.client.prompts.prompt(session.id, no_reply)
        assert [line for line in lines.read() if "VS Code" in line] == [COPILOT_WARNING]


@pytest.mark.slow
@pytest.mark.usefixtures("patience_with_local_servers")
async def test_a_small_context_of_a_server_on_this_machine_is_said_once_and_known_when_it_has_loaded_the_model(
    environ: dict[str, str], tmp_path: Path
) -> None:
    routes = {**OLLAMA, "POST /v1/chat/completions": always(COMPLETE)}
    del environ["OPENCODE_DISABLE_LOCAL_MODELS"]
    others = ["lmstudio", "llamacpp", "vllm"]
    with serve_json(routes) as server:
        environ["OLLAMA_HOST"] = f"127.0.0.1:{server.port}"
        async with opened(environ, tmp_path, settings={"disabled_providers": others}) as world:
            lines = Lines(world)
            model = ModelRef(provider_id="ollama", model_id="gemma3:4b")
            session = await world.prompt("hi", model=model)
            assert await world.answer(session) == "Hello."
            [line] = lines.read()
            assert "4,096 tokens on a machine with less than 24 GiB" in line and "OLLAMA_CONTEXT_LENGTH=64000" in line
            routes["GET /api/ps"] = always({"models": [{"name": "gemma3:4b", "context_length": 65536}]})
            await world.prompt("go on", session=session, model=model)
            assert lines.read() == []
            listed = {one.model_id: one.limit.context for one in await world.client.catalog.models()}
            assert listed["gemma3:4b"] == 65536
