"""Thoughts inside the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.normalize import ThinkTag


def split(*pieces: str) -> tuple[str, str]:
    """Return (thoughts, text)."""
    tag = ThinkTag()
    found = [part for piece in pieces for part in tag.split(piece)] + tag.flush()
    thoughts, text = ("".join(text for kind, text in found if kind == wanted) for wanted in ("thought", "text"))
    return thoughts, text


@pytest.mark.parametrize(
    ("text", "thought", "shown"),
    [
        ("<think>r</think>a", "r", "a"),
        ("\n<think>r</think>\n\na\n", "r", "a\n"),
        ("<think>r", "r", ""),
        ("<think></think>a", "", "a"),
        ("a <think>r</think>", "", "a <think>r</think>"),
        ("<thin", "", "<thin"),
        ("<b>bold</b>", "", "<b>bold</b>"),
        ("<think>if a </thin> b</think>c", "if a </thin> b", "c"),
        (" plain", "", " plain"),
    ],
)
def test_only_a_leading_tag_is_a_thought(text: str, thought: str, shown: str) -> None:
    assert split(text) == (thought, shown)
    assert split(*text) == (thought, shown)


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "<", "a", "\n", "</", "think>"]), max_size=10), st.integers(1, 7)
)
def test_cuts_change_nothing(words: list[str], size: int) -> None:
    text = "".join(words)
    assert split(*(text[at : at + size] for at in range(0, len(text), size))) == split(text)
