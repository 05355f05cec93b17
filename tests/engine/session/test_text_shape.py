"""What texts consist of as far as tokenizers care."""

import pytest

from opencode_tui.engine.session.text_shape import TEXT_COUNTS, text_shape


def shape(text: str) -> dict[str, int]:
    return {name: count for name, count in zip(TEXT_COUNTS, text_shape(text), strict=True) if count}


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {}),
        ("two words", {"words": 2}),
        ("readFileName", {"words": 1, "sixes": 2, "humps": 2, "capitals": 2}),
        ("1234567 89", {"numbers": 2, "threes": 2}),
        ("a == (b)", {"words": 2, "mark runs": 3, "marks": 4}),
        ("a\n    b\n\nc  d", {"words": 4, "lines": 2, "gaps": 2}),
        ("中文，かな", {"han": 2, "kana": 2, "wide": 1}),
        ("naïve “déjà”", {"words": 4, "latin": 3, "symbols": 2}),
        ("мир🙂", {"others": 4}),
    ],
)
def test_a_text_is_counted_by_kinds_of_characters(text: str, counts: dict[str, int]) -> None:
    assert shape(text) == counts


def test_a_lone_surrogate_is_counted() -> None:
    assert shape("\ud800") == {"others": 1}


def test_the_shape_of_two_lines_is_that_of_each() -> None:
    lines = ["x = readFile(12345)\n", "如果 the file 不存在\n"]
    both = [one + other for one, other in zip(*map(text_shape, lines), strict=True)]
    assert list(text_shape("".join(lines))) == both
