"""The app as the owner of its terminal: when it begins to show frames, what it asks the terminal, and pictures."""

import os
from typing import TYPE_CHECKING

from textual.driver import Driver

from opencode_tui.instant.screen import InstantScreen, live
from opencode_tui.tui.first_page import shown_rows
from opencode_tui.tui.options import Ending
from opencode_tui.tui.output.display import TerminalApp
from opencode_tui.tui.terminal_title import TerminalProgress, TerminalTitle
from opencode_tui.tui.theme.look import ASCII, HasLook, Look

COMPLETE_S = 2.0
"""Seconds from the open engine on that the first page is shown, if the start page is not complete before."""

PICTURES_S = 2.0
"""Seconds after which a terminal that does not answer gets half blocks."""

TYPED_S = 1.0
"""Seconds after which the app is shown although not all typed keys were handled."""

DELIVERED_S, FEW_BYTES, ROUNDS = 5.0, 4, 3
"""How long, in seconds, the first page shows keys while the app draws those before them. If fewer than `FEW_BYTES` have arrived by
then, the app takes the terminal at once; otherwise it draws them first, at most `ROUNDS` times."""

if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Pictures, Terminal
    from opencode_tui.tui.terminal_input import PicturesDetected


class TerminalOwner(HasLook, TerminalApp[Ending], inherit_bindings=False):
    """What needs the terminal itself."""

    def __init__(self, look: Look) -> None:
        self.look = look
        # NO_COLOR: Textual's filter for colors of the terminal; the other one would turn its default color into black
        super().__init__(ansi_color=look.palette.depth == "none" or None)
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
        """Own the terminal once what was typed until now is drawn, behind the first page, which still shows keys.

        The first keys cost the app several times more than all others; only those that follow wait for the change of owners.
        """
        if self._rounds == 0:
            self.set_timer(DELIVERED_S, self.acquire_terminal)
            self.acquire_after_typed()

    def acquire_after_typed(self) -> None:
        """Have the app draw what was typed since, or own the terminal if that is little; a `TypedDelivered` message follows."""
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


def _is_rich_terminal() -> bool:
    """Return whether the terminal supports, or at least ignores, escape sequences other than colors and cursor moves."""
    return os.environ.get("TERM", "dumb") not in ("dumb", "linux")
