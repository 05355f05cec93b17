"""Which kind an error is, from its status, its codes and its words: the table `causes.txt`.

The kind decides what happens: whether it is retried, compacted, or a key is needed; the cause inside a kind decides the remedy.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.schema.table import Section, read_sections, split_columns


class Row(Struct, frozen=True):
    """A cause of failures; matches when one of its tests does. `code` and `text` are patterns for lower-case texts."""

    kind: str
    is_retryable: bool
    statuses: frozenset[int] = frozenset()
    code: str | None = None
    text: str | None = None
    never_with: frozenset[int] = frozenset()
    cause: str = ""
    """The name of the remedy; that of the kind by default."""

    def fits(self, reported: Reported) -> bool:
        """Return whether a failure is of this kind."""
        if reported.status in self.never_with or (self.kind == "media" and not reported.has_media):
            return False
        if reported.status in self.statuses:
            return True
        if self.code is not None and re.search(self.code, reported.code):
            return True
        return self.text is not None and re.search(self.text, reported.message.lower()) is not None


def _read_table() -> tuple[Row, ...]:
    patterns, *causes = read_sections(Path(__file__).with_name("causes.txt"))
    shared = {name: part for name, part in (split_columns(row, 2) for row in patterns.rows)}
    return tuple(_read_row(section, shared) for section in causes)


def _read_row(section: Section, shared: Mapping[str, str]) -> Row:
    """Return the cause that a section describes. Its patterns are compiled for the first failure that they are searched in."""
    words = {name: value for name, _, value in (word.partition("=") for word in section.words.split())}
    found: dict[str, list[str]] = {"code": [], "text": []}
    for row in section.rows:
        field, _providers, pattern = split_columns(row, 3)
        for name, part in shared.items():
            pattern = pattern.replace(f"{{{name}}}", part)
        found[field].append(pattern)
    return Row(
        words.get("kind", section.title),
        "retry" in words,
        statuses=_statuses(words.get("status", "")),
        code="|".join(found["code"]) or None,
        text="|".join(found["text"]) or None,
        never_with=_statuses(words.get("never", "")),
        cause=section.title if "kind" in words else "",
    )


def _statuses(text: str) -> frozenset[int]:
    """Return the statuses of a text such as `401,500-599`."""
    ranges = (one.partition("-") for one in text.split(",") if one)
    return frozenset(status for first, _, last in ranges for status in range(int(first), int(last or first) + 1))


ROWS = _read_table()

UNKNOWN_IN_STREAM = Row("api", True)
"""An error object inside a stream without any known kind."""

UNKNOWN = Row("unknown", False)
"""Any other failure without a known kind."""

PAGE = Row("page", False, cause="page")
"""A web page with a status of the client: a proxy, a login page or another server answered."""


def find_row(reported: Reported, *, fallback: Row) -> Row:
    """Return the first matching row."""
    return next((row for row in ROWS if row.fits(reported)), fallback)
