import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.command.commands import Prose, Snippet, fill, hints, split_words
from tests.support.rows import each


def filled(template: str, arguments: str) -> str:
    return "".join(
        piece.text if isinstance(piece, Prose) else f"<{piece.command}>" for piece in fill(template, arguments)
    )


@each(
    ("template", "arguments", "expected"),
    [
        ("Hello $1 and $2", "a b", "Hello a and b"),
        ("Hello $1 and $2", '"a b" c d', "Hello a b and c d"),
        ("$2 before $1", "one two three", "two three before one"),
        ("$1-$1", "x y", "x y-x y"),
        ("$1|$3", "a b c d", "a|c d"),
        ("$1 $2", "only", "only "),
        ("all: $ARGUMENTS", '"a b"  c', 'all: "a b"  c'),
        ("$1, $ARGUMENTS", "a b", "a b, a b"),
        ("No place", "a b", "No place\n\na b"),
        ("No place", "  ", "No place"),
        ("costs $ 5 and $x", "", "costs $ 5 and $x"),
        ("run !`echo $1` now", "a", "run <echo a> now"),
        ("say $ARGUMENTS", "!`rm -rf /`", "say !`rm -rf /`"),
        ("$1", "$ARGUMENTS $1", "$ARGUMENTS $1"),
    ],
)
def test_arguments_take_their_places(template, arguments, expected):
    assert filled(template, arguments) == expected


def test_what_was_typed_never_becomes_a_snippet():
    assert fill("$1 !`date`", "!`reboot`") == [Prose("!`reboot` "), Snippet("date")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('"a b" c', ["a b", "c"]),
        ("'x y' z", ["x y", "z"]),
        ("[Image 1] go", ["[Image 1]", "go"]),
        ('key="a b"', ["key=a b"]),
        ("don't stop", ["don", "'", "t", "stop"]),
        ("", []),
    ],
)
def test_quotes_group_words(arguments, words):
    assert split_words(arguments) == words


@pytest.mark.slow
@given(st.lists(st.text(st.characters(exclude_characters="\"'[", categories=["L", "N", "P"]), min_size=1), max_size=6))
def test_plain_words_come_back_as_they_are(words):
    assert split_words(" ".join(words)) == words


def test_hints_are_in_order_with_everything_last():
    assert hints("$ARGUMENTS $10 $2 $1 $2") == ["$1", "$2", "$10", "$ARGUMENTS"]
