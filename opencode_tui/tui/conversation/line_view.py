"""A scrolling view of drawn lines, without Textual's scroll bars and layout; maps mouse positions to characters."""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import cast

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from opencode_tui.tui.conversation import requests
from opencode_tui.tui.conversation.find import FoundText, mark_found
from opencode_tui.tui.conversation.layout import Layout, PlacedLine, entry_of_key
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.links import href_of, underline_link
from opencode_tui.tui.conversation.viewport import Viewport
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.widgets.row import filtered
from opencode_tui.tui.widgets.wheel import Wheel

MAX_LINES = 20_000
"""Maximum number of copied lines."""


def highlight(placed: PlacedLine, selection: Selection | None, page: RenderContext) -> Strip:
    """Return a line with its selected characters marked: those that would be copied."""
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
    """Return the selected characters, without gutter and padding, wrapped lines joined again."""
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
    """Return the lines' text, from character `first` of the first one up to character `last` of the last one (None: to its end)."""
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


def place_letters(placed: PlacedLine) -> Strip:
    """Return a line with the positions of its characters, for the mouse."""
    return placed.line.strip.apply_offsets(0, placed.key)


class LineView(ErrorBoundary, ScrollView):
    """Paints the visible lines of its viewport; changes of the viewport go through `_change`."""

    DEFAULT_CSS = """
    LineView { overflow: hidden hidden; scrollbar-size: 0 0; height: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.wheel = Wheel()
        self._reported = (True, 0)
        self._is_near_top = False
        self._is_moving = False
        self._is_painting = False
        self._hovered = ""
        self.found: FoundText | None = None
        """The occurrences that are marked."""

    @property
    @abstractmethod
    def viewport(self) -> Viewport:
        """The viewport."""

    @abstractmethod
    def _update(self) -> bool:
        """Update the visible lines; return whether there is more to do."""

    @property
    def is_following(self) -> bool:
        """Return whether the view stays at the end while the conversation grows."""
        return self.viewport.follow

    @property
    def allow_vertical_scroll(self) -> bool:
        """Return True: scrolling needs no scroll bar."""
        return not self._check_disabled()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Apply a scroll offset that Textual has set."""
        if self._is_moving or round(new_value) == self.viewport.top:
            return
        if round(new_value) <= 0:
            self.action_scroll_home()
        else:
            self.scroll_lines(round(new_value) - self.viewport.top)

    def scroll_lines(self, delta: int) -> None:
        """Scroll down by a number of lines, up if negative."""
        self._change(lambda viewport: viewport.scroll(delta))

    def action_page_up(self) -> None:
        """Scroll up by a page, two lines stay."""
        self.scroll_lines(2 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll down by a page, two lines stay."""
        self.scroll_lines(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        self._change(Viewport.show_start)

    def action_scroll_end(self) -> None:
        """Go to the end and stay there."""
        self._change(Viewport.show_end)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines for the compositor."""
        if not self.viewport.lines or self.viewport.page.look is not look_of(self):
            self._update()
            if self.viewport.lines:
                self.call_later(self.refresh)  # the compositor may have requested only a part of it
        self._is_painting = True
        try:
            lines = [self.render_line(y) for y in crop.line_range]
        finally:
            self._is_painting = False
        width = self.size.width
        return [line.adjust_cell_length(width).crop(crop.x, crop.right) for line in filtered(self, lines)]

    def render_line(self, y: int) -> Strip:
        """Return one line as it is painted, or, for the mouse, with the positions of its characters."""
        viewport = self.viewport
        if y >= len(viewport.lines):
            return viewport.page.blank()
        placed = viewport.lines[y]
        if not self._is_painting:
            return place_letters(placed)
        strip = highlight(placed, self.text_selection, viewport.page)
        if self.found is not None:
            palette = viewport.page.look.palette
            strip = mark_found(strip, placed.key, placed.line.copies_from, self.found, palette)
        if self._hovered:
            strip = underline_link(strip, self._hovered)
        return strip if viewport.follow else self._with_thumb(strip, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, wrapped lines joined."""
        return selected_text(selection, self.viewport.layout), "\n"

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        self._is_moving = True  # an offset that is clamped to the new height is not scrolling by the user
        try:
            return super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._is_moving = False

    def _change(self, act: Callable[[Viewport], None]) -> None:
        """Change the viewport and repaint the lines that differ."""
        before = self._seen()
        self.viewport.apply_changes()
        act(self.viewport)
        self._place()
        self._repaint(before)

    def _place(self) -> None:
        """Set Textual's scroll offset and size without a layout, which would change nothing."""
        viewport = self.viewport
        self._is_moving = True
        size = Size(self.size.width, viewport.total)
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        for place in (Widget.scroll_target_y, Widget.scroll_y):
            self.set_reactive(cast("Reactive[float]", place), float(viewport.top))
        self._is_moving = False
        is_near_top = not viewport.follow and viewport.top < viewport.height
        if is_near_top != self._is_near_top:
            self._is_near_top = is_near_top
            if is_near_top:
                self.post_message(requests.TopNear())
        position = (viewport.follow, viewport.new_lines)
        if position != self._reported:
            self._reported = position
            self.post_message(requests.FollowChanged(*position))

    def _seen(self) -> tuple[int, bool, list[PlacedLine]]:
        viewport = self.viewport
        return viewport.top, viewport.follow, viewport.lines

    def _repaint(self, before: tuple[int, bool, list[PlacedLine]]) -> None:
        """Repaint the lines from the first to the last that differs; all of them when the thumb may have moved."""
        top, follow, lines = before
        viewport, height = self.viewport, self.size.height
        if (not viewport.follow and top != viewport.top) or follow != viewport.follow:
            self.refresh()
            return
        old = [placed.line for placed in lines] + [None] * (height - len(lines))
        new = [placed.line for placed in viewport.lines] + [None] * (height - len(viewport.lines))
        differs = [y for y, (one, other) in enumerate(zip(old, new, strict=False)) if one is not other]
        if differs:
            self.refresh(Region(0, differs[0], self.size.width, differs[-1] - differs[0] + 1))

    def _with_thumb(self, strip: Strip, y: int) -> Strip:
        """Draw the thumb of the scroll bar into the last cell, unless the view is at the end."""
        viewport, height = self.viewport, self.size.height
        total = max(1, viewport.total)
        size = max(1, height * height // total)
        top = min(height - size, viewport.top * height // total)
        if not top <= y < top + size:
            return strip
        page = viewport.page
        thumb = Segment(page.look.glyphs.thumb, page.style("guide"))
        return Strip.join([strip.crop(0, page.width - 1), Strip([thumb], 1)])

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Underline the link under the pointer."""
        self._hover(href_of(event.style))

    def on_leave(self) -> None:
        """Remove the underline when the pointer leaves."""
        self._hover("")

    def _hover(self, href: str) -> None:
        if href != self._hovered:
            self._hovered = href
            self.refresh()

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.scroll_lines(self.wheel.turn(1))
        event.stop()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.scroll_lines(self.wheel.turn(-1))
        event.stop()
