"""Which tests are of the slow tier: the rows of `tests/tiers.txt`, by folder, file, function or case.

`tests/conftest.py` marks their items `slow`, so that `-m "not slow"` is the fast tier and `-m slow` the other one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

OTHERS = "the other tests of the file"
_GUARD = re.compile(r"(?<![.\w/])(?:[a-z_]+/)+(?:test_[a-z_]+\.py)?|(?<![.\w/])test_[a-z_]+\.py")
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)

FAST = "not slow"
"""The expression of `-m` for the fast tier alone: files that are slow as a whole are not even imported then."""


@dataclass(frozen=True)
class SlowRow:
    """One row: what is slow, why, and what guards its claims in the fast tier."""

    name: str
    reason: str
    guard: str


def read_rows(file: Path = TESTS / "tiers.txt") -> dict[str, SlowRow]:
    """Return the rows by name, in their order; raise ValueError for one that is not `name | reason | guard` or is there twice."""
    rows: dict[str, SlowRow] = {}
    for line in file.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields) or fields[0] in rows:
            raise ValueError(f"{file.name}: {line!r} is not `name | reason | guard`, or its name is there twice")
        rows[fields[0]] = SlowRow(*fields)
    return rows


def slow_row(item: str, rows: Mapping[str, SlowRow]) -> SlowRow | None:
    """Return the row that makes an item slow; None for one of the fast tier. `item` is a path or a node ID, from `tests/` on."""
    node, _, case = item.partition("[")
    path, _, function = node.partition("::")
    parts = path.split("/")
    names = [path, *("/".join(parts[:count]) + "/" for count in range(1, len(parts)))]
    if function:
        names.append(f"{path}::{function}")
    if case:
        names += [
            *(f"{name}[{case}" for name in names),
            *(f"{path}::{function}[*{case[at:]}" for at, letter in enumerate(case) if letter == "-"),
        ]
    return next((rows[name] for name in names if name in rows), None)


def problems(rows: Mapping[str, SlowRow], tests: Path = TESTS) -> list[str]:
    """Return what is wrong with rows: one that names no tests or is in a wider row, and guards that are missing or slow.

    Cases are not looked for.
    """
    found: list[str] = []
    for name in rows:
        node, _, case = name.partition("[")
        path, _, function = node.partition("::")
        file = tests / path
        if path.endswith("/"):
            is_there = file.is_dir() and any(file.rglob("test_*.py"))
        else:
            is_there = file.is_file() and (not function or f"\ndef {function}(" in _definitions(file))
        if not is_there:
            found.append(f"{name} names no test")
        others = {other: row for other, row in rows.items() if other != name}
        if not case and (wider := slow_row(name.removesuffix("/"), others)) is not None:
            found.append(f"{name} is in {wider.name}")
        found += [f"{name}: its guard {guard} {wrong}" for guard, wrong in _wrong_guards(rows[name], rows, tests)]
    return found


def _wrong_guards(row: SlowRow, rows: Mapping[str, SlowRow], tests: Path) -> Iterator[tuple[str, str]]:
    for guard in _GUARD.findall(row.guard):
        if not (tests / guard).exists():
            yield guard, "does not exist"
        elif guard.endswith(".py") and slow_row(guard, rows):
            yield guard, "is slow"
    path = row.name.partition("::")[0]
    if OTHERS in row.guard and all(
        slow_row(f"{path}::{name}", rows) for name in _TEST.findall(_definitions(tests / path))
    ):
        yield OTHERS, "are slow too"


def _definitions(file: Path) -> str:
    return "\n" + file.read_text().replace("\nasync def ", "\ndef ")
