"""A panel that asks for a short text: feedback, a title, a file name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.strip import Strip

from opencode_tui.tui.prompt.box import Bar
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.widgets.row import Rows, row


class _Head(Rows):
    area = "surface"

    def __init__(self, title: str, hint: str) -> None:
        super().__init__()
        self._words = (title, hint)

    def rows(self, width: int, height: int) -> list[Strip]:
        """Draw empty, question, empty."""
        palette = self.look.palette
        title, hint = self._words
        fill = palette.area("surface")
        left = [(title, palette.style("text", "surface", bold=True))]
        right = [(f"{hint}  ", palette.style("muted", "surface"))] if hint else []
        empty = Strip.blank(width, fill)
        return [empty, row(width, left, right, fill=fill), empty]


class _Keys(Rows):
    area = "surface"

    def __init__(self, enter: str, escape: str) -> None:
        super().__init__()
        self._words = (("enter", enter), ("esc", escape))

    def rows(self, width: int, height: int) -> list[Strip]:
        """Draw empty, keys, empty."""
        palette = self.look.palette
        fill = palette.area("surface")
        pieces = [
            piece
            for key, words in self._words
            for piece in (
                (key, palette.style("accent", "surface", bold=True)),
                (f" {words}   ", palette.style("text", "surface")),
            )
        ]
        empty = Strip.blank(width, fill)
        return [empty, row(width, pieces, fill=fill), empty]


@dataclass(frozen=True, slots=True)
class TextAsk:
    """The question: `text` is the initial text, `hint` is at the right, `enter` and `escape` describe the keys.

    The characters of a secret are drawn as bullets.
    """

    title: str
    enter: str
    text: str = ""
    hint: str = ""
    escape: str = "back"
    bar: str = "accent"
    is_secret: bool = False


class TextPanel(ErrorBoundary, Horizontal):
    """Enter submits the text, escape cancels."""

    def __init__(self, ask: TextAsk, *, done: Callable[[str], object], back: Callable[[], object]) -> None:
        super().__init__()
        self.editor = Editor()
        self.editor.hints = ()
        self.editor.is_secret = ask.is_secret
        self._ask = ask
        self._done = done
        self._back = back

    def compose(self) -> ComposeResult:
        """Yield the bar, the title, the editor and the keys."""
        yield Bar(self._ask.bar)
        with Vertical(classes="inside"):
            yield _Head(self._ask.title, self._ask.hint)
            yield self.editor
            yield _Keys(self._ask.enter, self._ask.escape)

    def on_mount(self) -> None:
        """Insert the initial text."""
        self.editor.put(self._ask.text)
        self.editor.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the editor."""
        self.editor.focus(scroll_visible)
        return self

    def on_editor_submitted(self, event: Editor.Submitted) -> None:
        """Submit the text."""
        event.stop()
        self._done(self.editor.text.strip())

    def on_key(self, event: events.Key) -> None:
        """Cancel with escape."""
        if event.key == "escape":
            event.stop()
            self._back()
