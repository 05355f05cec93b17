"""The overlay: a list over the muted screen."""

from collections.abc import Callable, Mapping
from functools import partial

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.filter import LineFilter
from textual.screen import ModalScreen

from opencode_tui.tui.dialogs.listing import ListContent, Listing
from opencode_tui.tui.keys.keyed import KeyedScreen, by_id, chooses, filters, leaves, moves
from opencode_tui.tui.screen_guards import DismissOnce, ErrorBoundary
from opencode_tui.tui.theme.glyphs import ASCII
from opencode_tui.tui.theme.look import look_of


class Overlay(KeyedScreen, ErrorBoundary, DismissOnce[str | None], ModalScreen[str | None], inherit_bindings=False):
    """Returns the ID of the choice, None if it was closed."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012 - as Textual declares it
    """On a narrow screen the list is as wide as the window: a sign of the conversation beside a row looked like that of the row."""

    has_help = False  # its own keys are all below it, and the help is such a list

    def __init__(self, content: ListContent) -> None:
        super().__init__()
        self.scopes = (content.scope, "list") if content.scope else ("list",)
        self.listing = Listing(content)
        self._is_awaited = False

    def compose(self) -> ComposeResult:
        """Yield the list."""
        yield self.listing

    def on_mount(self) -> None:
        """Focus the list; without background tones a thin frame separates it from the screen."""
        look = look_of(self)
        if not look.palette.tones:
            self.listing.styles.border = ("ascii" if look.glyphs is ASCII else "solid", "ansi_default")
        self.listing.focus()

    def fill(self, content: ListContent) -> None:
        """Show other choices with the same filter; an enter that came before them chooses the best match."""
        self.listing.show(content)
        if self._is_awaited and not content.is_reading and self.listing.chosen is not None:
            self.dismiss(self.listing.chosen)

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that filter, move, choose and close."""
        listing = self.listing
        extra = {name: partial(self._run_extra, act) for name, (_, act) in listing.content.extra.items()}
        return {
            **{name: partial(listing.move, rows) for name, rows in moves("list", 10).items()},
            **extra,
            **filters(erase=lambda: listing.erase(whole=False), clear=lambda: listing.erase(whole=True)),
            "list_erase_word": lambda: listing.erase(whole=True),
            **by_id(chooses("", self._choose), leaves("", lambda: self.dismiss(None))),
        }

    def act(self, action_id: str) -> None:
        """Run an action; an enter before the choices are read chooses later, unless another key follows."""
        listing = self.listing
        self._is_awaited = action_id == "list_choose" and listing.content.is_reading and listing.query_text != ""
        super().act(action_id)

    def type_key(self, event: events.Key) -> None:
        """Add a character to the filter."""
        self._is_awaited = False
        super().type_key(event)

    def type_text(self, text: str) -> None:
        """Add text to the filter."""
        self.listing.type(text)

    def _choose(self) -> None:
        if self.listing.chosen is not None:
            self.dismiss(self.listing.chosen)

    def _run_extra(self, act: Callable[[str], object]) -> None:
        if self.listing.chosen is not None:
            act(self.listing.chosen)

    def on_paste(self, event: events.Paste) -> None:
        """Filter by what was pasted."""
        event.stop()
        self.listing.type(event.text[:200])

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked row; a click next to the list closes it."""
        chosen = event.style.meta.get("row")
        if chosen is not None and self.listing.has_choice(str(chosen)):
            self.dismiss(str(chosen))
        elif event.widget is not self.listing:
            self.dismiss(None)

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.listing.move(2)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.listing.move(-2)


class Flatten(LineFilter):
    """Draws everything under an overlay in the color of lines on the background."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style

    def apply(self, segments: list[Segment], background: object) -> list[Segment]:
        """Return the same characters without their styles."""
        return [Segment(text, self.style, control) for text, _, control in segments]
