"""Usage and cost of a model call. Source: docs/internals/loop.md#tokens-and-cost."""

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
    """Return the price of a call in USD; reasoning is part of the output and counted once, unknown prices count as 0.

    The prices of all tokens are those of the request's size, cached tokens included. Searches of the provider are added. What the
    provider says counts at OpenRouter, whose prices depend on the host that answered, and where no price is known.
    """
    if usage.paid is not None and (model.provider_id == "openrouter" or not has_prices(model)):
        return usage.paid
    prices = _prices(usage, model)
    reasoning = min(usage.reasoning, usage.output) if prices.reasoning is not None else 0
    for_hour = min(usage.cache_write_hour, usage.cache_write) if prices.cache_write_hour is not None else 0
    spent = (
        usage.input * prices.input
        + (usage.output - reasoning) * prices.output
        + reasoning * (prices.reasoning or 0)
        + usage.cache_read * prices.cache_read
        + (usage.cache_write - for_hour) * prices.cache_write
        + for_hour * (prices.cache_write_hour or 0)
    )
    return spent / _MILLION + usage.searches * (model.cost.search or 0)


def extra_cost(tokens: int, sent: int, model: Model) -> Decimal | None:
    """Return the extra cost of sending `tokens` uncached instead of cached, in a request of `sent` tokens.

    In USD; None when the model's prices are unknown.
    """
    if not has_prices(model):
        return None
    prices = _prices(Usage(input=sent), model)
    return tokens * (max(prices.input, prices.cache_write) - prices.cache_read) / _MILLION


def has_prices(model: Model) -> bool:
    """Return whether the prices of a model are known: not whether it is free."""
    return model.cost.is_known


def _prices(usage: Usage, model: Model) -> Prices:
    """Return the prices for a request of this size, which includes cached tokens."""
    sent = usage.input + usage.cache_read + usage.cache_write
    large = [prices for prices in model.cost.large if sent > prices.above]
    return large[-1] if large else model.cost
