"""The list of completions above the prompt, as high as a third of the window."""

from collections.abc import Sequence

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from opencode_tui.text.cells import width as cells
from opencode_tui.tui.prompt.completion import Completion
from opencode_tui.tui.widgets.row import Piece, Rows, notes_column, row

MOST = 8
"""Rows of the list in a window of usual height; a third of a higher one."""

NAME, NOTE = 2, 30
"""The columns in which names and notes begin, the latter from a name's own."""


class Completions(Rows):
    """The list of completions, the selected one visible; the last row counts them where some are hidden."""

    area = "surface"

    class Chosen(Message):
        """A row was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Sequence[Completion] = ()
        self._at = 0

    @property
    def chosen(self) -> Completion | None:
        """The selected row."""
        return self.found[self._at] if self.found else None

    def place(self, *, above: int) -> None:
        """Move the list above the given number of rows."""
        self.styles.margin = (0, 1, above, 1)

    def show(self, found: Sequence[Completion], *, is_longer: bool = False) -> None:
        """Show these completions; without any, hide the list. With `is_longer` what is selected stays so."""
        if found != self.found:
            kept = self.chosen if is_longer else None
            self.found = found
            self._at = found.index(kept) if kept is not None and kept in found else 0
            self.refresh(layout=True)
            self.redraw()
        self.display = bool(found)

    def move(self, step: int) -> None:
        """Select the row above or below; from an end the other one."""
        if self.found:
            self._at = (self._at + step) % len(self.found)
            self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows, with that of the count."""
        most = max(MOST, viewport.height // 3)
        return min(most + 1 if len(self.found) > most else most, max(1, len(self.found)))

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row."""
        event.stop()
        room = self._room(self.size.height)
        if event.y >= room:
            return  # the count
        self._at = min(len(self.found) - 1, self._top(room) + event.y)
        self.post_message(self.Chosen())

    def _room(self, height: int) -> int:
        """Return the rows of completions, without the count."""
        return height if len(self.found) <= height or height < 2 else height - 1

    def _top(self, room: int) -> int:
        return max(0, min(self._at - room // 2, len(self.found) - room))

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the visible rows."""
        room = self._room(height)
        top = self._top(room)
        notes_at = notes_column([(one.shown, one.note) for one in self.found], width - NAME, usual=NOTE)
        visible = self.found[top : top + room]
        shown = [self._row(one, top + at == self._at, width, notes_at) for at, one in enumerate(visible)]
        return [*shown, self._count(width)] if room < height and self.found else shown

    def _count(self, width: int) -> Strip:
        palette = self.look.palette
        words = f"  {self._at + 1} of {len(self.found)}"
        return row(width, [(words, palette.style("muted", self.area))], fill=palette.area(self.area))

    def _row(self, one: Completion, is_here: bool, width: int, notes_at: int) -> Strip:
        palette = self.look.palette
        area = "selection" if is_here else self.area
        fill = palette.area(area)
        bar = (self.look.glyphs.user_bar, palette.style("accent", area)) if is_here else (" ", fill)
        gap = " " * max(2, notes_at - cells(one.shown))
        left: list[Piece] = [bar, (" ", fill), (one.shown, palette.style("text", area, bold=is_here))]
        if one.note:
            left.append((f"{gap}{one.note}", palette.style("muted", area)))
        return row(width, left, fill=fill, mark=self.look.glyphs.ellipsis)
