"""A theme as its dozen basic colours, and the palette that grows from them."""

from dataclasses import dataclass

from opencode_tui.tui.theme.mixing import contrast, mix, readable
from opencode_tui.tui.theme.palette import Depth, Palette


@dataclass(frozen=True, slots=True)
class Seed:
    """`#rrggbb` each; `keyword` to `builtin` colour code."""

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


def grow(name: str, seed: Seed, depth: Depth) -> Palette:
    """The whole palette: areas are shades of the page, and every text can be read on each of them."""
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

    def read(colour: str) -> str:
        return readable(colour, areas, text)

    def on_tone(colour: str, tone: str) -> str:
        return readable(colour, (*areas, tone), text)

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
