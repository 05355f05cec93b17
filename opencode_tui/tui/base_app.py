"""The app without its screens: look, themes, keys, lists over the screen, and the terminal."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.driver import Driver
from textual.filter import LineFilter
from textual.theme import Theme

from opencode_tui.instant.screen import InstantScreen, live
from opencode_tui.tui.chrome.activity import Kind
from opencode_tui.tui.first_page import shown_rows
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import HasRouter, KeyRouter
from opencode_tui.tui.options import Ending
from opencode_tui.tui.output.display import TerminalApp
from opencode_tui.tui.terminal_title import TerminalProgress, TerminalTitle
from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.glyphs import ASCII
from opencode_tui.tui.theme.look import HasLook, Look, first_look
from opencode_tui.tui.theme.palette import Depth, Palette

COMPLETE_S = 2.0
"""Seconds from the open engine on that the first page is shown, if the start page is not complete before."""

PICTURES_S = 2.0
"""Seconds after which a terminal that does not answer gets half blocks."""

TYPED_S = 1.0
"""Seconds after which the app is shown although not all typed keys were handled."""

DELIVERED_S, FEW_BYTES, ROUNDS = 5.0, 4, 3
"""Seconds that the first page goes on to show keys while the app draws those before them. Fewer bytes than these, which came
meanwhile, wait for the change of owners; more are drawn first as well, in so many rounds."""

if TYPE_CHECKING:
    from opencode_tui.tui.dialogs.listing import ListContent
    from opencode_tui.tui.dialogs.overlay import Flatten
    from opencode_tui.tui.pictures.forms import Pictures, Terminal
    from opencode_tui.tui.terminal_input import BackgroundDetected, PicturesDetected
    from opencode_tui.tui.theme.themes import Themes


class BaseApp(HasLook, HasRouter, TerminalApp[Ending], inherit_bindings=False):
    """What screens, pages and actions use of the app."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, look: Look | None = None) -> None:
        self._flatten: Flatten | None = None
        early = live()
        self.look = look or first_look(os.environ, sys.stdout.encoding, dark=early.page.is_dark if early else None)
        self.own_look = self.look
        """The look without settings."""
        # NO_COLOR: Textual's filter for colors of the terminal; the other one would turn its default color into black
        super().__init__(ansi_color=self.look.palette.depth == "none" or None)
        self.themes: Themes | None = None
        self._is_dark = self.look.palette.dark
        self._depth: Depth = self.look.palette.depth
        self.router = KeyRouter(Keymap())
        self.title_line = TerminalTitle(self._write)
        self.progress = TerminalProgress(self._write, os.environ)
        self._first_screen: InstantScreen | None = None
        """The screen whose page the terminal shows until the first frame of the app."""
        self._can_use_keys = False
        self._rounds = 0
        """How often what was typed was to be drawn behind the first page."""
        self._pictures: Pictures | None = None
        """What shows pictures, from the first one on."""
        self._picture_setting = "auto"
        self._knows_pictures = False
        """Whether the terminal has answered how it shows pictures."""
        self._apply_palette(self.look.palette)

    def report(self, kind: Kind, words: str, facts: str = "") -> None:
        """Show a message in the activity line."""
        raise NotImplementedError

    def hold_until_shown(
        self, cancel: Callable[[], object] | None = None, *, lets_type: bool = False
    ) -> Callable[[], None]:
        """Keep keys for what is being loaded; return what ends that."""
        raise NotImplementedError

    def hold_from_key(self) -> tuple[Callable[[], None], bool]:
        """Keep the key that is being handled and all later ones; return what ends that, and whether there is such a key."""
        raise NotImplementedError

    def restyle(self) -> None:
        """Draw everything in the current look."""
        raise NotImplementedError

    def refresh_all(self) -> None:
        """Draw every widget again."""
        raise NotImplementedError

    def get_driver_class(self) -> type[Driver]:
        """Return the driver that makes pastes safe and never waits for the terminal."""
        from opencode_tui.tui.terminal_input import TerminalInput

        return TerminalInput

    def use_keys_soon(self) -> None:
        """Own the terminal at once if a key waits for it, else when the start page is complete or after a moment."""
        self._can_use_keys = True
        early = live()
        if early is not None:
            if early.waits:
                self.acquire_terminal()
            else:
                self.set_timer(COMPLETE_S, self.acquire_terminal_soon)

    def acquire_terminal_soon(self) -> None:
        """Own the terminal once what was typed until now is drawn, behind the first page, which goes on to show keys.

        The first keys cost the app several times more than all others; only those that follow wait for the change of owners.
        """
        if self._rounds == 0:
            self.set_timer(DELIVERED_S, self.acquire_terminal)
            self.acquire_after_typed()

    def acquire_after_typed(self) -> None:
        """Have the app draw what was typed meanwhile, or own the terminal if that is little; a `TypedDelivered` message follows."""
        from opencode_tui.tui.terminal_input import TerminalInput  # it needs termios

        self._rounds += 1
        least = 1 if self._rounds == 1 else FEW_BYTES
        driver = self._driver if self._rounds <= ROUNDS else None
        if not isinstance(driver, TerminalInput) or not driver.deliver_typed(least):
            self.acquire_terminal()

    def acquire_terminal(self) -> None:
        """Own the terminal, which shows the first page until then; what was typed there follows as keys."""
        from opencode_tui.tui.terminal_input import TerminalInput  # it needs termios

        early = self._driver.acquire_terminal() if isinstance(self._driver, TerminalInput) else None
        if early is not None:
            self._first_screen = early
            self.set_timer(TYPED_S, self.show_frames)

    def show_frames(self) -> None:
        """Show the app in the place of the first page, once."""
        early, self._first_screen = self._first_screen, None
        if early is not None:
            self.begin_with(() if early.is_moved else shown_rows(early))

    def on_key_waits(self) -> None:
        """Own the terminal for a key that waits, once the engine is open, or to quit."""
        early = live()
        if early is not None and (self._can_use_keys or early.wants_to_quit):
            self.acquire_terminal()

    def ask_background(self) -> None:
        """Ask the terminal for its background, if it can answer."""
        ask = getattr(self._driver, "ask_background", None)
        if ask is not None and _is_rich_terminal():
            ask()

    def on_app_focus(self) -> None:
        """Ask for the background again, as the desktop may have switched between dark and light."""
        self.ask_background()

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

    def notify_terminal(self, words: str) -> None:
        """Ring the bell and show a notification of the terminal (OSC 9) while its window has no focus."""
        if not self.app_focus:
            self.bell()
            self._write(f"\x1b]9;{words}\x07")

    def _write(self, data: str) -> None:
        """Write an escape sequence to the terminal, if it supports more than colors."""
        if self._driver is not None and not self.is_headless and _is_rich_terminal():
            self._driver.write(data)

    def on_unmount(self) -> None:
        """Restore the terminal's title, and remove its progress."""
        self.title_line.end()
        self.progress.show("")

    def picture_forms(self) -> "Pictures":
        """Return what shows pictures; the first call asks the terminal how it does that."""
        if self._pictures is None:
            from opencode_tui.tui.pictures.forms import Pictures  # only for the first picture

            self._pictures = Pictures(self.shown_pictures)
            self._find_pictures()
        return self._pictures

    def use_pictures(self, how: str) -> None:
        """Show pictures as the setting `tui.images` says."""
        self._picture_setting = how
        if self._pictures is not None:
            self._find_pictures()

    def _find_pictures(self) -> None:
        ask = getattr(self._driver, "ask_pictures", None)
        is_asked = self._picture_setting != "blocks" and self.look.palette.depth != "none"
        if ask is None or not is_asked or not _is_rich_terminal():
            self._show_pictures(None)
        else:
            ask()
            self.set_timer(PICTURES_S, lambda: None if self._knows_pictures else self._show_pictures(None))

    def on_pictures_detected(self, event: "PicturesDetected") -> None:
        """Show pictures as the terminal says that it can."""
        self._knows_pictures = True
        self._show_pictures(event.terminal)

    def _show_pictures(self, terminal: "Terminal | None") -> None:
        """Show pictures as the terminal says, None for one that does not; half blocks need many colors."""
        from opencode_tui.tui.pictures.forms import Terminal

        depth, setting = self.look.palette.depth, self._picture_setting
        has_blocks = depth in ("truecolor", "256") and self.look.glyphs is not ASCII
        found = terminal or Terminal("blocks")
        if setting == "kitty" or setting == "sixel":
            found = found._replace(kind=setting)
        if depth == "none" or (found.kind == "blocks" and not has_blocks):
            found = found._replace(kind="none")
        self.picture_forms().use(found)

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


def _is_rich_terminal() -> bool:
    """Return whether the terminal supports, or at least ignores, escape sequences other than colors and cursor moves."""
    return os.environ.get("TERM", "dumb") not in ("dumb", "linux")


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
