"""Pages for one long text or one attachment, drawn line by line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.prompt.draft import Attachment
from opencode_tui.tui.screen_guards import DismissOnce, ErrorBoundary
from opencode_tui.tui.screens.page import PageFoot, PageKey
from opencode_tui.tui.theme.look import look_of
from opencode_tui.tui.widgets.row import Rows, row

MAX_LINE = 20_000
"""Characters of a line that are drawn."""


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
        """Set the scrollable height."""
        self.virtual_size = Size(1, len(self._lines))

    def scroll_to(
        self, x: float | None = None, y: float | None = None, *, animate: bool = False, **options: Any
    ) -> None:
        """Scroll without animation, which would draw each page a dozen times over a slow connection."""
        super().scroll_to(x, y, animate=False, **options)

    def render_line(self, y: int) -> Strip:
        """Return one line; its text is made safe when it is drawn."""
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
        """Return an empty row, the title and an empty row."""
        palette = self.look.palette
        fill = palette.area("background")
        left, right = self._words
        pieces = [("   ", fill), (left, palette.style("text", bold=True)), (f"  {right}", palette.style("muted"))]
        empty = Strip.blank(width, fill)
        return [empty, row(width, pieces, fill=fill, mark=self.look.glyphs.ellipsis), empty]


class FullTextScreen(ErrorBoundary, DismissOnce[None], inherit_bindings=False):
    """A page with one text; escape closes it."""

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
        """Yield the title, the text and the keys."""
        yield _Head(screen_line(self._full.title), self.subtitle())
        yield _Text(self._full.text)
        yield self._foot

    def subtitle(self) -> str:
        """Return the text next to the title."""
        lines = self._full.text.count("\n") + 1
        return plural(lines, "line") + (f"   full text: {screen_line(self._full.path)}" if self._full.path else "")

    def page_keys(self) -> Sequence[PageKey]:
        """Return the keys other than escape."""
        return ()

    def on_mount(self) -> None:
        """Focus the text and show the keys."""
        self._foot.show([*self.page_keys(), PageKey("escape", "back", lambda: self.dismiss(None))])
        self.query_one(_Text).focus()

    def on_key(self, event: events.Key) -> None:
        """Run the action of a key, or close the page."""
        found = next((one for one in self.page_keys() if one.key == event.key), None)
        if found is not None:
            event.stop()
            found.act()
        elif event.key in ("escape", "q", "ctrl+c"):
            event.stop()
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

    def __init__(self, marker: str, one: Attachment, actions: AttachmentActions) -> None:
        super().__init__(FullText(marker.strip("[]"), one.text if not one.data else "\n".join(image_facts(one))))
        self._one = one
        self._actions = actions

    def subtitle(self) -> str:
        """Return what happens to the attachment."""
        return "sent with the prompt"

    def page_keys(self) -> Sequence[PageKey]:
        """Return the keys other than escape."""
        keys = [PageKey("d", "remove", lambda: self._done(self._actions.remove))]
        if self._one.data:
            return [PageKey("o", "open in your viewer", lambda: self._done(self._actions.view)), *keys]
        if len(self._one.text) <= WRITABLE:
            return [PageKey("e", "expand into the prompt", lambda: self._done(self._actions.write_out)), *keys]
        return keys

    def _done(self, action: Callable[[], object]) -> None:
        action()
        self.dismiss(None)


def image_facts(one: Attachment) -> Sequence[str]:
    """Return the facts of an image, one per line."""
    size = len(one.data)
    lines = [one.name or "image", f"{one.mime}, {plural(size, 'byte') if size < 2048 else f'{size // 1024} kB'}"]
    if one.data.startswith(b"\x89PNG") and len(one.data) >= 24:
        width, height = (int.from_bytes(one.data[at : at + 4], "big") for at in (16, 20))
        lines.append(f"{width} × {height} pixels")
    return lines
