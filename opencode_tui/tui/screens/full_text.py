"""A text that is too long for the conversation, on a screen of its own; drawn line by line, however long it is."""

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.screen_guards import DismissOnce, ErrorBoundary
from opencode_tui.tui.screens.page import PageFoot, PageKey
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.widgets.row import Rows, row

MAX_LINE = 20_000
"""Letters of a line that are looked at."""


class _Text(ScrollView, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("pageup,b", "page_up", show=False),
        Binding("pagedown,space", "page_down", show=False),
        Binding("home,g", "scroll_home", show=False),
        Binding("end,G", "scroll_end", show=False),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._lines = text.split("\n")

    def on_mount(self) -> None:
        """Say how long it is."""
        self.virtual_size = Size(1, len(self._lines))

    def scroll_to(
        self, x: float | None = None, y: float | None = None, *, animate: bool = False, **options: Any
    ) -> None:
        """Be there with the next frame: gliding would draw every page a dozen times, which a slow line feels."""
        super().scroll_to(x, y, animate=False, **options)

    def render_line(self, y: int) -> Strip:
        """One line, made safe when it comes into sight."""
        palette = look_of(self).palette
        at = self.scroll_offset.y + y
        text = output_line(self._lines[at][:MAX_LINE]) if at < len(self._lines) else ""
        pieces = [("   ", palette.area("background")), (text, palette.style("text"))]
        mark = look_of(self).glyphs.goes_on
        return row(self.scrollable_content_region.width, pieces, fill=palette.area("background"), mark=mark)


class _Head(Rows):
    def __init__(self, left: str, right: str) -> None:
        super().__init__()
        self._words = (left, right)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Empty, the words, empty."""
        palette = self.look.palette
        fill = palette.area("background")
        left, right = self._words
        pieces = [("   ", fill), (left, palette.style("text", bold=True)), (f"  {right}", palette.style("muted"))]
        empty = Strip.blank(width, fill)
        return [empty, row(width, pieces, fill=fill, mark=self.look.glyphs.ellipsis), empty]


class FullTextScreen(ErrorBoundary, DismissOnce[None], inherit_bindings=False):
    """Escape goes back."""

    DEFAULT_CSS = """
    FullTextScreen { background: $background; }
    FullTextScreen _Head, FullTextScreen PageFoot { height: 3; }
    FullTextScreen _Text { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; background: $background; }
    """

    def __init__(self, full: FullText) -> None:
        super().__init__()
        self._full = full
        self._foot = PageFoot()

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        yield _Head(screen_line(self._full.title), self.subtitle())
        yield _Text(self._full.text)
        yield self._foot

    def subtitle(self) -> str:
        """What stands beside the title."""
        lines = self._full.text.count("\n") + 1
        return f"{lines} lines" + (f"   whole: {screen_line(self._full.path)}" if self._full.path else "")

    def page_keys(self) -> Sequence[PageKey]:
        """The keys beside escape."""
        return ()

    def on_mount(self) -> None:
        """Scroll by keys at once."""
        self._foot.show([*self.page_keys(), PageKey("escape", "back", lambda: self.dismiss(None))])
        self.query_one(_Text).focus()

    def on_key(self, event: events.Key) -> None:
        """Act, or go back."""
        found = next((one for one in self.page_keys() if one.key == event.key), None)
        if found is not None:
            event.stop()
            found.act()
        elif event.key in ("escape", "q", "ctrl+c"):
            event.stop()
            self.dismiss(None)
