"""The columns and styles of a conversation line, and the builder that draws one. Source: docs/internals/screen.md#columns."""

from dataclasses import dataclass, field
from itertools import pairwise

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import fitting, width
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
