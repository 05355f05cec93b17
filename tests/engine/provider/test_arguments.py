"""What may be run, and what must not be."""

import pytest

from opencode_tui.engine.provider.call_assembly import parse_arguments
from tests.support.rows import each


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ("{}", {}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('{"a": 1e300, "b": 1e-999}', {"a": 1e300, "b": 0.0}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ],
)
def test_an_object_or_nothing_can_be_run(raw: str, arguments: object) -> None:
    assert parse_arguments(raw) == (arguments, None)


@each(
    "raw",
    [
        '{"path": "a", "content": "ab',
        '{"path": "a"}""',
        "{'path': 'a'}",
        '["a"]',
        '"a"',
        '"{\\"a\\": "',
        "7",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": [{"b": -1E400}]}',
        '{"a": "\\ud800"}',
        '{"\\udfff": 1}',
        '{"a": "\ud800"}',
        '{"a":' * 100_000,
        "{oops}",
    ],
    ids=range(16),
)
def test_anything_else_is_refused_with_a_line_for_the_model(raw: str) -> None:
    arguments, error = parse_arguments(raw)
    assert arguments == {}
    assert error
    assert "\n" not in error
