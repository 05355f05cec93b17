"""Which models there are, how they are reached, and which one answers."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.provider.catalog import DEMO, Catalog, CatalogSettings, DefaultModel
from opencode_tui.engine.provider.known_provider import KNOWN
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import AuthError, ModelNotFoundError, ProviderError
from opencode_tui.schema.model import Cost, Limit, ModelRef, parse_model_ref
from tests.support.provider.model_server import provider_config
from tests.support.rows import each

TABLE = ModelTable()
NOVEMBER_2026 = 1_795_305_600_000
"""2026-11-22 in milliseconds, as models of the table have been retired by then."""


def catalog(
    *, keys: dict[str, str] | None = None, environment: dict[str, str] | None = None, **settings: Any
) -> Catalog:
    return Catalog(
        settings=CatalogSettings(**settings),
        table=TABLE,
        keys=(keys or {}).get,
        environment=environment or {},
        clock=lambda: NOVEMBER_2026,
    )


def ref(text: str) -> ModelRef:
    parsed = parse_model_ref(text)
    assert parsed is not None
    return parsed


def test_a_model_of_the_settings_needs_no_table() -> None:
    table = ModelTable()
    made = Catalog(
        settings=CatalogSettings(provider=provider_config("http://host")),
        table=table,
        keys=lambda _: None,
        environment={},
    )
    model = made.resolve(ref("fake/fake-model"))
    assert (model.adapter, model.limit, model.cost) == (
        "openai",
        Limit(context=200_000, output=8_000),
        Cost(input=Decimal(1), output=Decimal(2), cache_read=Decimal("0.1"), is_known=True),
    )
    assert made.endpoint("fake") == Endpoint(
        "fake", "http://host/openai/v1", "fake-key-for-tests", key_setting="provider.fake.options.apiKey"
    )
    assert table._providers is None


@each(
    ("provider", "given", "expected"),
    [
        ("mine", {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://h/v1"}}, ("openai", "m")),
        ("mine", {"npm": "@ai-sdk/anthropic", "options": {"baseURL": "http://h/v1"}}, ("anthropic", "m")),
        ("mine", {"options": {"baseURL": "http://h/v1"}}, ("openai", "m")),
        ("mine", {"npm": "@ai-sdk/openai-compatible", "api": "http://h/v1"}, ("openai", "m")),
        ("mine", {"options": {"baseURL": "http://h/v1", "adapter": "litellm"}}, ("litellm", "openai/m")),
        (
            "mine",
            {"npm": "@ai-sdk/anthropic", "options": {"baseURL": "http://h", "adapter": "litellm"}},
            ("litellm", "anthropic/m"),
        ),
        ("mine", {"npm": "@ai-sdk/google", "options": {}}, ("gemini", "m")),
        ("mine", {"npm": "@ai-sdk/google@2.0.1", "options": {"baseURL": "http://h/v1beta"}}, ("gemini", "m")),
        ("mine", {"npm": "@ai-sdk/google", "options": {"adapter": "litellm"}}, ("litellm", "gemini/m")),
        ("mine", {"npm": "@ai-sdk/google-vertex", "options": {}}, ("litellm", "vertex_ai/m")),
        ("mine", {"npm": "@ai-sdk/google-vertex/anthropic@3"}, ("litellm", "vertex_ai/m")),
        ("mine", {"npm": "@ai-sdk/amazon-bedrock"}, ("litellm", "bedrock/m")),
        ("mine", {"npm": "@ai-sdk/cohere"}, ("litellm", "mine/m")),
        ("mine", {"npm": "@ai-sdk/openai", "options": {"baseURL": "http://h/v1"}}, ("responses", "m")),
        (
            "mine",
            {"npm": "@ai-sdk/openai", "options": {"baseURL": "http://h/v1", "adapter": "openai"}},
            ("openai", "m"),
        ),
        ("mine", {"npm": "@ai-sdk/azure", "options": {}}, ("litellm", "azure/m")),
        ("mine", {"options": {"baseURL": "http://h/v1", "adapter": "responses"}}, ("responses", "m")),
        ("mine", {"options": {"baseURL": "http://h/v1", "adapter": "gemini"}}, ("gemini", "m")),
        ("anthropic", {}, ("anthropic", "m")),
        ("anthropic", {"options": {"baseURL": "http://proxy/v1"}}, ("anthropic", "m")),
        ("openai", {}, ("responses", "m")),
        ("openai", {"options": {"adapter": "openai"}}, ("openai", "m")),
        ("openai", {"options": {"baseURL": "http://gateway/v1"}}, ("openai", "m")),
        ("openai", {"options": {"baseURL": "https://eu.api.openai.com/v1"}}, ("responses", "m")),
        ("openai", {"npm": "@ai-sdk/openai", "options": {"baseURL": "http://gateway/v1"}}, ("responses", "m")),
        ("openai", {"npm": "@ai-sdk/openai-compatible"}, ("openai", "m")),
        ("groq", {}, ("openai", "m")),
        ("groq", {"options": {"adapter": "litellm"}}, ("litellm", "groq/m")),
        ("google", {}, ("gemini", "m")),
        ("google", {"options": {"adapter": "litellm"}}, ("litellm", "gemini/m")),
        ("google", {"options": {"adapter": "direct"}}, ("gemini", "m")),
        ("google", {"options": {"baseURL": "http://proxy/v1beta"}}, ("gemini", "m")),
        ("google", {"options": {"baseURL": "http://proxy/v1beta/openai"}}, ("openai", "m")),
        ("google-vertex", {}, ("litellm", "vertex_ai/m")),
        ("novita", {}, ("litellm", "novita/m")),
        ("amazon-bedrock", {}, ("litellm", "bedrock/m")),
        (
            "amazon-bedrock",
            {"options": {"baseURL": "https://bedrock-runtime.eu-west-1.amazonaws.com"}},
            ("litellm", "bedrock/m"),
        ),
        ("amazon-bedrock", {"options": {"baseURL": "https://vpce-1.gateway.test"}}, ("litellm", "bedrock/m")),
        (
            "amazon-bedrock",
            {"options": {"baseURL": "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1"}},
            ("openai", "m"),
        ),
        (
            "amazon-bedrock",
            {"options": {"baseURL": "https://bedrock-mantle.eu-west-1.api.aws/v1"}},
            ("responses", "m"),
        ),
        ("azure", {}, ("litellm", "azure/m")),
        ("azure", {"options": {"baseURL": "https://mine.openai.azure.com/openai/v1/"}}, ("responses", "m")),
        (
            "azure",
            {"options": {"baseURL": "https://mine.openai.azure.com/openai/v1", "adapter": "openai"}},
            ("openai", "m"),
        ),
        ("azure", {"options": {"baseURL": "http://gateway/v1"}}, ("openai", "m")),
    ],
)
def test_the_adapter_follows_from_the_provider(provider: str, given: dict[str, Any], expected: tuple[str, str]) -> None:
    described = {"m": {"limit": {"context": 1, "output": 1}, "cost": {"input": 0, "output": 0}}}
    model = catalog(provider={provider: {**given, "models": described}}).resolve(ref(f"{provider}/m"))
    assert (model.adapter, model.api_id) == expected


def test_settings_win_over_the_table() -> None:
    own = {
        "id": "gpt-4o",
        "name": "Mine",
        "limit": {"output": 5},
        "cost": {"input": 7},
        "options": {"user": "u"},
        "reasoning": None,
    }
    model = catalog(provider={"openai": {"models": {"alias": own}}}).resolve(ref("openai/alias"))
    assert (model.model_id, model.api_id, model.name, model.options) == ("alias", "gpt-4o", "Mine", {"user": "u"})
    assert model.limit == Limit(context=128_000, output=5)
    assert (model.cost.input, model.cost.output) == (Decimal(7), Decimal(10))


def test_variants_are_those_that_are_not_switched_off() -> None:
    variants = {"high": {"effort": "high", "disabled": False}, "off": {"disabled": True}, "plain": {}}
    model = catalog(provider={"openai": {"models": {"gpt-4o": {"variants": variants}}}}).resolve(ref("openai/gpt-4o"))
    assert model.variants == {"high": {"effort": "high"}, "plain": {}}


@pytest.mark.parametrize(
    ("own", "model", "adapter"),
    [
        ({}, "openai/gpt-5-codex", "responses"),
        ({}, "openai/gpt-4o", "responses"),
        ({}, "openai/gpt-4o-search-preview", "openai"),
        ({"openai": {"options": {"baseURL": "http://gateway/v1"}}}, "openai/gpt-5-codex", "responses"),
        ({"openai": {"options": {"baseURL": "http://gateway/v1"}}}, "openai/gpt-4o", "openai"),
        (
            {"openai": {"models": {"gpt-4o": {"provider": {"npm": "@ai-sdk/openai-compatible"}}}}},
            "openai/gpt-4o",
            "openai",
        ),
        ({}, "azure/gpt-5-codex", "litellm"),
        ({}, "google/gemini-2.5-pro", "gemini"),
    ],
)
def test_the_adapter_follows_from_the_model_too(own: dict[str, Any], model: str, adapter: str) -> None:
    assert catalog(provider=own).resolve(ref(model)).adapter == adapter


@pytest.mark.parametrize(
    ("package", "address"),
    [
        ("@ai-sdk/google", "https://generativelanguage.googleapis.com/v1beta"),
        ("@ai-sdk/openai", "https://api.openai.com/v1"),
        ("@ai-sdk/anthropic@2.0.0", "https://api.anthropic.com/v1"),
    ],
)
def test_a_package_without_an_address_goes_to_its_provider(package: str, address: str) -> None:
    own = {"mine": {"npm": package, "options": {"apiKey": "k"}, "models": {"m": {}}}}
    assert catalog(provider=own).endpoint("mine").base_url == address


def test_a_provider_can_be_a_known_one_under_another_name() -> None:
    own = {"work": {"id": "anthropic", "options": {"apiKey": "k"}}}
    model = catalog(provider=own).resolve(ref("work/claude-sonnet-4-5"))
    assert (model.adapter, model.limit.context) == ("anthropic", 200_000)


def test_litellms_own_names_of_providers_work_too() -> None:
    by_both = catalog()
    assert by_both.resolve(ref("gemini/gemini-2.5-pro")).limit == by_both.resolve(ref("google/gemini-2.5-pro")).limit


def test_lists_of_the_settings_hide_models_and_providers() -> None:
    hidden = catalog(
        provider={"openai": {"blacklist": ["gpt-4o"]}, "anthropic": {"whitelist": ["claude-sonnet-4-5"]}},
        disabled_providers=["groq"],
    )
    refused = {
        "openai/gpt-4o": "provider.openai.blacklist",
        "anthropic/claude-opus-4-5": "provider.anthropic.whitelist",
        "groq/openai/gpt-oss-120b": "disabled_providers",
    }
    for name, setting in refused.items():
        with pytest.raises(ModelNotFoundError, match=f"no model {name}; the setting {setting} leaves it out"):
            hidden.resolve(ref(name))
    assert hidden.resolve(ref("anthropic/claude-sonnet-4-5")).provider_id == "anthropic"
    assert [one.id for one in catalog(enabled_providers=["openai"]).providers()] == ["openai", "demo"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("opnai/gpt-4o", "no model opnai/gpt-4o; did you mean openai/gpt-4o,"),
        ("nobody/nothing-like-it", "no model nobody/nothing-like-it; see `opencode-tui models --all`"),
        (
            "nobody/nothing-like-it",
            "no model nobody/nothing-like-it; see `opencode-tui models --all`, or set provider.nobody.options.",
        ),
    ],
)
def test_a_wrong_name_brings_the_nearest_ones(asked: str, message: str) -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        catalog().resolve(ref(asked))
    assert str(caught.value).startswith(message)
    assert len(caught.value.suggestions) <= 3


@each(
    ("name", "near"),
    [
        ("openai/gpt-6.2-sol", "gpt-6.1-sol"),
        ("openai/gpt-6.2-astra", "gpt-6-astra"),
        ("openai/gpt-6.9-terra", None),
        ("anthropic/claude-fable-5-2", "claude-fable-5-1"),
        ("anthropic/claude-mythos-5-2", "claude-mythos-5-1"),
        ("anthropic/claude-3-5-haiku-20241022", "claude-haiku-4-5"),
        ("anthropic/claude-sonnet-6", "claude-sonnet-5-5"),
        ("openai/o5-mini", "o4-mini"),
        ("mistral/devstral-9", "devstral-latest"),
        ("deepseek/deepseek-v5-pro", "deepseek-v4-pro"),
        ("xai/grok-9", None),
        ("anthropic/claude-sonnet-4-4", "claude-sonnet-4-5"),
        ("groq/openai/gpt-oss-400b", "openai/gpt-oss-120b"),
        ("google/gemini-5-pro", None),
        ("github-copilot/gpt-6.2-sol", "gpt-6.1-sol"),
    ],
)
def test_every_provider_accepts_an_unlisted_name_with_the_limits_of_the_nearest_model(
    name: str, near: str | None
) -> None:
    made = catalog()
    model = made.resolve(ref(name))
    assert model.unlisted, "it is said which model's limits count"
    assert near is None or model.unlisted == near
    like = made.resolve(ref(f"{model.provider_id}/{model.unlisted}"))
    assert like.unlisted is None
    assert model.limit == like.limit and model.limit.context > 30_000
    assert (model.attachment, model.cost.is_known) == (True, False)
    assert model.adapter == like.adapter


def test_a_model_that_the_users_own_list_lacks_is_refused_with_the_setting() -> None:
    with pytest.raises(ModelNotFoundError) as caught:
        catalog(provider=provider_config("http://h")).resolve(ref("fake/fake-modle"))
    assert str(caught.value) == (
        "no model fake/fake-modle; add it to provider.fake.models; did you mean fake/fake-model?"
    )


def test_all_providers_are_open() -> None:
    made = catalog()
    closed = [known.id for known in KNOWN if made.resolve(ref(f"{known.id}/brand-new-9")).model_id != "brand-new-9"]
    assert closed == []


def test_a_model_of_another_maker_has_the_limits_that_its_maker_lists() -> None:
    model = catalog().resolve(ref("openrouter/anthropic/claude-sonnet-5.9"))
    assert model.unlisted == "claude-sonnet-5-5"
    assert model.limit == catalog().resolve(ref("anthropic/claude-sonnet-5-5")).limit


def test_a_model_that_the_settings_name_is_not_called_unlisted() -> None:
    made = catalog(provider={"openai": {"models": {"gpt-6.2-sol": {}}}})
    model = made.resolve(ref("openai/gpt-6.2-sol"))
    assert (model.unlisted, model.limit) == (None, made.resolve(ref("openai/gpt-6.1-sol")).limit)


def test_retired_models_are_not_listed_but_can_be_used() -> None:
    made = catalog(keys={"openai": "k"})
    listed = {model.model_id for model in made.models() if model.provider_id == "openai"}
    assert "gpt-5.1-codex" not in listed and "gpt-5.6" in listed
    retired = made.resolve(ref("openai/gpt-5.1-codex"))
    assert (retired.retires, retired.limit.context) == ("2026-07-23", 400_000)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"model": "openai/gpt-5.1-codex"},
            DefaultModel(ref("openai/gpt-5.6"), "settings", ref("openai/gpt-5.1-codex")),
        ),
        (
            {"last_used": ref("openai/gpt-5.1-codex"), "keys": {"openai": "k"}},
            DefaultModel(ref("openai/gpt-5.6"), "last used", ref("openai/gpt-5.1-codex")),
        ),
    ],
)
def test_a_retired_default_is_replaced_and_said(settings: dict[str, Any], expected: DefaultModel) -> None:
    made = catalog(**settings)
    assert made.choose_default() == expected
    assert made.describe_retired_default() == (
        "openai/gpt-5.1-codex was retired on 2026-07-23; openai/gpt-5.6 is the default instead (setting model, or /models)"
    )


@pytest.mark.parametrize("given", [{"model": "openai/gpt-5.6"}, {"last_used": DEMO}, {}])
def test_a_default_that_is_not_retired_needs_no_line(given: dict[str, Any]) -> None:
    assert catalog(**given).describe_retired_default() == ""


def test_a_model_of_the_settings_is_never_retired() -> None:
    own = {"openai": {"models": {"gpt-5.1-codex": {}}}}
    made = catalog(provider=own, model="openai/gpt-5.1-codex")
    assert made.choose_default() == DefaultModel(ref("openai/gpt-5.1-codex"), "settings")


@pytest.mark.slow
def test_the_default_of_every_provider_is_listed_and_not_retired() -> None:
    made = catalog()
    without = ("demo", "ollama", "lmstudio", "llamacpp", "vllm")
    named = {one.id: one.default_model for one in made.providers() if one.id not in without}
    assert named.pop("azure") is None, "its models have the customer's names"
    assert named.pop("kimi-for-coding") == "kimi-for-coding", "it has no list; its documentation names this one"
    assert [provider for provider, model in named.items() if model is None] == []
    chosen = [made.resolve(ref(f"{provider}/{model}")) for provider, model in named.items()]
    unlisted = {one.provider_id for one in chosen if one.unlisted is not None}
    assert unlisted == {"openrouter", "nvidia", "huggingface"}, "those without a list of their own"
    listed = {str(model.ref) for model in made.all_models()}
    assert {str(one.ref) for one in chosen if one.unlisted is None} <= listed
    assert [str(one.ref) for one in chosen if not one.tool_call] == []


def test_a_provider_without_a_preferred_model_gets_the_newest_of_the_best_family(tmp_path: Path) -> None:
    names = ("llama-9", "claude-sonnet-5", "claude-sonnet-5-5-fast", "claude-sonnet-5-5", "gpt-6", "claude-sonnet-9")
    table = {
        name: {"litellm_provider": "nvidia_nim", "mode": "chat", "max_tokens": 9, "supports_function_calling": True}
        for name in names
    }
    table["claude-sonnet-9"]["deprecation_date"] = "2026-11-21"
    (tmp_path / "table.json").write_text(json.dumps(table))
    made = Catalog(
        settings=CatalogSettings(),
        table=ModelTable(source=tmp_path / "table.json"),
        keys={"nvidia": "k"}.get,
        environment={},
        clock=lambda: NOVEMBER_2026,
    )
    assert made.choose_default() == DefaultModel(ref("nvidia/claude-sonnet-5-5"), "key")


def test_a_provider_without_listed_models_accepts_any() -> None:
    assert catalog().resolve(ref("openrouter/vendor/new-model")).limit == Limit()
    assert catalog().resolve(ref("openrouter/vendor/new-model")).unlisted == ""
    own = {"mine": {"options": {"baseURL": "http://h/v1"}}}
    assert catalog(provider=own).resolve(ref("mine/any")).adapter == "openai"


def test_the_key_comes_from_the_settings_then_the_store_then_the_environment() -> None:
    environment, keys = {"OPENAI_API_KEY": "e", "OTHER": "o"}, {"openai": "s"}
    own = {"openai": {"options": {"apiKey": "c"}}}
    found = (
        catalog(environment=environment, keys=keys, provider=own),
        catalog(environment=environment, keys=keys),
        catalog(environment=environment),
        catalog(environment=environment, provider={"openai": {"env": ["OTHER"]}}),
    )
    assert [each.endpoint("openai").api_key for each in found] == ["c", "s", "e", "o"]


def test_a_missing_key_is_reported_before_anything_is_sent() -> None:
    with pytest.raises(AuthError, match="run `opencode-tui auth login openai` or set OPENAI_API_KEY"):
        catalog().endpoint("openai")
    for provider, name in (("openai", "Authorization"), ("openai", "api-key"), ("google", "X-Goog-Api-Key")):
        own = {provider: {"options": {"headers": {name: "x"}}}}
        assert catalog(provider=own).endpoint(provider).api_key is None


@each(
    ("provider", "given", "is_reached"),
    [
        ("mine", {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}}}, False),
        ("mine", {"npm": "@ai-sdk/mistral", "models": {"m": {}}, "options": {"apiKey": "k"}}, False),
        ("hosted_vllm", {"models": {"m": {}}}, True),
        ("mine", {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}}, "options": {"adapter": "litellm"}}, True),
        ("mine", {"npm": "@ai-sdk/amazon-bedrock", "models": {"m": {}}}, True),
        ("mine", {"npm": "@ai-sdk/openai-compatible", "api": "http://h/v1", "models": {"m": {}}}, True),
        ("mine", {"npm": "@ai-sdk/anthropic", "models": {"m": {}}, "options": {"apiKey": "k"}}, True),
        ("groq", {"npm": "@ai-sdk/openai-compatible", "models": {"m": {}}, "options": {"apiKey": "k"}}, True),
        ("mine", {"id": "groq", "models": {"m": {}}, "options": {"apiKey": "k"}}, True),
        ("perplexity", {"models": {"m": {}}, "options": {"apiKey": "k"}}, True),
    ],
)
def test_a_provider_without_an_address_is_named_and_never_chosen(
    provider: str, given: dict[str, Any], *, is_reached: bool
) -> None:
    made = catalog(provider={provider: given})
    assert made.without_address() == ([] if is_reached else [provider])
    assert made.is_ready(provider) is is_reached
    if is_reached:
        assert made.endpoint(provider).provider_id == provider
        return
    assert made.choose_default().source == "demo"
    with pytest.raises(ProviderError, match=r"no address is known; fix: set provider\.mine\.options\.baseURL"):
        made.endpoint(provider)


@each(
    ("provider", "given", "ignored", "is_reached"),
    [
        ("mine", {"models": {"m": {}}}, ["provider.mine.npm", "provider.mine.options"], False),
        ("mine", {"models": {"m": {}}}, ["provider.mine.options.baseURL"], False),
        ("mine", {"models": {"m": {}}, "npm": "@ai-sdk/azure"}, ["provider.mine.options"], False),
        ("mine", {"models": {"m": {}}}, ["provider.mine"], False),
        ("mine", {"models": {"m": {}}, "options": {"baseURL": "http://h/v1"}}, ["provider.mine.options.headers"], True),
        ("mine", {"models": {"m": {}}}, ["provider.mine-too.options", "mcp.mine"], True),
        ("groq", {"models": {"m": {}}, "options": {"apiKey": "k"}}, ["provider.groq.options"], True),
        ("perplexity", {"models": {"m": {}}, "options": {"apiKey": "k"}}, ["provider.perplexity.npm"], True),
    ],
)
def test_a_provider_whose_settings_wait_for_trust_says_so_and_is_not_tried(
    provider: str, given: dict[str, Any], ignored: list[str], *, is_reached: bool
) -> None:
    made = catalog(provider={provider: given}, ignored=ignored)
    assert made.is_ready(provider) is is_reached and made.without_address() == []
    if is_reached:
        assert made.endpoint(provider).provider_id == provider
        return
    with pytest.raises(ProviderError, match=r"mine: .* is not trusted; fix: review them with `opencode-tui trust`"):
        made.endpoint(provider)


def test_a_model_of_a_provider_whose_settings_wait_for_trust_is_not_unknown() -> None:
    made = catalog(ignored=["provider.mine.options"])
    with pytest.raises(ModelNotFoundError, match=r"no model mine/m; .*: review them with `opencode-tui trust`"):
        made.resolve(ModelRef(provider_id="mine", model_id="m"))
    near = catalog(provider={"mine": {"models": {"qwen": {}}}}, ignored=["provider.mine.options"])
    with pytest.raises(ModelNotFoundError, match="did you mean mine/qwen"):
        near.resolve(ModelRef(provider_id="mine", model_id="qwn"))


BEDROCK = "@ai-sdk/amazon-bedrock"
PROJECT = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west1"}


@each(
    ("provider", "given", "environment", "cloud"),
    [
        (
            "amazon-bedrock",
            {"options": {"region": "eu-west-1", "profile": "work", "endpoint": "https://vpce-1.example"}},
            {"AWS_REGION": "us-east-1"},
            {
                "aws_region_name": "eu-west-1",
                "aws_profile_name": "work",
                "aws_bedrock_runtime_endpoint": "https://vpce-1.example",
            },
        ),
        ("amazon-bedrock", {}, {"AWS_REGION": "us-east-1", "AWS_PROFILE": "own"}, {}),  # litellm and boto read them
        (
            "amazon-bedrock",
            {"options": {"region": " eu-west-1 ", "profile": "work", "apiKey": "k"}},
            {},
            {"aws_region_name": "eu-west-1"},
        ),
        (
            "amazon-bedrock",
            {"options": {"region": "eu-west-1", "profile": "work"}},
            {"AWS_BEARER_TOKEN_BEDROCK": "k"},
            {"aws_region_name": "eu-west-1"},
        ),
        ("mine", {"npm": BEDROCK, "options": {"region": "eu-west-1"}}, {}, {"aws_region_name": "eu-west-1"}),
        ("mine", {"npm": f"{BEDROCK}@4.0.1", "options": {"region": "eu-west-1"}}, {}, {"aws_region_name": "eu-west-1"}),
        ("google-vertex", {}, PROJECT, {"vertex_project": "p", "vertex_location": "europe-west1"}),
        (
            "google-vertex",
            {"options": {"project": "q", "location": "global"}},
            PROJECT,
            {"vertex_project": "q", "vertex_location": "global"},
        ),
        (
            "google-vertex",
            {},
            {**PROJECT, "GOOGLE_VERTEX_PROJECT": "v", "VERTEXAI_LOCATION": "us-east5", "VERTEX_LOCATION": "x"},
            {"vertex_project": "v", "vertex_location": "us-east5"},
        ),
        ("google-vertex", {"options": {"project": 5}}, {"GOOGLE_CLOUD_PROJECT": " "}, {}),
        ("azure", {}, {"AZURE_RESOURCE_NAME": "company"}, {"api_base": "https://company.openai.azure.com"}),
        (
            "azure",
            {"options": {"resourceName": "mine", "apiVersion": "2025-04-01-preview"}},
            {"AZURE_RESOURCE_NAME": "company", "AZURE_API_BASE": "https://other.example"},
            {"api_base": "https://mine.openai.azure.com", "api_version": "2025-04-01-preview"},
        ),
        ("azure", {}, {"AZURE_RESOURCE_NAME": "company", "AZURE_API_BASE": "https://other.example"}, {}),
        ("openai", {"options": {"region": "eu-west-1", "project": "p", "resourceName": "r"}}, PROJECT, {}),
        ("mine", {"options": {"baseURL": "http://h/v1", "region": "eu-west-1", "project": "p"}}, PROJECT, {}),
    ],
)
def test_the_region_the_project_and_the_resource_of_a_cloud_are_those_of_the_settings_or_the_environment(
    provider: str, given: dict[str, Any], environment: dict[str, str], cloud: dict[str, str]
) -> None:
    """Source: github.com/anomalyco/opencode, packages/opencode/src/provider/provider.ts (2026-10), whose names these are."""
    key = {} if provider == "amazon-bedrock" else {provider: "k"}
    made = catalog(provider={provider: given}, keys=key, environment=environment)
    assert made.endpoint(provider).cloud == cloud


def test_times_and_proxies_are_read_as_opencode_writes_them() -> None:
    options = {"baseURL": "http://h/v1", "timeout": False, "chunkTimeout": 3000, "proxy": True, "headers": {"X": "y"}}
    expected = Endpoint("mine", "http://h/v1", None, {"X": "y"}, None, 3000, None)
    assert catalog(provider={"mine": {"options": options}}).endpoint("mine") == expected
    slow = catalog(provider={"mine": {"options": {"baseURL": "http://h/v1", "timeout": 8000}}}).endpoint("mine")
    assert (slow.timeout_ms, slow.chunk_timeout_ms) == (8000, 300_000)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, DefaultModel(DEMO, "demo")),
        ({"environment": {"GROQ_API_KEY": "k"}}, DefaultModel(ref("groq/openai/gpt-oss-120b"), "key")),
        (
            {"keys": {"anthropic": "k"}, "environment": {"OPENAI_API_KEY": "k"}},
            DefaultModel(ref("anthropic/claude-sonnet-5-5"), "key"),
        ),
        ({"provider": provider_config("http://h")}, DefaultModel(ref("fake/fake-model"), "key")),
        ({"last_used": ref("openai/gpt-4o")}, DefaultModel(DEMO, "demo")),
        ({"last_used": ref("openai/gpt-4o"), "keys": {"openai": "k"}}, DefaultModel(ref("openai/gpt-4o"), "last used")),
        ({"last_used": DEMO, "keys": {"openai": "k"}}, DefaultModel(DEMO, "last used")),
        ({"model": "openai/gpt-4o", "last_used": DEMO}, DefaultModel(ref("openai/gpt-4o"), "settings")),
    ],
)
def test_the_default_is_what_the_user_most_likely_wants(given: dict[str, Any], expected: DefaultModel) -> None:
    assert catalog(**given).choose_default() == expected


@pytest.mark.parametrize("named", ["nobody/gpt-none", "nothing", ""])
def test_a_wrong_model_in_the_settings_is_reported(named: str) -> None:
    if not named:
        assert catalog(model=named).default_model() == DEMO
        return
    with pytest.raises(ModelNotFoundError):
        catalog(model=named).default_model()


@pytest.mark.parametrize(
    ("main", "small"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku"),
        ("openai/gpt-5", "openai/gpt-5-nano"),
        ("fake/fake-model", "fake/fake-model"),
        ("demo/tour", "demo/tour"),
    ],
)
def test_small_things_go_to_a_cheap_model_of_the_same_provider(main: str, small: str) -> None:
    found = catalog(provider=provider_config("http://h")).small_model(ref(main))
    assert found.provider_id == ref(small).provider_id
    assert found.model_id.startswith(ref(small).model_id)
    assert catalog(small_model="openai/gpt-4o").small_model(ref(main)) == ref("openai/gpt-4o")


@pytest.mark.slow
def test_models_lists_what_can_be_asked_now() -> None:
    ready = catalog(provider=provider_config("http://h"), keys={"groq": "k"}).models()
    assert {model.provider_id for model in ready} == {"fake", "fake-anthropic", "fake-litellm", "groq", "demo"}
    assert len(catalog().all_models()) > 500
