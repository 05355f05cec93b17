"""What the terminal answers about its background is taken out of the input; no key goes with it."""

import pytest

from opencode_tui.tui.held_reply import ROUNDS
from opencode_tui.tui.terminal_input import AnswerFilter, is_dark
from tests.support.rows import each

LIGHT = "\x1b]11;rgb:ffff/fafa/f0f0\x1b\\"


@each("size", range(1, len(LIGHT) + 5))
@each("answer", [LIGHT, "\x1b]11;rgb:ff/ff/ff\x07", "\x1b]11;rgba:ffff/ffff/ffff/ffff\x1b\\"])
def test_an_answer_cut_anywhere_takes_no_letter_with_it(answer: str, size: int) -> None:
    answers = AnswerFilter()
    answers.asked()
    written = f"ab{answer}cd\x1b[A"
    read = [answers.feed(written[at : at + size]) for at in range(0, len(written), size)]
    assert "".join(text for text, _ in read) + answers.release() == "abcd\x1b[A"
    assert [told for _, told in read if told is not None] == [False]


def test_an_escape_passes_at_once_when_nothing_was_asked() -> None:
    assert AnswerFilter().feed("\x1b") == ("\x1b", None)


def test_an_escape_waits_only_for_a_moment_while_an_answer_is_awaited() -> None:
    answers = AnswerFilter()
    answers.asked()
    assert answers.feed("\x1b") == ("", None)
    assert answers.release() == "\x1b"
    for _ in range(ROUNDS):
        answers.release()
    assert answers.feed("\x1b") == ("\x1b", None)


def test_an_answer_that_comes_late_is_no_typing() -> None:
    answers = AnswerFilter()
    assert answers.feed(LIGHT + "x") == ("x", False)


@pytest.mark.parametrize(
    ("color", "dark"), [("0000/0000/0000", True), ("15/16/1b", True), ("fc/fb/f9", False), ("8/8/8", False)]
)
def test_dark_is_what_the_eye_calls_dark(color: str, dark: bool) -> None:
    assert is_dark(*color.split("/")) is dark


@each("size", range(len("\x1b]11;"), len(LIGHT)))
def test_a_reply_whose_end_comes_late_is_still_one(size: int) -> None:
    answers = AnswerFilter()
    assert answers.feed("a" + LIGHT[:size]) == ("a", None)
    assert [answers.release() for _ in range(ROUNDS - 1)] == [""] * (ROUNDS - 1)
    assert answers.is_waiting
    assert answers.feed(LIGHT[size:] + "b") == ("b", False)


@each("size", range(len("\x1b]11;"), len(LIGHT) - 1))
def test_the_start_of_a_reply_whose_end_never_comes_is_typed_by_nobody(size: int) -> None:
    answers = AnswerFilter()
    assert answers.feed(LIGHT[:size]) == ("", None)
    assert [answers.release() for _ in range(ROUNDS)] == [""] * ROUNDS
    assert not answers.is_waiting
    assert answers.feed("b") == ("b", None)


def test_keys_behind_the_start_of_a_reply_are_keys() -> None:
    answers = AnswerFilter()
    answers.feed(LIGHT[:9])
    answers.release()
    assert answers.feed("xy") == ("xy", None)
    assert answers.feed(LIGHT) == ("", False)
