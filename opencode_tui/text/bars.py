"""Figures as blocks in one row: a column for each value, or a bar for a share."""

from collections.abc import Sequence
from itertools import pairwise

COLUMNS = "▁▂▃▄▅▆▇█"
ASCII_COLUMNS = "_.-=+*%#"

_HALF, _FULL = "▌", "█"

AS_ASCII = str.maketrans({_HALF: "-", _FULL: "#"})
"""Bars for terminals without blocks."""


def columns(values: Sequence[int], *, marks: str = COLUMNS) -> str:
    """Return a sign for each value, as high as its share of the largest one; the lowest for 0."""
    most = max(values, default=0)
    last = len(marks) - 1
    return "".join(marks[-(-value * last // most) if most else 0] for value in values)


def grouped(values: Sequence[int], most: int) -> list[list[int]]:
    """Return the positions of the values in at most `most` groups of neighbors, in order."""
    count = min(most, len(values))
    edges = [len(values) * at // count for at in range(count + 1)] if count else [0]
    return [list(range(start, end)) for start, end in pairwise(edges)]


def bar(value: float, most: float, width: int) -> str:
    """Return a bar of at most `width` cells for a value out of the largest one; a value above 0 has half a cell at least."""
    halves = round(2 * width * value / most) if most > 0 else 0
    halves = max(1, halves) if value > 0 else 0
    return _FULL * (halves // 2) + _HALF * (halves % 2)
