"""The approximate estimate of a text's tokens."""

import pytest

from opencode_tui.engine.session.tokens.characters import tokens_by_length


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a" * 4000, 1000),
        ("a" * 20_000, 5000),
        ("ab", 1),
        ("a", 0),
        ("a" * 6, 2),
        ("中" * 8, 2),
        ("🙂" * 8, 4),
    ],
)
def test_four_utf16_units_are_a_token_and_halves_round_up(text: str, tokens: int) -> None:
    assert tokens_by_length(text) == tokens


def test_a_lone_surrogate_is_counted() -> None:
    assert tokens_by_length("\ud800" * 4) == 1
