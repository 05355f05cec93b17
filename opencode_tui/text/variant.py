"""The words about the variants of a model: which there are, which one applies, what another one costs in a long conversation."""

from decimal import Decimal

from opencode_tui.schema.model import PROVIDER_VARIANT, Model, shown_variant
from opencode_tui.text.quantity import money, token_words

LONG_CONTEXT = 20_000
"""Tokens of a conversation from which the cost of another variant is shown."""

_MILLION = 1_000_000


def choosable_variants(model: Model | None) -> list[str | None]:
    """Return what the user may choose: None for the default, all other variants, and `provider` if the default sends something."""
    if model is None:
        return [None]
    default = shown_variant(model, None)
    return [None, *(name for name in model.variants if name != default), *([PROVIDER_VARIANT] if default else [])]


def default_words(model: Model | None) -> str:
    """Return `default`, with the variant that it stands for in brackets."""
    found = shown_variant(model, None)
    return f"default ({found})" if found else "default"


def variant_words(model: Model, chosen: str | None = None) -> str:
    """Return `low to max, default medium`, or the chosen variant with these; empty for a model without variants. Not safe."""
    names = [*model.variants]
    if not names:
        return ""
    span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    if chosen:
        return f"{chosen}, of {span}"
    default = shown_variant(model, None)
    return f"{span}, default {default}" if default else span


def reread_words(tokens: int, model: Model | None) -> str:
    """Return what another variant costs: with the next request the provider may read the conversation again, not from its cache.

    Empty for a short conversation.
    """
    if tokens <= LONG_CONTEXT:
        return ""
    words = f"may read {token_words(tokens)} again"
    if model is None or not model.cost.is_known:
        return words
    large = [prices for prices in model.cost.large if tokens > prices.above]
    prices = large[-1] if large else model.cost
    more = tokens * (max(prices.input, prices.cache_write) - prices.cache_read) / Decimal(_MILLION)
    return f"{words}, +{money(more)}" if more > 0 else words
