"""Draws the rows of a diff: number, sign, code with its colors, tones for changed lines and words."""

from collections.abc import Sequence

from opencode_tui.text.diff_rows import DiffRow
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.code import CodeLine, color_file
from opencode_tui.tui.conversation.line import BODY, SIGN, Line, LineBuilder, RenderContext, Span, clip_spans

MAX_LINE = 2_000
"""Characters of a line that are read; it is cut to the page's width anyway."""


def draw_diff(rows: Sequence[DiffRow], path: str, page: RenderContext) -> list[Line]:
    """Return one line for each row; `path` determines the language."""
    texts = [screen_line(row.text[:MAX_LINE]) for row in rows]
    colored = color_rows(rows, texts, path)
    return [_row(row, code, page) for row, code in zip(rows, colored, strict=True)]


def color_rows(rows: Sequence[DiffRow], texts: list[str], path: str) -> list[CodeLine]:
    """Return the code of each row with its colors; the old lines and the new ones are each read as one text."""
    colored: list[CodeLine] = [[(text, "text")] for text in texts]
    for kinds in ("-", "+ "):
        places = [index for index, row in enumerate(rows) if row.kind in kinds]
        for place, line in zip(places, color_file([texts[place] for place in places], path), strict=True):
            colored[place] = line
    return colored


def diff_spans(row: DiffRow, code: CodeLine, page: RenderContext, tone: str) -> list[Span]:
    """Return a row's code as spans on its tone."""
    side = "add" if row.kind == "+" else "del"
    if row.kind in "+-" and not page.look.palette.line_tones:
        return [(text, page.style(f"diff_{side}")) for text, _ in code]
    spans = [(text, page.style(token, tone, italic=token == "code_comment")) for text, token in code]
    return spans if row.word is None else _mark_word(spans, row.word, page, f"diff_{side}_word")


def _row(row: DiffRow, code: CodeLine, page: RenderContext) -> Line:
    if row.kind in ("gap", "file"):
        text = f"{page.look.glyphs.ellipsis} {plural(row.number, 'line')}" if row.kind == "gap" else code[0][0]
        return LineBuilder(page).move(BODY).put(text, page.style("muted")).line()
    tone = {"+": "diff_add_line", "-": "diff_del_line"}.get(row.kind, "background")
    number = str(row.number)
    pen = LineBuilder(page, tone=tone).move(max(0, SIGN - 1 - len(number))).put(number, page.style("muted", tone))
    if row.kind != " ":
        sign = page.look.glyphs.minus if row.kind == "-" else page.look.glyphs.plus
        pen.move(SIGN).put(sign, page.style("diff_add" if row.kind == "+" else "diff_del", tone, bold=True))
    pen.move(BODY).begin_copy()
    mark = (page.look.glyphs.goes_on, page.style("muted", tone))
    return pen.put_all(clip_spans(diff_spans(row, code, page, tone), page.right - BODY + 1, mark)).line()


def _mark_word(spans: list[Span], word: tuple[int, int], page: RenderContext, tone: str) -> list[Span]:
    marked: list[Span] = []
    at = 0
    for text, style in spans:
        start, end = (min(len(text), max(0, edge - at)) for edge in word)
        pieces = ((text[:start], style), (text[start:end], page.style("text", tone, bold=True)), (text[end:], style))
        marked += [piece for piece in pieces if piece[0]]
        at += len(text)
    return marked
