"""A page with one picture of a message or a call, as large as the screen allows; keys go to the next one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from rich.segment import Segment
from textual.app import ComposeResult
from textual.strip import Strip

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.keys.keyed import KeyAction, KeyedScreen, by_id, closes
from opencode_tui.tui.output.display import DismissOnce
from opencode_tui.tui.pages.page import PageFoot, PageHead
from opencode_tui.tui.pictures.forms import Form, Pictures, read_source
from opencode_tui.tui.pictures.header import read_header
from opencode_tui.tui.prompt.desktop import view_image
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.state.message import PictureSource
from opencode_tui.tui.widgets.row import Rows

_MARGIN = 3


class _Picture(Rows):
    """The picture."""

    def __init__(self, pictures: Callable[[], Pictures], source: PictureSource) -> None:
        super().__init__()
        self._pictures = pictures
        self.source = source

    @property
    def facts(self) -> str:
        """Size and type of the picture; empty while it is read."""
        form = self._form(*self.size)
        return form.facts if form is not None else ""

    def show(self, source: PictureSource) -> None:
        """Show another picture."""
        self.source = source
        self.redraw()

    def _form(self, width: int, height: int) -> Form | None:
        return self._pictures().form(self.source, max(1, width - 2 * _MARGIN), max(1, height), self._ready)

    def _ready(self) -> None:
        self.redraw()
        if isinstance(self.screen, PictureScreen):
            self.screen.show_head()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the rows of the picture."""
        form, fill = self._form(width, height), self.look.palette.area("background")
        if form is None:
            return [Strip([Segment(" " * _MARGIN, fill), Segment("Loading", self.look.palette.style("muted"))])]
        return [
            Strip(
                [Segment(" " * _MARGIN, fill), *(Segment(text, style or fill) for text, style, _ in row)]
            ).adjust_cell_length(width, fill)
            for row in form.rows
        ]


class PictureScreen(KeyedScreen, ErrorBoundary, DismissOnce[None], inherit_bindings=False):
    """A page with pictures, one at a time; escape closes it."""

    DEFAULT_CSS = """
    PictureScreen { background: $background; }
    PictureScreen PageHead, PictureScreen PageFoot { height: 3; }
    PictureScreen _Picture { height: 1fr; }
    """

    scopes = ("page:picture", "page")

    def __init__(self, pictures: Sequence[PictureSource], forms: Callable[[], Pictures]) -> None:
        super().__init__()
        self._pictures = pictures
        self._at = 0
        self._head = PageHead()
        self._picture = _Picture(forms, pictures[0])
        self._foot = PageFoot()
        self._foot.scope = self.scopes[0]

    def compose(self) -> ComposeResult:
        """Yield the title, the picture and the keys."""
        yield self._head
        yield self._picture
        yield self._foot

    def on_mount(self) -> None:
        """Show the keys."""
        self.show_head()
        self._foot.show([*self._page_actions(), closes("back", self._close)])

    def show_head(self) -> None:
        """Show the name and the facts of the picture."""
        palette = self._head.look.palette
        name = (screen_line(self._picture.source.name), palette.style("text", bold=True))
        count = f"{self._at + 1} of {len(self._pictures)}" if len(self._pictures) > 1 else ""
        left = [name, (f"  {self._picture.facts}", palette.style("muted"))]
        self._head.show([(left, [(count, palette.style("muted"))])])

    def _page_actions(self) -> Sequence[KeyAction]:
        outside = KeyAction("picture_view", "open in your viewer", self._view)
        if len(self._pictures) < 2:
            return [outside]
        return [
            KeyAction("picture_next", "next", lambda: self._go(1)),
            KeyAction("picture_previous", "previous", lambda: self._go(-1)),
            outside,
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the available actions."""
        return by_id(closes("back", self._close), *self._page_actions())

    def _go(self, step: int) -> None:
        self._at = (self._at + step) % len(self._pictures)
        self._picture.show(self._pictures[self._at])
        self.show_head()

    def _view(self) -> None:
        self.run_worker(self._view_outside(), exit_on_error=False)

    async def _view_outside(self) -> None:
        try:
            await asyncio.to_thread(view_outside, self._picture.source)
        except OpencodeError as error:
            self._foot.show_message(str(error), "error")

    def _close(self) -> None:
        self.dismiss(None)


def view_outside(source: PictureSource) -> None:
    """Open a picture in the viewer of the desktop. Blocks. Raises OpencodeError."""
    data = read_source(source)
    header = read_header(data)
    if header is None:
        raise OpencodeError(f"{screen_line(source.name)} cannot be read as a picture")
    view_image(data, f"image/{header.kind.lower()}")
