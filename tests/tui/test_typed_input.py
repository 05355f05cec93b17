"""Only what was typed becomes keys: nothing in a paste or a reply of the terminal does, however the input is cut."""

import random

from hypothesis import given
from hypothesis import strategies as st
from textual import events

from opencode_tui.tui.typed_input import (
    DROP_ESCAPE,
    PASTE_BEGINS,
    PASTE_ENDS,
    ROUNDS,
    Piece,
    Reply,
    TypedInput,
)
from tests.support.rows import each

HOSTILE = "a\x1b[13u\x1b\r\x03b\tc\n"
LIGHT = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\"


def read(written: str, sizes: tuple[int, ...] = (100_000,), *, pauses: int = 1, asked: bool = False) -> list[Piece]:
    """Return the pieces of an input in reads of the given sizes, in turn, with pauses at its end."""
    typed = TypedInput()
    if asked:
        typed.expect_reply()
    found: list[Piece] = []
    at = number = 0
    while at < len(written):
        size = sizes[number % len(sizes)]
        found += typed.feed(written[at : at + size])
        at, number = at + size, number + 1
    for _ in range(pauses):
        found += typed.pause()
    return found


def keys(pieces: list[Piece]) -> str:
    """Return what was typed, as a parser reads it that gets `DROP_ESCAPE` as an empty paste."""
    text = "".join(one for one in pieces if isinstance(one, str))
    return text.replace("\x1b" + DROP_ESCAPE, "")


def pastes(pieces: list[Piece]) -> list[str]:
    return [one.text for one in pieces if isinstance(one, events.Paste)]


def replies(pieces: list[Piece]) -> list[str]:
    return [one.text for one in pieces if isinstance(one, Reply) and one.text]


@each("size", [1, 2, 3, 5, 7, 1000])
def test_a_paste_is_text_without_control_characters_however_it_is_cut(size: int) -> None:
    found = read(f"x{PASTE_BEGINS}{HOSTILE}{PASTE_ENDS}", (size,))
    assert (keys(found), pastes(found)) == ("x", ["a[13u\rb\tc\n"])


PASTED = (
    "hello\x1b[201~y",
    "x\x1b[201~y\r",
    "x\x1b[201~a\r\ra",
    "\x1b[201~\x1b[201~y",
    "x\x1b[201~\x1b[200~y\x1b[201~!touch f\r",
    "x\x1b[201~\x1b]0;t\x07y\r",
    "x\x1b[201~\x1b[201",
    "x\x1b[201~" + "y\r" * 5_000,
    "\x1b]11;x\x1b[201~y",
)
"""Texts with an end mark of their own, which a terminal pastes as they are."""


@each("text", PASTED)
@each("size", [1, 3, 11, 4096])
def test_a_paste_with_its_own_end_mark_types_nothing(text: str, size: int) -> None:
    found = read(f"{PASTE_BEGINS}{text}{PASTE_ENDS}", (size,))
    assert keys(found) == ""
    assert len(pastes(found)) == 1


@given(
    st.lists(st.sampled_from(["y", "\r", "a", "\x1b", PASTE_ENDS, PASTE_BEGINS, "\x1b]0;", "\x07", "\x1b\\", "\x03"])),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
)
def test_no_text_that_is_pasted_types_a_key(pieces: list[str], sizes: list[int]) -> None:
    assert keys(read(PASTE_BEGINS + "".join(pieces) + PASTE_ENDS, tuple(sizes))) == ""


def test_what_is_typed_right_behind_a_paste_is_typed_after_a_short_pause() -> None:
    typed = TypedInput()
    assert typed.feed(f"{PASTE_BEGINS}a{PASTE_ENDS} b\r") == []
    assert typed.is_undecided
    pasted, rest = typed.pause()
    assert isinstance(pasted, events.Paste)
    assert (pasted.text, rest, typed.is_waiting) == ("a", " b\r", False)


def test_a_paste_whose_end_is_missing_ends_with_escape_after_a_while() -> None:
    typed = TypedInput()
    typed.feed(PASTE_BEGINS + "abc")
    assert [*typed.feed("\x03")] == []
    for _ in range(ROUNDS):
        typed.pause()
    (pasted,) = typed.feed("\x1b")
    assert isinstance(pasted, events.Paste)
    assert typed.feed("x") == ["x"]


REPLIES = (
    "\x1b]11;" + "y" * 20_000 + "\x1b\\",
    "\x1b]11;rgb:y\ry\r",
    "\x1b]52;c;eQ15DQ==\x07",
    "\x1bP>|\x1b]0;x\x07y\ry\r\x1b\\",
    "\x1bP1$ry\ry\r",
    "\x1b_Gi=1;ENOENT:y\ry\r\x1b\\",
    "\x1b_" + "y\r" * 500 + "\x1b\\",
    "\x1b^y\ry\r\x1b\\",
    "\x1bXy\ry\r\x1b\\",
    "\x9dy\ry\r\x9c",
    "\x90y\r\x9cy\r\x1b\\",
    "\x1bP\x1bP\x1bPy\r\x1b\\y\r\x1b\\",
)
"""What a terminal may send that no key sends: y and enter would answer a question."""


@each("reply", REPLIES)
@each("size", [1, 2, 7, 4096])
def test_no_reply_of_a_terminal_types_a_key(reply: str, size: int) -> None:
    assert keys(read(reply, (size,), pauses=ROUNDS)) == ""


@each("size", range(1, len(LIGHT) + 5))
@each("reply", [LIGHT, "\x1b]11;rgb:ff/ff/ff\x07", "\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\"])
def test_a_reply_cut_anywhere_takes_no_letter_with_it(reply: str, size: int) -> None:
    found = read(f"ab{reply}cd\x1b[A", (size,), asked=True)
    assert (keys(found), replies(found)) == ("abcd\x1b[A", [reply])


def test_an_escape_passes_at_once_when_nothing_is_expected() -> None:
    assert TypedInput().feed("\x1b") == ["\x1b"]


def test_an_escape_waits_only_for_a_moment_while_a_reply_is_expected() -> None:
    typed = TypedInput()
    typed.expect_reply()
    assert typed.feed("\x1b") == []
    assert typed.pause() == ["\x1b"]
    for _ in range(ROUNDS):
        typed.pause()
    assert typed.feed("\x1b") == ["\x1b"]


@each("size", range(len("\x1b]11;"), len(LIGHT)))
def test_a_reply_whose_end_comes_late_is_still_one(size: int) -> None:
    typed = TypedInput()
    assert typed.feed("a" + LIGHT[:size]) == ["a"]
    for _ in range(ROUNDS - 1):
        assert typed.pause() == []
    assert typed.feed(LIGHT[size:] + "b") == [Reply(LIGHT)]
    assert typed.pause() == ["b"]


@each("size", range(len("\x1b]11;"), len(LIGHT) - 1))
def test_the_start_of_a_reply_whose_end_never_comes_is_typed_by_nobody(size: int) -> None:
    typed = TypedInput()
    typed.feed(LIGHT[:size])
    assert [piece for _ in range(ROUNDS) for piece in typed.pause()] == [Reply("")]
    assert typed.feed("b") == ["b"]


def test_keys_behind_the_start_of_a_reply_are_keys() -> None:
    typed = TypedInput()
    typed.feed(LIGHT[:9])
    typed.pause()
    assert keys([*typed.feed("xy")]) == "xy"


@each("key", ["\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x1b[", "\x1b[A", "\x1bx", "\x1b[200"])
def test_a_key_with_alt_is_typed(key: str) -> None:
    assert keys(read(f"a{key}")) == f"a{key}"


def test_random_input_in_random_reads_keeps_what_was_typed() -> None:
    chosen = random.Random(4)
    for _ in range(2_000):
        typed = TypedInput()
        found: list[Piece] = []
        expected = ""
        for _ in range(chosen.randrange(1, 6)):
            if chosen.random() < 0.5:
                written = f"{PASTE_BEGINS}{chosen.choice(PASTED)}{PASTE_ENDS}"
            else:
                written = chosen.choice(["abc", "\x1b[A", "x\r", "\x1b[13u"])
                expected += written
            while written:
                size = chosen.randrange(1, 9) if len(written) < 99 else 4096
                found += typed.feed(written[:size])
                written = written[size:]
            found += typed.pause()
        assert keys(found) == expected
