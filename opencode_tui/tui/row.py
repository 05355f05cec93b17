"""One row of cells: pieces from the left, facts at the right, cut by cells so that wide signs keep the columns."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

Piece = tuple[str, Style]
"""A text that is safe for a terminal, and its style."""

MIN_PATH = 12
"""Cells of a path that are left of it at least."""


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
    return sum(cell_len(text) for text, _ in pieces)


def clip(pieces: Sequence[Piece], room: int, mark: str = "…") -> Sequence[Piece]:
    """The pieces, their end cut off with a mark when they take more than `room` cells."""
    if measure(pieces) <= room:
        return pieces
    kept: list[Piece] = []
    left = room - cell_len(mark)
    if left < 0:
        return []
    for text, style in pieces:
        size = cell_len(text)
        if size > left:
            return [*kept, (set_cell_size(text, left).rstrip() + mark, style)]
        kept.append((text, style))
        left -= size
    return kept


def clip_middle(text: str, room: int, mark: str = "…") -> str:
    """The text, cut in its middle when it takes more than `room` cells: a long path first; the last clause stays, it helps."""
    over = cell_len(text) - room
    if over <= 0:
        return text
    longest = max(text.split(" "), key=cell_len)
    if cell_len(longest) - over >= MIN_PATH:
        return text.replace(longest, clip_front(longest, cell_len(longest) - over, mark), 1)
    at = text.rfind("; ")
    last = text[at + 2 :] if at >= 0 else ""
    if not 0 < cell_len(last) <= room * 3 // 4:
        last = clip_front(text, room // 2, "")
    head = room - cell_len(last) - cell_len(mark) - 1
    return f"{set_cell_size(text, head).rstrip()}{mark} {last.lstrip()}" if head > 0 else ""


def clip_front(text: str, room: int, mark: str = "…") -> str:
    """The text, its beginning cut off when it takes more than `room` cells: of a path the end says which it is."""
    if cell_len(text) <= room:
        return text
    for at in range(len(text)):
        if cell_len(text[at:]) <= room - cell_len(mark):
            return mark + text[at:]
    return ""
