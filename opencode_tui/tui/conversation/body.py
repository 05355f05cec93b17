"""Lines below a tool line: output with a guide, errors, expanded text; long text is truncated with a line count."""

from collections.abc import Sequence

from opencode_tui.text.cells import breaks, clip, width
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import output_line
from opencode_tui.text.tool import count_lines
from opencode_tui.tui.conversation.line import BODY, SIGN, Line, LineBuilder, RenderContext, Span
from opencode_tui.tui.conversation.places import place_spans

TAIL_LINES = 3
ERROR_LINES = 6
OPEN_LINES = 200
"""Lines of an opened output in the conversation; the rest is in a view of its own."""

_LINES_BEFORE, _EXCERPT_LINES = 10, 40
"""Lines of an excerpt above the one that is sought, and in all."""

MAX_LETTERS = 4_000
"""Characters of an output line that are read; it is cut to the page's width anyway."""


def output_tail(text: str, count: int) -> list[str]:
    """Return the last lines of an output, safe, without the empty ones at its end; costs nothing for those before them."""
    end = len(text.rstrip("\r\n \t"))
    lines: list[str] = []
    while (end > 0 or lines) and end >= 0 and len(lines) < count:
        start = text.rfind("\n", 0, end) + 1
        lines.append(output_line(text[max(start, end - MAX_LETTERS) : end]))
        end = start - 1
    return lines[::-1]


def draw_output(lines: Sequence[str], page: RenderContext, *, token: str = "muted", guide: str = "guide") -> list[Line]:
    """Return safe lines with a guide at their left, each cut to the page's width."""
    style = page.style(token)
    return [guarded([*place_spans(line, style, page)] if line else [], page, guide=guide) for line in lines]


def draw_open(
    text: str, page: RenderContext, *, token: str = "muted", count: int | None = None, is_least: bool = False
) -> list[Line]:
    """Return the beginning of an output, and how many lines there are more of the `count` that it had."""
    lines = _first_lines(text, OPEN_LINES)
    drawn = draw_output(lines, page, token=token)
    more = (count_lines(text) if count is None else count) - len(lines)
    if more > 0:
        drawn.append(draw_more(more, page, "read all", is_least=is_least))
    return drawn


def draw_excerpt(text: str, line: int, column: int, page: RenderContext) -> list[Line]:
    """Return the lines around a character of an output, both numbers from 0; a long line is cut at its front too.

    An output of at most `OPEN_LINES` lines is drawn whole. The line with the character has a `target`.
    """
    lines = text.rstrip("\n").split("\n")
    first = max(0, line - _LINES_BEFORE) if len(lines) > OPEN_LINES else 0
    last = first + _EXCERPT_LINES if len(lines) > OPEN_LINES else len(lines)
    shown = lines[first:last]
    room = page.right - BODY + 1
    front, cut = "", 0
    if width(output_line(shown[line - first][: column + 1])) > room // 2:
        front, cut = page.look.glyphs.ellipsis, max(0, column - room // 3)
    shown[line - first] = shown[line - first][cut:]
    texts = [output_line(one[:MAX_LETTERS]) for one in shown]
    texts[line - first] = front + texts[line - first]
    drawn = draw_output(texts, page)
    drawn[line - first].target = len(front) + len(output_line(shown[line - first][: column - cut]))
    if first:
        drawn.insert(0, guarded([(f"{plural(first, 'line')} before", page.style("muted"))], page))
    return [*drawn, draw_more(len(lines) - last, page, "read all")] if last < len(lines) else drawn


def is_capped(text: str) -> bool:
    """Return whether an opened output does not show all of its lines."""
    return count_lines(text) > OPEN_LINES


def draw_more(count: int, page: RenderContext, act: str, *, guide: str = "guide", is_least: bool = False) -> Line:
    """Return the line that counts what is left out, with the key that shows it; `is_least` marks the count as a lower bound."""
    counted = f"{count}+ lines" if is_least else plural(count, "line")
    spans = [(f"{counted} more", page.style("muted"))]
    keys = "enter" if page.is_focused else f"{page.focus_key}, enter" if page.focus_key else ""
    if keys and not page.is_cut:
        spans += [("   ", page.area()), (keys, page.style("text")), (f" {act}", page.style("muted"))]
    return guarded(spans, page, guide=guide)


def draw_error(text: str, page: RenderContext, *, limit: int | None = ERROR_LINES, guide: str = "error") -> list[Line]:
    """Return an error's text with a guide, wrapped: the first line in the text color, the rest muted."""
    room = page.right - BODY + 1
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(_first_lines(text.strip() or "failed (no details)", 60)):
        token = "muted" if number else "text"
        rows += [(line[start:end], token) for start, end in breaks(line, room)]
    more = len(rows) - limit if limit is not None else 0
    if limit is not None and more > 1:
        return [
            *(guarded([(text, page.style(token))], page, guide=guide) for text, token in rows[: limit - 1]),
            guarded(
                [(f"{page.look.glyphs.ellipsis} {plural(more + 1, 'line')}", page.style("muted"))], page, guide=guide
            ),
        ]
    return [guarded([(text, page.style(token))], page, guide=guide) for text, token in rows]


def guarded(spans: Sequence[Span], page: RenderContext, *, guide: str = "guide") -> Line:
    """Return one line of a body with its guide."""
    pen = LineBuilder(page).move(SIGN).put(page.look.glyphs.output, page.style(guide)).move(BODY).begin_copy()
    room = page.right - BODY + 1
    for text, style in spans:
        left = room - (pen.at - BODY)
        pen.put(clip(text, left, page.look.glyphs.goes_on), style)
    return pen.line()


def plain_line(spans: list[Span], page: RenderContext) -> Line:
    """Return one line of a body without a guide."""
    pen = LineBuilder(page).move(BODY).begin_copy()
    for text, style in spans:
        pen.put(clip(text, page.right + 1 - pen.at, page.look.glyphs.goes_on), style)
    return pen.line()


def _first_lines(text: str, count: int) -> list[str]:
    """Return the first lines, safe; costs nothing for those after them."""
    lines: list[str] = []
    start = 0
    while len(lines) < count and start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append(output_line(text[start : min(end, start + MAX_LETTERS)]))
        start = end + 1
    while lines and not lines[-1]:
        lines.pop()
    return lines
