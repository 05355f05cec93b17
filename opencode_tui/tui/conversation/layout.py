"""The vertical layout of all items, and the lines of it that are visible.

Heights are estimates until an item is drawn; the position is kept when they are corrected. Source:
docs/internals/screen.md#columns.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text.tool import changed_lines
from opencode_tui.tui.conversation.drawing import LISTED, Entry, Flow, Leaf, RenderCache
from opencode_tui.tui.conversation.line import TAIL_LINES, Line, RenderContext
from opencode_tui.tui.conversation.tools import SHOWN_DIFF, ViewState, opened_of
from opencode_tui.tui.state.message import (
    AnyItem,
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
from opencode_tui.tui.state.transcript import Changes, Transcript
from opencode_tui.tui.theme.look import Look


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
        return 1 + min(SHOWN_DIFF, sum(changed) + 4 if changed else 0)
    if isinstance(state, ToolStateError) or item.is_last or item.id in scene.opened or item.kind in scene.detailed:
        return 1 if opened_of(item, scene) == "folded" else 3
    return 1


def _is_running(item: AnyItem) -> bool:
    return isinstance(item, ToolItem) and item.part.state.status == "running" and not item.wait


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


FAR = 3
"""Screens beyond which a scroll distance is measured by estimates, without drawing the lines between."""

MIN_WIDTH = 20

STEP = 4
"""Lines by which the end moves up at once below a text that grows. To move all rows costs more than the new line, and rows that
rest are easier to read. Up to three rows at the bottom stay free until then, none if the text has no more lines than this."""


class Viewport:
    """A window of lines over a transcript's layout."""

    def __init__(self, transcript: Transcript, scene: ViewState, look: Look, root: str = "") -> None:
        self.follow = True
        """Whether the window follows the end of the conversation."""

        self.top = 0
        self.lines: list[PlacedLine] = []
        self.height = 0
        keys, host, form = scene.focus_key, scene.host, scene.link_form
        page = RenderContext(MIN_WIDTH, look, root, focus_key=keys, host=host, link_form=form)
        self.layout = Layout(page, scene)
        self._transcript = transcript
        self._position: LinePosition | None = None
        self._mark: tuple[Entry, int] | None = None
        """The last entry when the window stopped following, and its height then: later lines are new."""
        self._is_filled = False

    @property
    def page(self) -> RenderContext:
        """The current width and look."""
        return self.layout.page

    @property
    def total(self) -> int:
        """All lines, as far as heights are known."""
        return self.layout.height

    @property
    def new_lines(self) -> int:
        """Lines added since the window stopped following."""
        if self.follow or self._mark is None:
            return 0
        entry, height = self._mark
        return max(0, self.layout.height - self.layout.top_of(entry) - height)

    @property
    def items(self) -> list[AnyItem]:
        """The visible items, from the top."""
        return list({id(placed.entry): placed.entry.item for placed in self.lines}.values())

    def resize(self, width: int, height: int, look: Look) -> None:
        """Apply another size or look; the top line keeps its position, a window at the end stays at the end."""
        self.height = height
        page = replace(self.layout.page, width=max(MIN_WIDTH, width), look=look)
        if page != self.layout.page:
            self.layout.set_page(page)
            if self._mark is not None:
                self._mark = (self._mark[0], self._mark[0].height)

    def apply_changes(self) -> None:
        """Apply the transcript's changes, and lay out more of long texts."""
        if self._transcript.has_changes or not self._is_filled:
            position = self._position
            changes = self._transcript.pop_changes()
            changes.moved_from = changes.moved_from if self._is_filled else 0
            self._is_filled = True
            self.layout.sync(changes, self._transcript.items)
            self.layout.set_cut(self._transcript.cut_at)
            if position is not None:
                self._find_again(position)
            if self._mark is not None:
                self._mark = self._mark_again(*self._mark)
        self.layout.read_on()

    def compose(self, *, follow_at_end: bool = False) -> None:
        """Update the visible lines; with `follow_at_end` a window that reaches the end follows it."""
        layout = self.layout
        if not layout.entries:
            self.lines, self.top = [], 0
            return
        free = 0
        if self.follow or self._position is None:
            self._position = layout.end_position(self.height)
            free = self._free_rows() if layout.line_of(self._position) else 0  # none where all fits
            self._position = layout.moved(self._position, free)
        self.lines = layout.window(self._position, self.height)
        if len(self.lines) < self.height - free:
            self._position = layout.end_position(self.height)
            self.lines = layout.window(self._position, self.height)
        if empty := self._empty_at_top():
            self._position = layout.moved(self._position, empty)
            self.lines = layout.window(self._position, self.height)
        self.top = layout.line_of(self._position)
        if layout.height <= self.height or (follow_at_end and self.top + self.height >= layout.height):
            self.follow = True

    def _free_rows(self) -> int:
        """Return how many rows are free below the last line in a window that follows the end."""
        lines = self.layout.growing_lines
        return -lines % STEP if lines > STEP else 0

    def scroll(self, delta: int) -> None:
        """Scroll down by a number of lines, up if negative."""
        layout = self.layout
        if self._position is None or not layout.entries or not delta:
            return
        is_far = abs(delta) > FAR * max(1, self.height)
        self._position = layout.position_at(self.top + delta) if is_far else layout.moved(self._position, delta)
        if delta < 0:
            self.stop_following()
            while layout.line_of(self._position) and self._is_empty(*layout.window(self._position, 1)):
                self._position = layout.moved(self._position, -1)  # `compose` would move down again
        self.compose(follow_at_end=delta > 0)

    def _empty_at_top(self) -> int:
        """Return how many lines at the top are empty: the title has an empty row below it."""
        return next((number for number, placed in enumerate(self.lines) if not self._is_empty(placed)), 0)

    def _is_empty(self, placed: PlacedLine) -> bool:
        """Return whether a line is an empty row between items or paragraphs; one that is not laid out yet is not."""
        return placed.line.strip is self.page.blank() and placed.entry.leaf(placed.leaf) is not None

    def show_end(self) -> None:
        """Go to the end and stay there."""
        self.follow = True
        self.compose()

    def show_start(self) -> None:
        """Go to the first line. A distance to it would be one of estimated heights, and end before it or behind it."""
        if self.layout.entries:
            self.stop_following()
            self._position = LinePosition(self.layout.entries[0])
            self.compose(follow_at_end=True)

    def show_item(self, item: Item) -> None:
        """Scroll an item to the top."""
        entry = self.layout.entry_of(item)
        if entry is not None:
            self.stop_following()
            self._position = LinePosition(entry)
            self.compose(follow_at_end=True)

    def show_occurrence(
        self, item: Item, pattern: re.Pattern[str], number: int, *, count: int | None = None
    ) -> tuple[int, int] | None:
        """Show an occurrence of a text in an item; return its line's key and its first character there.

        Return None where the item's drawn lines have fewer occurrences, or not `count` of them: its last one is shown, or
        its first line.
        """
        entry = self.layout.entry_of(item)
        if entry is None:
            return None
        self.layout.read_all(entry)
        drawn = self.layout.lines_of(entry)
        places = [
            (placed, match.start())
            for placed in drawn
            for match in pattern.finditer(placed.line.strip.text, placed.line.copies_from)
        ]
        placed, start = places[min(number, len(places) - 1)] if places else (drawn[min(entry.gap, len(drawn) - 1)], -1)
        self._bring(placed)
        is_shown = number < len(places) and count in (None, len(places))
        return (placed.key, start) if is_shown else None

    def show_target(self, item: Item, pattern: re.Pattern[str]) -> tuple[int, int] | None:
        """Show the occurrence at the target of an excerpt; return the same as `show_occurrence`."""
        entry = self.layout.entry_of(item)
        placed = next((one for one in self.layout.lines_of(entry) if one.line.target >= 0), None) if entry else None
        if placed is None:
            return None
        self._bring(placed)
        line = placed.line
        starts = (match.start() for match in pattern.finditer(line.strip.text, line.copies_from))
        start = min(starts, key=lambda one: abs(one - line.copies_from - line.target), default=None)
        return None if start is None else (placed.key, start)

    def _bring(self, placed: PlacedLine) -> None:
        """Scroll to a drawn line unless it is visible."""
        if placed.key not in {one.key for one in self.lines}:
            self.stop_following()
            position = LinePosition(placed.entry, placed.leaf, placed.number)
            self._position = self.layout.moved(position, -(self.height // 3))
        self.compose()

    def reveal(self, item: Item) -> None:
        """Scroll as little as possible to show the item's first line."""
        entry = self.layout.entry_of(item)
        if entry is None:
            return
        line = self.layout.top_of(entry) + entry.gap
        if line < self.top + 1:
            self.scroll(line - self.top - 1)
        elif line >= self.top + self.height:
            below = min(entry.height - 1, self.height // 2)
            self.scroll(line - self.top - self.height + 1 + below)

    def renew(self, item: Item) -> None:
        """Draw an item again after it was opened or folded, or its focus changed."""
        entry = self.layout.entry_of(item)
        if entry is not None:
            self.layout.renew(entry)

    def redraw(self, item: Item) -> None:
        """Draw all lines of an item again, those of its text among them, when it is shown next."""
        entry = self.layout.entry_of(item)
        if entry is not None:
            self.layout.evict(entry)

    def stop_following(self) -> None:
        """Stop following the end: the window stays where it is."""
        if self.follow:
            self.follow = False
            self._mark = self._mark_end()

    def _mark_end(self) -> tuple[Entry, int] | None:
        entries = self.layout.entries
        return (entries[-1], entries[-1].height) if entries else None

    def _mark_again(self, entry: Entry, height: int) -> tuple[Entry, int] | None:
        """Return the mark after a reload, by item id; the end where the item no longer exists."""
        if self.layout.entry_of(entry.item) is entry:
            return entry, height
        item = self._transcript.item(entry.item.id)
        found = self.layout.entry_of(item) if item is not None else None
        return self._mark_end() if found is None else (found, min(height, found.height))

    def _find_again(self, position: LinePosition) -> None:
        """Find the items with the same IDs after a reload."""
        if self.layout.entry_of(position.entry.item) is position.entry:
            return
        item = self._transcript.item(position.entry.item.id)
        entry = self.layout.entry_of(item) if item is not None else None
        self._position = LinePosition(entry, position.leaf, position.line) if entry is not None else None
