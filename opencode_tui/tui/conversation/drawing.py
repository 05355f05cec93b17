"""Draws items and caches the drawn lines."""

import logging
from collections import OrderedDict
from dataclasses import replace
from typing import assert_never

from opencode_tui.tui.conversation.entry import Entry, Leaf
from opencode_tui.tui.conversation.failure import draw_failure
from opencode_tui.tui.conversation.markers import draw_compaction, draw_retries, draw_stop, draw_thought_line, draw_undo
from opencode_tui.tui.conversation.prose import add_caret, draw_block
from opencode_tui.tui.conversation.render import GUTTER, TEXT, Line, LineBuilder, RenderContext
from opencode_tui.tui.conversation.tool_view import draw_tool
from opencode_tui.tui.conversation.user import draw_user
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    GrowingItem,
    RetryItem,
    StopItem,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)


def draw_item(item: AnyItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return an item's lines; only the first for reasoning and none for text, whose blocks are drawn one by one."""
    match item:
        case UserItem():
            return draw_user(item, page, scene)
        case ToolItem():
            return draw_tool(item, page, scene)
        case ThoughtItem():
            return [draw_thought_line(item, page, scene)]
        case CompactionItem():
            return draw_compaction(item, page, scene)
        case RetryItem():
            return draw_retries(item, page, scene)
        case ErrorItem():
            return draw_failure(item, page, scene)
        case StopItem():
            return draw_stop(item, page, scene)
        case UndoItem():
            return draw_undo(item, page, scene)
        case TextItem():
            return []
        case _:
            assert_never(item)


KEPT_LINES = 4_000
"""Drawn lines in the cache."""

MIN_LEAVES = 200
"""Leaves that stay in the cache at any length: visible lines must not be evicted."""

_log = logging.getLogger(__name__)


class RenderCache:
    """The drawn leaves of one page; items after the index `cut_at` are those that an undo would remove."""

    def __init__(self, page: RenderContext, scene: ViewState) -> None:
        self.page = page
        self.scene = scene
        self.cut_at: int | None = None
        self._cut_page = replace(page, is_cut=True)
        self._kept: OrderedDict[int, Leaf] = OrderedDict()
        self._lines = 0

    def begin(self, page: RenderContext) -> None:
        """Clear the cache for another page."""
        self.page = page
        self._cut_page = replace(page, is_cut=True)
        self._kept.clear()
        self._lines = 0

    def lines(self, entry: Entry, leaf: Leaf, *, is_end: bool) -> list[Line]:
        """Return a leaf's lines; `is_end` is whether it is the last leaf of its entry."""
        if leaf.lines is None:
            leaf.lines = self._draw(entry, leaf, is_end)
            self._kept[id(leaf)] = leaf
            self._lines += len(leaf.lines)
        else:
            self._kept.move_to_end(id(leaf))
        return leaf.lines

    def blank(self, entry: Entry) -> Line:
        """Return an empty line of an entry."""
        is_cut = self._is_cut(entry)
        line = Line((self._cut_page if is_cut else self.page).blank())
        return self._with_bar(line) if is_cut else line

    def evict(self, leaf: Leaf) -> None:
        """Remove a leaf's lines from the cache."""
        if leaf.lines is not None:
            self._kept.pop(id(leaf), None)
            self._lines -= len(leaf.lines)
            leaf.lines = None

    def trim(self) -> None:
        """Evict the least recently used leaves."""
        while self._lines > KEPT_LINES and len(self._kept) > MIN_LEAVES:
            self.evict(next(iter(self._kept.values())))

    def _is_cut(self, entry: Entry) -> bool:
        return self.cut_at is not None and entry.at > self.cut_at

    def _draw(self, entry: Entry, leaf: Leaf, is_end: bool) -> list[Line]:
        is_cut = self._is_cut(entry)
        page, item = self._cut_page if is_cut else self.page, entry.item
        try:
            if leaf.block is None or not isinstance(item, GrowingItem):
                lines = draw_item(item, page, self.scene)
            else:
                lines = draw_block(leaf.block, page, token="muted" if isinstance(item, ThoughtItem) else "assistant")
                if is_end and not item.is_closed:
                    add_caret(lines, page)
        except Exception:  # noqa: BLE001 - an error in one item must not take down the screen
            _log.exception("item %s of kind %s cannot be drawn", item.id, item.kind)
            text = "Could not render this; see the log"
            lines = [LineBuilder(page).move(TEXT).put(text, page.style("error")).line()]
        return [self._with_bar(line) for line in lines] if is_cut else lines

    def _with_bar(self, line: Line) -> Line:
        """Draw into the gutter the bar that marks what an undo would remove."""
        page = self._cut_page
        bar = LineBuilder(page).move(GUTTER).put(page.look.glyphs.cut, page.look.palette.style("warning")).line().strip
        strip = line.strip
        return Line(strip.join([bar.crop(0, 2), strip.crop(2, page.width)]), line.copies_from, line.joint)
