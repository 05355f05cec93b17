"""Plain text tables."""

import os
import sys
from collections.abc import Collection, Sequence

from opencode_tui.cli.style import Style, style_of
from opencode_tui.text.cells import clip, pad, width
from opencode_tui.text.safe_text import make_safe

_GAP = "  "
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
    safe = [[make_safe(style.words(cell)) for cell in row] for row in (heads, *rows)]
    widths = [max(map(width, cells)) for cells in zip(*safe, strict=True)]
    shown = _shown_columns(heads, widths, style.columns(), whole, spare)
    rooms = [widths[at] for at in shown]
    _shrink(rooms, style.columns(), [place for place, at in enumerate(shown) if heads[at] not in whole])
    mark = style.words("…")

    def line(cells: Sequence[str]) -> str:
        aligned = (
            pad(clip(cells[at], room, mark), room, is_right=heads[at] in numbers)
            for at, room in zip(shown, rooms, strict=True)
        )
        return _GAP.join(aligned).rstrip()

    head, *lines = map(line, safe)
    return "\n".join([style.paint(head, "muted"), *lines])


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of sessions as a table."""
    style, numbers = style_of(sys.stdout, os.environ), {"USED", "DELETED", "SIZE", "+", "−"}
    print(render_table(heads, rows, style, numbers=numbers, whole={"ID"}))


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
