"""The app as pages and actions use it: look, themes, keys, and lists over the screen."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.filter import LineFilter
from textual.theme import Theme

from opencode_tui.instant.screen import live
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.keys.keyed import HasRouter
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import KeyRouter
from opencode_tui.tui.terminal_app import TerminalOwner
from opencode_tui.tui.theme.look import Depth, Look, Palette, built_in, first_look

if TYPE_CHECKING:
    from opencode_tui.tui.dialogs.overlay import Flatten, ListContent
    from opencode_tui.tui.terminal_input import BackgroundDetected
    from opencode_tui.tui.theme.themes import Themes


class BaseApp(HasRouter, TerminalOwner, inherit_bindings=False):
    """What screens, pages and actions use of the app."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, look: Look | None = None) -> None:
        self._flatten: Flatten | None = None
        early = live()
        look = look or first_look(os.environ, sys.stdout.encoding, dark=early.page.is_dark if early else None)
        super().__init__(look)
        self.own_look = look
        """The look without settings."""
        self.themes: Themes | None = None
        self._is_dark = look.palette.dark
        self._depth: Depth = look.palette.depth
        self.router = KeyRouter(Keymap())
        self._apply_palette(look.palette)

    def report(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line."""
        raise NotImplementedError

    def hold_until_shown(
        self, cancel: Callable[[], object] | None = None, *, lets_type: bool = False
    ) -> Callable[[], None]:
        """Keep all keys for what is being loaded, until the returned function is called; escape calls `cancel` and drops them.

        With `lets_type` text goes into the prompt until the first other key. Without `cancel` the keys that quit do so, but
        are kept as long as they would be for other kept keys.
        """
        hold = self.router.hold(cancel, lets_type=lets_type)

        def release() -> None:
            if self.router.release(hold):
                self.begin_keys()

        return release

    def hold_from_key(self) -> tuple[Callable[[], None], bool]:
        """Keep the key that is being handled and all later ones; return what ends that, and whether there is such a key."""
        release = self.hold_until_shown()
        return release, self.router.keep_handled()

    def begin_keys(self) -> None:
        """Deliver the kept keys, and all later ones at once."""
        self.call_later(self._deliver_kept)

    async def _deliver_kept(self) -> None:
        if await self.router.deliver(self.on_event):
            self.begin_keys()  # in a message of its own: the result of a list that the key closed comes first

    def restyle(self) -> None:
        """Draw everything in the current look."""
        raise NotImplementedError

    def refresh_all(self) -> None:
        """Draw every widget again."""
        raise NotImplementedError

    def on_background_detected(self, event: "BackgroundDetected") -> None:
        """Apply the dark or the light variant of the theme, as the terminal's background is."""
        if event.is_dark == self._is_dark:
            return
        self._is_dark = event.is_dark
        if self.themes is not None:
            self.apply_theme(self.look.palette.name)
        else:
            self.apply_look(replace(self.look, palette=built_in(event.is_dark, self.look.palette.depth)))

    def apply_look(self, look: Look) -> None:
        """Draw everything in another look."""
        self.look = look
        if self._flatten is not None:
            self._flatten.style = look.palette.style("guide")
        self._apply_palette(look.palette)
        self.restyle()

    def apply_theme(self, name: str) -> None:
        """Draw everything in the named theme; report one that cannot be read and change nothing."""
        if self.themes is None:
            return
        try:
            palette = self.themes.palette(name, dark=self._is_dark, depth=self._depth)
        except ValueError as error:
            self.report("failed", str(error))
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
        """Apply the key bindings of the settings."""
        self.router.keymap = Keymap(changed)

    def _apply_palette(self, palette: Palette) -> None:
        theme = textual_theme(palette)
        self.register_theme(theme)
        self.theme = theme.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters, with the one that mutes everything under an open overlay; that uses `own_filters`."""
        filters = self.own_filters()
        return [*filters, self._flatten] if self._flatten is not None else filters

    def open_overlay(self, content: "ListContent", done: Callable[[str | None], object]) -> None:
        """Show a list over the muted screen; `done` gets the chosen id, or None."""
        from opencode_tui.tui.dialogs.overlay import Flatten, Overlay

        flatten = Flatten(self.look.palette.style("guide"))

        def close(chosen: str | None) -> None:
            if self._flatten is flatten:
                self._flatten = None
            self.refresh_all()
            done(chosen)

        if self._flatten is not None:
            self.pop_overlay()
        self._flatten = flatten
        self.refresh_all()
        self.push_screen(Overlay(content), close)

    def update_overlay(self, content: "ListContent") -> None:
        """Show other choices in the open list, with the same filter; nothing when the open list has another hint."""
        from opencode_tui.tui.dialogs.overlay import Overlay

        if isinstance(self.screen, Overlay) and self.screen.listing.content.hint == content.hint:
            self.screen.fill(content)

    def pop_overlay(self) -> None:
        """Close the overlay without a choice."""
        from opencode_tui.tui.dialogs.overlay import Overlay

        if isinstance(self.screen, Overlay):
            self.screen.dismiss(None)


def textual_theme(palette: Palette) -> Theme:
    """Return the palette as a Textual theme, for what Textual's own widgets draw."""
    is_plain = not palette.tones

    def color(token: str, plain: str) -> str:
        return plain if is_plain else str(getattr(palette, token))

    text, behind = color("text", "ansi_default"), color("background", "ansi_default")
    return Theme(
        name=f"{palette.name}-{'dark' if palette.dark else 'light'}-{palette.depth}",
        primary=color("accent", "ansi_magenta"),
        accent=color("accent", "ansi_magenta"),
        foreground=text,
        background=behind,
        surface=color("surface", "ansi_default"),
        panel=color("panel", "ansi_default"),
        success=color("success", "ansi_green"),
        warning=color("warning", "ansi_yellow"),
        error=color("error", "ansi_red"),
        dark=palette.dark,
        ansi=is_plain,
        variables={
            "ansi-background": "ansi_default",
            "ansi-foreground": "ansi_default",
            "border": color("border", "ansi_default"),
            "scrollbar": color("guide", "ansi_default"),
            "scrollbar-hover": color("muted", "ansi_default"),
            "scrollbar-active": color("muted", "ansi_default"),
            "scrollbar-background": behind,
            "scrollbar-background-hover": behind,
            "scrollbar-background-active": behind,
            "scrollbar-corner-color": behind,
            "block-cursor-background": color("selection", "ansi_default"),
            "block-cursor-foreground": text,
        },
    )
