"""JSON from outside: whatever its depth, it is a value of bounded depth or a JsonError."""

from collections.abc import Callable
from typing import Any

import pytest

from opencode_tui.schema.json_text import (
    MAX_DEPTH,
    JsonError,
    TooDeepError,
    decode_foreign,
    decode_json,
    is_deep,
    load_json,
    with_finite_numbers,
)

READERS = (load_json, decode_json, decode_foreign)


def nested(levels: int) -> str:
    return '{"a":[' * (levels // 2) + "[" * (levels % 2) + "1" + "]" * (levels % 2) + "]}" * (levels // 2)


@pytest.mark.parametrize("read", READERS)
def test_the_deepest_value_that_is_allowed_is_read(read: Callable[[str | bytes], Any]) -> None:
    for text in (nested(MAX_DEPTH), nested(MAX_DEPTH - 1)):
        assert read(text) == read(text.encode())
        assert not is_deep(read(text))


@pytest.mark.parametrize("read", READERS)
def test_one_level_more_and_a_million_are_refused(read: Callable[[str | bytes], Any]) -> None:
    for levels in (MAX_DEPTH + 1, 1_000_000):
        for text in (nested(levels), nested(levels).encode()):
            with pytest.raises(TooDeepError):
                read(text)


@pytest.mark.parametrize("read", READERS)
def test_many_values_side_by_side_are_not_deep(read: Callable[[str | bytes], Any]) -> None:
    text = f"[{','.join(['[{}]'] * MAX_DEPTH)}]"
    assert len(read(text)) == MAX_DEPTH


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_json_is_one_error(read: Callable[[str | bytes], Any]) -> None:
    for text in ("", "[1", b"\xff"):
        with pytest.raises(JsonError):
            read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'["\ud83d"]', ["\ufffd"]),
        (rb'["\ude00x"]', ["\ufffdx"]),
        (rb'{"\ud83d": "a' + b'\xffb"}', {"\ufffd": "a\ufffdb"}),
        (b'["\xed\xa0\xbd"]', ["\ufffd\ufffd\ufffd"]),
        (b"[NaN, 1, Infinity]", [None, 1, None]),
        ('["\u00e9", 1.5, true, null]'.encode(), ["\u00e9", 1.5, True, None]),
        (r'{"a": "half \ud83d end"}', {"a": "half \ufffd end"}),
        (r'["\ude00", "\ud83d", "\ud83d\ud83d\ude00"]', ["\ufffd", "\ufffd", "\ufffd\U0001f600"]),
        (r'{"\udfff": 1}', {"\ufffd": 1}),
        (r'["\ud83d\ude00"]', ["\U0001f600"]),
        ('["\ufffd \U0001f600"]', ["\ufffd \U0001f600"]),
    ],
)
def test_a_text_of_another_program_is_read_with_its_damaged_characters_replaced(text: str | bytes, value: Any) -> None:
    assert decode_foreign(text) == value
    assert decode_foreign(text if isinstance(text, bytes) else text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1",
        b"\xff",
        r'["\ud83d"',
        r'["\ud83"]',
        nested(MAX_DEPTH + 1),
        "[" * 100_000,
        r'["\ud83d",' + "[" * 100_000,
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_a_text_of_another_program_that_is_no_json_is_one_error(text: str | bytes) -> None:
    with pytest.raises(JsonError):
        decode_foreign(text)


def test_numbers_that_json_does_not_have_become_null() -> None:
    text = '{"a": [1e999, -Infinity, 1.5, 7, "x", {"b": NaN}], "c": true}'
    expected = {"a": [None, None, 1.5, 7, "x", {"b": None}], "c": True}
    assert with_finite_numbers(load_json(text)) == expected
    assert decode_foreign(text) == decode_foreign(text.encode()) == expected


@pytest.mark.parametrize("number", ["1e999", "-1e400", "1E+9999", "NaN", "Infinity", "-Infinity"])
def test_a_number_of_another_program_that_json_does_not_have_is_null(number: str) -> None:
    assert decode_foreign(f'{{"cost": {number}, "text": "\\ud83d"}}') == {"cost": None, "text": "\ufffd"}
