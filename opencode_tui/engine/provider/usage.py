"""What a call used, as a message stores it, and what it cost. Source: reference, section 14."""

from decimal import Decimal

from opencode_tui.engine.provider.stream import Usage
from opencode_tui.schema.message import CacheTokens, Tokens
from opencode_tui.schema.model import Cost, Model

_MILLION = Decimal(1_000_000)
_LARGE_REQUEST = 200_000


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
    """Return the price of a call in USD; thoughts are part of the output and paid once."""
    cost = _prices(usage, model)
    spent = (
        usage.input * cost.input
        + usage.output * cost.output
        + usage.cache_read * cost.cache_read
        + usage.cache_write * cost.cache_write
    )
    return spent / _MILLION


def _prices(usage: Usage, model: Model) -> Cost:
    large = model.cost.over_200k
    is_large = usage.input + usage.cache_read > _LARGE_REQUEST
    return large if large is not None and is_large else model.cost
