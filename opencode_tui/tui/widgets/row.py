"""One row of cells: pieces from the left, facts at the right, truncated by cells so that wide characters keep the columns."""

import logging
from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from opencode_tui.text.cells import fitting
from opencode_tui.text.cells import width as cells
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.theme.look import Look, look_of

Piece = tuple[str, Style]
"""A text that is safe for a terminal, and its style."""


def row(width: int, left: Sequence[Piece], right: Sequence[Piece] = (), *, fill: Style, mark: str = "…") -> Strip:
    """A strip of `width` cells: `right` is complete, `left` is truncated with `mark`, `fill` is between them."""
    facts = measure(right)
    if facts > width:
        right, facts = clip(right, width, mark), width
    room = width - facts - (1 if facts else 0)
    left = clip(left, room, mark)
    gap = width - measure(left) - facts
    return strip([*left, (" " * gap, fill), *right], width)


def strip(pieces: Iterable[Piece], width: int | None = None) -> Strip:
    """Return the pieces without empty ones."""
    return Strip([Segment(text, style) for text, style in pieces if text], width)


def notes_column(texts: Iterable[tuple[str, str]], width: int, *, usual: int) -> int:
    """Return the column in which notes begin: `usual`, or where that cuts one behind the longest text, with a gap of two.

    The texts are (name, note) of all rows, safe ones; both count from the same column.
    """
    rows = [(cells(name), cells(note)) for name, note in texts if note]
    if all(max(usual, name + 2) + note <= width for name, note in rows):
        return usual
    return min(usual, max((name for name, _ in rows), default=usual) + 2)


def change_counts(look: Look, additions: int, deletions: int, area: str) -> list[Piece]:
    """Return `+18 −1` in their colors, without zeros."""
    pieces: list[Piece] = []
    if additions:
        pieces.append((f"{look.glyphs.plus}{additions}", look.palette.style("diff_add", area)))
    if deletions:
        gap = " " if pieces else ""
        pieces.append((f"{gap}{look.glyphs.minus}{deletions}", look.palette.style("diff_del", area)))
    return pieces


def measure(pieces: Iterable[Piece]) -> int:
    """Return the width of the pieces in cells."""
    return sum(cells(text) for text, _ in pieces)


def clip(pieces: Sequence[Piece], room: int, mark: str = "…") -> Sequence[Piece]:
    """Return the pieces, truncated with a mark if they are wider than `room` cells."""
    if measure(pieces) <= room:
        return pieces
    kept: list[Piece] = []
    left = room - cells(mark)
    if left < 0:
        return []
    for text, style in pieces:
        size = cells(text)
        if size > left:
            return [*kept, (text[: fitting(text, left)].rstrip() + mark, style)]
        kept.append((text, style))
        left -= size
    return kept


def filtered(widget: Widget, lines: Sequence[Strip]) -> Sequence[Strip]:
    """Return the lines of a widget after the filters of the app."""
    background = widget.background_colors[1]
    for one in widget.get_line_filters():
        lines = [line.apply_filter(one, background) for line in lines]
    return lines


_log = logging.getLogger(__name__)


class Rows(ErrorBoundary, Widget):
    """Draws `rows()` only after `redraw`, a resize or another look."""

    area = "background"
    """The background of empty cells."""

    _drawn: tuple[object, Sequence[Strip]] | None = None

    @property
    def look(self) -> Look:
        """The current look."""
        return look_of(self)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the rows to show, from the top; missing ones are empty."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again with the next frame."""
        self._drawn = None
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return rows for the compositor; Textual's way around them costs three times as much."""
        if any(self.styles.gutter):
            return super().render_lines(crop)
        width, fill = self.size.width, self.look.palette.area(self.area)
        lines = [self.render_line(y).adjust_cell_length(width, fill) for y in crop.line_range]
        return [line.crop(crop.x, crop.right) for line in filtered(self, lines)]

    def render_line(self, y: int) -> Strip:
        """Return one row for the compositor."""
        rows = self._rows()
        width = self.size.width
        return rows[y] if y < len(rows) else Strip.blank(width, self.look.palette.area(self.area))

    def _rows(self) -> Sequence[Strip]:
        key = (self.size, self.look)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = (key, self._try_rows())
        return self._drawn[1]

    def _try_rows(self) -> Sequence[Strip]:
        try:
            return self.rows(self.size.width, self.size.height)
        except Exception:  # noqa: BLE001 - one region must not take the conversation down
            _log.exception("%s cannot be drawn", type(self).__name__)
            palette = self.look.palette
            words = "Could not render this; see the log"
            return [row(self.size.width, [(words, palette.style("error", self.area))], fill=palette.area(self.area))]
