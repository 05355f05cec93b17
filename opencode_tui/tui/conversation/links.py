"""Links in drawn lines: their style carries where they go, so that the mouse can ask."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

_HREF = "href"
_UNDERLINE = Style(underline=True)


def link_style(style: Style, href: str) -> Style:
    """Return a style that says where its text goes."""
    return style + Style.from_meta({_HREF: href})


def href_of(style: Style | None) -> str:
    """Return where a text of this style goes, empty when it is no link."""
    return str(style.meta.get(_HREF) or "") if style is not None and style.meta else ""


def underline_link(strip: Strip, href: str) -> Strip:
    """Return a line with the texts that go there underlined."""
    segments = list(strip)
    if not any(href_of(segment.style) == href for segment in segments):
        return strip
    marked = (
        Segment(text, style + _UNDERLINE) if style is not None and href_of(style) == href else Segment(text, style)
        for text, style, _ in segments
    )
    return Strip(marked, strip.cell_length)
