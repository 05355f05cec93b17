"""One row of cells: pieces from the left, facts at the right, cut by cells so that wide signs keep the columns."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import fitting
from opencode_tui.text.cells import width as cells

Piece = tuple[str, Style]
"""A text that is safe for a terminal, and its style."""


def row(width: int, left: Sequence[Piece], right: Sequence[Piece] = (), *, fill: Style, mark: str = "…") -> Strip:
    """A strip of `width` cells: `right` keeps its room, `left` is cut at its end with `mark`, `fill` is between them."""
    facts = measure(right)
    if facts > width:
        right, facts = clip(right, width, mark), width
    room = width - facts - (1 if facts else 0)
    left = clip(left, room, mark)
    gap = width - measure(left) - facts
    return strip([*left, (" " * gap, fill), *right], width)


def strip(pieces: Iterable[Piece], width: int | None = None) -> Strip:
    """The pieces as they are, empty ones left out."""
    return Strip([Segment(text, style) for text, style in pieces if text], width)


def measure(pieces: Iterable[Piece]) -> int:
    """How many cells the pieces take."""
    return sum(cells(text) for text, _ in pieces)


def clip(pieces: Sequence[Piece], room: int, mark: str = "…") -> Sequence[Piece]:
    """The pieces, their end cut off with a mark when they take more than `room` cells."""
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
