"""Usage and cost of a model call. Source: reference, section 14."""

from decimal import Decimal

from opencode_tui.engine.provider.llm import Usage
from opencode_tui.schema.model import Model, Prices
from opencode_tui.schema.session.message import CacheTokens, Tokens

_MILLION = Decimal(1_000_000)


def to_tokens(usage: Usage) -> Tokens:
    """Return the usage in its stored form."""
    return Tokens(
        total=usage.total,
        input=usage.input,
        output=usage.output,
        reasoning=usage.reasoning,
        cache=CacheTokens(read=usage.cache_read, write=usage.cache_write),
    )


def to_cost(usage: Usage, model: Model) -> Decimal:
    """Return the price of a call in USD; reasoning is part of the output and counted once, unknown prices count as 0."""
    prices = _prices(usage, model)
    spent = (
        usage.input * prices.input
        + usage.output * prices.output
        + usage.cache_read * prices.cache_read
        + usage.cache_write * prices.cache_write
    )
    return spent / _MILLION


def _prices(usage: Usage, model: Model) -> Prices:
    """Return the prices for a request of this size, which includes cached tokens."""
    sent = usage.input + usage.cache_read + usage.cache_write
    large = [prices for prices in model.cost.large if sent > prices.above]
    return large[-1] if large else model.cost
