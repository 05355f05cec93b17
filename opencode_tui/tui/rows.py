"""A widget that draws whole rows from plain values; a row that cannot be drawn says so and takes nothing else down."""

import logging
from collections.abc import Sequence

from textual.strip import Strip
from textual.widget import Widget

from opencode_tui.tui.lasting import Lasting
from opencode_tui.tui.row import row
from opencode_tui.tui.theme.look import Look, look_of

_log = logging.getLogger(__name__)


class Rows(Lasting, Widget):
    """Draws `rows()` anew after `redraw`, a resize or another look; between those it costs nothing."""

    area = "background"
    """The tone behind empty cells."""

    _drawn: tuple[object, Sequence[Strip]] | None = None

    @property
    def look(self) -> Look:
        """The look in force."""
        return look_of(self)

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The rows to show, from the top; those that are missing are empty."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw anew with the next frame."""
        self._drawn = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One row for the compositor."""
        rows = self._rows()
        width = self.size.width
        return rows[y] if y < len(rows) else Strip.blank(width, self.look.palette.area(self.area))

    def _rows(self) -> Sequence[Strip]:
        key = (self.size, self.look)
        if self._drawn is None or self._drawn[0] != key:
            self._drawn = (key, self._try_rows())
        return self._drawn[1]

    def _try_rows(self) -> Sequence[Strip]:
        try:
            return self.rows(self.size.width, self.size.height)
        except Exception:  # noqa: BLE001 - one region must not take the conversation down
            _log.exception("%s cannot be drawn", type(self).__name__)
            palette = self.look.palette
            words = "could not be drawn; the log says why"
            return [row(self.size.width, [(words, palette.style("error", self.area))], fill=palette.area(self.area))]
