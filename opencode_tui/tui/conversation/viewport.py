"""The visible lines of the conversation: follows the end, scrolls, and keeps its position when heights are corrected."""

import re
from dataclasses import replace

from opencode_tui.tui.conversation.entry import Entry
from opencode_tui.tui.conversation.layout import Layout, LinePosition, PlacedLine
from opencode_tui.tui.conversation.line import RenderContext
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import AnyItem, Item
from opencode_tui.tui.state.transcript import Transcript
from opencode_tui.tui.theme.look import Look

FAR = 3
"""Screens beyond which a scroll distance is measured by estimates, without drawing the lines between."""

MIN_WIDTH = 20

STEP = 4
"""Lines by which the end moves up at once below a text that grows. To move all rows costs more than the new line, and rows that
rest are easier to read. Up to three rows at the bottom are free meanwhile, none as long as the text has no more lines than this."""


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
