"""The words about the variants of a model."""

from decimal import Decimal

import pytest

from opencode_tui.schema.model import Cost, LargePrices, Model
from opencode_tui.text.variant import choosable_variants, default_words, reread_words, variant_words

PLAIN = Model(provider_id="p", model_id="m")
EFFORTS = PLAIN.changed(variants={name: {"effort": name} for name in ("low", "medium", "high")})


@pytest.mark.parametrize(
    ("model", "words", "default", "choosable"),
    [
        (None, "", "default", [None]),
        (PLAIN, "", "default", [None]),
        (EFFORTS, "low to high", "default", [None, "low", "medium", "high"]),
        (
            EFFORTS.changed(default_variant="medium"),
            "low to high, default medium",
            "default (medium)",
            [None, "low", "high", "provider"],
        ),
        (
            EFFORTS.changed(default_variant="provider"),
            "low to high",
            "default",
            [None, "low", "medium", "high"],
        ),
        (EFFORTS.changed(default_variant="huge"), "low to high", "default", [None, "low", "medium", "high"]),
    ],
)
def test_the_default_is_named_and_chosen_by_no_other_name(
    model: Model | None, words: str, default: str, choosable: list[str | None]
) -> None:
    assert ("" if model is None else variant_words(model)) == words
    assert default_words(model) == default
    assert choosable_variants(model) == choosable


def test_another_variant_costs_what_the_conversation_costs_more_than_from_the_cache() -> None:
    large = [LargePrices(above=200_000, input=Decimal(4), cache_read=Decimal("0.4"))]
    cost = Cost(input=Decimal(2), cache_read=Decimal("0.2"), large=large, is_known=True)
    priced = EFFORTS.changed(cost=cost)
    assert reread_words(20_000, priced) == ""
    assert reread_words(100_000, priced) == "may read 100 k tokens again, +$0.18"
    assert reread_words(300_000, priced) == "may read 300 k tokens again, +$1.08"
    assert reread_words(100_000, EFFORTS) == reread_words(100_000, None) == "may read 100 k tokens again"
