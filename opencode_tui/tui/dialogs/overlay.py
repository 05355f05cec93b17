"""The overlay: a list over the muted screen."""

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.filter import LineFilter
from textual.screen import ModalScreen

from opencode_tui.tui.dialogs.listing import ListContent, Listing
from opencode_tui.tui.screen_guards import DismissOnce, ErrorBoundary
from opencode_tui.tui.theme.glyphs import ASCII
from opencode_tui.tui.theme.look import look_of


class Overlay(ErrorBoundary, DismissOnce[str | None], ModalScreen[str | None], inherit_bindings=False):
    """Returns the ID of the choice, None if it was closed."""

    def __init__(self, content: ListContent) -> None:
        super().__init__()
        self.listing = Listing(content)
        self._is_awaited = False
        self._queued = 0
        """Keys and pastes that were forwarded and are not handled yet."""

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

    def handle_now(self, event: events.Key) -> bool:
        """Handle a key at once unless it must wait for what was forwarded; return whether it was handled.

        In the queue of this screen the keys after an escape would be for the closed list, and lost.
        """
        is_choice = event.key == "enter" or event.key in self.listing.content.extra
        if is_choice or self._queued or not self.listing.is_mounted:
            self.count_queued()
            return False
        self._handle(event)
        return True

    def count_queued(self) -> None:
        """Count a key or paste that is forwarded to this screen."""
        self._queued += 1

    def on_key(self, event: events.Key) -> None:
        """Filter, move, choose, close."""
        event.stop()
        self._queued = max(0, self._queued - 1)
        self._handle(event)

    def _handle(self, event: events.Key) -> None:
        self._is_awaited = event.key == "enter" and self.listing.content.is_reading and self.listing.query_text != ""
        moves = {
            "up": -1,
            "down": 1,
            "ctrl+p": -1,
            "ctrl+n": 1,
            "pageup": -10,
            "pagedown": 10,
            "home": -(10**6),
            "end": 10**6,
        }
        listing = self.listing
        if event.key in ("escape", "ctrl+c"):
            self.dismiss(None)
        elif event.key == "enter":
            if listing.chosen is not None:
                self.dismiss(listing.chosen)
        elif event.key in listing.content.extra:
            if listing.chosen is not None:
                listing.content.extra[event.key][1](listing.chosen)
        elif event.key in moves:
            listing.move(moves[event.key])
        elif event.key in ("backspace", "ctrl+h", "ctrl+u", "ctrl+w"):
            listing.erase(whole=event.key in ("ctrl+u", "ctrl+w"))
        elif event.is_printable and event.character:
            listing.type(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Filter by what was pasted."""
        event.stop()
        self._queued = max(0, self._queued - 1)
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
