"""JSON with comments: what is accepted, what is refused and where."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.config.sources.jsonc import MAX_DEPTH, Document, JsoncError, Position, Repetition, parse
from tests.support.rows import each

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('abc/*"\\,', max_size=5), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON_VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_json_text_is_read_as_json_reads_it(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse(text).value == value


@pytest.mark.slow
@given(st.text())
def test_any_text_is_a_value_or_one_named_mistake(text: str) -> None:
    try:
        places = list(parse(text).positions.values())
    except JsoncError as error:
        places = [error.position]
    assert places
    assert all(place.line >= 1 and place.column >= 1 for place in places)


def test_comments_and_trailing_commas_are_passed_by() -> None:
    text = '// one\n{"a": [1, 2,], /* two */ "b": "// no /* comment */",}\n// end'
    assert parse(text).value == {"a": [1, 2], "b": "// no /* comment */"}


def test_a_carriage_return_alone_ends_a_comment_and_a_line() -> None:
    """As in jsonc-parser 3.3.1 (`src/impl/scanner.ts`, `isLineBreak`)."""
    assert parse('{\r  // one\r  "a": 1, // two\r\n  "b": 2\r}').value == {"a": 1, "b": 2}


def test_key_order_is_kept() -> None:
    assert list(parse('{"z": 1, "a": 2, "m": 3}').value) == ["z", "a", "m"]


def test_places_are_those_of_the_keys() -> None:
    assert parse('{\n  "a": {"b": 1},\n  "c": [true,\n 2]\n}').positions == {
        (): Position(1, 1),
        ("a",): Position(2, 3),
        ("a", "b"): Position(2, 9),
        ("c",): Position(3, 3),
        ("c", 0): Position(3, 9),
        ("c", 1): Position(4, 2),
    }


def test_the_last_of_a_repeated_key_counts_and_is_told() -> None:
    assert parse('{"a": {"x": 1},\n"a": 2}') == Document(
        {"a": 2},
        {(): Position(1, 1), ("a",): Position(2, 1)},
        [Repetition(("a",), Position(2, 1))],
    )


@pytest.mark.parametrize("text", ["", "  \n\t", "// nothing", "/* nothing */"])
def test_an_empty_text_is_an_empty_object(text: str) -> None:
    assert parse(text).value == {}


@pytest.mark.parametrize(("text", "value"), [("1e3", 1000), ("2.0", 2), ("0.5", 0.5), ("-0", 0), ("1e-2", 0.01)])
def test_whole_numbers_are_whole_however_they_are_written(text: str, value: float) -> None:
    parsed = parse(text).value
    assert (parsed, type(parsed)) == (value, type(value))


@each(
    ("text", "expected"),
    [
        ('{"a": 1', 'expected a comma or "}"'),
        ('{"a": ', "unexpected end of file"),
        ('{"a": NaN}', "NaN and Infinity are not JSON"),
        ('{"a": -Infinity}', "NaN and Infinity are not JSON"),
        ("{'a': 1}", "expected a key in double quotes"),
        ("{\"a\": 'x'}", "strings need double quotes"),
        ('{"a": {env:X}}', "in double quotes"),
        ('{"a" 1}', "expected a colon"),
        ('{"a": 1} {}', "unexpected text"),
        ('{"a": "x\n"}', "unterminated string"),
        ('{"a": "\\q"}', "unknown escape"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": "\\ud800\\u0041"}', "surrogate"),
        ('{"a": "\x01"}', "control character"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 01}', "expected a comma"),
        ('{"a": ' + "1" * 5000 + "}", "too many digits"),
        ('{"a": 1 /* open', "unterminated comment"),
        ("[" * (MAX_DEPTH + 1), "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ("{" + '"a": 1,' * 200 + "}", "too many repeated keys"),
    ],
)
def test_a_mistake_is_named(text: str, expected: str) -> None:
    with pytest.raises(JsoncError, match=expected):
        parse(text)


def test_a_mistake_has_its_line_and_column() -> None:
    with pytest.raises(JsoncError) as caught:
        parse('{\n  "a": 1,\n  "b": ?\n}')
    assert caught.value.position == Position(3, 8)


def test_a_mistake_never_quotes_the_text() -> None:
    with pytest.raises(JsoncError) as caught:
        parse('{"key": "sk-secret')
    assert "secret" not in str(caught.value)
