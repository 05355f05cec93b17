"""The built-in theme: dark and light, with separate palettes for 256 and 16 colors."""

from rich.color import Color

from opencode_tui.tui.theme.palette import Depth, Palette, without_hues

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
