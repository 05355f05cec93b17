"""A line of the conversation: its columns and styles, links to places in files, the lines below a tool line, rows of a diff.

Source: docs/internals/screen.md#columns.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import breaks, clip, fitting, width
from opencode_tui.text.diff_rows import DiffRow
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.text.tool import count_lines
from opencode_tui.tui.conversation.code import CodeLine, color_file
from opencode_tui.tui.output.hyperlink import linked_file
from opencode_tui.tui.theme.look import Look

GUTTER, TEXT, SIGN, BODY = 1, 3, 8, 10
"""Columns of the state's sign, of every text, of a changed line's sign (and the output's guide), and of arguments and bodies."""

PROSE_WIDTH = 88
"""Cells that prose uses of a wide window; tool lines, diffs and facts use all of it, as the prompt does."""

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
    `focus_key` the key that makes them act on the conversation. `host` names this machine in links to files, empty for no links;
    `link_form` is the form of their addresses (`output/hyperlink.py`).
    """

    width: int
    look: Look
    root: str = ""
    is_cut: bool = False
    is_focused: bool = False
    focus_key: str = ""
    host: str = ""
    link_form: str = ""
    _blanks: dict[bool, Strip] = field(default_factory=dict[bool, Strip], init=False, compare=False, repr=False)

    def may_link(self, text: str) -> bool:
        """Return whether a text may have places in files, and they are links here. Most texts have none."""
        return bool(self.host) and (":" in text or 'File "' in text)

    @property
    def right(self) -> int:
        """The last cell of facts."""
        return max(TEXT + 8, self.width - 3)

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


_PLACE = (
    r"(?<![\w/:.@+-])(?P<path>(?:~?/|\.{1,2}/)?[\w@+-][\w@+./-]{0,300}\.[A-Za-z]\w{0,11}):(?P<line>\d{1,7})(?::\d{1,5})?(?![\w/])"
    r'|\bFile "(?P<quoted>[^"]{1,500})", line (?P<number>\d{1,7})'
)


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_PLACE)  # with the first line that may have one


def place_spans(text: str, style: Style, page: RenderContext) -> Iterator[Span]:
    """Yield a safe text with the places in it as links; whether their files exist is not looked at."""
    at = 0
    for found in _pattern().finditer(text) if page.may_link(text) else ():
        path, line = found["path"] or found["quoted"], int(found["line"] or found["number"])
        whole = os.path.normpath(os.path.join(page.root, os.path.expanduser(path)))
        linked = linked_file(style, whole, page.host, line=line, form=page.link_form)
        if linked is not style:
            if found.start() > at:
                yield text[at : found.start()], style
            yield found.group(), linked
            at = found.end()
    if at < len(text) or not text:
        yield text[at:], style


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
