"""The vertical layout of all items. Heights are estimates until an item is drawn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from opencode_tui.tui.conversation.drawing import RenderCache
from opencode_tui.tui.conversation.entry import Entry, Flow, Leaf
from opencode_tui.tui.conversation.fenwick import Fenwick
from opencode_tui.tui.conversation.heights import estimate_item, gap_between
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import AnyItem, GrowingItem, Item, TextItem, ThoughtItem
from opencode_tui.tui.state.transcript import Changes

_LINE_BITS, _ENTRY_BITS = 20, 44


@dataclass(slots=True)
class LinePosition:
    """The position of a line: its entry, the leaf of the entry, the line of the leaf; the gap above an entry is in its first leaf.

    It stays when the heights above are corrected, so that the visible lines do not move.
    """

    entry: Entry
    leaf: int = 0
    line: int = 0


@dataclass(slots=True)
class PlacedLine:
    """A visible line and its origin."""

    line: Line
    entry: Entry
    leaf: int
    number: int

    @property
    def key(self) -> int:
        """A number that grows from line to line and does not change when heights above are corrected."""
        return (self.entry.at << _ENTRY_BITS) | (self.leaf << _LINE_BITS) | self.number


def entry_of_key(key: int) -> int:
    """Return the index of the entry that a line's key represents."""
    return key >> _ENTRY_BITS


READING_S = 0.012
"""Seconds per frame for the layout of long texts."""


class Layout:
    """The entries and their heights for one page."""

    def __init__(self, page: RenderContext, scene: ViewState) -> None:
        self.scene = scene
        self.entries: list[Entry] = []
        self._drawings = RenderCache(page, scene)
        self._heights = Fenwick()
        self._by_item: dict[int, Entry] = {}
        self._long: set[Entry] = set()

    @property
    def page(self) -> RenderContext:
        """The current width and look."""
        return self._drawings.page

    @property
    def height(self) -> int:
        """All lines."""
        return self._heights.total

    @property
    def growing_lines(self) -> int:
        """The lines of the text at the end while it grows; 0 if none does, or only its first line is shown."""
        last = self.entries[-1] if self.entries else None
        if last is None or last.flow is None or not isinstance(last.item, GrowingItem) or last.item.is_closed:
            return 0
        return last.height - last.gap

    def entry_of(self, item: Item) -> Entry | None:
        """Return an item's entry."""
        return self._by_item.get(id(item))

    def set_page(self, page: RenderContext) -> None:
        """Lay out everything for another width or look, without drawing."""
        self._drawings.begin(page)
        for entry in self.entries:
            entry.flow = entry.head = None
            entry.height = entry.gap + estimate_item(entry.item, page, self.scene)
        self._heights = Fenwick(entry.height for entry in self.entries)

    def set_cut(self, at: int | None) -> None:
        """Mark everything after an index as what an undo would remove; None for nothing."""
        if at != self._drawings.cut_at:
            self._drawings.cut_at = at
            self.set_page(self.page)

    def sync(self, changes: Changes, items: Sequence[AnyItem]) -> None:
        """Apply the changes of the items."""
        moved = changes.moved_from
        for item in changes.dirty:
            entry = self._by_item.get(id(item))
            if entry is not None:
                self.renew(entry, is_placed=moved is None or entry.at < moved)
        if moved is not None:
            self._replace(moved, items)

    def renew(self, entry: Entry, *, is_placed: bool = True) -> None:
        """Lay out an entry again after its content changed."""
        item = entry.item
        if entry.head is not None:
            self._drawings.evict(entry.head)
            entry.head = None
        if isinstance(item, GrowingItem) and entry.flow is not None:
            if not entry.flow.is_current(item) or (isinstance(item, ThoughtItem) and not self.scene.is_open(item)):
                self._drop_flow(entry)
            else:
                self._advance(entry, item)
        if not is_placed:
            return
        self._set_height(entry, self._find_gap(entry) + self._measure(entry))
        after = self.entries[entry.at + 1] if entry.at + 1 < len(self.entries) else None
        if after is not None:
            self._find_gap(after)

    def evict(self, entry: Entry) -> None:
        """Remove the drawn lines of an entry; heights stay."""
        for leaf in entry.leaves:
            self._drawings.evict(leaf)

    @property
    def is_behind(self) -> bool:
        """Return whether a visible text is not laid out to its end yet."""
        return bool(self._long)

    def read_on(self) -> None:
        """Lay out more of the visible long texts, for some milliseconds."""
        until = time.perf_counter() + READING_S
        while self._long and time.perf_counter() < until:
            for entry in list(self._long):
                if self._by_item.get(id(entry.item)) is entry:
                    self.renew(entry)
                else:
                    self._long.discard(entry)

    def read_all(self, entry: Entry) -> None:
        """Lay out all of an entry's text, for about a millisecond per 8,000 characters."""
        self._leaf_count(entry)
        while entry.flow is not None and entry.flow.rest:
            self.renew(entry)

    def window(self, position: LinePosition, count: int) -> list[PlacedLine]:
        """Return at most `count` lines from a position on, drawing them if necessary."""
        placed: list[PlacedLine] = []
        entry, leaf, skip = position.entry, position.leaf, position.line
        for at in range(entry.at, len(self.entries)):
            entry = self.entries[at]
            number = leaf if at == position.entry.at else 0
            while number < self._leaf_count(entry):
                lines = self._lines(entry, number)
                for index in range(skip, min(len(lines), skip + count - len(placed))):
                    placed.append(PlacedLine(lines[index], entry, number, index))
                skip = 0
                number += 1
                if len(placed) >= count:
                    self._drawings.trim()
                    return placed
            skip = 0
        self._drawings.trim()
        return placed

    def end_position(self, count: int) -> LinePosition:
        """Return the start of a window of `count` lines that ends with the last line."""
        return self._up(LinePosition(self.entries[-1], self._leaf_count(self.entries[-1])), count)

    def moved(self, position: LinePosition, delta: int) -> LinePosition:
        """Return the position a number of lines further down, or up if negative, within the conversation."""
        return (
            self._up(LinePosition(position.entry, position.leaf, position.line), -delta)
            if delta < 0
            else self._down(position, delta)
        )

    def position_at(self, line: int) -> LinePosition:
        """Return the position of a line counted from the top, as far as heights are known."""
        at = min(self._heights.find(max(0, line)), len(self.entries) - 1)
        entry = self.entries[at]
        rest = max(0, line - self._heights.sum(at))
        count = self._leaf_count(entry)
        number = 0
        while number + 1 < count:
            leaf = entry.leaf(number)
            height = (leaf.height if leaf is not None else 0) + (0 if number else entry.gap)
            if rest < height:
                break
            rest -= height
            number += 1
        return self._down(LinePosition(entry, number), rest)

    def line_of(self, position: LinePosition) -> int:
        """Return a position's line counted from the top."""
        entry = position.entry
        return self._heights.sum(entry.at) + entry.above(position.leaf) + position.line

    def top_of(self, entry: Entry) -> int:
        """Return the line at which an entry starts, its gap included."""
        return self._heights.sum(entry.at)

    def lines_of(self, entry: Entry) -> list[PlacedLine]:
        """Return all lines of an entry, drawn now."""
        return [
            PlacedLine(line, entry, leaf, number)
            for leaf in range(self._leaf_count(entry))
            for number, line in enumerate(self._lines(entry, leaf))
        ]

    def _up(self, position: LinePosition, count: int) -> LinePosition:
        while count > 0:
            if position.line >= count:
                position.line -= count
                break
            count -= position.line
            position.line = 0
            if position.leaf > 0:
                position.leaf -= 1
            elif position.entry.at > 0:
                position.entry = self.entries[position.entry.at - 1]
                position.leaf = self._leaf_count(position.entry) - 1
                if position.leaf < 0:
                    position.leaf = 0
                    continue
            else:
                break
            position.line = len(self._lines(position.entry, position.leaf))
        return position

    def _down(self, position: LinePosition, count: int) -> LinePosition:
        entry, leaf, line = position.entry, position.leaf, position.line + count
        while True:
            lines = len(self._lines(entry, leaf)) if leaf < self._leaf_count(entry) else 0
            if line < lines:
                return LinePosition(entry, leaf, line)
            if leaf + 1 < self._leaf_count(entry):
                line -= lines
                leaf += 1
            elif entry.at + 1 < len(self.entries):
                line -= lines
                entry, leaf = self.entries[entry.at + 1], 0
            else:
                return LinePosition(entry, leaf, max(0, lines - 1))

    def _replace(self, start: int, items: Sequence[AnyItem]) -> None:
        """Replace the entries from `start` on by those of the items."""
        for entry in self.entries[start:]:
            self._by_item.pop(id(entry.item), None)
        known = {id(entry.item): entry for entry in self.entries[start:]}
        del self.entries[start:]
        before = next((entry.item for entry in reversed(self.entries) if not entry.item.is_hidden), None)
        for at, item in enumerate(items[start:], start):
            entry = known.pop(id(item), None) or Entry(item)
            entry.at = at
            entry.gap = gap_between(before, item)
            entry.height = entry.gap + self._measure(entry)
            self.entries.append(entry)
            self._by_item[id(item)] = entry
            if not item.is_hidden:
                before = item
        for entry in known.values():
            for leaf in entry.leaves:
                self._drawings.evict(leaf)
        self._heights.replace(start, [entry.height for entry in self.entries[start:]])

    def _find_gap(self, entry: Entry) -> int:
        """Set an entry's gap again and return it."""
        at = entry.at - 1
        while at >= 0 and self.entries[at].item.is_hidden:
            at -= 1
        gap = gap_between(self.entries[at].item if at >= 0 else None, entry.item)
        if gap != entry.gap:
            self._set_height(entry, entry.height + gap - entry.gap)
            entry.gap = gap
        return gap

    def _measure(self, entry: Entry) -> int:
        """Return an entry's height without its gap: exact for drawn leaves, estimated for the rest."""
        if entry.item.is_hidden:
            return 0
        if entry.flow is not None:
            return (entry.head.height if entry.head else self._has_head(entry)) + entry.flow.height + entry.flow.rest
        if entry.head is not None:
            return entry.head.height
        return estimate_item(entry.item, self.page, self.scene)

    def _set_height(self, entry: Entry, height: int) -> None:
        if height != entry.height:
            self._heights.add(entry.at, height - entry.height)
            entry.height = height

    def _leaf_count(self, entry: Entry) -> int:
        if entry.item.is_hidden:
            return 0
        self._prepare(entry)
        return entry.count

    def _has_head(self, entry: Entry) -> bool:
        return not isinstance(entry.item, TextItem)

    def _prepare(self, entry: Entry) -> None:
        """Create the leaves of an entry that becomes visible, if they do not exist."""
        item = entry.item
        if entry.head is None and self._has_head(entry):
            entry.head = Leaf(None, 1 if isinstance(item, ThoughtItem) else max(1, entry.height - entry.gap))
        is_text = isinstance(item, TextItem) or (isinstance(item, ThoughtItem) and self.scene.is_open(item))
        if entry.flow is None and is_text and isinstance(item, GrowingItem):
            entry.flow = Flow()
            entry.flow.generation = item.generation
            self._advance(entry, item)
            self._set_height(entry, entry.gap + self._measure(entry))

    def _advance(self, entry: Entry, item: GrowingItem) -> None:
        flow = entry.flow
        if flow is None:
            return
        last = flow.leaves[-1] if flow.leaves else None
        flow.advance(item, self.page)
        if last is not None and (item.is_closed or flow.leaves[-1] is not last):
            self._drawings.evict(last)  # its caret goes
        (self._long.add if flow.rest else self._long.discard)(entry)

    def _drop_flow(self, entry: Entry) -> None:
        for leaf in entry.flow.leaves if entry.flow is not None else ():
            self._drawings.evict(leaf)
        entry.flow = None

    def _lines(self, entry: Entry, number: int) -> list[Line]:
        """Return a leaf's lines, with the entry's gap above the first leaf; corrects its height."""
        leaf = entry.leaf(number)
        if leaf is None:
            return [self._drawings.blank(entry)] * (entry.flow.rest if entry.flow is not None else 0)
        lines = self._drawings.lines(entry, leaf, is_end=number == entry.count - 1)
        if len(lines) != leaf.height:
            if entry.flow is not None and leaf is not entry.head:
                entry.flow.height += len(lines) - leaf.height
            leaf.height = len(lines)
        self._set_height(entry, entry.gap + self._measure(entry))
        return [*[self._drawings.blank(entry)] * entry.gap, *lines] if number == 0 and entry.gap else lines
