"""Styles of texts that a click acts on: where a link goes, and what shows all of its item."""

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.tui.output.hyperlink import linked

_HREF = "href"
_UNDERLINE = Style(underline=True)


def link_style(style: Style, href: str) -> Style:
    """Return a style that says where its text goes, to a click and to the terminal."""
    return linked(style + Style.from_meta({_HREF: href}), href)


UNFOLDS = Style.from_meta({"unfolds": True})
"""The style of a text whose click shows all of its item."""


def unfolds(style: Style | None) -> bool:
    """Return whether a click on the text shows all of its item."""
    return style is not None and bool(style.meta) and "unfolds" in style.meta


def href_of(style: Style | None) -> str:
    """Return the link target of a style, empty if there is none."""
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
