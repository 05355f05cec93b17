"""Claims about what is known of models: variants, parameters, and how each wire format sends them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.engine.agent.families import ModelPrompts
from opencode_tui.engine.provider import model_facts
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.model_facts import effort_of, least_variant, with_facts
from opencode_tui.engine.provider.model_table import ModelTable, find_table
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import Adapter, Model, ModelRef, parse_model_ref
from tests.support.provider import reasoning_efforts
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.reasoning_efforts import Accepted, accepted
from tests.support.rows import each
from tests.support.world.engine import opened

DATA = Path(__file__).parent / "data"
CATALOG = Catalog(
    settings=CatalogSettings(),
    table=ModelTable(),
    keys=lambda _: "key",
    environment={},
    clock=lambda: 1_795_305_600_000,  # 2026-11-22: retired models are not listed
)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


KNOWN = rows("model_facts.jsonl")


def test_the_table_has_models_of_all_big_providers() -> None:
    assert len(KNOWN) > 100 and all(row["source"] for row in KNOWN)
    assert len({row["model"].partition("/")[0] for row in KNOWN}) >= 20


@pytest.mark.slow
@each("row", KNOWN, ids=lambda row: row["model"])
def test_a_model_has_its_family_its_variants_and_its_parameters(row: dict[str, Any]) -> None:
    ref = parse_model_ref(row["model"])
    assert ref is not None
    model = CATALOG.resolve(ref)
    parameters = model.parameters.to_dict()
    sources = parameters.pop("sources", [])
    assert "" not in sources and (sources or not (parameters or model.variants))
    if not model.temperature:
        assert parameters.pop("sampling") is False and not {"temperature", "topP"} & parameters.keys()
    found = {
        "model": row["model"],
        "adapter": model.adapter,
        "family": ModelPrompts().of(model).source.family,
        "variants": " ".join(model.variants),
        "default": model.default_variant or "",
        "temperature": model.temperature,
        "parameters": parameters,
        "source": row["source"],
    }
    assert found == row


def test_a_rule_names_a_default_that_one_of_its_models_has() -> None:
    """A misspelled default would be left out without a word."""
    table = json.loads((Path(model_facts.__file__).parent / "model_facts.json").read_bytes())
    named = {rule["set"]["default"] for rule in table["rules"] if rule["set"].get("default")}
    assert named == {row["default"] for row in KNOWN if row["default"]}
    assert all(row["default"] in row["variants"].split() for row in KNOWN if row["default"])


ADAPTERS: dict[str, Adapter] = {"openai": "responses", "anthropic": "anthropic", "google": "gemini"}


@each("row", accepted(), ids=lambda row: f"{row.provider}/{row.model}")
def test_no_model_rejects_what_an_agent_and_a_title_send(row: Accepted) -> None:
    model = with_facts(
        Model(provider_id=row.provider, model_id=row.model, adapter=ADAPTERS.get(row.provider, "openai"))
    )
    for options in (model.variants.get(model.default_variant or "", {}), least_variant(model)):
        effort = effort_of(options)
        off = {"off", "on", ""}
        assert effort in off or reasoning_efforts.violations(row.model, effort, row.provider) == []


LOCAL = ["gpt-oss-120b", "qwen3.5-27b", "deepseek-v4-flash", "glm-5.3", "mistral-medium-3.5", "minimax-m3.1-flash"]


@pytest.mark.parametrize("name", LOCAL)
def test_open_weights_on_a_server_nearby_get_no_default(name: str) -> None:
    addresses = {
        "near": "http://127.0.0.1:9/v1",
        "house": "http://192.168.0.7/v1",
        "lab": "https://llm.lab.internal/v1",
    }
    given: dict[str, Any] = {one: {"options": {"baseURL": url}} for one, url in addresses.items()}
    for provider in (*addresses, "ollama", "lmstudio", "llamacpp", "vllm"):
        made = Catalog(
            settings=CatalogSettings(provider=given), table=ModelTable(), keys=lambda _: "k", environment={}
        ).resolve(ModelRef(provider_id=provider, model_id=name))
        assert made.default_variant is None


CLAUDE_4 = {
    "claude-sonnet-4-5": "interleaved-thinking-2025-05-14",
    "claude-sonnet-4-20250514": "interleaved-thinking-2025-05-14",
    "claude-opus-4-1": "interleaved-thinking-2025-05-14",
    "claude-haiku-4-5-20251001": "interleaved-thinking-2025-05-14",
    "claude-opus-4-5": "effort-2025-11-24,interleaved-thinking-2025-05-14",
    "claude-opus-4-6": None,
    "claude-sonnet-5-5": None,
    "claude-3-7-sonnet-latest": None,
}


@pytest.mark.parametrize("name", CLAUDE_4)
def test_claude_4_thinks_between_calls_at_anthropics_own_host_only(name: str) -> None:
    def beta(host: str) -> str | None:
        model = with_facts(Model(provider_id="anthropic", model_id=name, adapter="anthropic"), host=host)
        return model.headers.get("anthropic-beta")

    assert beta("api.anthropic.com") == CLAUDE_4[name]
    assert "interleaved" not in (beta("gateway.example") or "")


PACKAGES: dict[str, tuple[str, Adapter]] = {
    "@ai-sdk/openai": ("openai", "responses"),
    "@ai-sdk/azure": ("azure", "litellm"),
    "@ai-sdk/anthropic": ("anthropic", "anthropic"),
    "@ai-sdk/google": ("google", "gemini"),
    "@ai-sdk/amazon-bedrock": ("amazon-bedrock", "litellm"),
    "@openrouter/ai-sdk-provider": ("openrouter", "openai"),
    "@ai-sdk/xai": ("xai", "openai"),
    "@ai-sdk/groq": ("groq", "openai"),
    "@ai-sdk/cerebras": ("cerebras", "openai"),
    "@ai-sdk/togetherai": ("togetherai", "openai"),
    "@ai-sdk/openai-compatible": ("local", "openai"),
    "@ai-sdk/mistral": ("mistral", "openai"),
}
LEFT_OUT = {
    # OpenCode adds these by the date of release in the settings, which was in the future when they were measured.
    "gpt-5": {"none", "xhigh"}, "o1": {"none", "xhigh"}, "o3": {"none", "xhigh"}, "o3-mini": {"none", "xhigh"},
    "o4-mini": {"none", "xhigh"}, "openai/gpt-5": {"none", "xhigh"},
    "openai/gpt-oss-120b": {"none", "minimal", "xhigh"},
    # It does not know that these do not reason, or reject an effort.
    "gpt-4.1": {"none", "low", "medium", "high", "xhigh"}, "grok-4": {"low", "medium", "high"},
    "grok-code-fast-1": {"low", "medium", "high"}, "mistral-large": {"low", "medium", "high"},
    "x-ai/grok-4": {"low", "medium", "high"},
    # Google documents low and high only.
    "gemini-3-pro-preview": {"medium"}, "google/gemini-3-pro-preview": {"medium"},
}  # fmt: skip


@each("row", rows("opencode_variants.jsonl"), ids=lambda row: f"{row['package']} {row['model']}")
def test_the_names_of_opencodes_variants_work_here(row: dict[str, Any]) -> None:
    provider_id, adapter = PACKAGES[row["package"]]
    model = with_facts(Model(provider_id=provider_id, model_id=row["model"], adapter=adapter), is_declared=True)
    missing = row["variants"].keys() - model.variants.keys()
    assert missing <= LEFT_OUT.get(row["model"], set())
    if adapter in ("anthropic", "gemini"):
        shared = row["variants"].keys() & model.variants.keys()
        assert {name: model.variants[name] for name in shared} == {name: row["variants"][name] for name in shared}


FLAGS = {
    "none": "supports_none_reasoning_effort",
    "minimal": "supports_minimal_reasoning_effort",
    "xhigh": "supports_xhigh_reasoning_effort",
    "max": "supports_max_reasoning_effort",
}
MAKERS = {
    "openai": "responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "mistral": "openai",
    "moonshot": "openai",
}
DIFFERENT = {
    "gpt-5-pro": "OpenAI documents high only", "gpt-5-pro-2025-10-06": "as gpt-5-pro",
    "gpt-5.2-pro": "OpenAI documents medium, high, xhigh", "gpt-5.2-pro-2025-12-11": "as gpt-5.2-pro",
    "gpt-5-chat": "it does not reason", "gpt-5-search-api": "OpenAI documents no effort for it",
    "gpt-5.3-codex": "OpenAI documents low to xhigh for Codex models",
    "mistral-large-4": "Mistral documents low, medium, high", "mistral-large-4-0": "as mistral-large-4",
    "devstral-latest": "Mistral documents no effort for Devstral", "devstral-small-latest": "as devstral-latest",
    "devstral-medium-latest": "as devstral-latest", "mistral-code-agent-latest": "as devstral-latest",
    "mistral-small": "a name of several models, of which the older ones don't reason",
}  # fmt: skip


def listed() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the makers' models in litellm's own table that say something about efforts."""
    table = find_table()
    assert table is not None
    for key, entry in json.loads(table.read_bytes()).items():
        maker = entry.get("litellm_provider", "")
        says = entry.get("reasoning_effort_levels") or any(flag in entry for flag in FLAGS.values())
        if maker in MAKERS and entry.get("mode") in ("chat", "responses") and says and not key.startswith("ft:"):
            yield maker, key.removeprefix(f"{maker}/"), entry


def test_variants_are_the_efforts_of_litellms_table() -> None:
    wrong: list[str] = []
    count = 0
    for maker, name, entry in listed():
        adapter: Any = MAKERS[maker]
        provider_id = {"gemini": "google", "moonshot": "moonshotai"}.get(maker, maker)
        variants = with_facts(Model(provider_id=provider_id, model_id=name, adapter=adapter)).variants
        levels = entry.get("reasoning_effort_levels")
        if name in DIFFERENT or levels == ["medium"] or "glm" in name:
            continue
        count += 1
        if levels is not None and list(variants) != levels:
            wrong.append(f"{name}: {list(variants)}, not {levels}")
        for effort, flag in FLAGS.items():
            if flag in entry and entry[flag] != (effort in variants):
                wrong.append(f"{name}: {effort} should be {entry[flag]}")
    assert count > 60 and wrong == []


def test_sampling_is_rejected_where_litellms_table_says_so() -> None:
    table = find_table()
    assert table is not None
    entries = json.loads(table.read_bytes())
    named = [
        (key, entry["supports_sampling_params"])
        for key, entry in entries.items()
        if "supports_sampling_params" in entry and entry.get("litellm_provider") in ("anthropic", "gemini")
    ]
    assert len(named) > 10
    models = {key: with_facts(Model(provider_id="x", model_id=key, adapter="openai")) for key, _ in named}
    assert [key for key, accepted in named if models[key].temperature != accepted] == []


def test_the_settings_change_and_remove_variants_and_switch_the_cache_key() -> None:
    given = {
        "openai": {
            "options": {"setCacheKey": False},
            "models": {
                "gpt-5": {
                    "variants": {"minimal": {"disabled": True}, "high": {"textVerbosity": "low"}, "own": {"user": "u"}}
                },
                "gpt-4.1": {"reasoning": True, "variants": {}},
                "o3": {"reasoning": False},
            },
        },
        "xai": {"options": {"setCacheKey": True}},
        "anthropic": {"options": {"headers": {"Anthropic-Beta": "context-1m-2025-08-07"}}},
    }
    own = Catalog(settings=CatalogSettings(provider=given), table=ModelTable(), keys=lambda _: "k", environment={})
    gpt = own.resolve(ModelRef(provider_id="openai", model_id="gpt-5"))
    assert list(gpt.variants) == ["low", "medium", "high", "own"] and gpt.parameters.cache is None
    assert gpt.variants["high"] == {"reasoningEffort": "high", "reasoningSummary": "auto", "textVerbosity": "low"}
    assert own.resolve(ModelRef(provider_id="openai", model_id="o3")).variants == {}
    assert own.resolve(ModelRef(provider_id="xai", model_id="grok-4.3")).parameters.cache == "key"
    opus = own.resolve(ModelRef(provider_id="anthropic", model_id="claude-opus-4-5"))
    assert opus.headers["anthropic-beta"] == "context-1m-2025-08-07,effort-2025-11-24,interleaved-thinking-2025-05-14"


@pytest.mark.parametrize(
    ("model", "adapter", "options"),
    [
        ("openai/gpt-5.2", "responses", {"reasoningEffort": "none"}),
        ("openai/gpt-5-nano", "responses", {"reasoningEffort": "minimal"}),
        ("openai/gpt-4.1-nano", "responses", {}),
        ("anthropic/claude-haiku-4-5", "anthropic", {}),
        ("anthropic/claude-opus-4-6", "anthropic", {"effort": "low"}),
        ("amazon-bedrock/us.anthropic.claude-opus-4-6-v1", "litellm", {}),
        ("deepseek/deepseek-v4-flash", "openai", {"thinking": {"type": "disabled"}}),
        ("openrouter/openai/gpt-oss-20b", "openai", {"reasoning": {"effort": "low"}}),
        ("openai/gpt-6.2-sol", "responses", {"reasoningEffort": "low"}),
        ("openai/gpt-5.6-cyber", "responses", {"reasoningEffort": "low"}),
        ("openai/gpt-6.1-terra", "responses", {"reasoningEffort": "none"}),
        ("moonshotai/kimi-k2.7-code", "openai", {}),
        ("minimax/MiniMax-M3.1-Flash", "litellm", {"reasoningEffort": "low"}),
        ("mistral/mistral-large-latest", "openai", {"reasoningEffort": "low"}),
        ("zai/glm-5.3", "openai", {"reasoningEffort": "low", "thinking": {"type": "enabled", "clear_thinking": False}}),
        ("google/gemini-3-flash-preview", "gemini", {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "minimal"}}),
    ],
)  # fmt: skip
def test_a_title_gets_the_least_reasoning(model: str, adapter: Adapter, options: dict[str, Any]) -> None:
    provider_id, _, model_id = model.partition("/")
    assert least_variant(with_facts(Model(provider_id=provider_id, model_id=model_id, adapter=adapter))) == options


@pytest.mark.slow
@each(
    ("large", "small"),
    [
        ("anthropic/claude-opus-4-7", "claude-haiku-5-5"),
        ("openai/gpt-6-sol", "gpt-5-nano"),
        ("google/gemini-3.1-pro-preview", "gemini-3-flash-preview"),
        ("groq/openai/gpt-oss-120b", "openai/gpt-oss-20b"),
        ("togetherai/zai-org/GLM-4.6", "openai/gpt-oss-120b"),
        ("zai/glm-5.3", "glm-4.7-flash"),
        ("deepseek/deepseek-v4-pro", "deepseek-v4-flash"),
        ("xai/grok-4.7", "grok-code-fast"),
        ("amazon-bedrock/us.anthropic.claude-opus-4-6-v1", "us.anthropic.claude-haiku-5-5"),
        ("amazon-bedrock/eu.anthropic.claude-opus-4-6-v1", "eu.anthropic.claude-haiku-5-5"),
        ("amazon-bedrock/mistral.mistral-large-3-675b-instruct", "mistral.ministral-3-3b-instruct"),
        ("amazon-bedrock/deepseek.v3-v1:0", "deepseek.v3-v1:0"),
        ("azure/my-deployment", "my-deployment"),
        ("openrouter/anthropic/claude-opus-4.7", "anthropic/claude-opus-4.7"),
    ],
)
def test_titles_go_to_a_small_model_that_the_user_can_reach(large: str, small: str) -> None:
    ref = parse_model_ref(large)
    assert ref is not None
    assert CATALOG.small_model(ref).model_id == small


THOUGHTS: dict[str, Any] = {"includeThoughts": True}
SENT = [
    # provider, model, variant, settings of the agent, path in the body, value there
    ("fake", "gpt-5.2", "xhigh", {}, "reasoning_effort", "xhigh"),
    ("fake", "gpt-5.2", None, {"temperature": 0.5, "top_p": 0.5}, "temperature", None),
    ("fake", "gpt-5.2", None, {"temperature": 0.5, "top_p": 0.5}, "top_p", None),
    ("fake", "gpt-5.2", None, {}, "max_completion_tokens", 8_000),
    ("fake", "gpt-4.1", None, {}, "max_tokens", 8_000),
    ("fake", "gpt-4.1", None, {"temperature": 0.5}, "temperature", 0.5),
    ("fake", "gpt-4.1-nano", None, {}, "parallel_tool_calls", False),
    ("fake", "qwen3-coder", None, {}, "temperature", 0.7),
    ("fake", "qwen3-coder", None, {}, "top_p", 0.8),
    ("fake", "qwen3-coder", None, {"temperature": 0.1}, "temperature", 0.1),
    ("fake", "kimi-k3", None, {"temperature": 0.1}, "temperature", None),
    ("fake", "deepseek-v4-pro", "none", {}, "thinking", {"type": "disabled"}),
    ("fake", "gpt-4.1", None, {"options": {"textVerbosity": "low"}}, "verbosity", "low"),
    ("fake", "gpt-4.1", None, {}, "prompt_cache_key", None),
    ("fake-responses", "gpt-5.2", "high", {}, "reasoning", {"effort": "high", "summary": "auto"}),
    ("fake-responses", "gpt-5.2", None, {"temperature": 0.5}, "temperature", None),
    ("fake-responses", "gpt-4.1", None, {"temperature": 0.5}, "temperature", 0.5),
    ("fake-responses", "gpt-4.1-nano", None, {}, "parallel_tool_calls", False),
    ("fake-anthropic", "claude-sonnet-4-5", "high", {}, "thinking", {"type": "enabled", "budget_tokens": 16_000}),
    ("fake-anthropic", "claude-sonnet-4-5", "high", {}, "max_tokens", 24_000),
    ("fake-anthropic", "claude-sonnet-4-5", "high", {"temperature": 0.5}, "temperature", None),
    ("fake-anthropic", "claude-sonnet-4-5", None, {"temperature": 0.5}, "temperature", 0.5),
    ("fake-anthropic", "claude-opus-4-6", "max", {}, "output_config", {"effort": "max"}),
    ("fake-anthropic", "claude-opus-4-7", "low", {}, "thinking", {"type": "adaptive", "display": "summarized"}),
    ("fake-anthropic", "claude-opus-4-7", None, {"temperature": 0.5}, "temperature", None),
    ("fake-gemini", "gemini-2.5-pro", "max", {}, "generationConfig.thinkingConfig", {**THOUGHTS, "thinkingBudget": 32_768}),
    ("fake-gemini", "gemini-2.5-pro", "max", {}, "generationConfig.maxOutputTokens", 40_768),
    ("fake-gemini", "gemini-3-flash-preview", "low", {}, "generationConfig.thinkingConfig", {**THOUGHTS, "thinkingLevel": "low"}),
    ("fake-gemini", "gemini-3-flash-preview", None, {}, "generationConfig.temperature", 1.0),
    ("fake-gemini", "gemini-3.7-flash", None, {"temperature": 0.5}, "generationConfig.temperature", None),
    ("fake-gemini", "gemini-2.5-flash", None, {}, "generationConfig.thinkingConfig", THOUGHTS),
]  # fmt: skip


@pytest.mark.slow
async def test_each_parameter_reaches_the_provider_in_its_format(environ: dict[str, str], tmp_path: Path) -> None:
    """One engine for all, because only the requests differ."""
    listed = provider_config("http://unused", has_all=True)
    names = {(provider, model) for provider, model, *_ in SENT}
    models: dict[str, dict[str, Any]] = {}
    for provider, name in names:
        limit = {"context": 200_000, "output": 64_000}
        models.setdefault(provider, {})[name] = {**listed[provider]["models"]["fake-model"], "limit": limit}
    agents = {f"a{index}": {"mode": "primary", **agent} for index, (_, _, _, agent, _, _) in enumerate(SENT)}
    providers: dict[str, dict[str, Any]] = {name: {"models": own} for name, own in models.items()}
    providers["fake-responses"]["options"] = {"setCacheKey": True}
    settings = {"provider": providers, "agent": agents}
    file = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "opencode.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(settings))
    environ = {**environ, "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX": "8000"}
    answers = [Answer(text="yes") for _ in SENT]
    async with opened(environ, tmp_path, *answers, has_all=True) as world:
        for index, (provider, name, variant, _, path, value) in enumerate(SENT):
            session = await world.new_session()
            ref = ModelRef(provider_id=provider, model_id=name)
            given = PromptInput(model=ref, agent=f"a{index}", variant=variant, parts=[TextInput(text="hello")])
            await world.client.prompts.prompt(session.id, given)
            body: Any = world.server.requests[-1].body
            for step in path.split("."):
                body = None if body is None else body.get(step)
            assert body == value, (provider, name, variant, path)
            has_key = provider == "fake-responses"
            assert (world.server.requests[-1].body.get("prompt_cache_key") == session.id) is has_key
    assert len(world.server.requests) == len(SENT)


@pytest.mark.slow
async def test_more_tools_than_a_provider_accepts_end_the_turn_with_a_remedy(
    environ: dict[str, str], tmp_path: Path
) -> None:
    plugin = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "plugins" / "many.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(
        "def plugin(context):\n"
        "    tool = {'description': 'One.', 'execute': lambda arguments, context: 'done'}\n"
        "    return {'tool': {f'one_{number}': tool for number in range(130)}}\n"
    )
    with ModelServer() as server:
        listed = provider_config(server.base_url)["fake"]
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"groq": listed, "fake": listed}})}
        async with open_client(variables, tmp_path) as client:
            session = await client.sessions.create(CreateSession())
            for name, error in (
                ("groq", "groq/fake-model accepts 128 tools in a request, and 145 are on"),
                ("fake", ""),
            ):
                ref = ModelRef(provider_id=name, model_id="fake-model")
                given = PromptInput(model=ref, parts=[TextInput(text="hello")])
                if error:
                    with pytest.raises(ConfigError, match=error):
                        await client.prompts.prompt(session.id, given)
                else:
                    await client.prompts.prompt(session.id, given)
        assert [len(request.body["tools"]) for request in server.requests] == [145]
