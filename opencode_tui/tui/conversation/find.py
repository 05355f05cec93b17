"""The occurrences of a text in the conversation, in shown and in folded items alike."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice, pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.tool import argument_of, name_of
from opencode_tui.tui.conversation.tools import text_of_call
from opencode_tui.tui.state.message import AnyItem, CompactionItem, GrowingItem, ToolItem, UserItem
from opencode_tui.tui.theme.look import Palette

_REVERSE, _UNDERLINE = Style(reverse=True), Style(underline=True)


class FoundText:
    """The occurrences of `words` in items, from the top; one of them is the current one, if there are any."""

    def __init__(self, words: str, items: Sequence[AnyItem], root: str) -> None:
        """Search the items; upper and lower case are alike. Blocks for the length of all texts."""
        self.words = words
        self.pattern = re.compile(re.escape(words), re.IGNORECASE)
        needle = words.lower()
        counts = [(item, _text_of(item, root).lower().count(needle)) for item in items if not item.is_hidden]
        self._items = [item for item, count in counts if count]
        self._ends = list(accumulate(count for _, count in counts if count))
        self.at = 0
        """The index of the current occurrence."""

        self.shown: tuple[int, int] | None = None
        """The key of the drawn line with the current occurrence, and its first character there."""

    @property
    def total(self) -> int:
        """The number of occurrences."""
        return self._ends[-1] if self._ends else 0

    @property
    def count(self) -> int:
        """The number of occurrences in the item with the current one."""
        index = bisect_right(self._ends, self.at)
        return self._ends[index] - (self._ends[index - 1] if index else 0)

    @property
    def current(self) -> tuple[AnyItem, int]:
        """The item with the current occurrence, and how many occurrences are before it in this item."""
        index = bisect_right(self._ends, self.at)
        return self._items[index], self.at - (self._ends[index - 1] if index else 0)

    def has(self, item: AnyItem) -> bool:
        """Return whether an item has an occurrence."""
        return any(one is item for one in self._items)

    def start_at(self, item: AnyItem) -> None:
        """Make the first occurrence in this item or below it the current one; the last one if there is none."""
        index = next((index for index, one in enumerate(self._items) if one.at >= item.at), None)
        self.at = self.total - 1 if index is None else self._ends[index - 1] if index else 0

    def step(self, direction: int) -> None:
        """Go to the next occurrence or to the previous one; after the last one comes the first one."""
        self.at = (self.at + direction) % self.total


def mark_found(strip: Strip, key: int, first: int, found: FoundText, palette: Palette) -> Strip:
    """Return a drawn line with its occurrences marked, from character `first` on; the current one differs."""
    spans = [span.span() for span in found.pattern.finditer(strip.text, first)]
    if not spans:
        return strip
    cuts = [0, *(strip.index_to_cell_position(index) for span in spans for index in span), strip.cell_length]
    pieces = [strip.crop(start, end) for start, end in pairwise(cuts)]
    for number, (start, _) in enumerate(spans):
        is_current = found.shown == (key, start)
        mark = _REVERSE if is_current or palette.depth != "none" else _UNDERLINE  # colors do not tell them apart there
        style = palette.style("accent" if is_current else "warning", bold=True) + mark
        pieces[2 * number + 1] = Strip([Segment(pieces[2 * number + 1].text, style)])
    return Strip.join(pieces)


def place_in_output(item: AnyItem, root: str, pattern: re.Pattern[str], number: int) -> tuple[int, int] | None:
    """Return the line and the character of an occurrence in a call's text, from 0; None for one elsewhere."""
    if not isinstance(item, ToolItem):
        return None
    head = _head_of(item, root)
    text = text_of_call(item.part, root)
    found = next(islice(pattern.finditer(head + text), number, None), None)
    at = found.start() - len(head) if found is not None else -1
    return (text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1) if at >= 0 else None


def _head_of(item: ToolItem, root: str) -> str:
    return f"{name_of(item.part.tool)} {argument_of(item.part, root)}\n"


def _text_of(item: AnyItem, root: str) -> str:
    match item:
        case UserItem() | GrowingItem():
            return item.text
        case CompactionItem():
            return item.summary
        case ToolItem():
            return _head_of(item, root) + text_of_call(item.part, root)
        case _:
            return ""
