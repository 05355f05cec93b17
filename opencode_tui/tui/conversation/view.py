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
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from opencode_tui.tui.conversation import requests
from opencode_tui.tui.conversation.acts import Acts
from opencode_tui.tui.conversation.layout import Placed
from opencode_tui.tui.conversation.scene import Scene
from opencode_tui.tui.conversation.selecting import highlight, place_letters, selected_text
from opencode_tui.tui.conversation.tool_view import is_ticking
from opencode_tui.tui.conversation.viewport import Viewport
from opencode_tui.tui.items import AnyItem, Item
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.transcript import Transcript

FRAMES_PER_SECOND = 30
WHEEL_LINES = 3


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
        self._root = root
        self._scene = Scene(redo_key=redo_key, now=int(clock() * 1000))
        self._acts = Acts(transcript, self._scene, root)
        self._clock = clock
        self._fps = frames_per_second
        self._made: Viewport | None = None
        self._told = (True, 0)
        self._is_moving = False
        self._is_painting = False
        self._frames: Timer | None = None
        self._seconds: Timer | None = None

    @property
    def transcript(self) -> Transcript:
        """What is shown."""
        return self._transcript

    @property
    def is_following(self) -> bool:
        """Tell whether the view stays at the end while the conversation grows."""
        return self._viewport.follow

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
        self._root = self._root if root is None else root
        self._acts = Acts(transcript, self._scene, self._root)
        self._made = None
        if self._frames is not None:
            transcript.changed = self.wake
            self._frame()

    def wake(self) -> None:
        """Draw what is new with the next frame; cheap, may be called for each token."""
        if self._frames is not None:
            self._frames.resume()

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
        """Lay out for the new size."""
        self._frame()

    def on_focus(self) -> None:
        """Give the focus to the item that was last in sight."""
        if not self._scene.focus:
            self._focus(self._acts.last_of(self._viewport.items))

    def on_blur(self) -> None:
        """Take the focus from the item."""
        self._focus(None)

    def focus_on_click(self) -> bool:
        """A click acts on what it hits, the prompt keeps the keys."""
        return False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow whoever scrolls."""
        if not self._is_moving and round(new_value) != self._viewport.top:
            self.scroll_lines(round(new_value) - self._viewport.top)

    def scroll_lines(self, delta: int) -> None:
        """Scroll down so many lines, up when negative."""
        self._change(lambda viewport: viewport.scroll(delta))

    def scroll_to_item(self, item_id: str) -> None:
        """Bring an item to the top."""
        item = self._transcript.item(item_id)
        if item is not None:
            self._change(lambda viewport: viewport.show_item(item))

    def action_page_up(self) -> None:
        """Scroll up by a page, two lines stay."""
        self.scroll_lines(2 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll down by a page, two lines stay."""
        self.scroll_lines(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Go to the first line."""
        self.scroll_lines(-self._viewport.top)

    def action_scroll_end(self) -> None:
        """Go to the end and stay there."""
        self._change(Viewport.show_end)

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
        if self.text_selection is not None:
            return
        href = event.style.meta.get("href") if event.style else None
        if href:
            self.post_message(requests.LinkRequested(str(href)))
        elif event.y < len(self._viewport.lines):
            self._hit(self._viewport.lines[event.y])

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines for the compositor."""
        if self._made is None or self._made.page.look is not look_of(self):
            self._update()
        self._is_painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._is_painting = False

    def render_line(self, y: int) -> Strip:
        """Return one line: as it is painted, or, when the mouse asks, with the places of its letters."""
        viewport = self._viewport
        if y >= len(viewport.lines):
            return viewport.page.blank()
        placed = viewport.lines[y]
        if not self._is_painting:
            return place_letters(placed)
        strip = highlight(placed, self.text_selection, viewport.page)
        return strip if viewport.follow else self._with_thumb(strip, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text, wrapped lines joined."""
        return selected_text(selection, self._viewport.layout), "\n"

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        self._is_moving = True  # a place that is clamped to the new height is nobody's scrolling
        try:
            return super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._is_moving = False

    @property
    def _viewport(self) -> Viewport:
        if self._made is None:
            self._made = Viewport(self._transcript, self._scene, look_of(self), self._root)
        return self._made

    def _frame(self) -> None:
        """Take what is new and repaint what differs."""
        before = self._seen()
        more = self._update()
        if self.has_focus and not self._scene.focus:
            self.on_focus()
        self._repaint(before)
        if self._frames is not None and not more and not self._transcript.has_changes:
            self._frames.pause()
        if self._seconds is not None:
            (self._seconds.resume if any(map(is_ticking, self._viewport.items)) else self._seconds.pause)()

    def _update(self) -> bool:
        """Find the lines in sight anew; tell whether there is more to do."""
        if not self.size:
            return False
        self._scene.now = int(self._clock() * 1000)
        viewport = self._viewport
        viewport.resize(self.size.width, self.size.height, look_of(self))
        more = viewport.take_changes()
        viewport.compose()
        self._place()
        return more

    def _change(self, act: Callable[[Viewport], None]) -> None:
        """Do something with the viewport and repaint what differs."""
        before = self._seen()
        self._viewport.take_changes()
        act(self._viewport)
        self._place()
        self._repaint(before)

    def _place(self) -> None:
        """Tell Textual where the window stands; a layout of the screen would change nothing, so it is not asked for."""
        viewport = self._viewport
        self._is_moving = True
        size = Size(self.size.width, viewport.total)
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        for place in (Widget.scroll_target_y, Widget.scroll_y):
            self.set_reactive(cast("Reactive[float]", place), float(viewport.top))
        self._is_moving = False
        told = (viewport.follow, viewport.new_lines)
        if told != self._told:
            self._told = told
            self.post_message(requests.FollowChanged(*told))

    def _seen(self) -> tuple[int, bool, list[Placed]]:
        viewport = self._viewport
        return viewport.top, viewport.follow, viewport.lines

    def _repaint(self, before: tuple[int, bool, list[Placed]]) -> None:
        """Repaint the lines from the first to the last that differs; all of them when the thumb may have moved."""
        top, follow, lines = before
        viewport, height = self._viewport, self.size.height
        if (not viewport.follow and top != viewport.top) or follow != viewport.follow:
            self.refresh()
            return
        old = [placed.line for placed in lines] + [None] * (height - len(lines))
        new = [placed.line for placed in viewport.lines] + [None] * (height - len(viewport.lines))
        differs = [y for y, (one, other) in enumerate(zip(old, new, strict=False)) if one is not other]
        if differs:
            self.refresh(Region(0, differs[0], self.size.width, differs[-1] - differs[0] + 1))

    def _tick(self) -> None:
        """Draw the times that run."""
        self._scene.now = int(self._clock() * 1000)
        ticking = [item for item in self._viewport.items if is_ticking(item)]
        self._change(lambda viewport: self._renew(viewport, ticking))

    @staticmethod
    def _renew(viewport: Viewport, items: list[AnyItem]) -> None:
        for item in items:
            viewport.renew(item)
        viewport.compose()

    def _focus(self, item: Item | None) -> None:
        ids = (self._scene.focus, item.id if item is not None else "")
        self._scene.focus = ids[1]
        touched = [found for found in map(self._transcript.item, {*ids} - {""}) if found is not None]
        self._change(lambda viewport: self._renew(viewport, touched))

    def _step(self, direction: int) -> None:
        item = self._acts.next(direction)
        if item is not None:
            self._focus(item)
            self._change(lambda viewport: viewport.reveal(item))
        elif direction > 0:
            self.post_message(requests.Left())

    def _act(self, item: AnyItem) -> None:
        request = self._acts.act(item)
        if request is not None:
            self.post_message(request)
        else:
            self._redraw(item)

    def _fold(self, opened: str) -> None:
        item = self._acts.focused
        if item is not None and self._acts.fold(item, opened):
            self._redraw(item)

    def _redraw(self, item: AnyItem) -> None:
        """Draw an item anew after it was opened or folded; what is in sight above it stays."""

        def act(viewport: Viewport) -> None:
            if item is not self._transcript.items[-1]:
                viewport.stop_following()
            viewport.renew(item)
            viewport.compose(settle_follow=True)

        self._change(act)

    def _hit(self, placed: Placed) -> None:
        item = placed.entry.item
        line = placed.number - (placed.entry.gap if placed.leaf == 0 else 0)
        is_last = placed.leaf == placed.entry.count - 1 and line == placed.entry.height - placed.entry.gap - 1
        if self._acts.is_pressable(item) and placed.leaf == 0 and (line == 0 or (is_last and line > 0)):
            self._act(item)

    def _with_thumb(self, strip: Strip, y: int) -> Strip:
        """Draw the thumb of the scroll bar into the last cell: seen only away from the end."""
        viewport, height = self._viewport, self.size.height
        total = max(1, viewport.total)
        size = max(1, height * height // total)
        top = min(height - size, viewport.top * height // total)
        if not top <= y < top + size:
            return strip
        page = viewport.page
        thumb = Segment(page.look.glyphs.thumb, page.style("guide"))
        return Strip.join([strip.crop(0, page.width - 1), Strip([thumb], 1)])

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.scroll_lines(WHEEL_LINES)
        event.stop()

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.scroll_lines(-WHEEL_LINES)
        event.stop()
