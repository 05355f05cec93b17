"""No text from outside steers a terminal, and each of its letters stands where the program thinks."""

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opencode_tui.text.safe_text import expand_tabs, make_safe, output_line, screen_line, screen_lines
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.rows import each


@each("text", HOSTILE)
@each("safe", [make_safe, screen_line, output_line])
def test_hostile_text_steers_nothing(text, safe) -> None:
    assert steering(safe(text)) == []


@pytest.mark.slow
@given(st.text())
def test_no_text_at_all_steers(text: str) -> None:
    for line in [screen_line(text), output_line(text), *screen_lines(text)]:
        assert steering(line) == []
        assert "\n" not in line and "\t" not in line


@pytest.mark.slow
@given(st.text(st.characters(codec="utf-8"), max_size=20), st.text(st.characters(codec="utf-8"), max_size=20))
def test_letters_take_the_same_cells_alone_and_together(one: str, other: str) -> None:
    first, second = screen_line(one), screen_line(other)
    assert cell_len(first + second) == cell_len(first) + cell_len(second)


@each(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("日本", "日本"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("right\u202eleft", "right\\u202eleft"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("❤\ufe0f", "❤"),
        ("👨\u200d👩", "👨👩"),
        ("👍🏽", "👍"),
        ("soft\u00adhyphen", "softhyphen"),
        ("to 🇩🇪🇫🇷 and 🇯", "to DEFR and J"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_screen_line_writes_out_what_steers(text: str, shown: str) -> None:
    assert screen_line(text) == shown


def test_a_line_has_no_line_feed_and_no_tab_and_a_text_keeps_them() -> None:
    assert make_safe("a\n\tb\x1b") == "a\\x0a\\x09b\\x1b"
    assert make_safe("a\n\tb\x1b", multiline=True) == "a\n\tb\\x1b"


def test_output_loses_its_colors_and_keeps_what_was_drawn_last() -> None:
    assert output_line("\x1b[32mok\x1b[0m  ") == "ok"
    assert output_line("10 %\r50 %\r100 %") == "100 %"
    assert output_line("\x1b]0;title\x07done") == "done"


def test_tabs_reach_the_next_stop_by_cells() -> None:
    assert [expand_tabs(text) for text in ("a\tb", "日\tb", "abcd\tb")] == ["a   b", "日  b", "abcd    b"]


@pytest.mark.parametrize(
    "text",
    [
        "to 🇩🇪🇫🇷 and 🇯",
        "日本語 한글 ｱｲｳ",
        "e\u0301 a\u0301",
        "👍🏽 👨\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3",
        "🏴\U000e0067\U000e007f",
        "日\tb",
    ],
)
def test_the_cursor_of_a_terminal_stands_where_the_program_counts(text: str) -> None:
    terminal = pyte.Screen(80, 2)
    pyte.Stream(terminal).feed(screen_line(text))
    assert terminal.cursor.x == cell_len(screen_line(text))
