"""Pages for one long text or one attachment, drawn line by line."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from opencode_tui.text.cells import breaks
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.tui.conversation.tools import FullText
from opencode_tui.tui.keys.keyed import KeyAction, KeyedScreen, by_id, closes
from opencode_tui.tui.output.display import DismissOnce
from opencode_tui.tui.pages.page import PageFoot
from opencode_tui.tui.prompt.draft import Attachment
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.widgets.row import Rows, row

MAX_LINE = 20_000
"""Characters of a line that are drawn."""


WRAPPED = 100_000
"""Characters up to which a text is wrapped: longer ones are cut at the right."""

MARGIN, MIN_ROOM = 3, 20


class _Text(ScrollView, can_focus=True):
    def __init__(self, full: FullText) -> None:
        super().__init__()
        self._fit = full.fit
        self._lines = full.text.split("\n")
        self._is_wrapped = len(full.text) <= WRAPPED
        self._rows: Sequence[str] = self._lines

    @property
    def _room(self) -> int:
        return max(MIN_ROOM, self.scrollable_content_region.width - 2 * MARGIN)

    def on_resize(self) -> None:
        """Fit a table to the width, wrap the lines of a shorter text, and set the scrollable height."""
        if self._fit is not None:
            self._lines = self._fit(self._room).split("\n")
        if self._is_wrapped:
            self._rows = [row for line in self._lines for row in self._wrapped(line)]
        self.virtual_size = Size(1, len(self._rows))

    def _wrapped(self, line: str) -> list[str]:
        """Return the rows of a line; those after the first are below its text."""
        room = self._room
        if len(line) * 2 <= room:
            return [line]
        shown = output_line(line[:MAX_LINE])
        indent = min(len(shown) - len(shown.lstrip()) + 2, room // 2)
        first, *rest = breaks(shown, room - indent, first=room)
        return [shown[slice(*first)], *(" " * indent + shown[slice(*cut)] for cut in rest)]

    def scroll_to(
        self, x: float | None = None, y: float | None = None, *, animate: bool = False, **options: Any
    ) -> None:
        """Scroll without animation, which would draw each page a dozen times over a slow connection."""
        super().scroll_to(x, y, animate=False, **options)

    def render_line(self, y: int) -> Strip:
        """Return one line; its text is made safe when it is drawn."""
        palette = look_of(self).palette
        at = self.scroll_offset.y + y
        text = output_line(self._rows[at][:MAX_LINE]) if at < len(self._rows) else ""
        pieces = [(" " * MARGIN, palette.area("background")), (text, palette.style("text"))]
        mark = look_of(self).glyphs.goes_on
        return row(self.scrollable_content_region.width, pieces, fill=palette.area("background"), mark=mark)


class _Head(Rows):
    def __init__(self, left: str, right: str) -> None:
        super().__init__()
        self._words = (left, right)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return an empty row, the title and an empty row."""
        palette = self.look.palette
        fill = palette.area("background")
        left, right = self._words
        pieces = [("   ", fill), (left, palette.style("text", bold=True)), (f"  {right}", palette.style("muted"))]
        empty = Strip.blank(width, fill)
        return [empty, row(width, pieces, fill=fill, mark=self.look.glyphs.ellipsis), empty]


class FullTextScreen(KeyedScreen, ErrorBoundary, DismissOnce[None], inherit_bindings=False):
    """A page with one text; escape closes it."""

    DEFAULT_CSS = """
    FullTextScreen { background: $background; }
    FullTextScreen _Head, FullTextScreen PageFoot { height: 3; }
    FullTextScreen _Text { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; background: $background; }
    """

    def __init__(self, full: FullText) -> None:
        super().__init__()
        self._full = full
        self._text = _Text(full)
        self._foot = PageFoot()

    def compose(self) -> ComposeResult:
        """Yield the title, the text and the keys."""
        yield _Head(screen_line(self._full.title), self.subtitle())
        yield self._text
        yield self._foot

    def subtitle(self) -> str:
        """Return the text next to the title."""
        lines = self._full.text.count("\n") + (not self._full.text.endswith("\n"))
        words = plural(lines, "line") if self._full.is_output else ""
        return words + (f"   full text: {screen_line(self._full.path)}" if self._full.path else "")

    scopes = ("page",)

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions of the page other than scrolling and closing it."""
        return ()

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the available actions."""
        text = self._text
        return {
            "page_up": text.scroll_up,
            "page_down": text.scroll_down,
            "page_previous": text.scroll_page_up,
            "page_next": text.scroll_page_down,
            "page_first": text.scroll_home,
            "page_last": text.scroll_end,
            **by_id(closes("back", self._close), *self.page_actions()),
        }

    def on_mount(self) -> None:
        """Focus the text and show the keys."""
        self._foot.show([*self.page_actions(), closes("back", self._close)])
        self._text.focus()

    def _close(self) -> None:
        self.dismiss(None)


WRITABLE = 100_000
"""Characters up to which a paste can be expanded: the editor lays out every line of it."""


@dataclass(frozen=True, slots=True)
class AttachmentActions:
    """Callbacks for the keys of the page."""

    write_out: Callable[[], object]
    view: Callable[[], object]
    remove: Callable[[], object]


class AttachmentScreen(FullTextScreen):
    """An attachment of the prompt: its text, or the facts of an image, and keys to expand or remove it."""

    scopes = ("page:attachment", "page")

    def __init__(self, marker: str, one: Attachment, actions: AttachmentActions) -> None:
        super().__init__(FullText(marker.strip("[]"), "\n".join(file_facts(one)) if one.is_file else one.text))
        self._one = one
        self._actions = actions

    def subtitle(self) -> str:
        """Return what happens to the attachment."""
        return "sent with the prompt"

    def page_actions(self) -> Sequence[KeyAction]:
        """Return what can be done with the attachment."""
        actions = [KeyAction("attachment_remove", "remove", lambda: self._done(self._actions.remove))]
        if self._one.data:
            view = KeyAction("attachment_view", "open in your viewer", lambda: self._done(self._actions.view))
            return [view, *actions]
        if not self._one.is_file and len(self._one.text) <= WRITABLE:
            expand = KeyAction(
                "attachment_expand", "expand into the prompt", lambda: self._done(self._actions.write_out)
            )
            return [expand, *actions]
        return actions

    def _done(self, action: Callable[[], object]) -> None:
        action()
        self.dismiss(None)


def file_facts(one: Attachment) -> Sequence[str]:
    """Return the facts of a file, one per line."""
    if not one.data:
        return [one.name or "file", one.mime, *([] if one.url.startswith("data:") else [one.url])]
    size = len(one.data)
    lines = [one.name or "image", f"{one.mime}, {plural(size, 'byte') if size < 2048 else f'{size // 1024} kB'}"]
    if one.data.startswith(b"\x89PNG") and len(one.data) >= 24:
        width, height = (int.from_bytes(one.data[at : at + 4], "big") for at in (16, 20))
        lines.append(f"{width} × {height} pixels")
    return lines
