"""The columns and styles of a conversation line, and inline marks as styled spans. Source: design, visual, section 2."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import fitting, width
from opencode_tui.tui.theme.look import Look

GUTTER, TEXT, SIGN, BODY = 1, 3, 8, 10
"""Columns of the state's sign, of every text, of a changed line's sign (and the output's guide), and of arguments and bodies."""

PROSE_WIDTH = 88
LINE_WIDTH = 120
"""Cells that prose and tool lines use of a wide window."""

Span = tuple[str, Style]
"""A safe text with its full style."""


@dataclass(slots=True)
class Line:
    """A drawn line. `copies_from` is the character where a copy of it starts.

    `joint` parts it from the next line in a copy: a line feed, or, where a line of the text was wrapped, what was there.
    `target` is where the sought text starts, counted from `copies_from`; −1 in all other lines.
    """

    strip: Strip
    copies_from: int = 0
    joint: str = "\n"
    target: int = -1


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The inputs of all drawing: a width, a look, the folder that paths are relative to.

    `is_cut` mutes all: the part that an undo would remove. `is_focused` is whether the keys act on what is drawn,
    `focus_key` the key that makes them act on the conversation.
    """

    width: int
    look: Look
    root: str = ""
    is_cut: bool = False
    is_focused: bool = False
    focus_key: str = ""
    _blanks: dict[bool, Strip] = field(default_factory=dict[bool, Strip], init=False, compare=False, repr=False)

    @property
    def right(self) -> int:
        """The last cell of facts."""
        return max(TEXT + 8, min(self.width, LINE_WIDTH) - 3)

    @property
    def edge(self) -> int:
        """The first cell after the area with a background tone."""
        return self.right + 2

    @property
    def room(self) -> int:
        """Cells from the text's column to the right edge."""
        return self.right - TEXT + 1

    @property
    def prose(self) -> int:
        """Cells of a line of prose."""
        return min(PROSE_WIDTH, self.room)

    def style(
        self, token: str, on: str = "background", *, bold: bool = False, italic: bool = False, underline: bool = False
    ) -> Style:
        """Return the full style of a text."""
        if self.is_cut and token != "border":
            token, on, bold, italic = "muted", "background", False, False
        return self.look.palette.style(token, on, bold=bold, italic=italic, underline=underline)

    def area(self, token: str = "background") -> Style:
        """Return the style of an empty cell."""
        return self.look.palette.area("background" if self.is_cut else token)

    def blank(self) -> Strip:
        """Return an empty row."""
        found = self._blanks.get(self.is_cut)
        if found is None:
            found = self._blanks[self.is_cut] = Strip([Segment(" " * self.width, self.area())], self.width)
        return found


class LineBuilder:
    """Draws one line from left to right; what is not drawn is filled with the tone of its place."""

    def __init__(self, page: RenderContext, *, tone: str = "background", tone_from: int = TEXT) -> None:
        self._page = page
        self._tone = tone
        self._tone_from = tone_from
        self._segments: list[Segment] = []
        self.at = 0
        self._letters = 0
        self.copies_from = 0

    def put(self, text: str, style: Style) -> "LineBuilder":
        """Draw a text where the pen is."""
        if text:
            self._segments.append(Segment(text, style))
            self.at += width(text)
            self._letters += len(text)
        return self

    def put_all(self, spans: "list[Span]") -> "LineBuilder":
        """Draw texts one after another."""
        for text, style in spans:
            self.put(text, style)
        return self

    def move(self, column: int) -> "LineBuilder":
        """Go to a column further right."""
        page = self._page
        if self.at < self._tone_from < column:
            self._fill(self._tone_from, page.area())
        if self.at < min(column, page.edge):
            self._fill(min(column, page.edge), page.area(self._tone if self.at >= self._tone_from else "background"))
        self._fill(column, page.area())
        return self

    def begin_copy(self) -> "LineBuilder":
        """Start the text that a copy of the line contains."""
        self.copies_from = self._letters
        return self

    def line(self, *, joint: str = "\n") -> Line:
        """Return the line, padded to the page's width."""
        page = self._page
        if self.at < page.width:
            self.move(page.width)
        strip = Strip(self._segments, self.at)
        if self.at > page.width:
            strip = strip.crop(0, page.width)
        return Line(strip, self.copies_from, joint)

    def _fill(self, column: int, style: Style) -> None:
        if column > self.at:
            self.put(" " * (column - self.at), style)


def joints(text: str, cuts: list[tuple[int, int]]) -> list[str]:
    """Return what parts each wrapped line of a text from the next in a copy."""
    between = [" " if text[end:start] else "" for (_, end), (start, _) in pairwise(cuts)]
    return [*between, "\n"]


def slice_spans(spans: list[Span], cuts: list[tuple[int, int]]) -> list[list[Span]]:
    """Return the spans of each stretch of the text that the spans make together; stretches are in order."""
    lines: list[list[Span]] = []
    index, base = 0, 0
    for start, end in cuts:
        line: list[Span] = []
        while index < len(spans) and base + len(spans[index][0]) <= start:
            base += len(spans[index][0])
            index += 1
        at, offset = index, base
        while at < len(spans) and offset < end:
            text, style = spans[at]
            piece = text[max(0, start - offset) : end - offset]
            if piece:
                line.append((piece, style))
            offset += len(text)
            at += 1
        lines.append(line)
    return lines


def clip_spans(spans: list[Span], room: int, mark: Span) -> list[Span]:
    """Return the spans, their end cut off with a mark when they take more than `room` cells."""
    if sum(width(text) for text, _ in spans) <= room:
        return spans
    kept: list[Span] = []
    left = room - width(mark[0])
    for text, style in spans:
        count = fitting(text, left)
        if count:
            kept.append((text[:count], style))
        left -= width(text[:count])
        if count < len(text):
            break
    return [*kept, mark]


# Emphasis, code and links inside a paragraph, as pieces with their look.

_HREF = "href"
_UNDERLINE = Style(underline=True)
_STRUCK = Style(strike=True)


def link_style(style: Style, href: str) -> Style:
    """Return a style that says where its text goes."""
    return style + Style.from_meta({_HREF: href})


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
    if not _SPECIAL.search(text):
        return [(text, page.style(token, bold=bold, italic=italic))]
    struck = page.look.glyphs.struck
    return [
        (struck if piece.kind == "tildes" else piece.text, _style(piece, page, token, bold=bold, italic=italic))
        for piece in parse_inline(text)
        if struck or piece.kind != "tildes"
    ]


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
