"""A unified diff as rows with line numbers, and which words of a changed line are the changed ones; pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from opencode_tui.schema.session.diff import FileDiff, lines_of

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NEAR = 2
"""Unchanged lines shown on either side of a change."""

Kind = Literal["+", "-", " ", "file", "gap"]


MAX_LETTERS = 2_000_000
"""Maximum characters of a file's two states; for larger files only the sizes are shown."""


class DiffRow(Struct, frozen=True):
    """One row: a removed line has its old number, all others their new one; a gap's number counts the lines left out.

    `word` is the stretch of characters that changed, where it is one and shorter than half of the line.
    """

    kind: Kind
    number: int
    text: str
    word: tuple[int, int] | None = None


def unified(diff: FileDiff) -> str:
    """Return the unified diff of a file's two states; empty if it is too large or not text. Slow for a large one."""
    if len(diff.before) + len(diff.after) > MAX_LETTERS:
        return ""
    import difflib  # most programs end without a diff

    before, after = ([line.rstrip("\r\n") for line in lines_of(text)] for text in (diff.before, diff.after))
    return "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm="", n=3))


def read_diff(diff: str, *, near: int = _NEAR) -> list[DiffRow]:
    """Return the rows of a diff near its changes, with gaps between them; a file's name only when there are several."""
    rows = list(_read(diff))
    if sum(row.kind == "file" for row in rows) == 1:
        rows = [row for row in rows if row.kind != "file"]
    rows = _with_words(rows)
    changed = [index for index, row in enumerate(rows) if row.kind in "+-"]
    shown = {at for index in changed for at in range(index - near, index + near + 1)}
    return list(_with_gaps([row for index, row in enumerate(rows) if row.kind == "file" or index in shown]))


def changed_words(before: str, after: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the stretch of each line that the other does not have; None where it is empty or too much of the line."""
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return _stretch(before, head, tail), _stretch(after, head, tail)


def _stretch(line: str, head: int, tail: int) -> tuple[int, int] | None:
    size = len(line) - head - tail
    return (head, head + size) if size and 2 * size < len(line.strip()) else None


def _read(diff: str) -> Iterator[DiffRow]:
    """Yield the rows; the counts of a hunk alone decide whether a line is part of it or a header."""
    old = new = old_left = new_left = 0
    for line in diff.replace("\r\n", "\n").split("\n"):
        if old_left > 0 or new_left > 0:
            kind, text = line[:1] or " ", line[1:]
            if kind == "-":
                yield DiffRow("-", old, text)
            elif kind in "+ ":
                yield DiffRow("+" if kind == "+" else " ", new, text)
            old, old_left = (old + 1, old_left - 1) if kind in "- " else (old, old_left)
            new, new_left = (new + 1, new_left - 1) if kind in "+ " else (new, new_left)
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
        elif line.startswith("+++ "):
            yield DiffRow("file", 0, line[4:].partition("\t")[0].removeprefix("b/"))


def _with_words(rows: list[DiffRow]) -> list[DiffRow]:
    """Mark the changed words of lines that replace each other one by one."""
    done = list(rows)
    at = 0
    while at < len(rows):
        removed = _run(rows, at, "-")
        added = _run(rows, at + removed, "+")
        if removed and removed == added:
            for number in range(at, at + removed):
                before, after = rows[number], rows[number + removed]
                old, new = changed_words(before.text, after.text)
                if old is None and new is None:
                    continue
                done[number] = DiffRow("-", before.number, before.text, old)
                done[number + removed] = DiffRow("+", after.number, after.text, new)
        at += max(1, removed + added)
    return done


def _run(rows: Sequence[DiffRow], at: int, kind: Kind) -> int:
    end = at
    while end < len(rows) and rows[end].kind == kind:
        end += 1
    return end - at


def _with_gaps(rows: list[DiffRow]) -> Iterator[DiffRow]:
    before: DiffRow | None = None
    for row in rows:
        left_out = _left_out(before, row)
        if left_out:
            yield DiffRow("gap", left_out, "")
        yield row
        before = row


def _left_out(before: DiffRow | None, row: DiffRow) -> int:
    if before is None or "file" in (before.kind, row.kind) or before.kind == "-" or row.kind == "-":
        return 0
    return max(0, row.number - before.number - 1)
