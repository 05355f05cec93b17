"""The errors that calls keep, for the screen: any metadata, safe words."""

from typing import Any

from opencode_tui.text.diagnostics import errors_of
from tests.support.rows import each


def at(line: object, character: object, message: object = "bad", **fields: Any) -> dict[str, Any]:
    return {"range": {"start": {"line": line, "character": character}}, "message": message, **fields}


@each(
    ("diagnostics", "expected"),
    [
        ({}, []),
        (None, []),
        ([], []),
        ("x", []),
        ({"/a": None}, []),
        ({"/a": [None, 3, "x"]}, []),
        ({"/a": [at(0, 0)]}, ["/a:1:1 bad"]),
        ({"/a": [at(9, 4), at(1, 2)]}, ["/a:2:3 bad", "/a:10:5 bad"]),
        ({"/b": [at(0, 0)], "/a": [at(5, 0)]}, ["/a:6:1 bad", "/b:1:1 bad"]),
        ({"/a": [at(0, 0, severity=2), at(1, 0, severity=1)]}, ["/a:2:1 bad"]),
        ({"/a": [at(-3, None)]}, ["/a:1:1 bad"]),
        ({"/a": [at("7", 1e99)]}, ["/a:1:1 bad"]),
        ({"/a": [{"message": "no range"}]}, ["/a:1:1 no range"]),
        ({"/a": [{"range": {"start": 4}, "message": "x"}]}, ["/a:1:1 x"]),
        ({"/a": [{"range": []}]}, ["/a:1:1 "]),
        ({"/a": [at(0, 0, "two\n  lines\tand tab")]}, ["/a:1:1 two lines and tab"]),
        ({"/a": [at(0, 0, "\x1b[31mred")]}, ["/a:1:1 \\x1b[31mred"]),
        ({"/a\x1b]0;x\x07": [at(0, 0)]}, ["/a\\x1b]0;x\\x07:1:1 bad"]),
        ({"/a": [at(0, 0, None)]}, ["/a:1:1 "]),
    ],
)
def test_the_errors_of_a_call(diagnostics: Any, expected: list[str]) -> None:
    found = errors_of({"diagnostics": diagnostics})
    assert [f"{one.path}:{one.line}:{one.character} {one.message}" for one in found] == expected
    assert errors_of({}) == []
