"""A unified diff as a few lines for a terminal: line number, sign, text. Source: design, visual, sections 2 and 6."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from opencode_tui.cli.cells import clip
from opencode_tui.cli.style import Style, Token
from opencode_tui.schema.value import immutable
from opencode_tui.tui.safe_text import make_safe

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NEAR = 2
"""Unchanged lines shown on either side of a change."""

_CODE_AT = 9
_TAB = 4
_TOKENS: dict[str, Token] = {"+": "added", "-": "removed"}


@immutable
class _Row:
    kind: Literal["+", "-", " ", "file"]
    number: int
    text: str


def render_diff(diff: str, style: Style, *, limit: int) -> list[str]:
    """Return at most `limit` lines of a diff, and one more: the last, or the count of those left out; empty when it is none."""
    rows = _near_changes(list(_read(diff)))
    if sum(row.kind == "file" for row in rows) == 1:
        rows = [row for row in rows if row.kind != "file"]
    lines: list[str] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and _leaves_gap(before, row):
            lines.append(style.paint(style.words("     …"), "muted"))
        lines.append(_line(row, style))
    if len(lines) > limit + 1:  # a line that counts one line would take its place
        left = style.words(f"… {len(lines) - limit} lines")
        lines = [*lines[:limit], style.paint(" " * _CODE_AT + left, "muted")]
    return lines


def _read(diff: str) -> Iterator[_Row]:
    """Yield the rows; what stands in a hunk is told from headers by the hunk's counts alone."""
    old = new = old_left = new_left = 0
    for line in diff.splitlines():
        if old_left > 0 or new_left > 0:
            kind, text = line[:1] or " ", line[1:]
            if kind == "-":
                yield _Row("-", old, text)
            elif kind in "+ ":
                yield _Row("+" if kind == "+" else " ", new, text)
            old, old_left = (old + 1, old_left - 1) if kind in "- " else (old, old_left)
            new, new_left = (new + 1, new_left - 1) if kind in "+ " else (new, new_left)
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
        elif line.startswith("+++ "):
            yield _Row("file", 0, line[4:])


def _near_changes(rows: Sequence[_Row]) -> list[_Row]:
    changed = [index for index, row in enumerate(rows) if row.kind in "+-"]
    near = {at for index in changed for at in range(index - _NEAR, index + _NEAR + 1)}
    return [row for index, row in enumerate(rows) if row.kind == "file" or index in near]


def _leaves_gap(before: _Row, row: _Row) -> bool:
    if "file" in (before.kind, row.kind) or "-" in (before.kind, row.kind):
        return False
    return row.number > before.number + 1


def _line(row: _Row, style: Style) -> str:
    room = (style.columns() or 200) - _CODE_AT
    text = clip(make_safe(row.text.expandtabs(_TAB)), room, style.words("›"))
    if row.kind == "file":
        return " " * _CODE_AT + style.paint(text, "muted")
    number = style.paint(f"{row.number:>6}", "muted")
    if row.kind == " ":
        return f"{number}   {text}".rstrip()
    sign = style.words("−") if row.kind == "-" else "+"
    return f"{number} {style.paint(f'{sign} {text}', _TOKENS[row.kind])}".rstrip()
