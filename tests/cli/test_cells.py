import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.cli.cells import clip, clip_front, pad, width, wrap

letters = st.text(alphabet="ab /é漢字📰e\u0301\u200d한", max_size=30)


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("📰", 2), ("\u200b", 0), ("각", 2), ("กี่", 1)]
)
def test_width_counts_cells(text, cells):
    assert width(text) == cells


def test_an_end_or_a_beginning_is_cut_with_a_mark():
    assert (clip("pytest -q tests", 10), clip_front("src/package/parser.py", 14)) == ("pytest -q…", "…/parser.py")
    assert (clip("漢字漢字", 4), clip("short", 5), clip_front("short", 5)) == ("漢…", "short", "short")


@given(letters, st.integers(min_value=2, max_value=20))
def test_nothing_takes_more_than_its_room(text, room):
    assert width(clip(text, room)) <= room and width(clip_front(text, room)) <= room
    assert all(width(line) <= room for line in wrap(text, room))
    assert width(pad(clip(text, room), room)) == room


@given(letters, st.integers(min_value=2, max_value=20))
def test_wrapping_loses_nothing_but_blanks(text, room):
    assert "".join(wrap(text, room)).replace(" ", "") == text.replace(" ", "")
