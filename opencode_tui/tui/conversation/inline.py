"""Emphasis, code and links inside a paragraph, as pieces with their look."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, cast

from rich.style import Style

from opencode_tui.entry_points import load
from opencode_tui.tui.conversation.line import RenderContext, Span
from opencode_tui.tui.conversation.links import link_style
from opencode_tui.tui.conversation.places import place_spans
from opencode_tui.tui.theme.glyphs import ASCII

_STRUCK = Style(strike=True)


_SPECIAL = re.compile(r"[*_`\[<&\\]|~~|https?://")
_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]}]")
_MAX_URL = 60

Kind = Literal["text", "code", "link", "url", "tildes"]


class Piece:
    """A text and how it looks; `href` is where a link goes. `tildes` are around a text that is struck through."""

    __slots__ = ("bold", "href", "italic", "kind", "struck", "text")

    def __init__(
        self,
        text: str,
        kind: Kind = "text",
        *,
        bold: bool = False,
        italic: bool = False,
        struck: bool = False,
        href: str = "",
    ) -> None:
        self.text = text
        self.kind: Kind = kind
        self.bold = bold
        self.italic = italic
        self.struck = struck
        self.href = href


def inline_spans(
    text: str, page: RenderContext, *, token: str = "assistant", bold: bool = False, italic: bool = False
) -> list[Span]:
    """Return a paragraph's text as spans; the text is safe already."""
    if "$" in text or "\\(" in text or "\\[" in text:
        text = _with_formulas(text, page)
    if not _SPECIAL.search(text):
        style = page.style(token, bold=bold, italic=italic)
        return [*place_spans(text, style, page)] if page.may_link(text) else [(text, style)]
    struck = page.look.glyphs.struck
    spans: list[Span] = []
    for piece in parse_inline(text):
        style = _style(piece, page, token, bold=bold, italic=italic)
        if piece.kind == "tildes":
            spans += [(struck, style)] if struck else []
        elif piece.href:
            spans.append((piece.text, style))
        else:
            spans += place_spans(piece.text, style, page)
    return spans


def _with_formulas(text: str, page: RenderContext) -> str:
    """Return a paragraph's text with its formulas as Unicode, where that is shown."""
    if page.look.glyphs is ASCII:
        return text
    with_formulas = cast("Callable[[str], str]", load("drawings.formulas"))
    return with_formulas(text)


@lru_cache(1024)
def parse_inline(text: str) -> Sequence[Piece]:
    """Return a paragraph's text as pieces; the rows of a table that grows are asked for again with each frame."""
    if not _SPECIAL.search(text):
        return [Piece(text)]
    pieces: list[Piece] = []
    tokens = _parser().parseInline(text)
    strong = slanted = struck = 0
    href, start = "", 0
    for token in tokens[0].children or ():
        match token.type:
            case "text" | "html_inline" | "softbreak" | "hardbreak" | "text_special" | "entity":
                content = token.content if "break" not in token.type else " "
                kind: Kind = "link" if href else "text"
                like = Piece("", kind, bold=bool(strong), italic=bool(slanted), struck=bool(struck), href=href)
                _add_text(pieces, content, like)
            case "code_inline":
                pieces.append(Piece(token.content, "code", struck=bool(struck), href=href))
            case "strong_open" | "strong_close":
                strong += token.nesting
            case "em_open" | "em_close":
                slanted += token.nesting
            case "s_open" | "s_close":
                struck += token.nesting
                pieces.append(Piece("~~", "tildes"))
            case "link_open":
                href, start = str(token.attrGet("href") or ""), len(pieces)
            case "link_close":
                _add_url(pieces, start, href)
                href = ""
            case "image":
                address = str(token.attrGet("src") or "")
                pieces.append(Piece(f"[image: {token.content or _short(address)}]", "link", href=href or address))
                if token.content:
                    pieces.append(Piece(f" ({_short(address)})", "url", href=address))
            case _:
                pieces.append(Piece(token.content))
    return pieces


def _add_text(pieces: list[Piece], text: str, like: Piece) -> None:
    at = 0
    if not like.href:
        for found in _URL.finditer(text):
            if found.start() > at:
                before = text[at : found.start()]
                pieces.append(Piece(before, bold=like.bold, italic=like.italic, struck=like.struck))
            pieces.append(Piece(found.group(), "link", struck=like.struck, href=found.group()))
            at = found.end()
    if at < len(text):
        bold, italic, struck = like.bold, like.italic, like.struck
        pieces.append(Piece(text[at:], like.kind, bold=bold, italic=italic, struck=struck, href=like.href))


def _add_url(pieces: list[Piece], start: int, href: str) -> None:
    """Append the target of a link whose text does not show it."""
    words = "".join(piece.text for piece in pieces[start:] if piece.kind != "tildes")
    shown = href.removeprefix("mailto:")
    if not words:
        pieces.append(Piece(shown, "link", href=href))
    elif shown != words and not href.startswith("#"):
        pieces.append(Piece(f" ({_short(shown)})", "url", href=href))


def _short(address: str) -> str:
    return address if len(address) <= _MAX_URL else address[: _MAX_URL - 1] + "…"


def _style(piece: Piece, page: RenderContext, token: str, *, bold: bool, italic: bool) -> Style:
    names = {"code": "code_function", "link": "accent", "url": "muted", "tildes": "muted"}
    style = page.style(names.get(piece.kind, token), bold=bold or piece.bold, italic=italic or piece.italic)
    style = style + _STRUCK if piece.struck else style
    return link_style(style, piece.href) if piece.href else style


@lru_cache(1)
def _parser() -> Any:
    from markdown_it import MarkdownIt  # with the first answer that has emphasis

    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
