"""The app: its look, its keys, the engine's door once it is open, and how it ends."""

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.filter import LineFilter
from textual.theme import Theme

from opencode_tui.tui.chat.screen import ChatScreen
from opencode_tui.tui.key_router import KeyRouter
from opencode_tui.tui.keymap import Keymap
from opencode_tui.tui.options import Ending, StartOptions
from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.screen_guards import log_path
from opencode_tui.tui.terminal_title import TerminalTitle
from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.look import Look, first_look
from opencode_tui.tui.theme.palette import Palette

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.tui.dialogs.listing import ListContent
    from opencode_tui.tui.dialogs.overlay import Flatten
    from opencode_tui.tui.terminal_input import BackgroundDetected
    from opencode_tui.tui.theme.themes import Themes

_log = logging.getLogger(__name__)


class OpenCodeApp(App[Ending], inherit_bindings=False):
    """Paints first; `attach` hands the door in when the engine is open. Returns an `Ending`."""

    CSS_PATH = "chat/chat.tcss"
    ENABLE_COMMAND_PALETTE = False
    look: Look

    def __init__(
        self, options: StartOptions, look: Look | None = None, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._flatten: Flatten | None = None
        self.look = look or first_look(os.environ, sys.stdout.encoding)
        super().__init__()
        self.options = options
        self.themes: Themes | None = None
        self._is_dark = self.look.palette.dark
        self.painted = asyncio.Event()
        self.router = KeyRouter(Keymap())
        self.chat = ChatScreen(options, self, clock)
        self.title_line = TerminalTitle(self._write)
        self._early: list[events.Key | events.Paste] | None = []
        self._apply_palette(self.look.palette)

    def get_driver_class(self) -> type[Driver]:
        """Read the terminal so that a paste stays text."""
        if sys.platform == "win32":
            return super().get_driver_class()
        from opencode_tui.tui.terminal_input import TerminalInput  # the library has none there

        return TerminalInput

    def get_default_screen(self) -> ChatScreen:
        """Begin with the chat."""
        return self.chat

    def on_mount(self) -> None:
        """Tell when the first frame stands on the screen."""
        self.call_after_refresh(self._first_frame)
        self.app_resume_signal.subscribe(self, self._repaint)

    def _first_frame(self) -> None:
        self.painted.set()
        self._ask_background()

    def _ask_background(self) -> None:
        ask = getattr(self._driver, "ask_background", None)
        if ask is not None and _is_rich_terminal():
            ask()

    def on_app_focus(self) -> None:
        """Ask again: where the desktop changes between day and night, the terminal changes with it."""
        self._ask_background()

    def on_background_detected(self, event: "BackgroundDetected") -> None:
        """Wear the dark or the light side of the theme, as the terminal's background is."""
        if event.is_dark == self._is_dark:
            return
        self._is_dark = event.is_dark
        if self.themes is not None:
            self.apply_theme(self.look.palette.name)
        else:
            self.apply_look(replace(self.look, palette=built_in(event.is_dark, self.look.palette.depth)))

    def _repaint(self, _app: object = None) -> None:
        """Draw every cell: the terminal came back empty from the shell or from an editor."""
        self.screen.refresh(layout=True)
        for widget in self.screen.query("*"):
            widget.refresh()

    def attach(self, client: "Client") -> None:
        """Hand in the engine's door; what was typed meanwhile goes there."""
        self.call_later(self.chat.attach, client)

    def apply_look(self, look: Look) -> None:
        """Draw everything in another look."""
        self.look = look
        if self._flatten is not None:
            self._flatten.style = look.palette.style("guide")
        self._apply_palette(look.palette)
        self.chat.restyle()

    def apply_theme(self, name: str) -> None:
        """Draw everything in a theme by its name; one that cannot be read is told, and nothing changes."""
        if self.themes is None:
            return
        try:
            palette = self.themes.palette(name, dark=self._is_dark, depth=self.look.palette.depth)
        except ValueError as error:
            self.chat.show_note("failed", str(error))
            return
        if palette != self.look.palette:
            self.apply_look(replace(self.look, palette=palette))

    @property
    def keymap(self) -> Keymap:
        """The active keys."""
        return self.router.keymap

    @property
    def last_key(self) -> str:
        """The key that is being handled, as the terminal reported it; empty during a click."""
        return self.router.last_key

    def use_themes(self, themes: "Themes") -> None:
        """Set the themes that can be applied."""
        self.themes = themes

    def use_keys(self, changed: Mapping[str, str]) -> None:
        """Take over the keys of the settings."""
        self.router.keymap = Keymap(changed)

    def notify_terminal(self, words: str) -> None:
        """Ring the bell and show a notification of the terminal (OSC 9) while its window has no focus."""
        if not self.app_focus:
            self.bell()
            self._write(f"\x1b]9;{words}\x07")

    def _write(self, data: str) -> None:
        """Send something to the terminal beside the frames, if it is one that would understand it."""
        if self._driver is not None and not self.is_headless and _is_rich_terminal():
            self._driver.write(data)

    def on_unmount(self) -> None:
        """Leave the terminal as it was."""
        self.title_line.end()

    def _apply_palette(self, palette: Palette) -> None:
        theme = textual_theme(palette)
        self.register_theme(theme)
        self.theme = theme.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Mute everything while an overlay stands over it; the overlay itself asks for `own_filters`."""
        filters = super().get_line_filters()
        return [*filters, self._flatten] if self._flatten is not None else filters

    def own_filters(self) -> Sequence[LineFilter]:
        """The filters without the one that mutes."""
        return super().get_line_filters()

    def open_overlay(self, content: "ListContent", done: Callable[[str | None], object]) -> None:
        """Show a list over the muted screen; `done` gets the chosen id, or None."""
        from opencode_tui.tui.dialogs.overlay import Flatten, Overlay

        flatten = Flatten(self.look.palette.style("guide"))

        def close(chosen: str | None) -> None:
            if self._flatten is flatten:
                self._flatten = None
            self.chat.refresh_all()
            done(chosen)

        if self._flatten is not None:
            self.pop_overlay()
        self._flatten = flatten
        self.chat.refresh_all()
        self.push_screen(Overlay(content), close)

    def pop_overlay(self) -> None:
        """Close the overlay without a choice."""
        from opencode_tui.tui.dialogs.overlay import Overlay

        if isinstance(self.screen, Overlay):
            self.screen.dismiss(None)

    async def on_event(self, event: events.Event) -> None:
        """Give keys to the router before any widget sees them; those that come before the prompt is there wait for it."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            if self._early is not None:
                self._early.append(event)
                return
            if isinstance(event, events.Key) and await self._handle_key(event):
                return
        await super().on_event(event)

    def begin_keys(self) -> None:
        """Hand on what was typed so far; from now on keys go their way at once."""
        self.call_later(self._hand_on)

    async def _hand_on(self) -> None:
        early, self._early = self._early or [], None
        for event in early:
            await self.on_event(event)

    async def _handle_key(self, event: events.Key) -> bool:
        editor = self.focused
        if isinstance(editor, Editor) and self.router.knows(event.key):
            await editor.written()
        screen = self.screen
        if self.copy_selection(event.key):
            return True
        if not isinstance(screen, ChatScreen):
            return False
        try:
            return screen.handle_priority_key(event.key) or self.router.handle(event, screen)
        except Exception as error:
            if self.is_headless:
                raise
            _log.exception("an act on %s failed", event.key)
            self.show_failure(error)
            return True

    def on_text_selected(self) -> None:
        """Copy what the mouse has selected, as a terminal does when its mouse is free."""
        text = self.screen.get_selected_text() or ""
        if text.strip():
            self.copy_to_clipboard(text)
            lines = text.rstrip("\n").count("\n") + 1
            self.chat.show_note("done", "Copied", "what you selected" if lines == 1 else f"{lines} lines")

    def copy_selection(self, key: str) -> bool:
        """Let ctrl+c copy what is selected once more and end the selection; it then means nothing else."""
        if key != "ctrl+c" or not self.screen.get_selected_text():
            return False
        self.on_text_selected()
        self.screen.clear_selection()
        return True

    def show_failure(self, error: Exception) -> None:
        """Say in one line that a part of the screen failed, and where the details are."""
        self.chat.show_note("failed", f"{type(error).__name__} in a part of the screen", log_path())

    def _handle_exception(self, error: Exception) -> None:
        """End in order: the terminal as it was, the error to the one who started us, the session on disk."""
        _log.error("the screen failed", exc_info=error)
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        if not self.is_headless:
            self.chat.leave(error)
        else:
            super()._handle_exception(error)


def _is_rich_terminal() -> bool:
    """Whether the terminal takes orders beside colours and the cursor's, or at least leaves them out."""
    return os.environ.get("TERM", "dumb") not in ("dumb", "linux")


def textual_theme(palette: Palette) -> Theme:
    """The palette in the library's terms, for the few things that its own widgets draw."""
    is_plain = not palette.tones

    def colour(token: str, plain: str) -> str:
        return plain if is_plain else str(getattr(palette, token))

    text, behind = colour("text", "ansi_default"), colour("background", "ansi_default")
    return Theme(
        name=f"{palette.name}-{'dark' if palette.dark else 'light'}-{palette.depth}",
        primary=colour("accent", "ansi_magenta"),
        accent=colour("accent", "ansi_magenta"),
        foreground=text,
        background=behind,
        surface=colour("surface", "ansi_default"),
        panel=colour("panel", "ansi_default"),
        success=colour("success", "ansi_green"),
        warning=colour("warning", "ansi_yellow"),
        error=colour("error", "ansi_red"),
        dark=palette.dark,
        ansi=is_plain,
        variables={
            "ansi-background": "ansi_default",
            "ansi-foreground": "ansi_default",
            "border": colour("border", "ansi_default"),
            "scrollbar": colour("guide", "ansi_default"),
            "scrollbar-hover": colour("muted", "ansi_default"),
            "scrollbar-active": colour("muted", "ansi_default"),
            "scrollbar-background": behind,
            "scrollbar-background-hover": behind,
            "scrollbar-background-active": behind,
            "scrollbar-corner-color": behind,
            "block-cursor-background": colour("selection", "ansi_default"),
            "block-cursor-foreground": text,
        },
    )
