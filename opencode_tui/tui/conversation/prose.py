"""Draws the blocks of an answer: paragraphs with emphasis, code and links, headings, code, quotes, tables."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, cast

from rich.style import Style

from opencode_tui.entry_points import load
from opencode_tui.text.cells import breaks, hard_breaks, width
from opencode_tui.tui.conversation.code import color_lines
from opencode_tui.tui.conversation.line import (
    TEXT,
    Line,
    LineBuilder,
    RenderContext,
    Span,
    joints,
    place_spans,
    slice_spans,
)
from opencode_tui.tui.conversation.links import link_style
from opencode_tui.tui.conversation.markdown import Block, Code, Paragraph, Rule, Table
from opencode_tui.tui.theme.look import ASCII

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


GAP = 2
MIN_COLUMN = 6


def draw_table(table: Table, page: RenderContext, begin: Callable[[], LineBuilder]) -> list[Line]:
    """Return the table's lines; `begin` starts a line at the table's left edge."""
    sources = [split_cells(line) for line in table.lines]
    count = max((len(row) for row in sources), default=0)
    has_head = table.above is None
    rows = [_cells(row, count, page, is_head=has_head and not number) for number, row in enumerate(sources)]
    above = [] if table.above is None else [_cells(split_cells(line), count, page) for line in table.above.lines]
    natural = [max((_width(row[column]) for row in (*above, *rows)), default=1) for column in range(count)]
    widths = fit_columns(natural, page.room - table.indent - 2 * table.quote - GAP * (count - 1))
    aligns = _aligns(table.delimiter)
    return [line for row in rows for line in _row(row, widths, aligns, begin)]


def fit_columns(natural: Sequence[int], room: int) -> list[int]:
    """Return the columns' widths: as they are when they fit, else the wide ones share what the narrow ones leave."""
    widths = list(natural)
    while sum(widths) > room and max(widths) > MIN_COLUMN:
        widest = max(widths)
        second = max((one for one in widths if one < widest), default=MIN_COLUMN)
        many = widths.count(widest)
        excess = sum(widths) - room
        target = max(MIN_COLUMN, second, widest - -(-excess // many))
        widths = [target if one == widest else one for one in widths]
    return widths


def _cells(row: list[str], count: int, page: RenderContext, *, is_head: bool = False) -> list[list[Span]]:
    cells = [inline_spans(cell, page, bold=is_head) if cell else [] for cell in row[:count]]
    return [*cells, *([[]] * (count - len(cells)))]


def _width(cell: list[Span]) -> int:
    return sum(width(text) for text, _ in cell)


def _row(row: list[list[Span]], widths: list[int], aligns: list[str], begin: Callable[[], LineBuilder]) -> list[Line]:
    wrapped: list[list[list[Span]]] = []
    for cell, room in zip(row, widths, strict=True):
        plain = "".join(text for text, _ in cell)
        wrapped.append(slice_spans(cell, breaks(plain, room)) if plain else [[]])
    height = max((len(cell) for cell in wrapped), default=0)
    lines: list[Line] = []
    for number in range(height):
        pen = begin()
        column = pen.at
        for index, (cell, room) in enumerate(zip(wrapped, widths, strict=True)):
            spans = cell[number] if number < len(cell) else []
            pen.move(column + _offset(spans, room, aligns[index] if index < len(aligns) else "<")).put_all(spans)
            column += room + GAP
        lines.append(pen.line())
    return lines


def _offset(spans: list[Span], room: int, align: str) -> int:
    free = max(0, room - _width(spans))
    return free if align == ">" else free // 2 if align == "^" else 0


def split_cells(line: str) -> list[str]:
    """Return the cells of a table's line; a bar after a backslash, or in code, is text."""
    if "`" not in line and "\\" not in line:
        text = line.strip(" ")
        text = text[text.startswith("|") : len(text) - (len(text) > 1 and text.endswith("|"))]
        return [cell.strip() for cell in text.split("|")]
    cells: list[str] = []
    cell: list[str] = []
    is_code = False
    for index, letter in enumerate(line.strip(" ")):
        if letter == "`":
            is_code = not is_code
        if letter == "|" and not is_code and (index == 0 or line[index - 1] != "\\"):
            cells.append("".join(cell).strip())
            cell = []
            continue
        cell.append(letter)
    cells.append("".join(cell).strip())
    if cells and not cells[0] and line.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1] and line.rstrip().endswith("|"):
        cells = cells[:-1]
    return [cell.replace("\\|", "|") for cell in cells]


def _aligns(line: str) -> list[str]:
    marks = {(True, True): "^", (False, True): ">"}
    return [marks.get((cell.startswith(":"), cell.endswith(":")), "<") for cell in split_cells(line)]


DiagramLines = Callable[[Sequence[str], int], list[str] | None]
"""What the extra for diagrams is: it returns the lines of a source for a room, None for one that it cannot draw."""

CODE_INDENT = 2
MIN_ROOM = 12


def draw_block(block: Block, page: RenderContext, *, token: str = "assistant") -> list[Line]:
    """Return a block's lines, the empty row above it among them."""
    lines: list[Line] = [Line(page.blank())] if block.gap else []
    match block:
        case Paragraph():
            lines += _paragraph(block, page, token)
        case Code():
            lines += _code(block, page)
        case Table():
            lines += draw_table(block, page, lambda: _begin(block, page))
        case Rule():
            room = page.prose - 2 * block.quote
            rule = page.look.glyphs.rule * room
            lines.append(_begin(block, page).put(rule, page.style("border")).line())
        case _:
            pass
    return lines


def estimate_block(block: Block, page: RenderContext) -> int:
    """Return about how many lines a block takes; exact for most."""
    room = max(MIN_ROOM, page.prose - block.indent - 2 * block.quote)
    match block:
        case Paragraph():
            return block.gap + 1 + sum(len(line) + 1 for line in block.lines) // (room + 1)
        case Code():
            room = max(MIN_ROOM, page.room - block.indent - CODE_INDENT)
            return block.gap + sum(1 + (len(line) - 1) // room if line else 1 for line in block.lines)
        case Table():
            return block.gap + len(block.lines)
        case _:
            return block.gap + 1


def add_caret(lines: list[Line], page: RenderContext) -> None:
    """Put the caret after the last character of growing text."""
    if not lines or page.is_cut:
        return
    last = lines[-1].strip
    end = width(last.text.rstrip())
    caret = LineBuilder(page).put(page.look.glyphs.caret, page.style("text")).line().strip
    if end < page.width - 1:
        lines[-1].strip = last.join(
            [last.crop(0, max(end, TEXT)), caret.crop(0, 1), last.crop(max(end, TEXT) + 1, page.width)]
        )


def _begin(block: Block, page: RenderContext) -> LineBuilder:
    """Start a line at the block's text: quote bars drawn, the indent left empty."""
    pen = LineBuilder(page)
    for number in range(block.quote):
        pen.move(TEXT + 2 * number).put(page.look.glyphs.output, page.style("guide"))
    return pen.move(TEXT + 2 * block.quote + block.indent).begin_copy()


def _paragraph(block: Paragraph, page: RenderContext, token: str) -> list[Line]:
    text = block.text
    room = max(MIN_ROOM, page.prose - block.indent - 2 * block.quote)
    spans = inline_spans(text, page, token="muted" if block.quote else token, bold=bool(block.level))
    if block.task and not _has_box(block, page):
        spans = [(f"{_box(block, page)} ", page.style("muted")), *spans]
    plain = spans[0][0] if len(spans) == 1 else "".join(piece for piece, _ in spans)
    cuts = breaks(plain, room)
    lines: list[Line] = []
    for row, joint in zip(slice_spans(spans, cuts), joints(plain, cuts), strict=True):
        pen = _marked(block, page) if block.mark and not lines else _begin(block, page)
        lines.append(pen.put_all(row).line(joint=joint))
    return lines


def _marked(block: Paragraph, page: RenderContext) -> LineBuilder:
    pen = LineBuilder(page)
    for number in range(block.quote):
        pen.move(TEXT + 2 * number).put(page.look.glyphs.output, page.style("guide"))
    pen.move(TEXT + 2 * block.quote + block.indent - len(block.mark) - 1).begin_copy()
    if block.task and _has_box(block, page):
        return pen.put(f"{_box(block, page)} ", page.style("success" if block.task == "x" else "muted"))
    mark = page.look.glyphs.bullet if block.mark == "•" else block.mark
    return pen.put(f"{mark} ", page.style("guide" if block.mark == "•" else "muted"))


def _box(block: Paragraph, page: RenderContext) -> str:
    return page.look.glyphs.checked if block.task == "x" else page.look.glyphs.unchecked


def _has_box(block: Paragraph, page: RenderContext) -> bool:
    """Return whether a task's box is drawn instead of its bullet: a number stays, and a box of several cells has no room."""
    return block.mark == "•" and width(_box(block, page)) == 1


def _diagram(block: Code, page: RenderContext, room: int) -> list[str]:
    """Return the boxes of a small diagram of mermaid; empty for what is shown as its source."""
    if block.language != "mermaid" or not block.is_whole or page.look.glyphs is ASCII:
        return []
    diagram_lines = cast("DiagramLines", load("drawings.diagram"))  # few answers have any
    return diagram_lines(block.lines, room) or []


def _code(block: Code, page: RenderContext) -> list[Line]:
    column = TEXT + 2 * block.quote + block.indent
    room = max(MIN_ROOM, page.edge - 1 - column - CODE_INDENT)
    lines: list[Line] = []
    for row in _diagram(block, page, room):
        pen = LineBuilder(page, tone="surface", tone_from=column)
        lines.append(pen.move(column + CODE_INDENT).begin_copy().put(row, page.style("text", "surface")).line())
    if lines:
        return lines
    for pieces in color_lines(block.lines, block.language):
        spans: list[Span] = [
            (text, page.style(token, "surface", italic=token == "code_comment")) for text, token in pieces
        ]
        plain = "".join(text for text, _ in pieces)
        cuts = hard_breaks(plain, room)
        for row, joint in zip(slice_spans(spans, cuts), joints(plain, cuts), strict=True):
            pen = LineBuilder(page, tone="surface", tone_from=column)
            lines.append(pen.move(column + CODE_INDENT).begin_copy().put_all(row).line(joint=joint))
    return lines
