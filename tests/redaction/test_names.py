"""Names of secrets, the forms of keys in messages of errors, and the form of the table."""

import re
from pathlib import Path

import pytest

from opencode_tui.config.redact import redact_text
from opencode_tui.redaction import detectors
from opencode_tui.redaction.names import (
    is_secret_field,
    is_secret_flag,
    is_secret_option,
    is_secret_setting,
    is_secret_variable,
)
from opencode_tui.schema.table import read_sections, split_columns
from tests.support.rows import each


@each(
    ("name", "settings", "options", "variables", "fields"),
    [
        ("apiKey", True, True, True, True),
        ("clientSecret", True, True, True, False),
        ("max_tokens", False, True, False, False),
        ("keybinds", False, True, False, False),
        ("key", True, True, False, False),
        ("AWS_SECRET_ACCESS_KEY", True, True, True, True),
        ("AWS_REGION", False, False, False, False),
        ("authorization", True, True, False, True),
        ("cookie", False, False, False, True),
        ("GITHUB_TOKEN", False, True, True, True),
        ("description", False, False, False, False),
    ],
)
def test_a_name_is_that_of_a_secret_where_its_kind_of_name_says_so(
    name: str, *, settings: bool, options: bool, variables: bool, fields: bool
) -> None:
    assert is_secret_setting(name) == settings
    assert is_secret_option(name) == options
    assert is_secret_variable(name) == variables
    assert is_secret_field(name) == fields


def test_the_word_after_a_flag_is_secret_if_the_flag_ends_so() -> None:
    assert is_secret_flag("--api-key") and is_secret_flag("-token")
    assert not is_secret_flag("--key-file") and not is_secret_flag("token")


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcd***wxyz",
        "sk-proj...Ab12",
        "gsk_abcdef",
        "AIzaSyAbCdEf****",
        "AKIAABCDEF",
        "eyJhbGciOi",
        "ghs_abc123",
        "xai-abc123",
    ],
)
def test_a_key_in_a_message_is_masked_also_where_it_is_cut(key: str) -> None:
    assert redact_text(f"Incorrect API key provided: {key} (see the console)").split(": ")[1].startswith("***")
    assert redact_text(f"header Authorization: Bearer {key}x, other") == "header Authorization: *** ***, other"


def test_ordinary_words_of_messages_stay() -> None:
    text = "max_tokens: 4096 exceeds the limit of model gpt-5 in region eu; see https://example.com/docs/keys"
    assert redact_text(text) == text


def test_every_mark_and_test_of_the_table_is_known_and_every_pattern_compiles() -> None:
    sections = {one.title: one.rows for one in read_sections(Path(detectors.__file__).with_name("detectors.txt"))}
    marks = {mark for row in sections["forms"] for mark in split_columns(row, 4)[1].split()}
    accept = {mark.partition("=")[2] for mark in marks if "=" in mark}
    assert {mark for mark in marks if "=" not in mark} == {"whole", "folded", "lines", "cut"}
    assert accept == {"value", "assigned", "random", "loose", "address"}
    kinds = {split_columns(row, 4)[0] for row in sections["forms"]}
    assert kinds == {detectors.KEY, detectors.PRIVATE_KEY, detectors.PASSWORD, detectors.ADDRESS, detectors.EMAIL}
    patterns = {name: part for name, part in (split_columns(row, 2) for row in sections["patterns"])}
    for row in sections["forms"]:
        _kind, row_marks, words, pattern = split_columns(row, 4)
        for name, part in patterns.items():
            pattern = pattern.replace(f"{{{name}}}", part)
        re.compile(pattern)
        assert words and ("folded" not in row_marks or words == words.lower())
