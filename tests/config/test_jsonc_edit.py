"""Changes of a text keep everything else in it."""

import pytest

from opencode_tui.config.sources.jsonc import JsoncError, parse
from opencode_tui.config.sources.jsonc_edit import merge_into, remove_from
from tests.support.rows import each

TEXTS = [
    "", "// only a comment\n", "{}", '{"a":1}', '{ "a": 1 }\n', '{\n\t"a": 1 // last\n}\n', '{"a": {\n}}', '{"a": 1,\n "z": 2}',
    "{ // hm\n}", '{"a": 1 /* , */ }', '{\n  "a": [1, 2,], /* } */\n}\n', '{\r\n  "a": {"x": 1}\r\n}\r\n', '\ufeff{"a": "{"}',
]  # fmt: skip
CHANGES = [{"model": "x/y"}, {"a": 2}, {"a": {"c": {"d": [1]}}, "new": {"k": "v, // no }"}}, {"a": True}, {}]


def merged(value: dict, change: dict) -> dict:
    inner = {key: merged(value[key], new) if isinstance(value.get(key), dict) and isinstance(new, dict) else new
             for key, new in change.items()}  # fmt: skip
    return {**value, **inner}


@each("text", TEXTS)
def test_the_result_has_the_old_values_and_the_new_ones(text: str):
    for change in CHANGES:
        edited = merge_into(text, change)
        assert parse(edited).value == merged(parse(text).value, change)
        assert merge_into(edited, change) == edited


def test_comments_order_and_indents_stay_and_a_new_key_is_last():
    text = """{
    // the model for work
    "model": "a/b", // the fast one
    "permission": {"bash": "ask"},

    /* keys */
    "provider": {
        "x": { "options": { "apiKey": "k" } }, // mine
    },
}
"""
    change = {"model": "c/d", "permission": {"edit": "deny"}, "provider": {"y": {"name": "Y"}}, "share": "disabled"}
    assert (
        merge_into(text, change)
        == """{
    // the model for work
    "model": "c/d", // the fast one
    "permission": {"bash": "ask", "edit": "deny"},

    /* keys */
    "provider": {
        "x": { "options": { "apiKey": "k" } }, // mine
        "y": {
          "name": "Y"
        }
    },
    "share": "disabled"
}
"""
    )


def test_nothing_changes_without_a_change():
    text = '{"a": {"b": [1, {"c": null}]}}  // end'
    assert merge_into(text, {"a": {"b": [1, {"c": None}]}}) == text


@pytest.mark.parametrize("text", ["[1]", '{"a": 1, "a": 2}', '{"a": }'])
def test_a_text_that_cannot_be_edited_is_refused(text: str):
    with pytest.raises(JsoncError):
        merge_into(text, {"b": 1})


@each("text", TEXTS)
def test_a_key_that_was_added_is_removed_again(text: str):
    for change, path in (({"model": "x/y"}, ("model",)), ({"n": {"k": {"d": 1}}}, ("n", "k", "d"))):
        removed = remove_from(merge_into(text, change), path)
        assert parse(removed).value == (parse(text).value if text.strip().endswith("}") else {})
    assert remove_from(text, ("missing", "key")) == text


@each(
    ("before", "path", "after"),
    [
        ('{"a": 1, "b": 2}', ("a",), '{"b": 2}'),
        ('{"a": 1, "b": 2}', ("b",), '{"a": 1}'),
        ('{\n  "a": 1, // x\n  "b": 2\n}\n', ("b",), '{\n  "a": 1 // x\n}\n'),
        ('{\n  "a": 1, // x\n  "b": 2\n}\n', ("a",), '{\n  // x\n  "b": 2\n}\n'),
        ('{\n  /* , */ "a": 1 /* , */\n}\n', ("a",), "{\n  /* , */ /* , */\n}\n"),
        ('{"t": {"v": 1}, "b": 2}', ("t", "v"), '{"b": 2}'),
        ('{"t": {"v": 1 /* why */}, "b": 2}', ("t", "v"), '{"t": {/* why */}, "b": 2}'),
        ('{"a": 1,}', ("a",), "{}"),
    ],
)
def test_a_removed_key_leaves_comments_and_no_comma_too_much(before: str, path: tuple[str, ...], after: str):
    assert remove_from(before, path) == after
    assert parse(after).value == parse(remove_from(before, path)).value
