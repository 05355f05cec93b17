"""The colors of one theme at one color depth, by purpose, and the styles made of them."""

from dataclasses import dataclass, field, fields, replace
from typing import Literal

from rich.style import Style

Depth = Literal["truecolor", "256", "16", "none"]


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles in the language of rich, by purpose: `#979dad`, `color(13)`, `dim`, `bold`, `reverse`; empty means the default.

    With 16 colors and with none there are no background tones (empty areas), the selection is reverse video and muted text is
    dim, so a token is a style, not always a color: ask `style` instead of reading the words.
    """

    name: str
    dark: bool
    depth: Depth
    background: str
    panel: str
    surface: str
    selection: str
    border: str
    guide: str
    text: str
    muted: str
    accent: str
    user: str
    assistant: str
    success: str
    warning: str
    error: str
    diff_add: str
    diff_del: str
    diff_add_line: str
    diff_add_word: str
    diff_del_line: str
    diff_del_word: str
    code_keyword: str
    code_string: str
    code_number: str
    code_function: str
    code_builtin: str
    code_comment: str
    _made: dict[tuple[object, ...], Style] = field(
        default_factory=dict[tuple[object, ...], Style], compare=False, repr=False
    )

    @property
    def tones(self) -> bool:
        """Whether areas have background tones; otherwise rules and reverse video separate them."""
        return bool(self.surface)

    @property
    def line_tones(self) -> bool:
        """Whether a changed line has its own background; otherwise the line has the color of `diff_add` or `diff_del`."""
        return bool(self.diff_add_line)

    def style(
        self, token: str, on: str = "background", *, bold: bool = False, italic: bool = False, underline: bool = False
    ) -> Style:
        """Return the style of a text token on an area token; cached.

        Raises:
            AttributeError: the token does not exist.
        """
        key = (token, on, bold, italic, underline)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._make(token, on) + Style(
                bold=bold or None, italic=italic or None, underline=underline or None
            )
        return found

    def area(self, token: str) -> Style:
        """Return the style of an empty cell of an area."""
        return self.style("text", token)

    def _make(self, token: str, on: str) -> Style:
        background: str = getattr(self, on) or self.background  # without its own background: that of the page
        if background == "reverse":  # the hue would be lost in it, and dim text on it unreadable
            return Style(reverse=True)
        front: str = getattr(self, token)
        return Style.parse(front) + (Style.parse(f"on {background}") if background else Style.null())


def without_hues(palette: Palette) -> Palette:
    """Return the styles with attributes only (`NO_COLOR`): bold for emphasis, dim for muted text, reverse for the selection."""
    loud = {
        "accent": "bold",
        "user": "bold",
        "warning": "bold",
        "error": "bold",
        "diff_add": "bold",
        "muted": "dim",
        "guide": "dim",
        "border": "dim",
    }
    kept = {"selection": "reverse", "code_comment": "dim"}
    words = {one.name: "" for one in fields(palette) if one.name not in {"name", "dark", "depth", "_made"}}
    return replace(palette, depth="none", _made={}, **{**words, **loud, **kept})  # pyright: ignore[reportArgumentType] - names come from the class itself
