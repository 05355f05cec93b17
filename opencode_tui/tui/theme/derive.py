"""The basic colors of a theme, and the palette derived from them."""

from collections.abc import Mapping
from dataclasses import dataclass

from opencode_tui.tui.theme.look import Depth, Palette

Rgb = tuple[int, int, int]

READABLE = 4.5
"""Minimum WCAG contrast of text that carries information."""


def parse(color: str) -> Rgb:
    """Return the parts of `#rrggbb`. Raises ValueError for anything else."""
    if len(color) != 7 or color[0] != "#":
        raise ValueError(f"{color!r} is not a color of the form #rrggbb")
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def to_hex(color: Rgb) -> str:
    """Return `#rrggbb`."""
    return "#{:02x}{:02x}{:02x}".format(*color)


def mix(first: str, second: str, share: float) -> str:
    """Return a mix of two colors; `share` is that of the second one."""
    pairs = zip(parse(first), parse(second), strict=True)
    red, green, blue = (round(one + (other - one) * share) for one, other in pairs)
    return to_hex((red, green, blue))


def contrast(first: str, second: str) -> float:
    """Return the WCAG ratio of two colors, 1 to 21."""
    one, other = _luminance(first), _luminance(second)
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def readable(color: str, areas: tuple[str, ...], towards: str, ratio: float = READABLE) -> str:
    """Return the color, moved towards another one until it is readable on all areas."""
    for step in range(21):
        found = mix(color, towards, step / 20)
        if all(contrast(found, area) >= ratio for area in areas):
            return found
    return towards


def _luminance(color: str) -> float:
    red, green, blue = (_linear(part / 255) for part in parse(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


@dataclass(frozen=True, slots=True)
class Seed:
    """`#rrggbb` each; `keyword` to `builtin` color code."""

    background: str
    text: str
    muted: str
    accent: str
    success: str
    warning: str
    error: str
    keyword: str
    string: str
    number: str
    function: str
    builtin: str


Schemes = Mapping[str, tuple[Seed, Seed | None]]
"""Well-known color schemes by name, dark and light; None where a scheme is only dark."""


def derive_palette(name: str, seed: Seed, depth: Depth) -> Palette:
    """Return the full palette: areas are shades of the background, and all text is readable on each of them."""
    page, ink = seed.background, seed.text
    panel, surface = mix(page, ink, 0.025), mix(page, ink, 0.055)
    dark = contrast(page, "#000000") < contrast(page, "#ffffff")
    selection = mix(page, seed.accent, 0.22)
    areas = (page, panel, surface, selection)
    strong = "#ffffff" if dark else "#000000"
    text = readable(ink, areas, strong, 7.0 if contrast(ink, page) >= 8 else 5.0)
    tones = (
        mix(page, seed.success, 0.12),
        mix(page, seed.success, 0.28),
        mix(page, seed.error, 0.12),
        mix(page, seed.error, 0.28),
    )

    def read(color: str) -> str:
        return readable(color, areas, text)

    def on_tone(color: str, tone: str) -> str:
        return readable(color, (*areas, tone), text)

    return Palette(
        name=name,
        dark=dark,
        depth=depth,
        background=page,
        panel=panel,
        surface=surface,
        selection=selection,
        border=mix(page, ink, 0.16),
        guide=mix(page, ink, 0.34),
        text=text,
        muted=read(seed.muted),
        accent=read(seed.accent),
        user=read(seed.accent),
        assistant=text,
        success=read(seed.success),
        warning=read(seed.warning),
        error=read(seed.error),
        diff_add=on_tone(mix(seed.success, text, 0.25), tones[0]),
        diff_del=on_tone(mix(seed.error, text, 0.25), tones[2]),
        diff_add_line=tones[0],
        diff_add_word=tones[1],
        diff_del_line=tones[2],
        diff_del_word=tones[3],
        code_keyword=read(seed.keyword),
        code_string=read(seed.string),
        code_number=read(seed.number),
        code_function=read(seed.function),
        code_builtin=read(seed.builtin),
        code_comment=read(seed.muted),
    )
