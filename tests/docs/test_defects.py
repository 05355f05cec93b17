"""The table of defects names each of them with tests that exist."""

import re

from tests.support.source.pages import ROOT

PAGE = ROOT / "docs" / "internals" / "screen.md"
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
NUMBERS = [*(f"N{number}" for number in range(1, 37)), "10", "11", "19", "24", "29", "35", "41"]


def test_each_defect_has_a_row_and_each_row_tests_that_exist() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if line.count(" | ") == 2]
    named = {number: tests for numbers, _, tests in rows for number in numbers.split(", ")}
    assert [number for number in NUMBERS if number not in named] == []
    problems: list[str] = []
    for number in NUMBERS:
        found = TEST.findall(named[number])
        problems += [] if found else [f"{number} names no test"]
        for file, name in found:
            path = ROOT / "tests" / file
            if not path.is_file() or not re.search(rf"^(?:async )?def {name}\b", path.read_text("utf-8"), re.MULTILINE):
                problems.append(f"{number}: no test {file}::{name}")
    assert problems == []
