"""The look of the screen: a palette, a set of glyphs, and whether animations are enabled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from opencode_tui.tui.theme.built_in import built_in
from opencode_tui.tui.theme.glyphs import Glyphs, glyphs_for
from opencode_tui.tui.theme.palette import Depth, Palette

if TYPE_CHECKING:
    from textual.message_pump import MessagePump


@dataclass(frozen=True, slots=True)
class Look:
    """The inputs of a widget's drawing."""

    palette: Palette
    glyphs: Glyphs
    is_still: bool = False
    """Disable animations: the spinner is a static sign."""

    def words(self, text: str) -> str:
        """Return the program's own words with the separators of these glyphs."""
        return text.replace("·", self.glyphs.separator).replace("…", self.glyphs.ellipsis)


class HasLook:
    """The app, as the drawing of widgets uses it."""

    look: Look


def look_of(widget: "MessagePump") -> Look:
    """Return the look of the app that a widget is in."""
    return cast("HasLook", widget.app).look


def find_depth(environ: Mapping[str, str]) -> Depth:
    """Return the number of colors that the terminal reports."""
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
    """Return whether the terminal's background is dark, by `COLORFGBG`; dark if it is not set."""
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return not (background.isdigit() and int(background) in (7, *range(9, 16)))


def first_look(environ: Mapping[str, str], encoding: str | None, *, dark: bool | None = None) -> Look:
    """Return the look before the settings are known; `dark` is what the terminal reported about its background before."""
    palette = built_in(is_dark(environ) if dark is None else dark, find_depth(environ))
    glyphs = glyphs_for(encoding, ascii_wanted=_is_c_locale(environ))
    return Look(palette, glyphs, is_still="OPENCODE_TUI_STILL" in environ)


def _is_c_locale(environ: Mapping[str, str]) -> bool:
    """Return whether the user asks for the C locale, in which Python encodes as UTF-8 nevertheless."""
    names = (environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next(filter(None, names), "") in ("C", "POSIX")
