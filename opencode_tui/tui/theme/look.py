"""The look of the screen: palettes, with the two that are built in, glyphs, and whether animations are enabled."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal, cast

from rich.color import Color
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


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One cell each in the Unicode set, `struck` none; `spinner` is a sequence of frames."""

    done: str = "✓"
    running: str = "●"
    waiting: str = "○"
    failed: str = "✗"
    interrupted: str = "■"
    asks: str = "!"
    pruned: str = "−"
    undone: str = "↶"
    sandbox: str = "▣"
    no_sandbox: str = "□"
    pinned: str = "★"
    shared: str = "⇗"
    retried: str = "↻"
    compacted: str = "≡"
    user_bar: str = "▎"
    turn_rail: str = "┃"
    step_rail: str = "│"
    output: str = "│"
    cut: str = "╎"
    branch: str = "├"
    last_branch: str = "└"
    twig: str = "╴"
    gauge_used: str = "━"
    gauge_free: str = "─"
    rule: str = "─"
    shades: tuple[str, str, str, str, str] = ("█", "▓", "▒", "░", "·")
    folded: str = "▸"
    unfolded: str = "▾"
    goes_on: str = "›"
    ellipsis: str = "…"
    separator: str = "·"
    plus: str = "+"
    minus: str = "−"
    down: str = "↓"
    becomes: str = "→"
    caret: str = "▍"
    bullet: str = "•"
    unchecked: str = "☐"
    checked: str = "☑"
    struck: str = ""
    """Around a text that is struck through, where the terminal may not draw the stroke."""
    thumb: str = "▐"
    divider: str = "│"
    """Separates the sidebar from the page when there are no background tones."""
    spinner: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


UNICODE = Glyphs()

ASCII = Glyphs(
    done="v",
    running="*",
    waiting="o",
    failed="x",
    interrupted="#",
    asks="!",
    pruned="-",
    undone="<",
    sandbox="#",
    no_sandbox="!",
    pinned="*",
    shared="^",
    retried="~",
    compacted="=",
    user_bar="|",
    turn_rail="|",
    step_rail="|",
    output="|",
    cut=":",
    branch="|",
    last_branch="`",
    twig="-",
    gauge_used="#",
    gauge_free="-",
    rule="-",
    shades=("#", "=", "+", "-", "."),
    folded=">",
    unfolded="v",
    goes_on=">",
    ellipsis="~",
    separator=".",
    plus="+",
    minus="-",
    down="v",
    becomes="to",
    caret="_",
    bullet="-",
    unchecked="[ ]",
    checked="[x]",
    struck="~~",
    thumb="#",
    divider="|",
    spinner=("|", "/", "-", "\\"),
)


def glyphs_for(encoding: str | None, *, ascii_wanted: bool = False) -> Glyphs:
    """Return the Unicode set for a UTF-8 terminal, the ASCII set otherwise or with `ascii_wanted`."""
    utf8 = (encoding or "").lower().replace("-", "").replace("_", "") == "utf8"
    return UNICODE if utf8 and not ascii_wanted else ASCII


def todo_sign(status: str, glyphs: Glyphs) -> tuple[str, str]:
    """Return the sign of a todo's status, and the token of its color."""
    return {
        "completed": (glyphs.done, "success"),
        "in_progress": (glyphs.running, "accent"),
        "cancelled": (glyphs.interrupted, "muted"),
    }.get(status, (glyphs.waiting, "muted"))


def change_letter(status: str | None) -> str:
    """Return the letter before a changed file."""
    return {"added": "A", "deleted": "D"}.get(status or "", "M")


FIRST_GRAY = 232

DARK = Palette(
    name="opencode-tui",
    dark=True,
    depth="truecolor",
    background="#15161b",
    panel="#1a1b21",
    surface="#20222a",
    selection="#302d4d",
    border="#363944",
    guide="#565a69",
    text="#dcdfe6",
    muted="#979dad",
    accent="#ada0f7",
    user="#ada0f7",
    assistant="#dcdfe6",
    success="#86cf9c",
    warning="#e8bb6c",
    error="#f48787",
    diff_add="#a6dcb2",
    diff_del="#f5a9a9",
    diff_add_line="#18281f",
    diff_add_word="#27513a",
    diff_del_line="#321e22",
    diff_del_word="#643038",
    code_keyword="#c9aef5",
    code_string="#b3cf98",
    code_number="#e6b98a",
    code_function="#98bff0",
    code_builtin="#8fcdd0",
    code_comment="#979dad",
)

LIGHT = Palette(
    name="opencode-tui",
    dark=False,
    depth="truecolor",
    background="#fcfbf9",
    panel="#f6f5f2",
    surface="#f0eeea",
    selection="#e1ddfa",
    border="#d6d2ca",
    guide="#a9a59c",
    text="#26272c",
    muted="#5d616a",
    accent="#5646c0",
    user="#5646c0",
    assistant="#26272c",
    success="#24713a",
    warning="#855200",
    error="#b72b35",
    diff_add="#1b5a2d",
    diff_del="#8d1f2a",
    diff_add_line="#e4f4e6",
    diff_add_word="#b5e2bf",
    diff_del_line="#fbe8e8",
    diff_del_word="#f4bfc2",
    code_keyword="#7233a8",
    code_string="#3d6614",
    code_number="#874b00",
    code_function="#1b57a3",
    code_builtin="#17656a",
    code_comment="#5d616a",
)


def _cube(number: int) -> str:
    """Return one of the 256 colors as a value that the library maps back to the same number; grays have 25 equal steps."""
    if number < FIRST_GRAY:
        return Color.from_ansi(number).get_truecolor().hex
    level = round(255 * (number - FIRST_GRAY + 1) / 25)
    return f"#{level:02x}{level:02x}{level:02x}"


def _palette_256(dark: bool) -> Palette:
    """Return colors chosen by hand: the nearest ones would make tones black, areas equal and the selection purple."""
    areas = (233, 234, 235, 237, 238, 241) if dark else (231, 255, 254, 189, 251, 247)
    colors = (253, 248, 147, 114, 179, 210, 151, 217) if dark else (235, 240, 55, 22, 58, 124, 22, 88)
    code = (183, 150, 180, 111, 116) if dark else (90, 58, 89, 25, 23)
    # The one dark green leaves muted text at 3.0: in the dark a changed line has a color, no tone.
    tones = ("", "", "", "") if dark else (_cube(194), _cube(157), _cube(224), _cube(217))
    background, panel, surface, selection, border, guide = map(_cube, areas)
    text, muted, accent, success, warning, error, add, remove = map(_cube, colors)
    keyword, string, number, function, built_in = map(_cube, code)
    return Palette(
        name="opencode-tui",
        dark=dark,
        depth="256",
        background=background,
        panel=panel,
        surface=surface,
        selection=selection,
        border=border,
        guide=guide,
        text=text,
        muted=muted,
        accent=accent,
        user=accent,
        assistant=text,
        success=success,
        warning=warning,
        error=error,
        diff_add=add,
        diff_del=remove,
        diff_add_line=tones[0],
        diff_add_word=tones[1],
        diff_del_line=tones[2],
        diff_del_word=tones[3],
        code_keyword=keyword,
        code_string=string,
        code_number=number,
        code_function=function,
        code_builtin=built_in,
        code_comment=muted,
    )


def _palette_16(dark: bool) -> Palette:
    """Return the terminal's own colors. Muted is dim, never bright black, which some terminals' themes use as background."""
    accent, error = ("color(13)", "color(9)") if dark else ("color(5)", "color(1)")
    good = "color(10)" if dark else "bold"
    return Palette(
        name="opencode-tui",
        dark=dark,
        depth="16",
        background="",
        panel="",
        surface="",
        selection="reverse",
        border="dim",
        guide="dim",
        text="",
        muted="dim",
        accent=accent,
        user=accent,
        assistant="",
        success=good,
        warning="color(11)" if dark else "bold",
        error=error,
        diff_add=good,
        diff_del=error,
        diff_add_line="",
        diff_add_word="",
        diff_del_line="",
        diff_del_word="",
        code_keyword="",
        code_string="",
        code_number="",
        code_function="bold",
        code_builtin="",
        code_comment="dim",
    )


def built_in(dark: bool, depth: Depth) -> Palette:
    """Return the built-in theme at a depth; `none` has no colors."""
    if depth == "truecolor":
        return DARK if dark else LIGHT
    if depth == "256":
        return _palette_256(dark)
    sixteen = _palette_16(dark)
    return sixteen if depth == "16" else without_hues(sixteen)


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
