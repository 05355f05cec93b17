"""Text that is selected with the mouse: how its lines look, and what it is as text.

A letter's place is (letter in its line, key of the line); keys stay the same when heights above are corrected.
"""

from collections.abc import Iterable

from rich.segment import Segment
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from opencode_tui.tui.conversation.layout import Layout
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.place import Placed, entry_of_key

MAX_LINES = 20_000
"""Lines that a copy takes at most."""


def highlight(placed: Placed, selection: Selection | None, page: Page) -> Strip:
    """Return a line with its selected letters marked, those that a copy takes."""
    strip = placed.line.strip
    span = selection.get_span(placed.key) if selection is not None else None
    if span is None:
        return strip
    last = len(strip.text.rstrip())
    start, end = max(span[0], placed.line.copies_from), last if span[1] == -1 else min(span[1], last)
    if end <= start:
        return strip
    cells = [strip.index_to_cell_position(index) for index in (start, end)]
    before, chosen, *after = strip.divide([*cells, strip.cell_length])
    return Strip.join([before, Strip([Segment(chosen.text, page.look.palette.area("selection"))]), *after])


def selected_text(selection: Selection, layout: Layout) -> str:
    """Return the selected letters, without gutter and padding, wrapped lines joined again."""
    start = selection.start or Offset(0, 0)
    end = selection.end
    last = len(layout.entries) - 1 if end is None else min(entry_of_key(end.y), len(layout.entries) - 1)
    lines: list[Line] = []
    for entry in layout.entries[min(entry_of_key(start.y), len(layout.entries)) : last + 1]:
        placed = layout.lines_of(entry)
        lines += [one.line for one in placed if one.key >= start.y and (end is None or one.key <= end.y)]
        if len(lines) > MAX_LINES:
            break
    return copy_lines(lines, start.x, None if end is None else end.x)


def copy_lines(lines: Iterable[Line], first: int, last: int | None) -> str:
    """Return the lines' text, from letter `first` of the first one up to letter `last` of the last one (None: to its end)."""
    texts: list[str] = []
    joint = ""
    chosen = list(lines)
    for number, line in enumerate(chosen):
        text = line.strip.text
        start = line.copies_from if number else max(line.copies_from, first)
        end = last if number == len(chosen) - 1 and last is not None else len(text)
        texts += [joint, text[start:end].rstrip()]
        joint = line.joint
    return "".join(texts)


def place_letters(placed: Placed) -> Strip:
    """Return a line that says where its letters are, for the mouse."""
    return placed.line.strip.apply_offsets(0, placed.key)
