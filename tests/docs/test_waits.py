"""The table of waits names constants with their values, tests that exist, and each module that opens a connection."""

import re

from tests.support.source.pages import ROOT

PACKAGE = ROOT / "opencode_tui"
PAGE = ROOT / "docs" / "internals" / "waits.md"

CONSTANT = re.compile(r"(?:([\d.]+)(?: s)? )?\(`(\w+)` in `([\w/]+\.py)`\)")
"""A constant in a module, with its value before it, in seconds."""

TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")

CONNECTION = re.compile(
    r"\bhttpx2?\.(?:Async)?Client\(|\bnetwork\.fetch\(|\basyncio\.open_(?:unix_)?connection\(|\bsse_client\("
)
"""What opens a connection to another program or machine."""

ELSEWHERE = {
    "network.py": "the one that others call",
    "client/remote_link.py": "an engine of this program in another process",
}
"""Modules that open connections and have no row, with the reason."""


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [line for line in lines if not line.startswith(("| wait |", "| wait or write |"))]


def value(module: str, name: str) -> float | None:
    """Return the number that a module gives a constant, None for another value. Raises LookupError without it."""
    text = (PACKAGE / module).read_text("utf-8")
    found = re.search(rf"^ *{name}\b(?:: [^=\n]+)?(?: = (.+))?$", text, re.MULTILINE)
    if found is None:
        raise LookupError(f"{module} has no {name}")
    number = re.fullmatch(r"[\d_]+(?:\.\d+)?", found[1] or "")
    return float(number[0].replace("_", "")) if number else None


def test_each_row_names_a_deadline_and_a_test_that_exist() -> None:
    problems: list[str] = []
    for row in rows():
        cells = [cell.strip() for cell in row.strip("| ").split(" | ")]
        if len(cells) != 5 or not all(cells):
            problems.append(f"{len(cells)} cells: {row}")
            continue
        _, _, deadline, _, test = cells
        if (
            not CONSTANT.search(deadline)
            and "chunkTimeout" not in deadline
            and "`" not in deadline
            and "first byte" not in deadline
            and not deadline.startswith("none")
        ):
            problems.append(f"no deadline: {row}")
        if not TEST.search(test):
            problems.append(f"no test: {row}")
        for file, name in TEST.findall(test):
            path = ROOT / "tests" / file
            if not path.is_file() or not re.search(rf"^(?:async )?def {name}\b", path.read_text("utf-8"), re.MULTILINE):
                problems.append(f"no such test: {file}::{name}")
    assert len(rows()) > 30
    assert problems == []


def test_the_seconds_of_the_table_are_those_of_the_constants() -> None:
    problems: list[str] = []
    for shown, name, module in CONSTANT.findall(PAGE.read_text("utf-8")):
        try:
            known = value(module, name)
        except (LookupError, OSError) as error:
            problems.append(str(error))
            continue
        scale = 1000 if name.endswith("_MS") else 1
        if shown and known is not None and float(shown) != known / scale:
            problems.append(f"{name} in {module} is {known / scale:g}, not {shown}")
    assert problems == []


def test_each_module_that_opens_a_connection_has_a_row() -> None:
    text = PAGE.read_text("utf-8")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if CONNECTION.search(path.read_text("utf-8"))
    }
    assert sorted(found - set(re.findall(r"`([\w/]+\.py)`", text)) - ELSEWHERE.keys()) == []
    assert sorted(ELSEWHERE.keys() - found) == []
