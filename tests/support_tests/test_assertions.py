"""Tests claim something: no assertion that also holds where there is nothing, no name of a module that does not exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.source.assertions import read_tests, vacuous_assertions

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
DOTTED = re.compile(r"(?:opencode_tui|tests)(?:\.(?!md\b)[A-Za-z_]\w*)+")
NOT_IMPORTED = re.compile(rf"^(?!\s*(?:from|import) ).*{DOTTED.pattern}", re.MULTILINE)
"""Where a module is named that no statement imports; other files need not be parsed."""
LOGGERS = {"opencode_tui.test"}
"""Names of loggers, which need no module."""


@pytest.mark.slow
def test_no_test_asserts_over_a_list_that_may_be_empty() -> None:
    sources = list(read_tests(TESTS))
    assert len(sources) > 100
    found = [f"{path.relative_to(ROOT)}:{line}" for path, source in sources for line in vacuous_assertions(source)]
    assert found == []


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("    assert all(one > 1 for one in found)", [2]),
        ("    assert not any(one > 1 for one in found.values())", [2]),
        ("    assert all(found)", [2]),
        ("    assert found and all(one > 1 for one in found)", []),
        ("    assert all(one > 1 for one in found) and found", [2]),
        ("    assert len(found) == 3\n    assert all(one > 1 for one in found)", []),
        ("    assert all(one in found for one in (1, 2))", []),
        ("    assert any(one > 1 for one in found)", []),
    ],
)
def test_an_assertion_over_a_list_follows_one_that_there_is_something(body: str, lines: list[int]) -> None:
    assert vacuous_assertions(f"def test():\n{body}\n") == lines


@pytest.mark.slow
def test_every_module_that_a_test_names_in_a_string_exists() -> None:
    sources = [(path, source) for path, source in read_tests(TESTS) if NOT_IMPORTED.search(source)]
    names = [(path, name) for path, source in sources for name in _names_in_strings(ast.parse(source))]
    assert len(names) > 10
    assert [f"{path.relative_to(ROOT)}: {name}" for path, name in names if not _exists(name)] == []


def _names_in_strings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (name for name in DOTTED.findall(node.value) if name not in LOGGERS)


def _exists(name: str) -> bool:
    """Return whether it is a module or package, or a name in a module."""
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or any(one.with_suffix(".py").is_file() for one in (path, *path.parents[: name.count(".")]))
