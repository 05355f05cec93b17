"""The conversation as one widget that draws lines: follows its end, scrolls, opens and folds, selects, and copies.

It draws nothing while nothing changes. Texts grow in the transcript; a frame timer takes what is new, lays out the last block again
and repaints the lines that differ.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from textual import events
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.schema.tools import row_of
from opencode_tui.text.code_blocks import code_blocks
from opencode_tui.text.tool import agent_session, argument_of, name_of
from opencode_tui.tui.conversation import requests
from opencode_tui.tui.conversation.find import FoundText, mark_found, place_in_output
from opencode_tui.tui.conversation.layout import Layout, PlacedLine, Viewport, entry_of_key
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.links import href_of, underline_link, unfolds
from opencode_tui.tui.conversation.tools import (
    FullText,
    Opened,
    ViewState,
    is_pruned,
    is_ticking,
    opened_of,
    renderer_of,
)
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.state.message import (
    AnyItem,
    CompactionItem,
    ErrorItem,
    Item,
    PictureSource,
    TextItem,
    ThoughtItem,
    ToolItem,
    UndoItem,
    UserItem,
)
from opencode_tui.tui.state.transcript import Transcript
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


if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Form, Pictures


class Acts:
    """Acts on the items of one transcript."""

    def __init__(self, transcript: Transcript, scene: ViewState, root: str) -> None:
        self._transcript = transcript
        self._scene = scene
        self._root = root

    @property
    def focused(self) -> AnyItem | None:
        """The item that has the focus."""
        return self._transcript.item(self._scene.focus) if self._scene.focus else None

    @property
    def pruned(self) -> ToolItem | None:
        """The item that has the focus, if it is a pruned call."""
        item = self.focused
        return item if isinstance(item, ToolItem) and is_pruned(item) else None

    def last_of(self, items: Sequence[AnyItem]) -> AnyItem | None:
        """Return the last of these items that can have the focus."""
        return next((item for item in reversed(items) if can_focus(item)), None)

    def next(self, direction: int) -> AnyItem | None:
        """Return the next item that can have the focus, below or above; None at the end."""
        items, current = self._transcript.items, self.focused
        at = current.at if current is not None else len(items) if direction < 0 else -1
        places = range(at + direction, len(items) if direction > 0 else -1, direction)
        return next((items[place] for place in places if can_focus(items[place])), None)

    def is_pressable(self, item: AnyItem) -> bool:
        """Return whether a click on the item's line has an effect."""
        has_pictures = isinstance(item, UserItem) and bool(item.pictures)
        return has_pictures or isinstance(item, ToolItem | ThoughtItem | CompactionItem | UndoItem)

    def act(self, item: AnyItem) -> Message | None:
        """Handle Enter or a click; return what the app must do, None if the item was opened or folded."""
        if isinstance(item, UndoItem):
            return None if item.is_preview else requests.RedoRequested()
        if isinstance(item, UserItem | ToolItem) and item.pictures and self._scene.pictures is not None:
            return requests.PictureRequested(item.pictures)
        if not isinstance(item, ToolItem):
            self._scene.opened[item.id] = "folded" if self._scene.is_open(item) else "whole"
            return None
        session_id = agent_session(item.part)
        if session_id:
            return requests.SessionRequested(session_id)
        return self._open_tool(item)

    def fold(self, item: AnyItem, opened: str) -> bool:
        """Open or fold an item; return whether anything changed."""
        if isinstance(item, ErrorItem | TextItem) or opened not in ("folded", "whole"):
            return False
        self._scene.opened[item.id] = "folded" if opened == "folded" else "whole"
        self._scene.excerpts.pop(item.id, None)
        return True

    def boundary_of(self, item: AnyItem) -> tuple[str, str | None]:
        """Return the message and the part from which an undo back to this item goes."""
        is_message = isinstance(item, UserItem | CompactionItem | ErrorItem)
        return item.message_id, None if is_message else item.id

    def text_of(self, item: AnyItem) -> str:
        """Return an item's raw text, for the clipboard."""
        match item:
            case UserItem() | TextItem() | ThoughtItem():
                return item.text
            case CompactionItem():
                return item.summary
            case ToolItem():
                return _tool_text(item)
            case _:
                return ""

    def _open_tool(self, item: ToolItem) -> Message | None:
        opened = opened_of(item, self._scene)
        state = item.part.state
        if opened == "whole":
            full = renderer_of(item.part.tool).full(item.part) if isinstance(state, ToolStateCompleted) else None
            if full is not None:
                title = f"{name_of(item.part.tool)}  {argument_of(item.part, self._root)}"
                return requests.FullTextRequested(FullText(title, full.text, full.path, is_output=True))
            self._scene.opened[item.id] = "folded"
            self._scene.excerpts.pop(item.id, None)
        elif isinstance(state, ToolStateCompleted | ToolStateError):
            self._scene.opened[item.id] = "whole"
        return None


def can_focus(item: AnyItem) -> bool:
    """Return whether an item can have the focus."""
    if item.is_hidden or (isinstance(item, UndoItem) and item.is_preview):
        return False
    return isinstance(item, UserItem | TextItem | ToolItem | ThoughtItem | CompactionItem | UndoItem)


def _tool_text(item: ToolItem) -> str:
    state = item.part.state
    if isinstance(state, ToolStateError):
        return state.error
    if row_of(item.part.tool).result == "command":
        return str(state.input.get("command") or "")
    return renderer_of(item.part.tool).text(item.part)


FRAMES_PER_SECOND = 15
"""Frames of growing text: nobody reads faster. A key's echo is a frame of its own and does not wait for them."""

BEHIND_PER_SECOND = 30
"""Frames while a long text is laid out in pieces."""


class ConversationView(LineView, can_focus=True):
    """Draws a transcript. Its messages are in `requests`; `request_frame` draws changes that it does not report."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        root: str = "",
        clock: Callable[[], float] = time.time,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.drawn: list[Callable[[], object]] = []
        """Called in each frame of growing text, so that others can be drawn in the same one."""
        self._transcript = transcript
        self._root = root
        self._scene = ViewState(now=int(clock() * 1000))
        self._acts = Acts(transcript, self._scene, root)
        self._moves: Mapping[str, Callable[[], object]] = {
            "item_previous": lambda: self._step(-1),
            "item_next": lambda: self._step(1),
            "item_find": lambda: self.post_message(requests.FindRequested()),
            "item_leave": lambda: self.post_message(requests.Left()),
        }
        self._clock = clock
        self._drawn_at = 0.0
        self._copied = ("", -1)
        """The item whose code block was copied last, and the index of the block."""
        self._unfolded: tuple[str, Opened | None] | None = None
        """The item that was opened to show an occurrence, and how it was opened before."""

        self._made: Viewport | None = None
        self._frames: Timer | None = None
        self._seconds: Timer | None = None

    @property
    def transcript(self) -> Transcript:
        """The transcript that is shown."""
        return self._transcript

    def use_keys(self, *, redo_key: str, focus_key: str) -> None:
        """Name other keys in the conversation; `show` draws them."""
        self._scene.redo_key, self._scene.focus_key = redo_key, focus_key

    def link_files(self, host: str, form: str = "") -> None:
        """Let paths be links to files of this machine, which has this name, in a form of addresses; `show` draws them."""
        self._scene.host, self._scene.link_form = host, form

    def use_pictures(self, pictures: "Callable[[], Pictures] | None") -> None:
        """Show pictures by this, which is called for the first one; None for their names only."""

        def form(source: PictureSource, columns: int, rows: int, item: Item) -> "Form | None":
            if source.is_file and not self._scene.host:  # a file of another machine
                return None
            return pictures().form(source, columns, rows, lambda: self._show_picture(item)) if pictures else None

        self._scene.pictures = form if pictures is not None else None

    def _show_picture(self, item: Item) -> None:
        """Draw an item again whose picture was read."""
        self._change(lambda viewport: self._renew(viewport, [item]))

    def show(self, transcript: Transcript, *, root: str | None = None) -> None:
        """Show another transcript, from its end."""
        self._transcript.call_on_change(None)
        self._transcript = transcript
        self._scene.opened.clear()
        self._scene.excerpts.clear()
        self.found = self._unfolded = None
        self._scene.focus = ""
        self._root = self._root if root is None else root
        self._acts = Acts(transcript, self._scene, self._root)
        self._made = None
        if self._frames is not None:
            transcript.call_on_change(self.request_frame)
            self._frame()
            self.refresh()  # also rows of the previous transcript under the end of a shorter one

    def request_frame(self) -> None:
        """Draw changes with the next frame; cheap, may be called for each token."""
        if self._frames is not None:
            self._frames.resume()

    def on_mount(self) -> None:
        """Create the timers; they are paused while nothing changes."""
        self._frames = self.set_interval(1 / BEHIND_PER_SECOND, self._timed_frame, pause=True)
        self._seconds = self.set_interval(1, self._tick, pause=True)
        self._transcript.call_on_change(self.request_frame)
        self._frame()

    def on_unmount(self) -> None:
        """Disconnect from the transcript."""
        self._transcript.call_on_change(None)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for the new size."""
        self._frame()

    def focus_at_once(self) -> None:
        """Have the focus at once, with an item that has it: the next key, which may be waiting already, is for that."""
        self.screen.set_focus(self)
        self.on_focus()

    def on_focus(self) -> None:
        """Focus the last visible item."""
        if not self._scene.focus:
            self._focus(self._acts.last_of(self.viewport.items))

    def on_blur(self) -> None:
        """Remove the focus from the item."""
        self._focus(None)

    def focus_on_click(self) -> bool:
        """Return False: a click acts on its target, and the prompt keeps the focus."""
        return False

    def scroll_to_item(self, item_id: str) -> None:
        """Scroll an item to the top."""
        item = self._transcript.item(item_id)
        if item is not None:
            self._change(lambda viewport: viewport.show_item(item))

    def show_item(self, item_id: str) -> None:
        """Scroll an item to the top and mark it as the one that keys act on."""
        item = self._transcript.item(item_id)
        if item is not None:
            self._focus(item)
            self.scroll_to_item(item_id)

    def show_found(self, found: FoundText | None) -> None:
        """Mark the occurrences of a text and scroll to the current one, opening its item; None removes the marks."""
        self.found = found
        if found is None:
            self._unfolded = None  # what is open stays open
        elif found.total:
            self._change(lambda viewport: self._show_current(viewport, found))
        self.refresh()

    def _show_current(self, viewport: Viewport, found: FoundText) -> None:
        item, number = found.current
        item = self._transcript.item(item.id)  # another one after a reload
        if item is None:
            return
        if self._unfolded is not None and self._unfolded[0] != item.id:
            self._fold_again(viewport, *self._unfolded)
        before = self._scene.opened.get(item.id)
        place = place_in_output(item, self._root, found.pattern, number)
        count = None if place is None else found.count
        if self._scene.excerpts.pop(item.id, None) is not None:
            viewport.renew(item)
        found.shown = viewport.show_occurrence(item, found.pattern, number, count=count)
        if found.shown is None and self._acts.fold(item, "whole"):
            self._unfolded = self._unfolded or (item.id, before)
            viewport.stop_following()
            viewport.renew(item)
            found.shown = viewport.show_occurrence(item, found.pattern, number, count=count)
        if found.shown is None and place is not None:  # in a line, or a part of one, that the opened body leaves out
            self._scene.excerpts[item.id] = place
            viewport.renew(item)
            found.shown = viewport.show_target(item, found.pattern)

    def _fold_again(self, viewport: Viewport, item_id: str, opened: Opened | None) -> None:
        self._unfolded = None
        self._scene.opened.pop(item_id, None)
        self._scene.excerpts.pop(item_id, None)
        if opened is not None:
            self._scene.opened[item_id] = opened
        item = self._transcript.item(item_id)
        if item is not None:
            viewport.renew(item)

    def switch_details(self, kind: str) -> bool:
        """Open all items of a kind, or restore their initial state; return whether they are open now."""
        detailed, opened = self._scene.detailed, self._scene.opened
        detailed.symmetric_difference_update({kind})
        for item in self._transcript.items:
            if item.kind == kind:
                opened.pop(item.id, None)
        self._change(self._lay_out_anew)
        return kind in detailed

    @staticmethod
    def _lay_out_anew(viewport: Viewport) -> None:
        viewport.layout.set_page(viewport.page)
        viewport.compose()

    def run(self, action_id: str) -> None:
        """Run an action of the keymap on the focused item, if there is one."""
        item = self._acts.focused
        if action_id in self._moves:
            self._moves[action_id]()
        elif item is not None:
            self._on_item(action_id, item)

    def _on_item(self, action_id: str, item: AnyItem) -> None:
        match action_id:
            case "item_open":
                self.act(item)
            case "item_unfold":
                self._fold("whole")
            case "item_fold":
                self._fold("folded")
            case "item_restore" if (pruned := self._acts.pruned) is not None:
                self.post_message(requests.RestoreRequested(pruned))
            case "item_revert":
                self.post_message(requests.RevertRequested(*self._acts.boundary_of(item)))
            case "item_fork":
                self.post_message(requests.ForkRequested(item.message_id))
            case "item_copy":
                self.post_message(requests.CopyRequested(self._acts.text_of(item)))
            case "item_copy_code":
                self._copy_code(item)
            case "item_editor" if isinstance(item, UserItem | ToolItem) and item.pictures:
                self.post_message(requests.PictureRequested(item.pictures, is_outside=True))
            case "item_editor":
                self.post_message(requests.EditorRequested(item))
            case _:
                pass

    def _copy_code(self, item: AnyItem) -> None:
        """Request a copy of the item's first code block; each further time go to the next one."""
        blocks = code_blocks(self._acts.text_of(item))
        if not blocks:
            self.post_message(requests.NothingToCopy())
            return
        at = (self._copied[1] + 1) % len(blocks) if self._copied[0] == item.id else 0
        self._copied = (item.id, at)
        self.post_message(requests.CopyRequested(blocks[at].text, f"code block {at + 1} of {len(blocks)}"))

    def on_click(self, event: events.Click) -> None:
        """Open or fold the clicked item, or follow a link."""
        if self.text_selection is not None:
            return
        href = href_of(event.style)
        if href:
            self.post_message(requests.LinkRequested(href))
        elif unfolds(event.style) and event.y < len(self.viewport.lines):
            item = self.viewport.lines[event.y].entry.item
            if self._acts.fold(item, "whole"):
                self._redraw(item)
        elif event.y < len(self.viewport.lines):
            self._hit(self.viewport.lines[event.y])

    @property
    def viewport(self) -> Viewport:
        """The items on the screen and their lines."""
        if self._made is None:
            self._made = Viewport(self._transcript, self._scene, look_of(self), self._root)
        return self._made

    def _timed_frame(self) -> None:
        """Draw a frame, unless the last one was just before."""
        now = time.monotonic()
        if now - self._drawn_at > 0.9 / FRAMES_PER_SECOND or self.viewport.layout.is_behind:
            self._drawn_at = now
            self._frame()
            for join in self.drawn:
                join()

    def _frame(self) -> None:
        """Apply changes and repaint the lines that differ."""
        before = self._seen()
        more = self._update()
        if self.has_focus and not self._scene.focus:
            self.on_focus()
        self._repaint(before)
        if self._frames is not None:
            if more:
                self._frames.resume()
            elif not self._transcript.has_changes:
                self._frames.pause()
        if self._seconds is not None:
            (self._seconds.resume if any(map(is_ticking, self.viewport.items)) else self._seconds.pause)()

    def _update(self) -> bool:
        """Update the visible lines; return whether there is more to do."""
        if not self.size:
            return False
        self._scene.now = int(self._clock() * 1000)
        viewport = self.viewport
        viewport.resize(self.size.width, self.size.height, look_of(self))
        viewport.apply_changes()
        viewport.compose()
        self._place()
        return viewport.layout.is_behind

    def _tick(self) -> None:
        """Draw running times again."""
        self._scene.now = int(self._clock() * 1000)
        ticking = [item for item in self.viewport.items if is_ticking(item)]
        self._change(lambda viewport: self._renew(viewport, ticking))

    @staticmethod
    def _renew(viewport: Viewport, items: Sequence[Item]) -> None:
        for item in items:
            viewport.renew(item)
        viewport.compose()

    def _focus(self, item: Item | None) -> None:
        ids = (self._scene.focus, item.id if item is not None else "")
        self._scene.focus = ids[1]
        touched = [found for found in map(self._transcript.item, {*ids} - {""}) if found is not None]

        def act(viewport: Viewport) -> None:
            for one in touched:
                viewport.redraw(one)
            self._renew(viewport, touched)

        self._change(act)

    def _step(self, direction: int) -> None:
        item = self._acts.next(direction)
        if item is not None:
            self._focus(item)
            self._change(lambda viewport: viewport.reveal(item))
        elif direction > 0:
            self.post_message(requests.Left())

    def act(self, item: AnyItem) -> None:
        """Do what Enter or a click on an item does."""
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
        """Draw an item again after it was opened or folded; visible lines above it keep their position."""

        def act(viewport: Viewport) -> None:
            if item is not self._transcript.items[-1]:
                viewport.stop_following()
            viewport.renew(item)
            viewport.compose(follow_at_end=True)

        self._change(act)

    def _hit(self, placed: PlacedLine) -> None:
        item = placed.entry.item
        line = placed.number - (placed.entry.gap if placed.leaf == 0 else 0)
        is_last = placed.leaf == placed.entry.count - 1 and line == placed.entry.height - placed.entry.gap - 1
        is_last = is_last or (isinstance(item, UserItem | ToolItem) and bool(item.pictures))  # each row of a picture
        if self._acts.is_pressable(item) and placed.leaf == 0 and (line == 0 or (is_last and line > 0)):
            self.act(item)
