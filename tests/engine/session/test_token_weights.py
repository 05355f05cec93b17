"""How the tokens of counts are learned from reports."""

import random

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.session.request_shape import COUNTS
from opencode_tui.engine.session.token_weights import PLAUSIBLE, Weights, beginning, checked, learned

TRUE = beginning().values


def shape(chance: random.Random) -> tuple[float, ...]:
    return tuple(float(chance.randrange(200)) for _ in COUNTS)


def taught(reports: int, factor: float) -> Weights:
    """Return the weights after reports of a model that takes `factor` times the beginning's tokens."""
    chance, weights = random.Random(3), beginning()
    for _ in range(reports):
        seen = shape(chance)
        weights = learned(weights, seen, round(factor * beginning().tokens(seen)))
    return weights


def test_reports_bring_the_estimate_to_the_truth() -> None:
    seen = shape(random.Random(99))
    true = 1.3 * beginning().tokens(seen)
    assert abs(beginning().tokens(seen) - true) / true > 0.2
    assert abs(taught(10, 1.3).tokens(seen) - true) / true < 0.02


def test_a_report_that_cannot_be_changes_nothing() -> None:
    seen = shape(random.Random(1))
    expected = beginning().tokens(seen)
    for count in (0, -5, int(expected / PLAUSIBLE) - 1, int(expected * PLAUSIBLE) + 1):
        assert learned(beginning(), seen, count) == beginning()


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0.34, 2.9)), max_size=30))
def test_no_report_makes_a_weight_absurd(reports: list[tuple[int, float]]) -> None:
    weights = beginning()
    for seed, factor in reports:
        seen = shape(random.Random(seed))
        weights = learned(weights, seen, round(factor * weights.tokens(seen)))
    assert checked(weights.values, weights.covariance, weights.reports) == weights


def test_learning_never_ends() -> None:
    weights, chance = taught(300, 0.8), random.Random(4)
    for _ in range(60):
        seen = shape(chance)
        weights = learned(weights, seen, round(1.25 * beginning().tokens(seen)))
    seen = shape(random.Random(5))
    assert abs(weights.tokens(seen) / beginning().tokens(seen) - 1.25) < 0.1


def test_stored_numbers_that_are_no_weights_are_refused() -> None:
    good = beginning()
    size = len(COUNTS)
    nothing, broken = (0.0,) * size, [[float("nan")] * size] * size
    assert checked(good.values, good.covariance, 0) == good
    assert checked(good.values[1:], good.covariance, 0) is None
    assert checked(nothing, good.covariance, 0) is None
    assert checked(good.values, broken, 0) is None
    assert checked(good.values, [[1e9] * size] * size, 0) is None
