"""What is shown of typed bytes, and from which key on nothing more is."""

import subprocess
import sys
import unicodedata

import pytest

from opencode_tui.instant.line import TypedLine, cells_of


def line_of(*data: bytes, room: int = 40) -> TypedLine:
    line = TypedLine(room)
    for piece in data:
        line.feed(piece)
    return line


@pytest.mark.parametrize(
    ("typed", "text", "cursor"),
    [
        (b"abc", "abc", 3),
        (b"abc\x7fd", "abd", 3),
        (b"\x7fab", "ab", 2),
        (b"abc\x1b[D\x1b[DX", "aXbc", 2),
        (b"abc\x1b[HX\x1b[FY\x1bOHZ\x1b[4~!", "ZXabcY!", 7),
        (b"ab\x1b[C\x1b[D\x1b[D\x1b[D\x7fc", "cab", 1),
        ("größer §5 字".encode(), "größer §5 字", 11),
        (b"a\x1b[200~b c\x1b[201~d", "ab cd", 5),
        (b"abc\x03de", "de", 2),
        (b"a?", "a?", 2),
    ],
)
def test_keys_are_applied_in_any_pieces(typed: bytes, text: str, cursor: int) -> None:
    for line in (line_of(typed), line_of(*(bytes([one]) for one in typed))):
        assert (line.text, line.cursor, line.is_stuck) == (text, cursor, False)


@pytest.mark.parametrize(
    "key",
    [
        b"\r",
        b"\n",
        b"\t",
        b"\x01",
        b"\x08",
        b"\x1b[A",
        b"\x1b[<0;3;4M",
        b"\x1bx",
        b"\xff",
        "e\u0301".encode()[1:],
        "👍".encode(),
        "\u1112\u1161".encode(),
        b"\x1b[200~two\nlines\x1b[201~",
        b"\x1b[200~shot.PNG \x1b[201~",
        b"\x1b[200~" + b"x" * 2_000,
        b"x" * 50,
    ],
)
def test_a_key_whose_effect_is_not_certain_ends_the_picture(key: bytes) -> None:
    line = line_of(b"abc", key, b"d\x7f\x7f")
    assert line.is_stuck and not line.wants_to_quit
    assert line.text.rstrip("x") in ("abc", "abc\ufffd") and "d" not in line.text


def test_a_first_question_mark_asks_for_help_and_a_marker_goes_at_once() -> None:
    assert line_of(b"?").is_stuck and line_of(b"[Image 1]\x7f").is_stuck and line_of(b"@a.py #").is_stuck


def test_ctrl_c_quits_when_it_is_typed_twice_without_a_text() -> None:
    assert not line_of(b"abc\x03").is_stuck
    once = line_of(b"abc\x03", b"\x03")
    assert once.is_stuck and not once.wants_to_quit
    assert line_of(b"\x03", b"\x03").wants_to_quit
    assert not line_of(b"\x03", b"a", b"\x03").wants_to_quit  # it clears the text
    assert not line_of(b"\x03", b"a", b"\x1b[200~\x03").wants_to_quit
    assert not line_of(b"abc\r", b"\x03", b"\x03").wants_to_quit  # the text is sent first


def test_letters_of_most_languages_need_no_table_and_have_the_width_that_it_says() -> None:
    """The table is a file, and while the program is imported each look for a file waits for its turn."""
    code = "import sys; from opencode_tui.instant.line import cells_of; print(*map(cells_of, 'üж字한'), [*sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("1 1 2 2 [") and "unicodedata" not in found.stdout
    letters = [
        chr(code)
        for code in (*range(0x80, 0x3100), *range(0x4D00, 0x4F00), *range(0x9F00, 0xD800))
        if chr(code).isalpha()
    ]
    for letter in letters:
        is_wide = unicodedata.east_asian_width(letter) in "WF"
        is_doubtful = 0x1100 <= ord(letter) < 0x1200 or (is_wide and unicodedata.category(letter) != "Lo")
        assert cells_of(letter) == (0 if is_doubtful else 1 + is_wide), hex(ord(letter))
