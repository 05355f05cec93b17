"""The conversation as one widget that draws lines: follows its end, scrolls, opens and folds, selects, and copies.

It draws nothing while nothing changes. Texts grow in the transcript; a frame timer takes what is new, lays out the last block anew
and repaints the lines that differ.
"""

import time
from collections.abc import Callable
from typing import ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from opencode_tui.tui.conversation import requests
from opencode_tui.tui.conversation.acts import Acts
from opencode_tui.tui.conversation.copying import copy_lines
from opencode_tui.tui.conversation.layout import Layout, Placed, Spot
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.scene import Scene
from opencode_tui.tui.conversation.tool_view import is_ticking
from opencode_tui.tui.items import AnyItem, Item, ThoughtItem
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.transcript import Transcript

FRAMES_PER_SECOND = 30
WHEEL_LINES = 3
SELECTED_LINES = 20_000
"""Lines that a copy takes at most."""


class ConversationView(ScrollView, can_focus=True):
    """Draws a transcript. Its messages stand in `requests`; `wake` after changes that the transcript does not tell of."""

    DEFAULT_CSS = """
    ConversationView { overflow: hidden hidden; scrollbar-size: 0 0; height: 1fr; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "focus_previous_item", "Previous", id="conversation.previous", show=False),
        Binding("down,j", "focus_next_item", "Next", id="conversation.next", show=False),
        Binding("enter", "open_item", "Open", id="conversation.open", show=False),
        Binding("right,space", "unfold_item", "Open", id="conversation.unfold", show=False),
        Binding("left", "fold_item", "Fold", id="conversation.fold", show=False),
        Binding("r", "restore_item", "Restore", id="conversation.restore", show=False),
        Binding("u", "revert_item", "Undo from here", id="conversation.revert", show=False),
        Binding("f", "fork_item", "Fork from here", id="conversation.fork", show=False),
        Binding("y", "copy_item", "Copy", id="conversation.copy", show=False),
        Binding("pageup", "page_up", "Page up", id="conversation.page_up", show=False),
        Binding("pagedown", "page_down", "Page down", id="conversation.page_down", show=False),
        Binding("home", "scroll_home", "First", id="conversation.first", show=False),
        Binding("end", "scroll_end", "Last", id="conversation.last", show=False),
        Binding("escape", "leave", "Back to the prompt", id="conversation.leave", show=False),
    ]

    def __init__(
        self,
        transcript: Transcript,
        *,
        root: str = "",
        redo_key: str = "ctrl+x r",
        frames_per_second: float = FRAMES_PER_SECOND,
        clock: Callable[[], float] = time.time,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._transcript = transcript
        self._scene = Scene(root=root, redo_key=redo_key, now=int(clock() * 1000))
        self._clock = clock
        self._fps = frames_per_second
        self._acts = Acts(transcript, self._scene)
        self._layout_made: Layout | None = None
        self._spot: Spot | None = None
        self._screen_lines: list[Placed] = []
        self._follow = True
        self._told: tuple[bool, int] = (True, 0)
        self._mark: tuple[str, int] = ("", 0)
        self._is_moving = False
        self._is_painting = False
        self._frames: Timer | None = None
        self._seconds: Timer | None = None
        self._top = 0

    @property
    def transcript(self) -> Transcript:
        """What is shown."""
        return self._transcript

    @property
    def is_following(self) -> bool:
        """Tell whether the view stays at the end while the conversation grows."""
        return self._follow

    @property
    def allow_vertical_scroll(self) -> bool:
        """Scrolling needs no scroll bar here."""
        return not self._check_disabled()

    def show(self, transcript: Transcript, *, root: str | None = None) -> None:
        """Show another transcript, from its end."""
        self._transcript.changed = None
        self._transcript = transcript
        self._scene.opened.clear()
        self._scene.focus = ""
        if root is not None:
            self._scene.root = root
        self._acts = Acts(transcript, self._scene)
        self._layout_made, self._spot, self._follow = None, None, True
        if self.is_mounted:
            transcript.changed = self.wake
            self._frame()

    def wake(self) -> None:
        """Draw what is new with the next frame; cheap, may be called for each token."""
        if self._frames is not None:
            self._frames.resume()

    def redraw(self) -> None:
        """Lay everything out anew: the look is another one."""
        self._layout_made = None
        self.wake()

    def on_mount(self) -> None:
        """Start the timers; they stand while nothing changes."""
        self._frames = self.set_interval(1 / self._fps, self._frame, pause=True)
        self._seconds = self.set_interval(1, self._tick, pause=True)
        self._transcript.changed = self.wake
        self._frame()

    def on_unmount(self) -> None:
        """Let go of the transcript."""
        self._transcript.changed = None

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new width; what is at the top stays there, what is at the end stays at the end."""
        self._frame()

    def on_focus(self) -> None:
        """Give the focus to the item that was last in sight."""
        if not self._scene.focus:
            self._focus(self._acts.last_of([placed.entry.item for placed in self._screen_lines]))

    def on_blur(self) -> None:
        """Take the focus from the item."""
        self._focus(None)

    def focus_on_click(self) -> bool:
        """A click acts on what it hits, the prompt keeps the keys."""
        return False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow whoever scrolls."""
        if not self._is_moving and round(new_value) != self._top:
            self.scroll_lines(round(new_value) - self._top)

    def scroll_lines(self, delta: int) -> None:
        """Scroll down so many lines, up when negative."""
        layout = self._layout()
        if self._spot is None or not layout.entries:
            return
        far = abs(delta) > 20 * max(1, self.size.height)
        self._spot = layout.spot_at(self._top + delta) if far else layout.moved(self._spot, delta)
        if delta < 0:
            self._stop_following()
        self._compose_lines(settle_follow=delta > 0)

    def scroll_to_item(self, item_id: str) -> None:
        """Bring an item to the top."""
        item = self._transcript.item(item_id)
        entry = self._layout().entry_of(item) if item is not None else None
        if entry is not None:
            self._spot = Spot(entry)
            self._stop_following()
            self._compose_lines(settle_follow=True)

    def action_page_up(self) -> None:
        """Scroll up by a page, two lines stay."""
        self.scroll_lines(2 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll down by a page, two lines stay."""
        self.scroll_lines(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        self.scroll_lines(-self._top)

    def action_scroll_end(self) -> None:
        """Go to the end and stay there."""
        self._follow = True
        self._compose_lines()

    def action_focus_previous_item(self) -> None:
        """Give the focus to the item above."""
        self._step(-1)

    def action_focus_next_item(self) -> None:
        """Give the focus to the item below; behind the last one the prompt follows."""
        self._step(1)

    def action_open_item(self) -> None:
        """Open what has the focus: its body, its session, its whole text."""
        item = self._acts.focused
        if item is not None:
            self._act(item)

    def action_unfold_item(self) -> None:
        """Show all of the focused item's body."""
        self._fold("whole")

    def action_fold_item(self) -> None:
        """Show only the focused item's line."""
        self._fold("folded")

    def action_restore_item(self) -> None:
        """Ask for a pruned output to be sent again."""
        if (item := self._acts.pruned) is not None:
            self.post_message(requests.RestoreRequested(item))

    def action_revert_item(self) -> None:
        """Ask for an undo from the focused item on."""
        if (item := self._acts.focused) is not None:
            self.post_message(requests.RevertRequested(*self._acts.boundary_of(item)))

    def action_fork_item(self) -> None:
        """Ask for a fork from the focused item's message."""
        if (item := self._acts.focused) is not None:
            self.post_message(requests.ForkRequested(item.message_id))

    def action_copy_item(self) -> None:
        """Ask for the focused item's text in the clipboard."""
        if (item := self._acts.focused) is not None:
            self.post_message(requests.CopyRequested(self._acts.text_of(item)))

    def action_leave(self) -> None:
        """Give the keys back."""
        self.post_message(requests.Left())

    def on_click(self, event: events.Click) -> None:
        """Open or fold the item whose line was hit, or go where a link goes."""
        href = event.style.meta.get("href") if event.style else None
        if self.text_selection is not None:
            return
        if href:
            self.post_message(requests.LinkRequested(str(href)))
        elif event.y < len(self._screen_lines):
            self._hit(self._screen_lines[event.y])

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines for the compositor."""
        if self._layout_made is None or self._layout_made.page.look is not look_of(self):
            self._frame(is_painting=True)
        self._is_painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._is_painting = False

    def render_line(self, y: int) -> Strip:
        """Return one line: as it is painted, or, when the mouse asks, with the places of its letters."""
        layout = self._layout()
        if y >= len(self._screen_lines):
            return layout.page.blank()
        placed = self._screen_lines[y]
        strip = placed.line.strip
        if not self._is_painting:
            return strip.apply_offsets(0, placed.key)
        strip = self._with_selection(strip, placed.key)
        return strip if self._follow else self._with_thumb(strip, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, wrapped lines joined."""
        layout = self._layout()
        start = selection.start or Offset(0, 0)
        end = selection.end
        first = min(start.y >> 40, len(layout.entries))
        last = min(end.y >> 40, len(layout.entries) - 1) if end is not None else len(layout.entries) - 1
        lines: list[Line] = []
        for entry in layout.entries[first : last + 1]:
            leaf_before, number = -1, 0
            for leaf, line in layout.lines_of(entry):
                number = number + 1 if leaf == leaf_before else 0
                leaf_before = leaf
                key = Placed(line, entry, leaf, number).key
                if key >= start.y and (end is None or key <= end.y):
                    lines.append(line)
            if len(lines) > SELECTED_LINES:
                break
        return copy_lines(lines, start.x, None if end is None else end.x), "\n"

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        self._is_moving = True  # a place that is clamped to the new height is nobody's scrolling
        try:
            return super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._is_moving = False

    def _layout(self) -> Layout:
        """Return the layout for the width and look in force, made anew when they changed."""
        look, width = look_of(self), max(20, self.size.width)
        layout = self._layout_made
        if layout is None:
            layout = self._layout_made = Layout(Page(width, look), self._scene)
            changes = self._transcript.take_changes()
            changes.moved_from = 0
            layout.sync(changes, self._transcript.items)
        elif layout.page.width != width or layout.page.look is not look:
            layout.set_page(Page(width, look))
        return layout

    def _frame(self, *, is_painting: bool = False) -> None:
        """Take what is new and repaint what differs."""
        if not self.size:
            return
        self._scene.now = int(self._clock() * 1000)
        layout = self._layout()
        if self._transcript.has_changes:
            self._take_changes(layout)
        more = layout.read_on()
        self._compose_lines(is_painting=is_painting)
        if self._frames is not None and not more and not self._transcript.has_changes:
            self._frames.pause()
        self._watch_seconds()

    def _take_changes(self, layout: Layout) -> None:
        spot = self._spot
        layout.sync(self._transcript.take_changes(), self._transcript.items)
        cut_at = self._transcript.cut_at
        if cut_at != layout.cut_at:
            layout.cut_at = cut_at
            layout.set_page(layout.page)
        if spot is not None and layout.entry_of(spot.entry.item) is not spot.entry:
            item = self._transcript.item(spot.entry.item.id)
            entry = layout.entry_of(item) if item is not None else None
            self._spot = Spot(entry, spot.leaf, spot.line) if entry is not None else None

    def _compose_lines(self, *, settle_follow: bool = False, is_painting: bool = False) -> None:
        """Find the lines in sight; with `settle_follow` reaching the end means following it."""
        layout, height = self._layout(), self.size.height
        if not layout.entries:
            self._place([], 0, 0, is_painting=is_painting)
            return
        if self._follow or self._spot is None:
            self._spot = layout.end_spot(height)
        placed = layout.window(self._spot, height)
        if len(placed) < height:
            self._spot = layout.end_spot(height)
            placed = layout.window(self._spot, height)
        top = layout.line_of(self._spot)
        if settle_follow and top + height >= layout.height:
            self._follow = True
        self._place(placed, top, layout.height, is_painting=is_painting)
        self._tell_following(layout)

    def _place(self, placed: list[Placed], top: int, total: int, *, is_painting: bool) -> None:
        before, self._screen_lines = self._screen_lines, placed
        has_moved = top != self._top
        self._top = top
        self._is_moving = True
        size = Size(self.size.width, total)
        if size != self.virtual_size:
            # A layout of the screen would change nothing, so nobody is told.
            self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        for place in (Widget.scroll_target_y, Widget.scroll_y):
            self.set_reactive(cast("Reactive[float]", place), float(top))
        self._is_moving = False
        if is_painting:
            return
        if has_moved and not self._follow:
            self.refresh()
        else:
            self._repaint(before, placed)

    def _repaint(self, before: list[Placed], after: list[Placed]) -> None:
        """Repaint the lines from the first to the last that differs."""
        height = self.size.height
        old = [placed.line for placed in before] + [None] * (height - len(before))
        new = [placed.line for placed in after] + [None] * (height - len(after))
        differs = [y for y in range(height) if old[y] is not new[y]]
        if differs:
            self.refresh(Region(0, differs[0], self.size.width, differs[-1] - differs[0] + 1))

    def _watch_seconds(self) -> None:
        if self._seconds is None:
            return
        if any(map(self._is_ticking, self._visible_items())):
            self._seconds.resume()
        else:
            self._seconds.pause()

    def _tick(self) -> None:
        self._scene.now = int(self._clock() * 1000)
        layout = self._layout()
        for item in self._visible_items():
            entry = layout.entry_of(item)
            if self._is_ticking(item) and entry is not None:
                layout.renew(entry)
        self._compose_lines()
        self._watch_seconds()

    @staticmethod
    def _is_ticking(item: AnyItem) -> bool:
        if isinstance(item, ThoughtItem):
            return not item.is_closed
        return item.kind == "tool" and is_ticking(item)  # pyright: ignore[reportArgumentType] - the kind says so

    def _visible_items(self) -> list[AnyItem]:
        return list({id(placed.entry): placed.entry.item for placed in self._screen_lines}.values())

    def _stop_following(self) -> None:
        if self._follow:
            self._follow = False
            layout = self._layout()
            last = layout.entries[-1]
            self._mark = (last.item.id, layout.top_of(last) + last.height)

    def _tell_following(self, layout: Layout) -> None:
        """Say how many lines have come since the view stopped following."""
        new = 0
        if not self._follow:
            item = self._transcript.item(self._mark[0])
            new = max(0, layout.height - self._mark[1]) if item is not None else 0
        if self._told != (self._follow, new):
            self._told = (self._follow, new)
            self.post_message(requests.FollowChanged(self._follow, new))

    def _focus(self, item: Item | None) -> None:
        layout = self._layout()
        for item_id in {self._scene.focus, item.id if item is not None else ""} - {""}:
            self._scene.focus = item.id if item is not None else ""
            shown = self._transcript.item(item_id)
            entry = layout.entry_of(shown) if shown is not None else None
            if entry is not None:
                layout.renew(entry)
        self._scene.focus = item.id if item is not None else ""
        self._compose_lines()

    def _step(self, direction: int) -> None:
        item = self._acts.next(direction)
        if item is None:
            if direction > 0:
                self.post_message(requests.Left())
            return
        self._focus(item)
        self._reveal(item)

    def _reveal(self, item: Item) -> None:
        """Scroll as little as it takes to see the item's first line."""
        layout = self._layout()
        entry = layout.entry_of(item)
        if entry is None:
            return
        line = layout.top_of(entry) + entry.gap
        if line < self._top + 1:
            self.scroll_lines(line - self._top - 1)
        elif line >= self._top + self.size.height:
            self.scroll_lines(line - self._top - self.size.height + 1 + min(entry.height - 1, self.size.height // 2))

    def _act(self, item: AnyItem) -> None:
        request = self._acts.act(item)
        if request is not None:
            self.post_message(request)
        else:
            self._renew(item)

    def _fold(self, opened: str) -> None:
        item = self._acts.focused
        if item is not None and self._acts.fold(item, opened):
            self._renew(item)

    def _renew(self, item: AnyItem) -> None:
        """Draw an item anew after it was opened or folded; what is in sight above it stays."""
        layout = self._layout()
        entry = layout.entry_of(item)
        if entry is None:
            return
        is_last = entry.at == len(layout.entries) - 1
        if self._follow and not is_last and self._spot is not None:
            self._stop_following()
        layout.renew(entry)
        self._compose_lines(settle_follow=True)

    def _hit(self, placed: Placed) -> None:
        item = placed.entry.item
        line = placed.number - (placed.entry.gap if placed.leaf == 0 else 0)
        is_last = placed.leaf == placed.entry.count - 1 and line == placed.entry.height - placed.entry.gap - 1
        if self._acts.is_pressable(item) and placed.leaf == 0 and (line == 0 or (is_last and line > 0)):
            self._act(item)

    def _with_selection(self, strip: Strip, key: int) -> Strip:
        selection = self.text_selection
        span = selection.get_span(key) if selection is not None else None
        if span is None:
            return strip
        text = strip.text
        start, end = span
        end = len(text.rstrip()) if end == -1 else min(end, len(text))
        if end <= start:
            return strip
        cells = [strip.index_to_cell_position(index) for index in (start, end)]
        style = self._layout().page.look.palette.area("selection")
        pieces = strip.divide([*cells, strip.cell_length])
        return Strip.join([pieces[0], Strip([Segment(pieces[1].text, style)]), *pieces[2:]])

    def _with_thumb(self, strip: Strip, y: int) -> Strip:
        """Draw the thumb of the scroll bar into the last cell: seen only away from the end."""
        height, total = self.size.height, max(1, self.virtual_size.height)
        size = max(1, height * height // total)
        top = min(height - size, self._top * height // total)
        if not top <= y < top + size:
            return strip
        page = self._layout().page
        thumb = Segment(page.look.glyphs.thumb, page.style("guide"))
        return Strip.join([strip.crop(0, page.width - 1), Strip([thumb], 1)])

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.scroll_lines(WHEEL_LINES)
        event.stop()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.scroll_lines(-WHEEL_LINES)
        event.stop()
