"""The positions of a diff's lines in one column or two, truncated or wrapped; only visible rows are drawn."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from textual.strip import Strip

from opencode_tui.tui.diff.cells import (
    HEAD,
    CodeRow,
    Pair,
    half_of,
    line_strips,
    note_strip,
    pair_strips,
    pairs_of,
    strips_of,
)
from opencode_tui.tui.theme.look import Look

NO_LINE = 1 << 60
"""The line number of rows that no new line follows."""


class DiffForm:
    """The rows of a file in one column or two, prepared as far as possible without the width. Slow for many."""

    def __init__(self, rows: Sequence[CodeRow], *, is_split: bool) -> None:
        self.is_split = is_split
        self.lines: Sequence[Pair] = pairs_of(rows) if is_split else [(one, None) for one in rows]
        self.gaps = [at for at, pair in enumerate(self.lines) if _is_gap(pair)]
        self.cells = [max(one.cells + one.is_cut for one in pair if one is not None) for pair in self.lines]
        for at in self.gaps:
            self.cells[at] = 0
        changed = [any(one is not None and one.row.kind in ("+", "-") for one in pair) for pair in self.lines]
        self.changes = [at for at, is_one in enumerate(changed) if is_one and (at == 0 or not changed[at - 1])]
        self.numbers = [_new_number(pair) for pair in self.lines]
        following = NO_LINE
        for at in reversed(range(len(self.numbers))):
            following = self.numbers[at] = self.numbers[at] or following


class DiffLayout:
    """The layout for one width."""

    def __init__(self, form: DiffForm, *, is_wrapped: bool, width: int) -> None:
        self._form, self._is_wrapped, self._width = form, is_wrapped, width
        room = half_of(width) if form.is_split else width
        heights = self._heights(room) if is_wrapped else [1] * len(form.lines)
        for at in form.gaps:
            heights[at] = 2 if at else 1
        self._tops = [0, *accumulate(heights)]

    @property
    def height(self) -> int:
        """The number of rows on the screen."""
        return self._tops[-1]

    def strips(self, top: int, count: int, look: Look) -> list[Strip]:
        """Return at most `count` rows from `top` on."""
        at = bisect_right(self._tops, top) - 1
        above = top - self._tops[at]
        drawn: list[Strip] = []
        while at < len(self._form.lines) and len(drawn) < above + count:
            drawn += self._draw(at, look)
            at += 1
        return drawn[above : above + count]

    def change_tops(self) -> list[int]:
        """Return the rows in which changes start."""
        return [self._tops[at] for at in self._form.changes]

    def line_at(self, top: int) -> int:
        """Return the number of the first new line from a row on; a very large one when none follows."""
        at = bisect_right(self._tops, top) - 1
        return self._form.numbers[at] if at < len(self._form.numbers) else NO_LINE

    def top_of(self, line: int) -> int:
        """Return the row of a new line, else of the next one; without one the end."""
        return self._tops[bisect_left(self._form.numbers, line)]

    def _heights(self, room: int) -> list[int]:
        lines = self._form.lines
        return [
            1 if cells <= room - HEAD else max(strips_of(one, room) for one in lines[at] if one is not None)
            for at, cells in enumerate(self._form.cells)
        ]

    def _draw(self, at: int, look: Look) -> list[Strip]:
        pair, area = self._form.lines[at], "background"
        first = pair[0]
        if first is not None and _is_gap(pair):
            empty = [Strip.blank(self._width, look.palette.area(area))] if at else []
            return [*empty, note_strip(first, look, self._width, area, indent=0)]
        if self._form.is_split:
            return pair_strips(pair, look, self._width, area, is_wrapped=self._is_wrapped)
        return [] if first is None else line_strips(first, look, self._width, area, is_wrapped=self._is_wrapped)


def _is_gap(pair: Pair) -> bool:
    return pair[0] is not None and pair[0].row.kind == "gap"


def _new_number(pair: Pair) -> int:
    """Return the number of the new line, 0 if there is none."""
    for one in reversed(pair):
        if one is not None and one.row.kind in "+ ":
            return one.row.number
    return 0
