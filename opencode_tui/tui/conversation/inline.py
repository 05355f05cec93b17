"""Emphasis, code and links inside a paragraph, as pieces with their look."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.tui.conversation.render import RenderContext, Span

# Links in drawn lines: their style holds the target, for the mouse.

_HREF = "href"
_UNDERLINE = Style(underline=True)


def link_style(style: Style, href: str) -> Style:
    """Return a style that says where its text goes."""
    return style + Style.from_meta({_HREF: href})


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


_SPECIAL = re.compile(r"[*_`\[<&\\]|https?://")
_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
_MAX_URL = 60

Kind = Literal["text", "code", "link", "url"]


class Piece:
    """A text and how it looks; `href` is where a link goes."""

    __slots__ = ("bold", "href", "italic", "kind", "text")

    def __init__(
        self, text: str, kind: Kind = "text", *, bold: bool = False, italic: bool = False, href: str = ""
    ) -> None:
        self.text = text
        self.kind: Kind = kind
        self.bold = bold
        self.italic = italic
        self.href = href


def inline_spans(
    text: str, page: RenderContext, *, token: str = "assistant", bold: bool = False, italic: bool = False
) -> list[Span]:
    """Return a paragraph's text as spans; the text is safe already."""
    if not _SPECIAL.search(text):
        return [(text, page.style(token, bold=bold, italic=italic))]
    return [(piece.text, _style(piece, page, token, bold=bold, italic=italic)) for piece in parse_inline(text)]


@lru_cache(1024)
def parse_inline(text: str) -> Sequence[Piece]:
    """Return a paragraph's text as pieces; the rows of a table that grows are asked for again with each frame."""
    if not _SPECIAL.search(text):
        return [Piece(text)]
    pieces: list[Piece] = []
    tokens = _parser().parseInline(text)
    strong = slanted = 0
    href, start = "", 0
    for token in tokens[0].children or ():
        match token.type:
            case "text" | "html_inline" | "softbreak" | "hardbreak" | "text_special" | "entity":
                content = token.content if "break" not in token.type else " "
                _add_text(
                    pieces,
                    content,
                    Piece("", "link" if href else "text", bold=bool(strong), italic=bool(slanted), href=href),
                )
            case "code_inline":
                pieces.append(Piece(token.content, "code", href=href))
            case "strong_open" | "strong_close":
                strong += token.nesting
            case "em_open" | "em_close":
                slanted += token.nesting
            case "link_open":
                href, start = str(token.attrGet("href") or ""), len(pieces)
            case "link_close":
                _add_url(pieces, start, href)
                href = ""
            case "image":
                pieces.append(Piece(f"[image: {token.content or token.attrGet('src')}]"))
            case _:
                pieces.append(Piece(token.content))
    return pieces


def _add_text(pieces: list[Piece], text: str, like: Piece) -> None:
    at = 0
    if not like.href:
        for found in _URL.finditer(text):
            if found.start() > at:
                pieces.append(Piece(text[at : found.start()], bold=like.bold, italic=like.italic))
            pieces.append(Piece(found.group(), "link", href=found.group()))
            at = found.end()
    if at < len(text):
        pieces.append(Piece(text[at:], like.kind, bold=like.bold, italic=like.italic, href=like.href))


def _add_url(pieces: list[Piece], start: int, href: str) -> None:
    """Append the target of a link whose text does not show it."""
    words = "".join(piece.text for piece in pieces[start:])
    shown = href.removeprefix("mailto:")
    if not words:
        pieces.append(Piece(shown, "link", href=href))
    elif shown != words and not href.startswith("#"):
        short = shown if len(shown) <= _MAX_URL else shown[: _MAX_URL - 1] + "…"
        pieces.append(Piece(f" ({short})", "url", href=href))


def _style(piece: Piece, page: RenderContext, token: str, *, bold: bool, italic: bool) -> Style:
    names = {"code": "code_function", "link": "accent", "url": "muted"}
    style = page.style(names.get(piece.kind, token), bold=bold or piece.bold, italic=italic or piece.italic)
    return link_style(style, piece.href) if piece.href else style


@lru_cache(1)
def _parser() -> Any:
    from markdown_it import MarkdownIt  # with the first answer that has emphasis

    return MarkdownIt("commonmark", {"html": False})
