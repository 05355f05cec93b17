"""A response's markdown as blocks, split line by line while it is streamed; completed lines are never parsed again.

The unfinished last line is shown as what it seems to be, and taken back when more of it comes.
"""

import re
from dataclasses import dataclass, field

from opencode_tui.text.cells import join_lines
from opencode_tui.text.safe_text import screen_line

CODE_LINES = 40
"""Lines after which a new block starts inside an open fence."""

WHOLE_FENCE = 400
"""Maximum lines of a closed fence that becomes one block, so that it is highlighted as one text."""

CUT = 4_000
"""Characters after which a line, or a paragraph, is split into blocks."""

TABLE_ROWS = 60
"""Rows of a table after which a new block starts; its columns are as wide as those above."""

_FENCE = re.compile(r"(`{3,}|~{3,})\s*([^`]*)$")
_MARK = re.compile(r"([-*+•]|\d{1,9}[.)])(?: +|$)")
_TASK = re.compile(r"\[([ xX])\] +(?=\S)")
_HEADING = re.compile(r"(#{1,6})(?:[ ]+(.*))?$")
_RULE = re.compile(r"(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_UNDERLINE = re.compile(r"(=+|-+)\s*$")
_DELIMITER = re.compile(r"\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*$")
_QUOTE = re.compile(r" {0,3}((?:> ?)+)")


@dataclass(slots=True, eq=False)
class Block:
    """A block. `indent` is in cells, `gap` means an empty row above, `quote` is the number of bars at its left."""

    indent: int = 0
    quote: int = 0
    gap: bool = False


@dataclass(slots=True, eq=False)
class Paragraph(Block):
    """Prose, as lines of the source; `level` is that of a heading, `mark` is left of the first row.

    `task` is the `x` or the blank between the brackets of a task's first row; empty for anything else.
    """

    lines: list[str] = field(default_factory=list[str])
    mark: str = ""
    level: int = 0
    size: int = 0
    task: str = ""

    @property
    def text(self) -> str:
        """The lines joined."""
        if len(self.lines) == 1:
            return self.lines[0]
        text = ""
        for line in self.lines:
            text = join_lines(text, line) if text else line
        return text


@dataclass(slots=True, eq=False)
class Code(Block):
    """Lines of a fence."""

    language: str = ""
    lines: list[str] = field(default_factory=list[str])
    is_whole: bool = False
    """Whether it has all lines of a fence that was closed."""


@dataclass(slots=True, eq=False)
class Table(Block):
    """Lines of the source, the first one the header; `delimiter` has the alignment. Long tables continue those `above`."""

    lines: list[str] = field(default_factory=list[str])
    delimiter: str = ""
    above: "Table | None" = None


@dataclass(slots=True, eq=False)
class Rule(Block):
    """A horizontal rule."""


@dataclass(slots=True)
class _Level:
    """An open list item: the column of its mark in the source, and the indent of its text in cells."""

    column: int
    indent: int
    number: int | None


@dataclass(slots=True)
class _Fence:
    """An open fence: its marker, its column in the source, and its first block."""

    sign: str
    column: int
    first: int


@dataclass(slots=True)
class _Undo:
    """The state before the guess about the unfinished line."""

    count: int
    open: Block | None
    lines: int
    size: int
    levels: list[_Level]
    is_blank: bool
    quote: int


class BlockBuilder:
    """Converts lines to `blocks`; `first` is the lowest index of a block that changed since the last `undo_guess`."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.first = 0
        self._open: Block | None = None
        self._levels: list[_Level] = []
        self._fence: _Fence | None = None
        self._is_blank = False
        self._quote = 0
        self._undo: _Undo | None = None

    @property
    def is_in_fence(self) -> bool:
        """Return whether the next line is code, unless it closes the fence."""
        return self._fence is not None

    def line(self, raw: str, *, is_guess: bool = False) -> None:
        """Add a line; with `is_guess` more of it may follow, and the lines above keep their meaning."""
        line = screen_line(raw)
        if self._fence is not None:
            self._code_line(line)
            return
        quote = 0
        if match := _QUOTE.match(line):
            quote = match[1].count(">")
            line = line[match.end() :]
        text = line.strip(" ")
        if quote != self._quote and (quote or self._is_blank or not isinstance(self._open, Paragraph)):
            self._open = None
            self._quote = quote
            self._levels = []
        if not text:
            self._open = None
            self._is_blank = True
            return
        self._block_line(text, len(line) - len(line.lstrip(" ")), is_guess=is_guess)
        self._is_blank = False

    def go_on(self, raw: str) -> None:
        """Add the next piece of a split line, without a gap after the previous piece."""
        text = screen_line(raw)
        last = self.blocks[-1] if self.blocks else None
        if self._fence is not None or isinstance(last, Code):
            self._add_code(text)
        elif text:
            indent, quote = (last.indent, last.quote) if last else (0, 0)
            self._push(Paragraph(indent=indent, quote=quote, lines=[text], size=len(text)))

    def end_line(self) -> None:
        """Add the last piece of a split line; a new block follows."""
        if self._fence is None:
            self._open = None
            self._is_blank = False

    def guess(self, raw: str, *, is_rest: bool) -> None:
        """Show an unfinished line by a guess, until `undo_guess`; with `is_rest` its start was split off."""
        kept = self._open
        lines = len(kept.lines) if isinstance(kept, Paragraph | Code | Table) else 0
        size = kept.size if isinstance(kept, Paragraph) else 0
        self._undo = _Undo(len(self.blocks), kept, lines, size, list(self._levels), self._is_blank, self._quote)
        fence = self._fence
        if is_rest:
            self.go_on(raw)
        else:
            self.line(raw, is_guess=True)
        self._fence = fence

    def undo_guess(self) -> int:
        """Undo the guess, if any; return the index of the first block that may change."""
        self.first = max(0, len(self.blocks) - 1)
        undo, self._undo = self._undo, None
        if undo is None:
            return self.first
        del self.blocks[undo.count :]
        self._open, self._levels = undo.open, undo.levels
        self._is_blank, self._quote = undo.is_blank, undo.quote
        if isinstance(self._open, Paragraph):
            del self._open.lines[undo.lines :]
            self._open.size = undo.size
        elif isinstance(self._open, Code | Table):
            del self._open.lines[undo.lines :]
        if isinstance(self._open, Code):
            self._open.is_whole = False
        self.first = max(0, len(self.blocks) - 1)
        return self.first

    def close(self) -> None:
        """Close all open blocks at the end of the text."""
        if self._fence is not None:
            self._close_fence()

    def _block_line(self, text: str, column: int, *, is_guess: bool) -> None:
        mark = _MARK.match(text)
        if _RULE.match(text) and not (isinstance(self._open, Paragraph) and _UNDERLINE.match(text)):
            self._open, self._levels = None, []
            self._push(Rule(quote=self._quote, gap=True))
        elif mark and not (mark.end() == len(text) and isinstance(self._open, Paragraph)):
            self._item(mark[1], text[mark.end() :], column, is_guess=is_guess)
        else:
            self._leave_levels(column)
            self._leaf(text, column, mark="", is_guess=is_guess)

    def _leave_levels(self, column: int) -> None:
        if isinstance(self._open, Paragraph) and not self._is_blank and column < 2:
            return  # a continuation line without its indent
        while self._levels and column < self._levels[-1].column + 2:
            self._levels.pop()

    def _item(self, sign: str, rest: str, column: int, *, is_guess: bool) -> None:
        sibling: _Level | None = None
        while self._levels and column < self._levels[-1].column + 2:
            sibling = self._levels.pop()
        number = int(sign[:-1]) if sign[:-1].isdigit() else None
        if number is not None and sibling is not None and sibling.number is not None:
            number = sibling.number + 1
        mark = "•" if number is None else f"{number}{sign[-1]}"
        outer = self._levels[-1].indent if self._levels else 0
        self._open = None
        self._levels.append(_Level(column, outer + len(mark) + 1, number))
        rest = rest.strip(" ")
        task = _TASK.match(rest)
        self._leaf(rest[task.end() :] if task else rest, column + 2, mark=mark, is_guess=is_guess)
        if task and isinstance(self.blocks[-1], Paragraph):
            self.blocks[-1].task = task[1].lower()

    def _leaf(self, text: str, column: int, *, mark: str, is_guess: bool) -> None:
        indent = self._levels[-1].indent if self._levels else 0
        if fence := _FENCE.match(text):
            self._open_fence(fence, column, mark, indent)
        elif heading := _HEADING.match(text.rstrip()):
            self._open = None
            self._push(Paragraph(indent, self._quote, True, [_heading_text(heading[2] or "")], mark, len(heading[1])))
        elif isinstance(self._open, Table) and "|" in text:
            if len(self._open.lines) >= TABLE_ROWS:
                self._open = Table(indent, self._quote, False, [], self._open.delimiter, self._open)
                self.blocks.append(self._open)
            self._open.lines.append(text)
        elif isinstance(self._open, Paragraph) and not mark and not self._open.level:
            self._continue_paragraph(self._open, text, is_guess=is_guess)
        elif column >= 4 and not mark and not self._levels and (self._is_blank or not self.blocks):
            self._open = None
            self._push(Code(indent, self._quote, self._is_blank, lines=[" " * (column - 4) + text]))
        else:
            self._open = Paragraph(indent, self._quote, self._is_blank, [text], mark, size=len(text))
            self._push(self._open)

    def _continue_paragraph(self, block: Paragraph, text: str, *, is_guess: bool) -> None:
        if not is_guess and _UNDERLINE.match(text):
            block.level = 1 if text[0] == "=" else 2
            block.gap = True
            self._open = None
        elif not is_guess and len(block.lines) == 1 and "|" in block.lines[0] and _DELIMITER.match(text):
            self.blocks.pop()
            self._open = Table(block.indent, block.quote, True, [block.lines[0]], text)
            self._push(self._open)
        elif block.size > CUT:
            self._open = Paragraph(block.indent, block.quote, False, [text], size=len(text))
            self._push(self._open)
        else:
            block.lines.append(text)
            block.size += len(text) + 1

    def _open_fence(self, fence: re.Match[str], column: int, mark: str, indent: int) -> None:
        if mark:
            self._push(Paragraph(indent, self._quote, self._is_blank, [""], mark))
        language = fence[2].strip().partition(" ")[0].strip("{}.").lower()
        self._open = Code(indent, self._quote, True, language)
        self._push(self._open)
        self._fence = _Fence(fence[1], column, len(self.blocks) - 1)

    def _code_line(self, line: str) -> None:
        fence = self._fence
        assert fence is not None
        text = line.strip(" ")
        if self._quote and (match := _QUOTE.match(line)):
            line = line[match.end() :]
            text = line.strip(" ")
        if text.startswith(fence.sign) and not text.strip(fence.sign[0]):
            self._close_fence()
            return
        self._add_code(line[min(fence.column, len(line) - len(line.lstrip(" "))) :])

    def _add_code(self, line: str) -> None:
        block = self._open if isinstance(self._open, Code) else None
        if block is None or len(block.lines) >= CODE_LINES:
            last = self.blocks[-1]
            language = last.language if isinstance(last, Code) else ""
            block = Code(last.indent, last.quote, False, language)
            self._open = block
            self._push(block)
        block.lines.append(line)

    def _close_fence(self) -> None:
        fence, self._fence, self._open, self._is_blank = self._fence, None, None, False
        assert fence is not None
        parts = [block for block in self.blocks[fence.first :] if isinstance(block, Code)]
        if len(parts) == 1:
            parts[0].is_whole = True
        if len(parts) > 1 and sum(len(part.lines) for part in parts) <= WHOLE_FENCE:
            first = parts[0]
            whole = Code(
                first.indent,
                first.quote,
                first.gap,
                first.language,
                [line for part in parts for line in part.lines],
                True,
            )
            self.blocks[fence.first :] = [whole]
            self.first = min(self.first, fence.first)

    def _push(self, block: Block) -> None:
        before = self.blocks[-1] if self.blocks else None
        loud = (Code, Table, Rule)
        if before is not None and (
            isinstance(before, Table | Rule) or (isinstance(before, Paragraph) and before.level)
        ):
            block.gap = True
        if isinstance(before, Code) and not isinstance(block, Code):
            block.gap = True
        if before is None:
            block.gap = False
        elif isinstance(block, Table | Rule) and not isinstance(before, loud):
            block.gap = True
        self.blocks.append(block)


def _heading_text(text: str) -> str:
    """Return a heading without the signs that close it."""
    core = text.rstrip("#")
    return core.rstrip() if core != text and core[-1:].isspace() else text


_UNSURE = re.compile(r"(?:[-=*_|:`~#>+\s\d]|(?<=\d)[.)])*$")
"""The start of a line that may become a rule, a fence or a list mark."""


class Markdown:
    """Splits a growing text into `blocks`."""

    def __init__(self) -> None:
        self._builder = BlockBuilder()
        self._partial: list[str] = []
        self._partial_size = 0
        self._is_mid_line = False

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the text so far, from top to bottom."""
        return self._builder.blocks

    def feed(self, text: str) -> int:
        """Append text; return the index of the first block that changed."""
        first = self._builder.undo_guess()
        head, newline, tail = text.rpartition("\n")
        if newline:
            lines = ("".join(self._partial) + head).split("\n")
            self._partial, self._partial_size = [], 0
            for line in lines:
                self._complete(line)
        if tail:
            self._partial.append(tail)
            self._partial_size += len(tail)
            if self._partial_size > CUT:
                self._cut_partial()
        self._guess()
        return min(first, self._builder.first)

    def close(self) -> int:
        """Close the text; return the index of the first block that changed."""
        first = self._builder.undo_guess()
        if self._partial:
            self._complete("".join(self._partial))
            self._partial, self._partial_size = [], 0
        self._builder.close()
        return min(first, self._builder.first)

    def _guess(self) -> None:
        """Show the unfinished line by a guess."""
        if not self._partial:
            return
        line = "".join(self._partial)
        self._partial = [line]
        if not _UNSURE.match(line) or (self._builder.is_in_fence and line.strip(" `~")):
            self._builder.guess(line, is_rest=self._is_mid_line)

    def _complete(self, line: str) -> None:
        line = line.rstrip("\r")
        if not self._is_mid_line:
            line = self._cut_all(line)
        if not self._is_mid_line:
            self._builder.line(line)
            return
        self._is_mid_line = False
        self._builder.go_on(line)
        self._builder.end_line()

    def _cut_partial(self) -> None:
        line = self._cut_all("".join(self._partial))
        self._partial, self._partial_size = [line], len(line)

    def _cut_all(self, line: str) -> str:
        """Convert the start of a long line to blocks; return its rest."""
        while len(line) > CUT:
            line = self._cut(line)
            self._is_mid_line = True
        return line

    def _cut(self, line: str) -> str:
        is_code = self._builder.is_in_fence
        at = -1 if is_code else line.rfind(" ", CUT // 2, CUT)
        at = CUT if at < 0 else at
        if self._is_mid_line:
            self._builder.go_on(line[:at])
        else:
            self._builder.line(line[:at])
        return line[at:].lstrip(" ") if not self._builder.is_in_fence else line[at:]
