"""Pure: how many tokens each count of a shape stands for in one model, and how that is learned from what its provider reports.

The weights begin at values that lie between the common tokenizers. Each report corrects them by a step of recursive least squares
(a Kalman filter whose state hardly moves): counts that were uncertain and had a great part in the request move most. Every weight
stays between a quarter and four times its beginning, so that no report, however wrong, makes an estimate absurd.
"""

import math
from collections.abc import Sequence

from opencode_tui.engine.session.request_shape import COUNTS, Shape
from opencode_tui.engine.session.text_shape import TEXT_COUNTS, TextShape
from opencode_tui.schema.value import immutable

BEGINNING = {
    "words": 1.0, "sixes": 0.1, "humps": 0.95, "capitals": 0.1, "numbers": 1.7, "threes": 0.3, "mark runs": 0.35, "marks": 0.25,
    "lines": 0.9, "gaps": 0.9, "han": 0.9, "kana": 0.9, "wide": 0.6, "latin": 1.5, "symbols": 0.7, "others": 1.5,
    "requests": 10.0, "messages": 4.0, "calls": 6.0, "schema": 1.0, "thoughts": 1.0, "media": 1.0,
}  # fmt: skip
"""Tokens for one of each count, fitted to the vocabularies o200k, cl100k and Claude's on code, prose, Chinese and JSON."""

SPREAD = 0.4
"""How far a weight may be off before anything was reported, as a share of its beginning."""

NOISE = 0.02
"""How far a request may be off that the weights fit, as a share of it: tokenizers do not count by weights."""

DRIFT = 0.01
"""How far a weight may move from one report to the next, as a share of its spread; without it a model would learn less and less."""

PLAUSIBLE = 3.0
"""A report that is so many times more or less than the estimate says nothing of the tokenizer."""

_LEAST_SPREAD = 0.1
_REQUEST_SPREAD = 60.0
_FLOOR = 10.0
_BOUND = 4.0
_MOST_FRAME = 1_000.0
"""Tokens that a provider may put before every request: its own instructions for tools."""
_DROPPABLE = ("thoughts",)
"""What some providers do not count at all."""

_BEGINNINGS = tuple((name, BEGINNING[name]) for name in COUNTS)
_START = tuple(value for _, value in _BEGINNINGS)
_SPREADS = tuple(
    _REQUEST_SPREAD if name == "requests" else max(_LEAST_SPREAD, SPREAD * value) for name, value in _BEGINNINGS
)
_LOWEST = tuple(0.0 if name in _DROPPABLE else value / _BOUND for name, value in _BEGINNINGS)
_HIGHEST = tuple(_MOST_FRAME if name == "requests" else max(1.0, value * _BOUND) for name, value in _BEGINNINGS)

Matrix = tuple[tuple[float, ...], ...]


@immutable
class Weights:
    """The tokens of each count, how uncertain they are (a covariance), and from how many reports they come."""

    values: tuple[float, ...]
    covariance: Matrix
    reports: int = 0

    def tokens(self, shape: Shape) -> float:
        """Return the tokens of a shape."""
        return _dot(self.values, shape)


def beginning() -> Weights:
    """Return the weights of a model of which nothing was reported."""
    size = range(len(_SPREADS))
    return Weights(_START, tuple(tuple(_SPREADS[row] ** 2 * (row == column) for column in size) for row in size))


def plain_tokens(shape: TextShape) -> float:
    """Return the tokens of a text in a model of which nothing was reported."""
    return _dot(_START[: len(TEXT_COUNTS)], shape)


def learned(weights: Weights, shape: Shape, count: int) -> Weights:
    """Return the weights after a report that a request of this shape took so many tokens; the same when it is not plausible."""
    expected = weights.tokens(shape)
    if count <= 0 or not expected / PLAUSIBLE <= count <= expected * PLAUSIBLE:
        return weights
    doubt = tuple(_dot(row, shape) for row in weights.covariance)
    total, miss = max(0.0, _dot(doubt, shape)) + (NOISE * count) ** 2 + _FLOOR**2, count - expected
    values = tuple(
        _within(value + part / total * miss, low, high)
        for value, part, low, high in zip(weights.values, doubt, _LOWEST, _HIGHEST, strict=True)
    )
    covariance = [
        [old - left * right / total for old, right in zip(row, doubt, strict=True)]
        for row, left in zip(weights.covariance, doubt, strict=True)
    ]
    for at, spread in enumerate(_SPREADS):
        covariance[at][at] = _within(covariance[at][at] + (DRIFT * spread) ** 2, 0.0, spread**2)
    return Weights(values, tuple(map(tuple, covariance)), weights.reports + 1)


def checked(values: Sequence[float], covariance: Sequence[Sequence[float]], reports: int) -> Weights | None:
    """Return stored weights, None when they cannot be weights: another number of counts, or numbers out of all bounds."""
    size = len(COUNTS)
    if len(values) != size or len(covariance) != size or any(len(row) != size for row in covariance) or reports < 0:
        return None
    if not all(low <= value <= high for value, low, high in zip(values, _LOWEST, _HIGHEST, strict=True)):
        return None
    if not all(math.isfinite(number) for row in covariance for number in row):
        return None
    if not all(0 <= covariance[at][at] <= _SPREADS[at] ** 2 * 1.01 for at in range(size)):
        return None
    return Weights(tuple(values), tuple(tuple(row) for row in covariance), reports)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, map(float, other)))


def _within(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
