"""All items below one another: where each begins, what is in sight. Heights are estimates until a piece is drawn."""

import time
from collections.abc import Sequence

from opencode_tui.tui.conversation.drawings import Drawings
from opencode_tui.tui.conversation.entry import Entry, Flow, Leaf
from opencode_tui.tui.conversation.fenwick import Fenwick
from opencode_tui.tui.conversation.gaps import estimate_item, gap_between
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.place import Placed, Spot
from opencode_tui.tui.conversation.scene import Scene
from opencode_tui.tui.items import AnyItem, GrowingItem, Item, TextItem, ThoughtItem
from opencode_tui.tui.shown_items import Changes

READING_S = 0.012
"""Seconds of a frame that reading long texts may take."""


class Layout:
    """The entries and their heights for one page."""

    def __init__(self, page: Page, scene: Scene) -> None:
        self.scene = scene
        self.entries: list[Entry] = []
        self._drawings = Drawings(page, scene)
        self._heights = Fenwick()
        self._by_item: dict[int, Entry] = {}
        self._long: set[Entry] = set()

    @property
    def page(self) -> Page:
        """The width and look in force."""
        return self._drawings.page

    @property
    def height(self) -> int:
        """All lines."""
        return self._heights.total

    def entry_of(self, item: Item) -> Entry | None:
        """Return an item's entry."""
        return self._by_item.get(id(item))

    def set_page(self, page: Page) -> None:
        """Lay everything out for another width or look; nothing is drawn yet."""
        self._drawings.begin(page)
        for entry in self.entries:
            entry.flow = entry.head = None
            entry.height = entry.gap + estimate_item(entry.item, page, self.scene)
        self._heights = Fenwick(entry.height for entry in self.entries)

    def set_cut(self, at: int | None) -> None:
        """Show everything behind a place as what an undo would take; None for nothing."""
        if at != self._drawings.cut_at:
            self._drawings.cut_at = at
            self.set_page(self.page)

    def sync(self, changes: Changes, items: Sequence[AnyItem]) -> None:
        """Take what is new of the items."""
        moved = changes.moved_from
        for item in changes.dirty:
            entry = self._by_item.get(id(item))
            if entry is not None:
                self.renew(entry, is_placed=moved is None or entry.at < moved)
        if moved is not None:
            self._replace(moved, items)

    def renew(self, entry: Entry, *, is_placed: bool = True) -> None:
        """Lay an entry out anew: it says something else now."""
        item = entry.item
        if entry.head is not None:
            self._drawings.forget(entry.head)
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

    @property
    def is_behind(self) -> bool:
        """Tell whether a text that came into sight was not read to its end yet."""
        return bool(self._long)

    def read_on(self) -> None:
        """Read on in the texts in sight that are long, for some milliseconds."""
        until = time.perf_counter() + READING_S
        while self._long and time.perf_counter() < until:
            for entry in list(self._long):
                if self._by_item.get(id(entry.item)) is entry:
                    self.renew(entry)
                else:
                    self._long.discard(entry)

    def window(self, spot: Spot, count: int) -> list[Placed]:
        """Return the lines from a spot on, at most `count`; they are drawn if they are not yet."""
        placed: list[Placed] = []
        entry, leaf, skip = spot.entry, spot.leaf, spot.line
        for at in range(entry.at, len(self.entries)):
            entry = self.entries[at]
            number = leaf if at == spot.entry.at else 0
            while number < self._leaf_count(entry):
                lines = self._lines(entry, number)
                for index in range(skip, min(len(lines), skip + count - len(placed))):
                    placed.append(Placed(lines[index], entry, number, index))
                skip = 0
                number += 1
                if len(placed) >= count:
                    self._drawings.trim()
                    return placed
            skip = 0
        self._drawings.trim()
        return placed

    def end_spot(self, count: int) -> Spot:
        """Return where a window of `count` lines begins whose last line is the last of all."""
        return self._up(Spot(self.entries[-1], self._leaf_count(self.entries[-1])), count)

    def moved(self, spot: Spot, delta: int) -> Spot:
        """Return the spot so many lines further down, or up; it stays inside."""
        return self._up(Spot(spot.entry, spot.leaf, spot.line), -delta) if delta < 0 else self._down(spot, delta)

    def spot_at(self, line: int) -> Spot:
        """Return the spot of a line counted from the top, as far as heights are known."""
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
        return self._down(Spot(entry, number), rest)

    def line_of(self, spot: Spot) -> int:
        """Return a spot's line counted from the top."""
        entry = spot.entry
        return self._heights.sum(entry.at) + entry.above(spot.leaf) + spot.line

    def top_of(self, entry: Entry) -> int:
        """Return the line at which an entry begins, its gap included."""
        return self._heights.sum(entry.at)

    def lines_of(self, entry: Entry) -> list[Placed]:
        """Return all lines of an entry, drawn now."""
        return [
            Placed(line, entry, leaf, number)
            for leaf in range(self._leaf_count(entry))
            for number, line in enumerate(self._lines(entry, leaf))
        ]

    def _up(self, spot: Spot, count: int) -> Spot:
        while count > 0:
            if spot.line >= count:
                spot.line -= count
                break
            count -= spot.line
            spot.line = 0
            if spot.leaf > 0:
                spot.leaf -= 1
            elif spot.entry.at > 0:
                spot.entry = self.entries[spot.entry.at - 1]
                spot.leaf = self._leaf_count(spot.entry) - 1
                if spot.leaf < 0:
                    spot.leaf = 0
                    continue
            else:
                break
            spot.line = len(self._lines(spot.entry, spot.leaf))
        return spot

    def _down(self, spot: Spot, count: int) -> Spot:
        entry, leaf, line = spot.entry, spot.leaf, spot.line + count
        while True:
            lines = len(self._lines(entry, leaf)) if leaf < self._leaf_count(entry) else 0
            if line < lines:
                return Spot(entry, leaf, line)
            if leaf + 1 < self._leaf_count(entry):
                line -= lines
                leaf += 1
            elif entry.at + 1 < len(self.entries):
                line -= lines
                entry, leaf = self.entries[entry.at + 1], 0
            else:
                return Spot(entry, leaf, max(0, lines - 1))

    def _replace(self, start: int, items: Sequence[AnyItem]) -> None:
        """Make the entries from `start` on those of the items from there on."""
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
                self._drawings.forget(leaf)
        self._heights.replace(start, [entry.height for entry in self.entries[start:]])

    def _find_gap(self, entry: Entry) -> int:
        """Set an entry's gap anew and return it."""
        at = entry.at - 1
        while at >= 0 and self.entries[at].item.is_hidden:
            at -= 1
        gap = gap_between(self.entries[at].item if at >= 0 else None, entry.item)
        if gap != entry.gap:
            self._set_height(entry, entry.height + gap - entry.gap)
            entry.gap = gap
        return gap

    def _measure(self, entry: Entry) -> int:
        """Return an entry's height without its gap: what is drawn as it is, the rest estimated."""
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
        """Make an entry's leaves, if they are not there: it comes into sight."""
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
            self._drawings.forget(last)  # its caret goes
        (self._long.add if flow.rest else self._long.discard)(entry)

    def _drop_flow(self, entry: Entry) -> None:
        for leaf in entry.flow.leaves if entry.flow is not None else ():
            self._drawings.forget(leaf)
        entry.flow = None

    def _lines(self, entry: Entry, number: int) -> list[Line]:
        """Return a leaf's lines, the entry's gap above the first one's; its height is corrected."""
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
