"""What a call used and cost."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.cost import extra_cost, has_prices, to_cost, to_tokens
from opencode_tui.engine.provider.decode.anthropic_messages import AnthropicMessagesDecoder
from opencode_tui.engine.provider.decode.delta import WireUsage
from opencode_tui.engine.provider.decode.openai_chat import read_usage
from opencode_tui.engine.provider.llm import Usage
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.schema.model import Cost, Model, ModelRef
from opencode_tui.schema.session.message import CacheTokens, Tokens
from tests.support.rows import each


def priced(**prices: object) -> Model:
    return Model(provider_id="p", model_id="m", cost=Cost.model_validate(prices))


def test_usage_is_stored_field_by_field() -> None:
    used = Usage(input=800, output=60, reasoning=10, cache_read=200, cache_write=5, total=1065)
    assert to_tokens(used) == Tokens(
        total=1065, input=800, output=60, reasoning=10, cache=CacheTokens(read=200, write=5)
    )


@pytest.mark.parametrize(
    ("reported", "stored"),
    [
        ({}, {"input": 1000, "output": 500}),
        (
            {"prompt_tokens_details": {"cached_tokens": 200}},
            {"input": 800, "output": 500, "cache": {"read": 200, "write": 0}},
        ),
        (
            {"prompt_tokens_details": {"cached_tokens": 200, "cache_write_tokens": 300}},
            {"input": 500, "output": 500, "cache": {"read": 200, "write": 300}},
        ),
        ({"completion_tokens_details": {"reasoning_tokens": 100}}, {"input": 1000, "output": 500, "reasoning": 100}),
    ],
)
def test_what_openai_reports_is_stored_by_kinds(reported: dict[str, object], stored: dict[str, object]) -> None:
    base = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    assert to_tokens(read_usage({**base, **reported})) == Tokens.model_validate({"total": 1500, **stored})


@pytest.mark.parametrize(
    ("reported", "stored"),
    [
        ({}, {"total": 1500, "input": 1000, "output": 500}),
        (
            {"cache_creation_input_tokens": 300},
            {"total": 1800, "input": 1000, "output": 500, "cache": {"read": 0, "write": 300}},
        ),
        (
            {"cache_read_input_tokens": 200},
            {"total": 1700, "input": 1000, "output": 500, "cache": {"read": 200, "write": 0}},
        ),
    ],
)
def test_what_anthropic_reports_leaves_the_input_as_it_is(reported: dict[str, int], stored: dict[str, object]) -> None:
    message = {"type": "message_start", "message": {"usage": {"input_tokens": 1000, "output_tokens": 1, **reported}}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 500}}
    events = "".join(f"data: {json.dumps(event)}\n\n" for event in (message, ended))
    usage = [one for one in AnthropicMessagesDecoder().feed(events.encode()) if isinstance(one, WireUsage)][-1].usage
    assert to_tokens(usage) == Tokens.model_validate(stored)


@pytest.mark.parametrize("nonsense", [None, -5, 1.5e300, float("inf"), float("nan"), "many", [], True])
def test_numbers_that_are_none_count_as_zero(nonsense: object) -> None:
    usage = read_usage({"prompt_tokens": nonsense, "completion_tokens": nonsense, "total_tokens": nonsense})
    assert (usage.input, usage.output, usage.total) == (0, 0, None)


@pytest.mark.parametrize(
    ("used", "prices", "cost"),
    [
        (Usage(), {"input": 3, "output": 15}, "0"),
        (Usage(input=1_000_000, output=100_000), {"input": 3, "output": 15}, "4.5"),
        (
            Usage(input=800, output=60, reasoning=10, cache_read=200),
            {"input": 1, "output": 2, "cacheRead": "0.1"},
            "0.00094",
        ),
        (Usage(cache_write=1_000_000), {"cacheWrite": "3.75"}, "3.75"),
        (Usage(input=1_000_000, cache_read=9, output=9), {}, "0"),
    ],
)
def test_each_kind_of_token_has_its_price(used: Usage, prices: dict[str, object], cost: str) -> None:
    assert to_cost(used, priced(**prices)) == Decimal(cost)


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (Usage(input=200_000), "0.2"),
        (Usage(input=200_001), "0.400002"),
        (Usage(input=150_001, cache_read=50_000, output=1_000_000), "20.310002"),
        (Usage(input=1, cache_write=200_000), "0.8000020"),
        (Usage(input=500_001), "5.00001"),
    ],
)
def test_large_requests_pay_their_own_prices_for_every_token(used: Usage, cost: str) -> None:
    large = [
        {"above": 200_000, "input": 2, "output": 20, "cacheRead": "0.2", "cacheWrite": 4},
        {"above": 500_000, "input": 10, "output": 100},
    ]
    assert to_cost(used, priced(input=1, output=2, cacheRead="0.1", cacheWrite=3, large=large)) == Decimal(cost)


def test_the_settings_price_of_large_requests_holds_from_200_000_tokens_on() -> None:
    cost = {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}
    settings = {"own": {"options": {"baseURL": "http://127.0.0.1:1"}, "models": {"m": {"cost": cost}}}}
    model = Catalog(
        settings=CatalogSettings(provider=settings), table=ModelTable(), keys=lambda _: None, environment={}
    ).resolve(ModelRef(provider_id="own", model_id="m"))
    assert [to_cost(Usage(input=count), model) for count in (200_000, 300_000)] == [Decimal("0.2"), Decimal("0.9")]


def test_money_is_exact() -> None:
    assert to_cost(Usage(input=1), priced(input="0.1")) * 3 == Decimal("0.0000003")


SONNET = {
    "input_cost_per_token": 3e-6,
    "output_cost_per_token": 15e-6,
    "cache_read_input_token_cost": 3e-7,
    "cache_creation_input_token_cost": 3.75e-6,
    "cache_creation_input_token_cost_above_1hr": 6e-6,
    "input_cost_per_token_above_200k_tokens": 6e-6,
    "output_cost_per_token_above_200k_tokens": 22.5e-6,
    "cache_read_input_token_cost_above_200k_tokens": 6e-7,
    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-6,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 12e-6,
    "search_context_cost_per_query": {"search_context_size_medium": 0.01},
}
GPT = {
    "input_cost_per_token": 2.5e-6,
    "output_cost_per_token": 15e-6,
    "cache_read_input_token_cost": 2.5e-7,
    "input_cost_per_token_above_272k_tokens": 5e-6,
    "output_cost_per_token_above_272k_tokens": 22.5e-6,
    "cache_read_input_token_cost_above_272k_tokens": 5e-7,
}
FLASH = {"input_cost_per_token": 3e-7, "output_cost_per_token": 1e-6, "output_cost_per_reasoning_token": 3e-6}
EQUAL = {
    "input_cost_per_token": 1e-6,
    "output_cost_per_token": 1e-5,
    "output_cost_per_reasoning_token": 1e-5,
    "input_cost_per_token_above_200k_tokens": 2e-6,
    "output_cost_per_token_above_200k_tokens": 2e-5,
}
DEEPSEEK = {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6, "input_cost_per_token_cache_hit": 1e-7}


@pytest.mark.parametrize(
    ("listed", "used", "cost"),
    [
        (SONNET, Usage(input=100_000, output=1_000), "0.315"),
        (SONNET, Usage(cache_write=100_000), "0.375"),
        (SONNET, Usage(cache_write=100_000, cache_write_hour=100_000), "0.6"),
        (SONNET, Usage(cache_write=100_000, cache_write_hour=40_000), "0.465"),
        (SONNET, Usage(cache_write=10_000, cache_write_hour=90_000), "0.06"),
        (SONNET, Usage(cache_read=200_000), "0.06"),
        (SONNET, Usage(cache_read=200_000, input=1), "0.120006"),
        (SONNET, Usage(cache_write=300_000, cache_write_hour=300_000), "3.6"),
        (SONNET, Usage(input=1_000, searches=3), "0.033"),
        (GPT, Usage(input=272_000), "0.68"),
        (GPT, Usage(input=272_001), "1.360005"),
        (GPT, Usage(input=1, cache_read=300_000, output=1_000), "0.172505"),
        (FLASH, Usage(input=1_000_000, output=1_000_000, reasoning=400_000), "2.1"),
        (FLASH, Usage(output=100, reasoning=200), "0.0003"),
        (EQUAL, Usage(input=300_000, output=100_000, reasoning=50_000), "2.6"),
        (DEEPSEEK, Usage(cache_read=1_000_000), "0.1"),
        ({}, Usage(input=1_000, searches=2), "0"),
    ],
)
def test_the_price_of_a_call_is_that_of_the_table(
    tmp_path: Path, listed: dict[str, object], used: Usage, cost: str
) -> None:
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"m": {"litellm_provider": "p", "mode": "chat", **listed}}))
    (one,) = ModelTable(source=table).models(("p",)).values()
    model = one.model("p", "m", adapter="litellm", api_id="p/m")
    assert (to_cost(used, model), has_prices(model)) == (Decimal(cost), bool(listed))


def test_what_a_lost_prefix_costs_is_the_difference_to_the_cache(tmp_path: Path) -> None:
    model = priced(input=3, output=15, cacheRead="0.3", cacheWrite="3.75")
    assert extra_cost(1_000_000, 1_000_000, model) is None, "unknown prices"
    known = model.changed(cost=model.cost.changed(is_known=True))
    assert extra_cost(1_000_000, 1_000_000, known) == Decimal("3.45")


def test_anthropic_reports_what_is_kept_for_an_hour_and_searches() -> None:
    report = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "server_tool_use": {"web_search_requests": 2},
    }
    start = {"type": "message_start", "message": {"usage": report}}
    stream = f"data: {json.dumps(start)}\n\n".encode()
    found = [one.usage for one in AnthropicMessagesDecoder().feed(stream) if isinstance(one, WireUsage)]
    assert (found[-1].cache_write, found[-1].cache_write_hour, found[-1].searches) == (30, 20, 2)


@each(
    ("reported", "provider", "cost"),
    [
        ({"cost": 0.00025}, "openrouter", "0.00025"),
        ({"cost": 0}, "openrouter", "0"),
        ({"cost": 0.01, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.2}}, "openrouter", "0.21"),
        ({"cost": 0.01, "cost_details": {"upstream_inference_cost": 0.2}}, "openrouter", "0.01"),
        ({"cost": 0.5}, "p", "0.002"),
        ({"cost": {"total_cost": 0.5}}, "openrouter", "0.002"),
        ({"cost": -1}, "openrouter", "0.002"),
        ({"cost": True}, "openrouter", "0.002"),
        ({"cost": None}, "openrouter", "0.002"),
        ({}, "openrouter", "0.002"),
    ],
)
def test_openrouter_says_what_a_call_cost(reported: dict[str, object], provider: str, cost: str) -> None:
    used = read_usage({"prompt_tokens": 1000, "completion_tokens": 500, **reported})
    model = priced(input=1, output=2, is_known=True).changed(provider_id=provider)
    assert to_cost(used, model) == Decimal(cost)


def test_what_a_provider_says_counts_where_no_price_is_known() -> None:
    used = read_usage({"prompt_tokens": 1000, "completion_tokens": 500, "cost": 0.5})
    assert to_cost(used, priced()) == Decimal("0.5")
