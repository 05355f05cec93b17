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
_GUARDING_TEST = re.compile(r"((?:[a-z_]+/)*test_[a-z_]+\.py::test_\w+)")
_TEST = re.compile(r"^def (test_\w+)", re.MULTILINE)

FAST = "not slow"
"""The expression of `-m` for the fast tier alone: files that are slow as a whole are not even imported then."""


@dataclass(frozen=True)
class SlowRow:
    """What is slow by one name of a row, why, and what guards its claims in the fast tier; `kept` are cases that are fast."""

    name: str
    reason: str
    guard: str
    kept: frozenset[str] = frozenset()


def read_table(file: Path = TESTS / "tiers.txt") -> list[tuple[str, str, str]]:
    """Return names, reason and guard of each row, as they are written, in their order; raise ValueError for another line."""
    table: list[tuple[str, str, str]] = []
    for line in file.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 3 or not all(fields):
            raise ValueError(f"{file.name}: {line!r} is not `name | reason | guard`")
        table.append((fields[0], fields[1], fields[2]))
    return table


def read_rows(file: Path = TESTS / "tiers.txt") -> dict[str, SlowRow]:
    """Return what is slow by its name, in the order of the rows; raise ValueError for a name that is there twice.

    The name of a function of which all cases but some are slow ends with `[!]`.
    """
    rows: dict[str, SlowRow] = {}
    for names, reason, guard in read_table(file):
        first, *others = names.split(" ::")
        path = first.partition("::")[0]
        for name in (first, *(f"{path}::{other}" for other in others)):
            function, but, cases = name.removesuffix("]").partition("[!")
            key = f"{function}[!]" if but else name
            if key in rows:
                raise ValueError(f"{file.name}: {name} is there twice")
            rows[key] = SlowRow(name, reason, guard, frozenset(cases.split(" !")) if but else frozenset())
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
    but = rows.get(f"{path}::{function}[!]") if case else None
    if but is not None and case.removesuffix("]") not in but.kept:
        return but
    return next((rows[name] for name in names if name in rows), None)


def problems(rows: Mapping[str, SlowRow], tests: Path = TESTS) -> list[str]:
    """Return what is wrong with rows: one that names no tests or is in a wider row, and guards that are missing or slow.

    Cases are not looked for: `tests/support_tests/test_tiers.py` compares those that stay fast with the items of its run.
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
        whole = name.removesuffix("/").removesuffix("[!]")
        if case in ("", "!]") and (wider := slow_row(whole, others)) is not None:
            found.append(f"{name} is in {wider.name}")
        found += [f"{name}: its guard {guard} {wrong}" for guard, wrong in _wrong_guards(rows[name], rows, tests)]
    return found


def _wrong_guards(row: SlowRow, rows: Mapping[str, SlowRow], tests: Path) -> Iterator[tuple[str, str]]:
    for guard in _GUARD.findall(row.guard):
        if not (tests / guard).exists():
            yield guard, "does not exist"
        elif guard.endswith(".py") and slow_row(guard, rows):
            yield guard, "is slow"
    for guard in _GUARDING_TEST.findall(row.guard):
        if slow_row(guard, rows):
            yield guard, "is slow"
    path = row.name.partition("::")[0]
    if OTHERS in row.guard and all(
        slow_row(f"{path}::{name}", rows) for name in _TEST.findall(_definitions(tests / path))
    ):
        yield OTHERS, "are slow too"


def _definitions(file: Path) -> str:
    return "\n" + file.read_text().replace("\nasync def ", "\ndef ")
