"""What a call used and cost."""

import json
from decimal import Decimal

import pytest

from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.cost import to_cost, to_tokens
from opencode_tui.engine.provider.decode.anthropic_messages import AnthropicMessagesDecoder
from opencode_tui.engine.provider.decode.delta import WireUsage
from opencode_tui.engine.provider.decode.openai_chat import read_usage
from opencode_tui.engine.provider.llm import Usage
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.schema.model import Cost, Model, ModelRef
from opencode_tui.schema.session.message import CacheTokens, Tokens


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
