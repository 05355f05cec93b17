"""The panel of a sign-in that waits for the browser: its address, and a field for the one that the browser shows at the end."""

from collections.abc import Callable, Sequence

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip

from opencode_tui.text.cells import breaks
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel, keys_of
from opencode_tui.tui.prompt.box import Bar
from opencode_tui.tui.widgets.row import Piece, Rows, row

OPEN = "Sign in with your browser. If it does not open, open this address in one:"
PASTE = "If the browser is on another machine, paste the address that it shows at the end:"

_OTHER_ROWS = 12
"""Rows of the panel and of the screen around it that are not those of the address."""

_COPY = keys_of("copy the address", "cancel")
_USE = keys_of("sign in with this address", "cancel")


class SignInAddress(Rows):
    """The address, on as many rows as it needs and the screen has, and below it what to paste, or why it was not accepted."""

    area = "surface"

    def __init__(self, copy: Callable[[], object]) -> None:
        super().__init__()
        self._copy = copy
        self._url = ""
        self._problem = ""

    def show(self, url: str, problem: str = "") -> None:
        """Show an address, and why a pasted one was not accepted."""
        self._url, self._problem = url, problem
        self.refresh(layout=True)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the sentences and of the address."""
        return len(self._lines(width))

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Draw the sentences and the address."""
        fill = self.look.palette.area(self.area)
        return [row(width, pieces, fill=fill, mark=self.look.glyphs.ellipsis) for pieces in self._lines(width)]

    def on_click(self) -> None:
        """Copy the address."""
        self._copy()

    def _lines(self, width: int) -> list[Sequence[Piece]]:
        palette, room = self.look.palette, max(8, width - 2)
        text, muted = palette.style("text", self.area), palette.style("muted", self.area)
        accent = palette.style("accent", self.area)
        if not self._url:
            return [[(f"Opening your browser{self.look.glyphs.ellipsis}", muted)], []]
        address = [self._url[at : at + room] for at in range(0, len(self._url), room)]
        most = max(2, self.screen.size.height * 6 // 10 - _OTHER_ROWS)
        if len(address) > most:
            address = [*address[: most - 1], f"{self.look.glyphs.ellipsis} enter copies all of it"]
        asked = _folded(self._problem, room, palette.style("error", self.area)) or _folded(PASTE, room, text)
        return [*_folded(OPEN, room, text), *([(line, accent)] for line in address), [], *asked]


class SignInPanel(TextPanel):
    """Enter copies the address, or uses the pasted one; escape cancels."""

    def __init__(
        self,
        title: str,
        *,
        copy: Callable[[str], object],
        paste: Callable[[str], object],
        cancel: Callable[[], object],
        left: Callable[[], object],
    ) -> None:
        """`left` is called when the panel is gone, for whatever reason."""
        super().__init__(
            TextAsk(title, "copy the address", hint="waiting for the browser", escape="cancel"),
            done=self._submit,
            back=cancel,
        )
        self._address = SignInAddress(self._copy_address)
        self._url = ""
        self._copy = copy
        self._paste = paste
        self._left = left

    def compose(self) -> ComposeResult:
        """Yield the bar, the title, the address, the editor and the keys."""
        yield Bar(self._ask.bar)
        with Vertical(classes="inside"):
            yield self._head
            yield self._address
            yield self.editor
            yield self._keys

    def on_unmount(self) -> None:
        """Report that the panel is gone."""
        self._left()

    def show_address(self, url: str) -> None:
        """Show the address for the browser."""
        self._url = screen_line(url)
        self._address.show(self._url)

    def show_problem(self, problem: str) -> None:
        """Show why a pasted address was not accepted, and let another one be pasted."""
        self._head.show_hint("waiting for the browser")
        self._address.show(self._url, screen_line(problem))
        self.editor.put("")

    def on_text_area_changed(self) -> None:
        """Name what enter does now."""
        self._keys.show_keys(*(_USE if self.editor.text.strip() else _COPY))

    def _submit(self, text: str) -> None:
        address = "".join(text.split())  # a terminal breaks a long one
        if not address:
            self._copy_address()
        elif self._url:
            self._head.show_hint("signing in")
            self._paste(address)

    def _copy_address(self) -> None:
        if self._url:
            self._copy(self._url)
            self._head.show_hint("address copied")


def _folded(text: str, room: int, style: Style) -> list[Sequence[Piece]]:
    return [[(text[start:end], style)] for start, end in breaks(text, room)] if text else []
