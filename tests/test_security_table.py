"""`docs/security.md` and `docs/chatgpt.md`: every cited test exists, and every row of the first says how this program stands."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.hostile.incidents import INCIDENTS

ROOT = Path(__file__).parents[1]
HEADS = ("| advisory |", "| incident |")
STATES = ("held", "fixed", "does not apply")


def rows() -> list[list[str]]:
    lines = (ROOT / "docs" / "security.md").read_text("utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("| ") and not line.startswith(HEADS)
    ]


@cache
def names_in(name: str) -> frozenset[str]:
    """Return the names of the tests of a file, those of its classes included; empty for one that does not exist."""
    path = ROOT / name
    if not path.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    found = (node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(one for one in found if one.startswith("test_"))


def exists(cited: str) -> bool:
    name, _, test = cited.partition("::")
    return test in names_in(name) if test else bool(names_in(name))


@pytest.mark.slow
def test_every_cited_test_exists() -> None:
    cited = [one for row in rows() for one in re.findall(r"`(tests/[^`]+)`", row[3])]
    assert len(cited) > 60
    assert [one for one in cited if not exists(one)] == []


def test_every_rule_of_the_sign_in_with_chatgpt_names_its_tests() -> None:
    lines = (ROOT / "docs" / "chatgpt.md").read_text("utf-8").splitlines()
    rules = [line for line in lines if line.startswith("| ") and not line.startswith("| rule ")]
    cited = [re.findall(r"`(test_[^`]+)`", line) for line in rules]
    assert len(cited) > 20 and all(cited)
    missing = [one for names in cited for one in names if not exists(f"tests/engine/provider/chatgpt/{one}")]
    assert missing == []


def test_every_row_says_how_the_program_stands_and_what_shows_it() -> None:
    found = rows()
    assert len(found) > 45
    for advisory, kind, stand, tests in found:
        state, _, reason = stand.removeprefix("**").partition("**: ")
        assert state in STATES and reason and kind, advisory
        assert state == "does not apply" or "`tests/" in tests, advisory


def test_the_incidents_are_those_that_are_replayed_and_say_what_holds() -> None:
    stands = {advisory: stand for advisory, _, stand, _ in rows()}
    assert len(INCIDENTS) > 5
    assert [one.id for one in INCIDENTS if stands.get(one.id) != f"**held**: {one.holds}"] == []


def test_a_test_that_is_gone_would_be_found() -> None:
    assert not exists("tests/test_security_table.py::test_of_nothing") and not exists("tests/gone.py")
    assert exists("tests/test_security_table.py::test_every_cited_test_exists")
