"""Plain text tables."""

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat

from opencode_tui.cli.style import Style, style_of
from opencode_tui.text.cells import clip, pad, width
from opencode_tui.text.safe_text import make_safe

_GAP = "  "
_BLOCK = 1_000
_MIN_CELLS = 8
_READABLE_CELLS = 12
"""Cells of a truncated column that say enough; a column that may be left out gives way to them."""


def render_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    *,
    numbers: Collection[str] = (),
    whole: Collection[str] = (),
    spare: Sequence[str] = (),
) -> str:
    """Return the rows under their heads; columns named in `numbers` are aligned to the right.

    Cells are made safe. In a terminal the columns in `spare` are left out one by one, in their order, while a row does not fit;
    then the widest ones, except those in `whole`, are truncated until it does.
    """
    columns = [*zip(*rows, strict=True)] if rows else [()] * len(heads)
    return "".join(_drawn(heads, columns, style, numbers=numbers, whole=whole, spare=spare)).removesuffix("\n")


def _drawn(
    heads: Sequence[str],
    columns: Sequence[Sequence[str]],
    style: Style,
    *,
    numbers: Collection[str],
    whole: Collection[str],
    spare: Sequence[str],
) -> Iterator[str]:
    """Yield the head, then some lines at a time: a table may have 100,000, most of them in ASCII."""
    columns = [_made_safe(cells, style) for cells in columns]
    titles = _made_safe(heads, style)
    widths = [max(width(title), _widest(cells)) for title, cells in zip(titles, columns, strict=True)]
    shown = _shown_columns(heads, widths, style.columns(), whole, spare)
    heads, widths, columns = [heads[at] for at in shown], [widths[at] for at in shown], [columns[at] for at in shown]
    _shrink(widths, style.columns(), [column for column, head in enumerate(heads) if head not in whole])
    mark = style.words("…")

    def lines(table: Sequence[Sequence[str]]) -> Iterator[str]:
        aligned = [
            _aligned(cells, room, mark, is_right=head in numbers)
            for cells, room, head in zip(table, widths, heads, strict=True)
        ]
        return (_GAP.join(row).rstrip() for row in zip(*aligned, strict=True))

    yield from (f"{style.paint(line, 'muted')}\n" for line in lines([[titles[at]] for at in shown]))
    for start in range(0, len(columns[0]), _BLOCK):
        yield "".join(f"{line}\n" for line in lines([cells[start : start + _BLOCK] for cells in columns]))


def _blocks(cells: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the cells of a column, some at a time: one look at these together is much faster than one at each."""
    return (cells[start : start + _BLOCK] for start in range(0, len(cells), _BLOCK))


def _made_safe(cells: Sequence[str], style: Style) -> list[str]:
    safe: list[str] = []
    for block in _blocks(cells):
        is_plain = (text := "".join(block)).isascii() and text.isprintable()
        safe += block if is_plain else [make_safe(style.words(cell)) for cell in block]
    return safe


def _widest(cells: Sequence[str]) -> int:
    return max((max(map(len if "".join(block).isascii() else width, block)) for block in _blocks(cells)), default=0)


def _aligned(cells: Sequence[str], room: int, mark: str, *, is_right: bool) -> list[str]:
    """Return the cells of a column with `room` cells each."""
    fill = str.rjust if is_right else str.ljust
    if "".join(cells).isascii() and max(map(len, cells)) <= room:
        return [*map(fill, cells, repeat(room))]
    return [pad(clip(cell, room, mark), room, is_right=is_right) for cell in cells]


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of sessions as a table."""
    print_columns(heads, [*zip(*rows, strict=True)][: len(heads)])


def print_columns(heads: Sequence[str], columns: Sequence[Sequence[str]]) -> None:
    """Print columns of sessions as a table."""
    style, numbers = style_of(sys.stdout, os.environ), {"USED", "DELETED", "SIZE", "+", "−"}
    for lines in _drawn(heads, columns, style, numbers=numbers, whole={"ID"}, spare=()):
        sys.stdout.write(lines)


def _shown_columns(
    heads: Sequence[str], widths: Sequence[int], columns: int | None, whole: Collection[str], spare: Sequence[str]
) -> Sequence[int]:
    """Return the numbers of the columns that are shown: those in `spare` give way as long as the others would not be readable."""
    shown = list(range(len(heads)))
    for name in spare:
        least = [widths[at] if heads[at] in whole else min(widths[at], _READABLE_CELLS) for at in shown]
        if columns is None or sum(least) + len(_GAP) * (len(shown) - 1) <= columns:
            break
        shown.remove(heads.index(name))
    return shown


def _shrink(widths: list[int], columns: int | None, may_shrink: Sequence[int]) -> None:
    """Narrow the widest of some columns until a row fits."""
    excess = 0 if columns is None else sum(widths) + len(_GAP) * (len(widths) - 1) - columns
    while excess > 0:
        widest = max(may_shrink, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= _MIN_CELLS:
            return
        widths[widest] -= 1
        excess -= 1
