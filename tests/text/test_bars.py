"""Figures as blocks."""

import pytest

from opencode_tui.text.bars import ASCII_COLUMNS, bar, columns, grouped


@pytest.mark.parametrize(
    ("values", "drawn"),
    [((), ""), ((0, 0), "▁▁"), ((7,), "█"), ((0, 1, 4, 8), "▁▂▅█"), ((1_000_000, 1), "█▂")],
)
def test_each_value_has_a_column_as_high_as_its_share_of_the_largest(values, drawn):
    assert columns(values) == drawn


def test_columns_have_signs_of_ascii_too():
    assert columns([0, 8], marks=ASCII_COLUMNS) == "_#"


def test_neighbors_share_a_column_where_there_are_too_few():
    assert grouped([1, 2, 3], 10) == [[0], [1], [2]]
    assert grouped(range(5), 2) == [[0, 1], [2, 3, 4]]
    assert grouped([], 5) == []


@pytest.mark.parametrize(
    ("value", "most", "drawn"),
    [(0, 0, ""), (0, 5, ""), (5, 5, "████"), (2.5, 5, "██"), (0.001, 5, "▌"), (1.9, 5, "█▌")],
)
def test_a_bar_is_as_long_as_its_share_and_never_empty_above_zero(value, most, drawn):
    assert bar(value, most, 4) == drawn
