"""The title row: the session's title and, while the sidebar is hidden, its changes."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.strip import Strip

from opencode_tui.tui.widgets.row import Piece, Rows, change_counts, row


@dataclass(frozen=True, slots=True)
class Title:
    """Content of the header; `files` is 0 when nothing changed or the sidebar shows it. `is_shared`: it has a link."""

    text: str = ""
    additions: int = 0
    deletions: int = 0
    files: int = 0
    is_shared: bool = False


class Header(Rows):
    """The title row with an empty row after it, and one before it where there is room."""

    title_facts = Title()

    def show(self, title: Title) -> None:
        """Show another title."""
        if title != self.title_facts:
            self.title_facts = title
            self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return an empty row, the title and an empty row; only the last two in a low header."""
        palette = self.look.palette
        fill = palette.area("background")
        left = [("   ", fill), (self.title_facts.text, palette.style("text", bold=True))]
        drawn = row(width, left, self._facts(width), fill=fill, mark=self.look.glyphs.ellipsis)
        empty = Strip.blank(width, fill)
        return [empty, drawn, empty] if height > 2 else [drawn, empty]

    def _facts(self, width: int) -> list[Piece]:
        facts, palette = self.title_facts, self.look.palette
        shared: list[Piece] = [("shared  ", palette.style("accent"))] if facts.is_shared else []
        if not facts.files:
            return shared
        words = f"  {facts.files} file{'' if facts.files == 1 else 's'}" if width >= 70 else ""
        counts = change_counts(self.look, facts.additions, facts.deletions, "background")
        return [*shared, *counts, (words, palette.style("muted")), ("  ", palette.area("background"))]
