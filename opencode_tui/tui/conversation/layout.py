"""The vertical layout of all items. Heights are estimates until an item is drawn."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text.tool import changed_lines
from opencode_tui.tui.conversation.body import TAIL_LINES
from opencode_tui.tui.conversation.drawing import LISTED, RenderCache
from opencode_tui.tui.conversation.entry import Entry, Flow, Leaf
from opencode_tui.tui.conversation.render import Line, RenderContext
from opencode_tui.tui.conversation.tool_view import opened_of
from opencode_tui.tui.conversation.tools.edit import SHOWN
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import (
    AnyItem,
    Changes,
    CompactionItem,
    ErrorItem,
    GrowingItem,
    Item,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)

# Empty rows between items, and the estimated height of an item. Source: design, visual, section 2.

_LINES = frozenset({"tool", "thought", "retry", "stop"})


def gap_between(before: AnyItem | None, item: AnyItem) -> int:
    """Return the empty rows above an item."""
    if before is None or item.is_hidden:
        return 0
    if isinstance(before, UndoItem) and before.is_preview:
        return 0
    if before.kind in _LINES and item.kind in _LINES:
        return int(_is_running(item) and not _is_running(before))
    return 1


def estimate_item(item: AnyItem, page: RenderContext, scene: ViewState) -> int:
    """Return the estimated height of an item in rows, without the gap; cheap for any size."""
    if item.is_hidden:
        return 0
    match item:
        case ThoughtItem():
            return 1 if not scene.is_open(item) else 2 + _text_rows(item, page)
        case GrowingItem():
            return _text_rows(item, page)
        case UserItem():
            return 1 + len(item.text) // page.prose + item.text.count("\n")
        case ToolItem():
            return _tool_rows(item, scene)
        case ErrorItem():
            return 4
        case CompactionItem():
            return 1 if not scene.is_open(item) else 2 + len(item.summary) // page.prose
        case UndoItem():
            listed = len(item.files) if scene.is_open(item) else min(LISTED + 1, len(item.files))
            return 1 if item.is_preview else 3 + listed
        case _:
            return 1


def _text_rows(item: GrowingItem, page: RenderContext) -> int:
    room = page.prose
    return 1 + sum(len(piece) // room + piece.count("\n") for piece in item.pieces[:50]) + len(item.pieces[50:]) // 8


def _tool_rows(item: ToolItem, scene: ViewState) -> int:
    state, result = item.part.state, row_of(item.part.tool).result
    if _is_running(item):
        return 1 + (TAIL_LINES if result in ("command", "agent") else 0)
    if (
        isinstance(state, ToolStateCompleted)
        and result in ("diff", "patch")
        and item.id not in scene.opened
        and not scene.detailed
    ):
        changed = changed_lines(item.part.tool, state.metadata)
        return 1 + min(SHOWN, sum(changed) + 4 if changed else 0)
    if isinstance(state, ToolStateError) or item.is_last or item.id in scene.opened or item.kind in scene.detailed:
        return 1 if opened_of(item, scene) == "folded" else 3
    return 1


def _is_running(item: AnyItem) -> bool:
    return isinstance(item, ToolItem) and item.part.state.status == "running" and not item.wait


class Fenwick:
    """A list of numbers with prefix sums: append, change, truncate, sum, and search by sum."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._tree: list[int] = [0]
        self.replace(0, values)

    def __len__(self) -> int:
        return len(self._tree) - 1

    def replace(self, start: int, values: Iterable[int]) -> None:
        """Replace all numbers from `start` on."""
        base = self.sum(start)
        sums = [0] * start + [base + partial for partial in accumulate(values, initial=0)]
        tree = self._tree
        del tree[start + 1 :]
        for index in range(start + 1, len(sums)):
            low = index & -index
            below = index - low
            tree.append(sums[index] - (sums[below] if below >= start else self.sum(below)))

    def add(self, index: int, delta: int) -> None:
        """Change one number."""
        tree, size = self._tree, len(self._tree)
        index += 1
        while index < size:
            tree[index] += delta
            index += index & -index

    def sum(self, count: int) -> int:
        """Return the sum of the first `count` numbers."""
        tree, total = self._tree, 0
        while count > 0:
            total += tree[count]
            count &= count - 1
        return total

    @property
    def total(self) -> int:
        """The sum of all."""
        return self.sum(len(self._tree) - 1)

    def find(self, value: int) -> int:
        """Return how many numbers from the first on have a sum of at most `value`; numbers are not negative."""
        tree, size = self._tree, len(self._tree)
        index, step = 0, 1 << max(0, size.bit_length() - 1)
        while step:
            after = index + step
            if after < size and tree[after] <= value:
                index = after
                value -= tree[after]
            step >>= 1
        return index


# Positions by entry, leaf and line, so that a corrected height above does not move the visible lines.

_LINE_BITS, _ENTRY_BITS = 20, 44


@dataclass(slots=True)
class Spot:
    """A line: of an entry its leaf, of the leaf its line; the gap above an entry belongs to its first leaf."""

    entry: Entry
    leaf: int = 0
    line: int = 0


@dataclass(slots=True)
class Placed:
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

    def window(self, spot: Spot, count: int) -> list[Placed]:
        """Return at most `count` lines from a spot on, drawing them if necessary."""
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
        """Return the start of a window of `count` lines that ends with the last line."""
        return self._up(Spot(self.entries[-1], self._leaf_count(self.entries[-1])), count)

    def moved(self, spot: Spot, delta: int) -> Spot:
        """Return the spot a number of lines further down, or up if negative, within the conversation."""
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
        """Return the line at which an entry starts, its gap included."""
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
