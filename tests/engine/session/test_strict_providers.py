"""A turn with tools, an image and reasoning, before and after a switch of the model: no provider rejects a field of it."""

import base64
import json
from itertools import pairwise

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.request import FileInput, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from tests.support.provider import strict_anthropic, strict_chat, strict_gemini, strict_openai, strict_responses
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.wire_prefix import share
from tests.support.world.engine import World

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
IMAGE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
PDF = "data:application/pdf;base64,JVBERi0xLjQK"
READ = Call("read", {"filePath": "a.txt"})
LOOK = Call("read", {"filePath": "a.png"})
NPM = {"anthropic": "@ai-sdk/anthropic", "openai": "@ai-sdk/openai", "google": "@ai-sdk/google"}
PATHS = {"anthropic": "anthropic", "openai": "responses", "google": "gemini"}
MODELS = {
    "mistral": ("mistral-medium-latest", "devstral-latest", "high"),
    "groq": ("openai/gpt-oss-120b", "qwen/qwen3.8-27b", "high"),
    "perplexity": ("sonar-reasoning-pro", "sonar-pro", None),
    "openrouter": ("anthropic/claude-sonnet-5", "openai/gpt-5.6", "high"),
    "xai": ("grok-4.7", "grok-code-fast-1", "high"),
    "deepseek": ("deepseek-v4-pro", "deepseek-chat", "high"),
    "cerebras": ("gpt-oss-120b", "qwen-3-32b", "high"),
    "anthropic": ("claude-sonnet-5", "claude-haiku-4-5", "high"),
    "openai": ("gpt-5.6", "gpt-4.1", "high"),
    "google": ("gemini-3.1-pro-preview", "gemini-2.5-flash", "high"),
    "zai": ("glm-5.3", "glm-4.6", "high"),
    "moonshotai": ("kimi-k3", "kimi-k2.6", "high"),
}
"""A model with a variant, and another one, of twelve providers."""

STRICT = {
    "anthropic": strict_anthropic.violations,
    "openai": strict_responses.violations,
    "google": strict_gemini.violations,
    "zai": strict_openai.violations,
}


def settings(server: ModelServer) -> dict[str, object]:
    """Return the settings in which every provider is at the scripted server, and each of its models accepts everything."""
    model = {
        "limit": {"context": 200_000, "output": 8_000},
        "tool_call": True,
        "reasoning": True,
        "attachment": True,
        "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
    }
    providers = {
        name: {
            "npm": NPM.get(name, "@ai-sdk/openai-compatible"),
            "options": {"baseURL": f"{server.base_url}/{PATHS.get(name, 'openai')}/v1", "apiKey": "k"},
            "models": dict.fromkeys((first, second), model),
        }
        for name, (first, second, _) in MODELS.items()
    }
    return {"provider": {**provider_config(server.base_url), **providers}}


@pytest.mark.slow
@pytest.mark.parametrize("provider", MODELS)
async def test_no_field_is_rejected_before_and_after_a_switch_of_the_model(environ, tmp_path, provider):
    (tmp_path / "a.txt").write_text("inside")
    (tmp_path / "a.png").write_bytes(PNG)
    first, second, variant = MODELS[provider]
    turn = (
        Answer(reasoning="I look.", text="Reading.", calls=(READ, LOOK)),
        Answer(reasoning="So.", text="It says inside."),
    )
    with ModelServer() as server:
        server.script(*turn * 4)
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings(server))}
        async with open_client(variables, tmp_path) as client:
            world = World(client, server)
            session = await world.new_session()
            for name, model, effort in (
                (provider, first, variant),
                ("fake-anthropic", "fake-model", None),
                (provider, second, None),
                (provider, first, variant),
            ):
                files = [
                    FileInput(mime="image/png", url=IMAGE, filename="a.png"),
                    FileInput(mime="application/pdf", url=PDF),
                ]
                asked = PromptInput(
                    model=ModelRef(provider_id=name, model_id=model),
                    variant=effort,
                    parts=[TextInput(text="look"), *files],
                )
                await client.prompts.prompt(session.id, asked)
        bodies = [sent.body for sent in server.requests if sent.api == PATHS.get(provider, "openai")]
    own = [body for body in bodies if body.get("model") != "fake-model"]
    assert len(own) == 6
    check = STRICT.get(provider)
    assert [check(body) if check else strict_chat.violations(provider, body) for body in own] == [[]] * 6


@pytest.mark.fast_cases("moonshotai")
@pytest.mark.parametrize("provider", ["deepseek", "moonshotai"])
async def test_each_request_has_a_thought_of_each_answer_and_begins_with_the_request_before(
    environ, tmp_path, provider
):
    """Also of answers that another model gave, of those without a thought, and of whole turns without calls."""
    (tmp_path / "a.txt").write_text("inside")
    model = MODELS[provider][0]
    turns = (
        ("fake", "fake-model", (Answer(calls=(READ,)), Answer(text="It says inside."))),
        (provider, model, (Answer(reasoning="I look.", text="Reading.", calls=(READ,)), Answer(text="So."))),
        (provider, model, (Answer(calls=(READ,)), Answer(reasoning="Hm.", text="Again."))),
        (provider, model, (Answer(text="Only a text."),)),
        (provider, model, (Answer(reasoning="Well.", text="The end."),)),
    )
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings(server))}
        async with open_client(variables, tmp_path) as client:
            world = World(client, server)
            session = await world.new_session()
            for name, one, answers in turns:
                server.script(*answers)
                await world.prompt("go on", session=session, model=ModelRef(provider_id=name, model_id=one))
        own = [body for body in server.bodies if body["model"] == model]
    assert [strict_chat.violations(provider, body) for body in own] == [[]] * 6
    assert [share("openai", one, two) for one, two in pairwise(own)] == [1.0] * 5
    empty = {"deepseek": "", "moonshotai": " "}[provider]
    thoughts = [one["reasoning_content"] for one in own[-1]["messages"] if one["role"] == "assistant"]
    assert thoughts == [empty, empty, "I look.", empty, empty, "Hm.", empty]
    others = [body for body in server.bodies if body["model"] != model]
    assert "reasoning_content" not in json.dumps(others)


def test_a_strict_provider_rejects_what_the_others_accept():
    user = {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": IMAGE}}],
    }
    said = {"role": "assistant", "content": "b", "reasoning_content": "hm"}
    body = {"model": "m", "messages": [user, said, user], "stream": True, "stream_options": {"include_usage": True}}
    found = {name: strict_chat.violations(name, body) for name in strict_chat.RULES}
    assert [name for name, problems in found.items() if "body.stream_options: not permitted" in problems] == [
        "mistral", "groq", "perplexity",
    ]  # fmt: skip
    assert found["deepseek"] == ["messages[0].content: a part 'image_url'", "messages[2].content: a part 'image_url'"]
    assert found["moonshotai"] == []
    assert (found["openrouter"], found["xai"]) == ([], [])
    assert found["mistral"][-1] == "messages[1].reasoning_content: not permitted"
