"""One file's change on the changes page: scrolled by rows, one column or two, long lines cut or wrapped."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from textual.strip import Strip

from opencode_tui.tui.diff_cells import CodeRow
from opencode_tui.tui.diff_layout import DiffForm, DiffLayout
from opencode_tui.tui.row import row
from opencode_tui.tui.rows import Rows

BEFORE, BEHIND = 3, 2
"""Empty cells at either side."""
NEAR = 2
"""Rows that are shown above a change one goes to."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file's change in both forms, or a note in their place."""

    column: DiffForm
    columns: DiffForm
    note: str = ""


def change_of(rows: Sequence[CodeRow], note: str = "") -> FileChange:
    """Return both forms of a file's rows. Takes long for many."""
    return FileChange(DiffForm(rows, is_split=False), DiffForm(rows, is_split=True), note)


NOTHING = change_of(())


class DiffBody(Rows, can_focus=True):
    """Shows rows of code, or a note in their place."""

    def __init__(self) -> None:
        super().__init__()
        self.is_split = False
        self.is_wrapped = False
        self.top = 0
        self._change = NOTHING
        self._laid: tuple[object, DiffLayout] | None = None

    def show(self, change: FileChange) -> None:
        """Take another file; the same one stays where it is."""
        if change is not self._change:
            self._change, self.top, self._laid = change, 0, None
        self.redraw()

    def show_as(self, *, is_split: bool, is_wrapped: bool) -> None:
        """Show it in another form; the line at the top stays there."""
        self.is_split, self.is_wrapped = is_split, is_wrapped
        self._settle()

    def scroll(self, rows: int) -> None:
        """Move; it stops at its ends."""
        self.top = min(max(0, self.top + rows), max(0, self._layout().height - self.size.height))
        self.redraw()

    def to_change(self, step: int) -> None:
        """Go to the next change, or the one before."""
        starts = self._layout().change_tops()
        here = self.top + NEAR
        at = bisect_right(starts, here) if step > 0 else bisect_left(starts, here) - 1
        if 0 <= at < len(starts):
            self.top = max(0, starts[at] - NEAR)
            self.scroll(0)

    def on_mouse_scroll_down(self) -> None:
        """Scroll."""
        self.scroll(3)

    def on_mouse_scroll_up(self) -> None:
        """Scroll."""
        self.scroll(-3)

    def on_resize(self) -> None:
        """Keep the line at the top there."""
        self._settle()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The rows in sight."""
        palette = self.look.palette
        fill = palette.area("background")
        room = width - BEFORE - BEHIND
        if self._change.note:
            strips = [Strip.blank(0), row(room, [(self._change.note, palette.style("muted"))], fill=fill)]
        else:
            strips = self._layout().strips(self.top, height, self.look)
        edge, end = Strip.blank(BEFORE, fill), Strip.blank(BEHIND, fill)
        return [Strip.join([edge, one.adjust_cell_length(room, fill), end]) for one in strips]

    def _settle(self) -> None:
        before = self._laid
        layout = self._layout()
        if before is not None and before[1] is not layout and self.top:
            self.top = layout.top_of(before[1].line_at(self.top))
        self.scroll(0)

    def _layout(self) -> DiffLayout:
        width = max(20, self.size.width - BEFORE - BEHIND)
        key = (self.is_split, self.is_wrapped, width)
        if self._laid is None or self._laid[0] != key:
            form = self._change.columns if self.is_split else self._change.column
            self._laid = (key, DiffLayout(form, is_wrapped=self.is_wrapped, width=width))
        return self._laid[1]
