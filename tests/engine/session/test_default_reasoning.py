"""Requests of agents ask for the reasoning that suits their model; others do not, and whatever the user sets wins."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import ConfigError, ProviderError
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import OutputFormat
from opencode_tui.schema.session.part import RetryPart
from opencode_tui.storage.paths import Paths
from opencode_tui.text.retry import past_reason
from tests.support.provider import strict_anthropic, strict_chat, strict_gemini, strict_openai, strict_responses
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.wire_prefix import share
from tests.support.world.engine import World, opened

LIMIT = {"context": 400_000, "output": 128_000}
BUDGET = {"type": "enabled", "budget_tokens": 16_000}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
SUMMARY = {"summary": "auto"}
ROOM = {"openai": "max_tokens", "responses": "max_output_tokens", "anthropic": "max_tokens"}
SENT: tuple[tuple[str, str, dict[str, Any], int], ...] = (
    # provider, model, what its request has of reasoning, room for the answer
    ("fake-anthropic", "claude-sonnet-4-5", {"thinking": BUDGET}, 48_000),
    ("fake-anthropic", "claude-haiku-4-5", {"thinking": {**BUDGET, "budget_tokens": 8_000}}, 40_000),
    ("fake-anthropic", "claude-opus-4-5", {"thinking": BUDGET, "output_config": {"effort": "high"}}, 48_000),
    ("fake-anthropic", "claude-opus-4-6", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}, 64_000),
    ("fake-anthropic", "claude-opus-4-7", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}, 64_000),
    ("fake-anthropic", "claude-fable-5-1", {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}, 64_000),
    ("fake-anthropic", "claude-fable-5-2", {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}, 64_000),
    ("fake-anthropic", "claude-sonnet-5-5", {"thinking": ADAPTIVE, "output_config": {"effort": "medium"}}, 64_000),
    ("fake-anthropic", "fake-model", {}, 32_000),
    ("fake-responses", "gpt-5.1", {"reasoning": {"effort": "medium", **SUMMARY}}, 32_000),
    ("fake-responses", "gpt-5.6-sol", {"reasoning": {"effort": "medium", **SUMMARY}}, 32_000),
    ("fake-responses", "gpt-6.2-astra", {"reasoning": {"effort": "medium", **SUMMARY}}, 32_000),
    ("fake-responses", "o4-mini", {"reasoning": {"effort": "medium", **SUMMARY}}, 32_000),
    ("fake-responses", "gpt-5-pro", {}, 32_000),
    ("fake-responses", "gpt-4.1", {}, 32_000),
    ("fake-gemini", "gemini-3.1-pro-preview", {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"}}, 32_000),
    ("fake-gemini", "gemini-3.8-flash", {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "medium"}}, 32_000),
    ("fake-gemini", "gemini-2.5-pro", {"thinkingConfig": {"includeThoughts": True}}, 32_000),
    ("fake", "gpt-5.2", {"reasoning_effort": "medium"}, 32_000),
    ("fake", "gpt-5.6-sol", {}, 32_000),
    ("fake", "claude-opus-5-5", {"reasoning_effort": "medium"}, 32_000),
    ("fake", "qwen3.8-27b", {}, 32_000),
    ("fake", "gpt-oss-120b", {}, 32_000),
    ("fake", "fake-model", {}, 32_000),
    ("xai", "grok-4.7", {"reasoning_effort": "high"}, 32_000),
    ("mistral", "mistral-large-latest", {"reasoning_effort": "medium"}, 32_000),
    ("mistral", "mistral-medium-latest", {"reasoning_effort": "high"}, 32_000),
    ("mistral", "devstral-latest", {}, 32_000),
    ("deepseek", "deepseek-v4-pro", {"reasoning_effort": "high"}, 32_000),
    ("zai", "glm-5.3", {"reasoning_effort": "max", "thinking": {"type": "enabled", "clear_thinking": False}}, 32_000),
    ("zai", "glm-4.6", {"thinking": {"type": "enabled"}}, 32_000),
    ("moonshotai", "kimi-k3", {}, 32_000),
    ("groq", "openai/gpt-oss-120b", {"reasoning_effort": "medium"}, 32_000),
    ("openrouter", "z-ai/glm-5.3", {"reasoning": {"effort": "high"}}, 32_000),
    ("openrouter", "anthropic/claude-sonnet-5.5", {"reasoning": {"effort": "medium"}}, 32_000),
    ("openrouter", "openai/gpt-6.2-sol", {"reasoning": {"effort": "medium"}}, 32_000),
)  # fmt: skip
STRICT = {
    "anthropic": strict_anthropic.violations,
    "responses": strict_responses.violations,
    "gemini": strict_gemini.violations,
}
NAMES = ("thinking", "output_config", "reasoning", "reasoning_effort")


def reasoning_of(body: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a request that say how much to reason."""
    inner = body.get("generationConfig", {})
    found = {name: body[name] for name in NAMES if name in body}
    return {**found, **{name: inner[name] for name in ("thinkingConfig",) if name in inner}}


def settings_of(server: ModelServer) -> dict[str, Any]:
    """Return settings in which each model of the table is at the scripted server."""
    listed = provider_config(server.base_url, has_all=True)
    described = {**listed["fake"]["models"]["fake-model"], "limit": LIMIT}
    chat = {**listed["fake"]["options"]}
    for provider, model, *_ in SENT:
        listed.setdefault(provider, {"npm": "@ai-sdk/openai-compatible", "options": chat, "models": {}})
        listed[provider]["models"] = {**listed[provider]["models"], model: described}
    return {"provider": listed}


async def ask(world: World, provider: str, model: str, **fields: Any) -> Any:
    session = await world.new_session()
    ref = ModelRef(provider_id=provider, model_id=model)
    await world.client.prompts.prompt(session.id, PromptInput(model=ref, parts=[TextInput(text="go")], **fields))
    return session


async def test_each_model_gets_its_default_in_its_format_and_no_strict_provider_rejects_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """One engine for all, because only the requests differ."""
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings_of(server))}
        async with open_client(variables, tmp_path) as client:
            world = World(client, server)
            for provider, model, expected, room in SENT:
                server.script_anew(Answer(text="yes"))
                await ask(world, provider, model)
                sent = server.requests[-1]
                assert reasoning_of(sent.body) == expected, (provider, model)
                most = sent.body.get("generationConfig", {}).get("maxOutputTokens") or sent.body.get(
                    "max_completion_tokens", sent.body.get(ROOM.get(sent.api, ""))
                )
                assert most == room, (provider, model)
                check = STRICT.get(sent.api) or (
                    (lambda body, name=provider: strict_chat.violations(name, body))
                    if provider in strict_chat.RULES
                    else strict_openai.violations
                )
                assert check(sent.body) == [], (provider, model)
            titles = [reasoning_of(sent.body) for sent in server.titles]
        assert len(server.requests) == len(SENT)
    asked = [body.get("reasoning_effort") or body.get("reasoning", {}).get("effort") for body in titles]
    assert {one for one in asked if one} <= {"none", "minimal", "low"}, "titles get the least"
    assert titles and all(body.get("thinking", {}).get("type") in (None, "disabled", "enabled") for body in titles)
    assert not any("budget_tokens" in body.get("thinking", {}) for body in titles)


GPT: dict[str, Any] = {"gpt-5.2": {"tool_call": True, "limit": LIMIT}}


async def test_a_subagent_reasons_as_its_model_does(environ: dict[str, str], tmp_path: Path) -> None:
    task = Call("task", {"description": "find", "prompt": "find x", "subagent_type": "explore"})
    answers = Answer(calls=(task,)), Answer(text="found"), Answer(text="done")
    async with opened(environ, tmp_path, *answers, models={"fake": GPT}) as world:
        await ask(world, "fake", "gpt-5.2")
        assert [body.get("reasoning_effort") for body in world.server.bodies] == ["medium"] * 3


@pytest.mark.parametrize(
    ("model", "agent", "variant", "sent"),
    [
        ({"variant": "high"}, {}, None, {"reasoning_effort": "high"}),
        ({"variant": "high"}, {}, "low", {"reasoning_effort": "low"}),
        ({"variant": "provider"}, {}, None, {}),
        ({}, {}, "provider", {}),
        ({"options": {"reasoningEffort": None}}, {}, None, {}),
        ({"options": {"reasoning_effort": "low"}}, {}, None, {"reasoning_effort": "low"}),
        ({"reasoning": False}, {}, None, {}),
        ({"variants": {"medium": {"disabled": True}}}, {}, None, {}),
        ({"variants": {"medium": {"reasoningEffort": "minimal"}}}, {}, None, {"reasoning_effort": "minimal"}),
        ({}, {"variant": "low"}, None, {"reasoning_effort": "low"}),
        ({}, {"variant": "low"}, "xhigh", {"reasoning_effort": "xhigh"}),
        ({}, {"variant": "provider"}, None, {}),
        ({}, {"options": {"reasoningEffort": "high"}}, None, {"reasoning_effort": "high"}),
        ({}, {"options": {"reasoningEffort": None}}, None, {}),
        ({}, {"options": {"textVerbosity": "low"}}, None, {"reasoning_effort": "medium"}),
    ],
)
async def test_what_the_user_sets_wins_over_the_default(
    environ: dict[str, str],
    tmp_path: Path,
    model: dict[str, Any],
    agent: dict[str, Any],
    variant: str | None,
    sent: dict[str, Any],
) -> None:
    own = {"agent": {"own": {"mode": "primary", **agent}}}
    models = {"fake": {"gpt-5.2": {**GPT["gpt-5.2"], **model}}}
    async with opened(environ, tmp_path, Answer(text="yes"), models=models, settings=own) as world:
        await ask(world, "fake", "gpt-5.2", agent="own", variant=variant)
        assert reasoning_of(world.server.bodies[-1]) == sent


async def test_a_temperature_of_the_agent_leaves_claude_without_thinking_which_rules_it_out(
    environ: dict[str, str], tmp_path: Path
) -> None:
    own = {"agent": {"warm": {"mode": "primary", "temperature": 0.3}}}
    models = {"fake-anthropic": {"claude-sonnet-4-5": {"limit": LIMIT}}}
    async with opened(environ, tmp_path, models=models, settings=own) as world:
        for agent, temperature, thinking in (("warm", 0.3, None), ("build", None, BUDGET)):
            world.server.script_anew(Answer(text="yes"))
            await ask(world, "fake-anthropic", "claude-sonnet-4-5", agent=agent)
            body = world.server.bodies[-1]
            assert (body.get("temperature"), body.get("thinking")) == (temperature, thinking)


async def test_a_default_of_the_settings_that_the_model_does_not_have_is_named_once_and_nothing_is_sent(
    environ: dict[str, str], tmp_path: Path
) -> None:
    models = {"fake": {"gpt-5.2": {**GPT["gpt-5.2"], "variant": "huge"}}}
    async with opened(environ, tmp_path, Answer(text="yes"), Answer(text="yes"), models=models) as world:
        events = world.client.events()
        for _ in range(2):
            await ask(world, "fake", "gpt-5.2")
            assert reasoning_of(world.server.bodies[-1]) == {}
        said: list[str] = []
        while (envelope := events.poll()) is not None:
            if isinstance(envelope.event, ScreenToastShown):
                said.append(envelope.event.message)
        (line,) = [one for one in said if "huge" in one]
        assert line.startswith("fake/gpt-5.2 has no variant 'huge'; choose one of none, low, medium")
        assert line.endswith("(provider.fake.models.gpt-5.2.variant)")
        model = ModelRef(provider_id="fake", model_id="gpt-5.2")
        with pytest.raises(ConfigError, match="has no variant 'huge'"):
            await world.client.prompts.check(PromptInput(model=model, variant="huge", parts=[]))


@pytest.mark.parametrize(
    ("provider", "model", "name"),
    [
        ("fake", "gpt-5.2", "openai"),
        ("fake-responses", "gpt-5.2", "responses"),
        ("fake-anthropic", "claude-opus-4-7", "anthropic"),
        ("fake-gemini", "gemini-3.1-pro-preview", "gemini"),
    ],
)
async def test_another_effort_changes_no_byte_of_the_conversation_and_is_named_as_what_breaks_the_cache(
    environ: dict[str, str], tmp_path: Path, provider: str, model: str, name: str
) -> None:
    models = {provider: {model: {"tool_call": True, "limit": LIMIT}}}
    ref = ModelRef(provider_id=provider, model_id=model)
    async with opened(environ, tmp_path, has_all=True, models=models) as world:
        session = await world.new_session()
        for variant in (None, None, "low"):
            world.server.script_anew(Answer(text="yes"))
            asked = PromptInput(model=ref, parts=[TextInput(text="go on")], variant=variant)
            await world.client.prompts.prompt(session.id, asked)
        first, second, third = world.server.bodies
        assert (share(name, first, second), share(name, second, third)) == (1.0, 1.0)
        assert reasoning_of(first) == reasoning_of(second) != reasoning_of(third)
        causes = [one.cause for one in (await world.client.context.items(session.id)).prefix.breaks]
    default = {"gpt-5.2": "medium", "claude-opus-4-7": "high"}.get(model)
    assert causes == ([f"the effort changed from {default} to low"] if default else [])


async def test_a_session_of_an_older_version_continues_without_a_break_that_no_one_made(
    environ: dict[str, str], tmp_path: Path, paths: Paths
) -> None:
    """What it kept of its newest request has no effort, and that request asked for none."""
    models = {"fake": GPT}
    ref = ModelRef(provider_id="fake", model_id="gpt-5.2")
    async with opened(environ, tmp_path, Answer(text="yes"), models=models) as world:
        session = await world.prompt("go", model=ref)
    (file,) = paths.data.rglob(f"session_prefix/{session.id}*")
    stored = json.loads(file.read_bytes())
    assert stored["last"].pop("effort") == "medium"
    file.write_text(json.dumps(stored))
    async with opened(environ, tmp_path, Answer(text="yes"), models=models) as world:
        await world.prompt("go on", session=session, model=ref)
        assert (await world.client.context.items(session.id)).prefix.breaks == []
        assert world.server.bodies[-1]["reasoning_effort"] == "medium"


async def test_a_structured_answer_is_demanded_of_claude_without_thinking_which_rules_that_out(
    environ: dict[str, str], tmp_path: Path
) -> None:
    models = {"fake-anthropic": {"claude-opus-4-7": {"tool_call": True, "limit": LIMIT}}}
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = OutputFormat.model_validate({"type": "json_schema", "schema": schema})
    answers = Answer(calls=(Call("StructuredOutput", {"a": "b"}),)), Answer(text="yes")
    async with opened(environ, tmp_path, *answers, models=models) as world:
        await ask(world, "fake-anthropic", "claude-opus-4-7", format=form)
        body = world.server.bodies[0]
        assert body["tool_choice"] == {"type": "any"} and reasoning_of(body) == {}


@pytest.mark.parametrize(
    "words",
    [
        "Unrecognized request argument supplied: reasoning_effort",
        "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
        "UnsupportedParamsError: openai does not support parameters: ['reasoning_effort']",
    ],
)
async def test_a_gateway_that_rejects_the_default_gets_the_request_without_it_and_is_not_asked_again(
    environ: dict[str, str], tmp_path: Path, words: str
) -> None:
    answers = failure(400, words), Answer(text="yes"), Answer(text="again")
    async with opened(environ, tmp_path, *answers, models={"fake": GPT}) as world:
        session = await ask(world, "fake", "gpt-5.2")
        assert await world.answer(session) == "yes"
        (retry,) = [part for part in await world.parts(session) if isinstance(part, RetryPart)]
        assert past_reason("fake", retry) == "fake rejected the default reasoning of the model; it is left out"
        await world.prompt("go on", session=session, model=ModelRef(provider_id="fake", model_id="gpt-5.2"))
        assert [reasoning_of(body) for body in world.server.bodies] == [{"reasoning_effort": "medium"}, {}, {}]


async def test_a_variant_that_the_user_chose_is_not_left_out(environ: dict[str, str], tmp_path: Path) -> None:
    words = "Unrecognized request argument supplied: reasoning_effort"
    async with opened(environ, tmp_path, failure(400, words), models={"fake": GPT}) as world:
        with pytest.raises(ProviderError, match="--variant provider"):
            await ask(world, "fake", "gpt-5.2", variant="high")
        assert len(world.server.bodies) == 1


SOL = {"gpt-5.6-sol": {"tool_call": True, "reasoning": True, "limit": LIMIT}}
ASTRA = {"gpt-6-astra": {"tool_call": True, "reasoning": True, "limit": LIMIT}}


def own_address(server: ModelServer, api: str, **more: Any) -> dict[str, Any]:
    options = {"baseURL": f"{server.base_url}/{api}/v1", "apiKey": "k", **more}
    return {"provider": {"openai": {"options": options, "models": {**SOL, **ASTRA}}}}


async def test_gpt_from_56_on_gets_responses_at_an_address_of_the_settings(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(own_address(server, "responses"))}
        async with open_client(variables, tmp_path) as client:
            server.script(Answer(text="yes"))
            await ask(World(client, server), "openai", "gpt-5.6-sol")
        (sent,) = server.requests
    assert (sent.api, sent.body["reasoning"]["effort"]) == ("responses", "medium")


async def test_an_address_without_responses_gets_chat_completions_without_reasoning_and_that_is_said_once(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """The scripted server answers 404 to `/openai/v1/responses`, as a gateway does."""
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(own_address(server, "openai"))}
        async with open_client(variables, tmp_path) as client:
            world, events = World(client, server), client.events()
            for model in ("gpt-5.6-sol", "gpt-5.6-sol", "gpt-6-astra"):
                server.script_anew(Answer(text="yes"))
                session = await ask(world, "openai", model)
                assert await world.answer(session) == "yes"
            said: list[str] = []
            while (envelope := events.poll()) is not None:
                if isinstance(envelope.event, ScreenToastShown):
                    said.append(envelope.event.message)
        assert [sent.api for sent in server.requests] == ["openai"] * 3
        assert [body.get("reasoning_effort") for body in server.bodies] == ["none", "none", None]
        assert [strict_openai.violations(body) for body in server.bodies] == [[]] * 3
    lines = [one for one in said if "/responses" in one]
    assert len(lines) == 1 and "openai/gpt-5.6-sol works without reasoning" in lines[0]
    assert lines[0].endswith("provider.openai.options.adapter: openai asks for chat completions at once")


async def test_a_model_that_the_address_does_not_have_is_no_reason_for_chat_completions(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with ModelServer() as server:
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(own_address(server, "responses"))}
        async with open_client(variables, tmp_path) as client:
            world = World(client, server)
            server.script(failure(404, "The model `gpt-5.6-sol` does not exist or you do not have access to it."))
            with pytest.raises(ProviderError, match="does not exist"):
                await ask(world, "openai", "gpt-5.6-sol")
        assert [sent.api for sent in server.requests] == ["responses"]


async def test_tools_with_an_effort_that_chat_completions_reject_have_a_remedy(
    environ: dict[str, str], tmp_path: Path
) -> None:
    words = "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions."
    async with opened(environ, tmp_path, failure(400, words), models={"fake": SOL}) as world:
        with pytest.raises(ProviderError, match=r"set provider\.fake\.options\.adapter: responses"):
            await ask(world, "fake", "gpt-5.6-sol", variant="high")
