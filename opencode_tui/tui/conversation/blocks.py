"""The blocks of an answer: a paragraph with its list mark, a heading, some lines of code, a table."""

from dataclasses import dataclass, field

from opencode_tui.text.cells import join_lines


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


@dataclass(slots=True, eq=False)
class Table(Block):
    """Lines of the source, the first one the header; `delimiter` has the alignment. Long tables continue those `above`."""

    lines: list[str] = field(default_factory=list[str])
    delimiter: str = ""
    above: "Table | None" = None


@dataclass(slots=True, eq=False)
class Rule(Block):
    """A horizontal rule."""
