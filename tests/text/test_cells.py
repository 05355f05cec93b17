"""Lines fit their room in cells, whatever the letters."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from opencode_tui.text.cells import breaks, clip, clip_front, clip_middle, hard_breaks, join_lines, pad, width, wrap
from opencode_tui.text.safe_text import screen_line

PLANES = 0x20000
"""From here on are planes of ideographs, and planes without a character of a use that is agreed on: a row of 16 is measured."""

LETTERS = st.text(st.sampled_from("ab cde  日本語한글é́👍-"), max_size=60)


@given(LETTERS, st.integers(4, 20))
@example("   日", 4)
@example("       日本", 4)
@example("   wörter", 4)
def test_wrapped_lines_fit_and_lose_only_blanks(text: str, room: int) -> None:
    text = screen_line(text)
    cuts = breaks(text, room)
    assert "".join(text[start:end] for start, end in cuts).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(text[start:end]) <= room for start, end in cuts)


@given(LETTERS, st.integers(2, 20))
def test_cut_lines_fit_and_lose_nothing(text: str, room: int) -> None:
    text = screen_line(text)
    cuts = hard_breaks(text, room)
    assert "".join(text[start:end] for start, end in cuts) == text
    assert all(cell_len(text[start:end]) <= room for start, end in cuts)


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


@pytest.mark.parametrize(
    ("text", "cells"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("📰", 2), ("\u200b", 0), ("각", 2), ("กี่", 1)]
)
def test_width_counts_cells(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.slow
def test_every_character_of_a_screen_is_as_wide_as_the_screens_library_says() -> None:
    shown = [chr(code) for code in range(0x20, PLANES) if screen_line(chr(code)) == chr(code)]
    assert len(shown) > 100_000
    assert [character for character in shown if width(character) != cell_len(character)] == []


@pytest.mark.slow
def test_every_row_of_256_characters_beyond_is_as_wide_as_the_screens_library_says() -> None:
    empty = [*range(0x40000, 0xE0000, 0x1000), *range(0xF0000, 0x110000, 0x1000)]
    starts = [*range(PLANES, 0x40000, 0x100), *range(0xE0000, 0xE1000, 0x100), *empty]
    shown = [row for start in starts if (row := screen_line("".join(map(chr, range(start, start + 0x100)))))]
    assert len("".join(shown)) > 170_000
    assert [f"{ord(row[0]):x}" for row in shown if width(row) != cell_len(row)] == []


@given(st.text(st.sampled_from("abक्षक्\u200dषe\u0301漢📰👍🏽👩\u200d👩\ufe0f한🇩🇪"), max_size=30))
def test_every_line_of_a_screen_is_as_wide_as_the_screens_library_says(text: str) -> None:
    line = screen_line(text)
    assert width(line) == cell_len(line)


@pytest.mark.parametrize("text", ["漢\u200d\u200da", "漢\u200b\u200da", "👩\ufe0f\u200d\u200d👩", "क\u200d\u200dष"])
def test_repeated_joiners_do_not_change_the_width_of_a_line(text: str) -> None:
    line = screen_line(text)
    assert width(line) == cell_len(line)


@given(LETTERS, st.integers(2, 20))
def test_padded_text_fills_its_room(text: str, room: int) -> None:
    assert width(pad(clip(text, room), room)) == room


@given(LETTERS, st.integers(2, 20))
def test_wrapping_loses_nothing_but_blanks(text: str, room: int) -> None:
    assert "".join(wrap(text, room)).replace(" ", "") == text.replace(" ", "")


def test_an_end_or_a_beginning_is_cut_with_a_mark() -> None:
    assert (clip("pytest -q tests", 10), clip_front("src/package/parser.py", 14)) == ("pytest -q…", "…/parser.py")
    assert (clip("漢字漢字", 4), clip("short", 5), clip_front("short", 5)) == ("漢…", "short", "short")


READ_ONLY = "cannot write /home/person/.local/share/opencode-tui/storage/session: read-only; set XDG_DATA_HOME to a folder of yours"


@pytest.mark.parametrize("room", [60, 80, 100])
def test_the_middle_goes_before_the_remedy(room: int) -> None:
    cut = clip_middle(READ_ONLY, room)
    assert cut.startswith("cannot write") and "…" in cut and cut.endswith(" set XDG_DATA_HOME to a folder of yours")
    assert width(cut) <= room


def test_of_a_long_path_the_front_goes_and_no_word() -> None:
    text = f"/tmp{'/long' * 20}/taken.md is there already; give another name"
    assert clip_middle(text, 60) == "…/long/long/taken.md is there already; give another name"


def test_a_text_of_one_clause_keeps_both_of_its_ends() -> None:
    assert clip_middle("one " * 20 + "and the end", 30) == "one one one o… one and the end"
    assert clip_middle("short", 30) == "short"
    assert width(clip_middle("漢字" * 40, 31)) <= 31
