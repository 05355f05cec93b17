"""Replies of a terminal about pictures are found among the keys, and none of them is a key."""

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.tui.held_reply import ROUNDS
from opencode_tui.tui.pictures.forms import Terminal
from opencode_tui.tui.pictures.replies import Replies, questions
from tests.support.rows import each

KITTY = "\x1b_Gi=1868759039;OK\x1b\\\x1b[6;18;9t\x1b[?62;c"


@each(
    ("replies", "terminal"),
    [
        (KITTY, Terminal("kitty", (9, 18))),
        ("\x1b[6;20;10t\x1b[?1;0;1024S\x1b[?64;1;4;22c", Terminal("sixel", (10, 20), 1024)),
        ("\x1b[?1;3;0S\x1b[?62;4c", Terminal("sixel", (8, 17))),
        ("\x1b_Gi=1868759039;ENOTSUP:no\x1b\\\x1b[?62;22c", Terminal("blocks")),
        ("\x1b[?4c", Terminal("blocks")),
    ],
)
def test_the_replies_say_how_pictures_are_shown(replies: str, terminal: Terminal) -> None:
    assert Replies((8, 17)).feed(replies) == ("", terminal)


@given(st.lists(st.integers(0, len(KITTY) + 6)))
def test_replies_cut_anywhere_leave_the_typed_keys_only(cuts: list[int]) -> None:
    found, typed, before = Replies(), "", 0
    terminal: Terminal | None = None
    whole = f"ab{KITTY[:29]}{KITTY[29:]}\x1b[6~x"
    for at in [*sorted(cuts), len(whole)]:
        keys, reply = found.feed(whole[before:at])
        typed, terminal, before = typed + keys, reply or terminal, at
    assert (typed + found.release(), terminal) == ("ab\x1b[6~x", Terminal("kitty", (9, 18)))


def test_an_escape_is_a_key_when_nothing_follows() -> None:
    found = Replies()
    assert found.feed("\x1b")[0] == ""
    assert found.release() == "\x1b"


@each("reply", ["\x1b_Gi=1868759039;OK", "\x1b[?62;22", "\x1b[?"])
def test_the_start_of_a_reply_waits_for_its_end_and_is_no_key_without_one(reply: str) -> None:
    found = Replies()
    assert found.feed(f"a{reply}") == ("a", None)
    assert [found.release() for _ in range(ROUNDS)] == [""] * ROUNDS
    assert not found.is_waiting
    assert found.feed("b") == ("b", None)


def test_the_start_of_a_key_is_one() -> None:
    found = Replies()
    assert found.feed("\x1b[6") == ("", None)
    assert found.release() == "\x1b[6"


def test_no_terminal_that_shows_it_or_takes_it_for_a_title_gets_the_question_of_kitty() -> None:
    assert "\x1b_G" in questions({})
    for environ in ({"TMUX": "x"}, {"STY": "x"}, {"TERM_PROGRAM": "Apple_Terminal"}):
        assert "\x1b_" not in questions(environ)
