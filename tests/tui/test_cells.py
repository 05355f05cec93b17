"""Lines fit their room in cells, whatever the letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opencode_tui.tui.cells import breaks, clip, clip_front, hard_breaks, join_lines
from opencode_tui.tui.safe_text import screen_line

LETTERS = st.text(st.sampled_from("ab cde  日本語한글é́👍-"), max_size=60)


@given(LETTERS, st.integers(4, 20))
def test_wrapped_lines_fit_and_lose_only_blanks(text: str, room: int) -> None:
    text = screen_line(text)
    cuts = breaks(text, room)
    assert all(cell_len(text[start:end]) <= room for start, end in cuts)
    assert "".join(text[start:end] for start, end in cuts).replace(" ", "") == text.replace(" ", "")


@given(LETTERS, st.integers(2, 20))
def test_cut_lines_fit_and_lose_nothing(text: str, room: int) -> None:
    text = screen_line(text)
    cuts = hard_breaks(text, room)
    assert all(cell_len(text[start:end]) <= room for start, end in cuts)
    assert "".join(text[start:end] for start, end in cuts) == text


@given(LETTERS, st.integers(0, 20))
def test_clipped_text_fits(text: str, room: int) -> None:
    assert cell_len(clip(text, room)) <= room
    assert cell_len(clip_front(text, room)) <= room


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("one two three", 8, ["one two", "three"]),
        ("unbreakable", 4, ["unbr", "eaka", "ble"]),
        ("日本語です", 4, ["日本", "語で", "す"]),
        ("", 4, [""]),
    ],
)
def test_lines_break_between_words_or_wide_letters(text: str, room: int, lines: list[str]) -> None:
    assert [text[start:end] for start, end in breaks(text, room)] == lines


def test_a_path_is_cut_at_a_slash() -> None:
    assert clip_front("src/csvkit/parser.py", 19) == "…/csvkit/parser.py"


def test_lines_of_a_paragraph_join_with_a_blank_but_not_between_wide_letters() -> None:
    assert (join_lines("one", "two"), join_lines("日", "本")) == ("one two", "日本")
