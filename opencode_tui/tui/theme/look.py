"""How everything on the screen looks: one palette, one set of glyphs, and whether things may move."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.glyphs import Glyphs, glyphs_for
from opencode_tui.tui.theme.palette import Depth, Palette


@dataclass(frozen=True, slots=True)
class Look:
    """What a widget needs to draw itself."""

    palette: Palette
    glyphs: Glyphs
    is_still: bool = False
    """Disable animations: the spinner is a static sign."""

    def words(self, text: str) -> str:
        """Return the program's own words with the separators of these glyphs."""
        return text.replace("·", self.glyphs.separator).replace("…", self.glyphs.ellipsis)


class HasLook(Protocol):
    """The app, as widgets see it for drawing."""

    look: Look


class InApp(Protocol):
    """A widget of such an app."""

    app: HasLook


def look_of(widget: object) -> Look:
    """Return the look of the app that a widget is in."""
    return cast("InApp", widget).app.look


def find_depth(environ: Mapping[str, str]) -> Depth:
    """Return how many colors the terminal says it shows."""
    if "NO_COLOR" in environ:
        return "none"
    term = environ.get("TERM", "").lower()
    if term in ("dumb", ""):
        return "none"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return "truecolor"
    return "256" if term.endswith("256color") or term in _RICH_TERMINALS else "16"


_RICH_TERMINALS = ("xterm-kitty", "alacritty", "foot", "wezterm", "ghostty", "xterm-ghostty")


def is_dark(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal's background is dark, as far as it says so (`COLORFGBG`); dark when it does not."""
    behind = environ.get("COLORFGBG", "").rpartition(";")[2]
    return not (behind.isdigit() and int(behind) in (7, *range(9, 16)))


def first_look(environ: Mapping[str, str], encoding: str | None) -> Look:
    """Return the look before the settings are known."""
    palette = built_in(is_dark(environ), find_depth(environ))
    return Look(palette, glyphs_for(encoding), is_still="OPENCODE_TUI_STILL" in environ)
