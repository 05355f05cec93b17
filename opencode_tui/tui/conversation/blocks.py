"""The pieces that an answer is drawn in: a paragraph with its list mark, a heading, some lines of code, a table."""

from dataclasses import dataclass, field

from opencode_tui.text.cells import join_lines


@dataclass(slots=True, eq=False)
class Block:
    """One piece. `indent` counts cells, `gap` asks for an empty row above, `quote` counts the bars at its left."""

    indent: int = 0
    quote: int = 0
    gap: bool = False


@dataclass(slots=True, eq=False)
class Paragraph(Block):
    """Prose, lines of the source; `level` is a heading's. `mark` stands left of the first row."""

    lines: list[str] = field(default_factory=list[str])
    mark: str = ""
    level: int = 0
    size: int = 0

    @property
    def text(self) -> str:
        """The lines as one."""
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
    """Lines of the source, the first one the heads; `delimiter` tells the alignment. Long tables continue those `above`."""

    lines: list[str] = field(default_factory=list[str])
    delimiter: str = ""
    above: "Table | None" = None


@dataclass(slots=True, eq=False)
class Rule(Block):
    """A line across."""
