"""A panel that asks for a short text: feedback, a title, a file name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.strip import Strip

from opencode_tui.tui.keys.keyed import Keyed, keymap_of
from opencode_tui.tui.prompt.box import Bar
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.widgets.row import Rows, measure, row


class _Head(Rows):
    area = "surface"

    def __init__(self, title: str, hint: str) -> None:
        super().__init__()
        self._words = (title, hint)

    def show_hint(self, hint: str) -> None:
        """Show another text at the right."""
        self._words = (self._words[0], hint)
        self.redraw()

    def rows(self, width: int, height: int) -> list[Strip]:
        """Draw empty, question, empty; what is at the right of the question is below it where both do not fit."""
        palette = self.look.palette
        title, hint = self._words
        fill = palette.area("surface")
        left = [(title, palette.style("text", "surface", bold=True))]
        right = [(f"{hint}  ", palette.style("muted", "surface"))] if hint else []
        empty = Strip.blank(width, fill)
        if right and measure(left) + 1 + measure(right) > width:
            return [empty, row(width, left, fill=fill), row(width, right, fill=fill)]
        return [empty, row(width, left, right, fill=fill), empty]


def keys_of(enter: str, escape: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the actions of the keys of a panel with a text, with their words: what submits the text, what closes the panel."""
    return ("input_submit", enter), ("panel_cancel", escape)


class _Keys(Rows):
    area = "surface"

    def __init__(self, *words: tuple[str, str]) -> None:
        super().__init__()
        self._words = words

    def show_keys(self, *words: tuple[str, str]) -> None:
        """Show the keys of other actions, each with its effect."""
        self._words = words
        self.redraw()

    def rows(self, width: int, height: int) -> list[Strip]:
        """Draw empty, keys, empty."""
        palette = self.look.palette
        fill = palette.area("surface")
        pieces = [
            piece
            for action_id, words in self._words
            if (key := keymap_of(self).first(action_id))
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


class TextPanel(Keyed, ErrorBoundary, Horizontal):
    """Enter submits the text, escape cancels."""

    scopes = ("panel",)

    def __init__(self, ask: TextAsk, *, done: Callable[[str], object], back: Callable[[], object]) -> None:
        super().__init__()
        self.editor = Editor()
        self.editor.hints = ()
        self.editor.writes_out_pastes = True  # there are no attachments here
        self.editor.is_secret = ask.is_secret
        self._head = _Head(ask.title, ask.hint)
        self._key_words = keys_of(ask.enter, ask.escape)
        self._keys = _Keys(*self._key_words)
        self._ask = ask
        self._done = done
        self.editor.submit = self._submit_text
        self.cancel = back

    def compose(self) -> ComposeResult:
        """Yield the bar, the title, the editor and the keys."""
        yield Bar(self._ask.bar)
        with Vertical(classes="inside"):
            yield self._head
            yield self.editor
            yield self._keys

    def on_mount(self) -> None:
        """Insert the initial text."""
        self.editor.put(self._ask.text)
        self.editor.focus()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the editor."""
        self.editor.focus(scroll_visible)
        return self

    def _submit_text(self) -> None:
        self._done(self.editor.text.strip())

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the action that cancels; the editor has the others."""
        return {"panel_cancel": self.cancel}


class FindPanel(TextPanel, can_focus=True):
    """Asks for a text to find; when it was found, keys go from one occurrence to the next until another text is typed."""

    scopes = ("panel:find", "panel")

    def __init__(
        self, words: str, *, find: Callable[[str], object], step: Callable[[int], object], back: Callable[[], object]
    ) -> None:
        super().__init__(TextAsk("Find", "find", text=words, escape="close"), done=find, back=back)
        self._step = step
        self._is_stepping = False

    def on_mount(self) -> None:
        """Find the initial text."""
        if self._ask.text:
            self._done(self._ask.text)

    def show_count(self, at: int, total: int) -> None:
        """Show the current occurrence, counted from 1, and their number."""
        self._head.show_hint(f"{at} of {total}" if total else "no match")
        self._is_stepping = total > 0
        if total:
            self._keys.show_keys(
                ("find_next", "next"), ("find_previous", "previous"), ("find_edit", "edit"), ("panel_cancel", "close")
            )
            self.screen.set_focus(self)

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that go to another occurrence, or back to the text."""
        if not self._is_stepping:
            return {**super().key_actions(), "find_start": self._submit_text}
        return {
            **super().key_actions(),
            "find_next": lambda: self._step(1),
            "find_previous": lambda: self._step(-1),
            "find_edit": self._edit,
        }

    def type_key(self, event: events.Key) -> None:
        """Change the text; the panel gets keys that are typed before the editor has the focus."""
        if event.key == "backspace":
            self.editor.apply("input_backspace")
            self._edit()
        elif event.is_printable:
            self.editor.put_in(event.character or "")
            self._edit()

    def _edit(self) -> None:
        self._is_stepping = False
        self._keys.show_keys(*self._key_words)
        self.screen.set_focus(self.editor)
