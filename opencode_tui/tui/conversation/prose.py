"""Draws the blocks of an answer: paragraphs with their marks, headings, code, quotes."""

from collections.abc import Callable, Sequence
from typing import cast

from opencode_tui.entry_points import load
from opencode_tui.text.cells import breaks, hard_breaks, width
from opencode_tui.tui.conversation.code import color_lines
from opencode_tui.tui.conversation.inline import inline_spans
from opencode_tui.tui.conversation.line import TEXT, Line, LineBuilder, RenderContext, Span, joints, slice_spans
from opencode_tui.tui.conversation.markdown import Block, Code, Paragraph, Rule, Table
from opencode_tui.tui.conversation.table import draw_table
from opencode_tui.tui.theme.glyphs import ASCII

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
