"""What a call used and cost."""

from decimal import Decimal

import pytest

from opencode_tui.engine.provider.stream import Usage
from opencode_tui.engine.provider.usage import to_cost, to_tokens
from opencode_tui.schema.message import CacheTokens, Tokens
from opencode_tui.schema.model import Cost, Model


def priced(**prices: object) -> Model:
    return Model(provider_id="p", model_id="m", cost=Cost.model_validate(prices))


def test_usage_is_stored_field_by_field() -> None:
    used = Usage(input=800, output=60, reasoning=10, cache_read=200, cache_write=5, total=1065)
    assert to_tokens(used) == Tokens(
        total=1065, input=800, output=60, reasoning=10, cache=CacheTokens(read=200, write=5)
    )


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (Usage(input=800, output=60, reasoning=10, cache_read=200), "0.00094"),
        (Usage(cache_write=1_000_000), "3"),
        (Usage(), "0"),
        (Usage(input=200_000), "0.2"),
        (Usage(input=150_001, cache_read=50_000, output=1_000_000), "20.310002"),
    ],
)
def test_thoughts_are_paid_once_and_large_requests_at_their_own_price(used: Usage, cost: str) -> None:
    over = {"input": 2, "output": 20, "cacheRead": "0.2"}
    assert to_cost(used, priced(input=1, output=2, cacheRead="0.1", cacheWrite=3, over200k=over)) == Decimal(cost)


def test_money_is_exact() -> None:
    assert to_cost(Usage(input=1), priced(input="0.1")) * 3 == Decimal("0.0000003")
