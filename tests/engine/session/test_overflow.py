"""When a conversation exceeds its model's context: the cases of the original's tests, then our own."""

import pytest

from opencode_tui.engine.session.compaction.state import OverflowRules, exceeds, usable
from opencode_tui.schema.model import Limit, Model
from opencode_tui.schema.session.message import CacheTokens, Tokens


def model(context: int, output: int = 0, cap: int | None = None) -> Model:
    return Model(provider_id="p", model_id="m", limit=Limit(context=context, output=output, input=cap))


def spent(given: int, output: int, read: int = 0, **fields: object) -> Tokens:
    return Tokens.model_validate({"input": given, "output": output, "cache": CacheTokens(read=read), **fields})


@pytest.mark.parametrize(
    ("limits", "tokens", "is_full"),
    [
        (model(100_000, 32_000), spent(75_000, 5_000), True),
        (model(200_000, 32_000), spent(100_000, 10_000), False),
        (model(100_000, 32_000), spent(50_000, 10_000, 10_000), True),
        (model(400_000, 128_000, 272_000), spent(271_000, 1_000, 2_000), True),
        (model(400_000, 128_000, 272_000), spent(200_000, 20_000, 10_000), False),
        (model(200_000, 10_000, 120_000), spent(50_000, 9_999), False),
        (model(0), spent(10_000_000, 1), False),
        (model(100_000, 32_000), spent(68_000, 0), False),
        (model(100_000, 32_000), spent(68_001, 0), True),
    ],
)
def test_overflow_is_more_than_what_is_usable(limits: Model, tokens: Tokens, is_full: bool) -> None:
    assert exceeds(tokens.context, limits, OverflowRules()) is is_full


def test_nothing_overflows_when_compaction_is_switched_off() -> None:
    assert not exceeds(80_000, model(100_000, 32_000), OverflowRules(is_automatic=False))


def test_a_reported_total_counts_before_the_sum_of_its_kinds() -> None:
    assert spent(10, 20, 30, total=1_000).context == 1_000
    assert spent(10, 20, 30, total=0).context == 60
    assert spent(10, 20, 30, cache=CacheTokens(read=30, write=500)).context == 60


@pytest.mark.parametrize(
    ("limits", "rules", "room"),
    [
        (model(100_000), OverflowRules(), 68_000),
        (model(100_000, 64_000), OverflowRules(), 68_000),
        (model(100_000, 8_000), OverflowRules(output_max=4_000), 96_000),
        (model(400_000, 128_000, 272_000), OverflowRules(reserved=20_000), 252_000),
        (model(400_000, 32_000), OverflowRules(reserved=20_000), 368_000),
        (model(8_000, 32_000), OverflowRules(), 0),
        (model(8_000, 1_000, 5_000), OverflowRules(reserved=9_000), 0),
        (model(0, 1_000, 5_000), OverflowRules(), None),
    ],
)
def test_usable_is_the_input_limit_or_what_the_answer_leaves(
    limits: Model, rules: OverflowRules, room: int | None
) -> None:
    assert usable(limits, rules) == room


def test_an_estimate_is_held_against_the_same_limit() -> None:
    assert [exceeds(count, model(40_000, 32_000), OverflowRules()) for count in (8_000, 8_001)] == [False, True]
