"""The list of keys that can follow the leader key."""

from collections.abc import Callable, Sequence
from functools import partial

from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer

from opencode_tui.text.cells import clip, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, row

NARROWEST = 26
"""Cells of a column, under which names would be cut too much: the key, the name, a gap."""

KEY, GAP = 7, 2
"""Cells of a key, and between columns."""

DELAY_S = 0.4
"""Seconds after the leader key until the keys are listed; who knows the second key presses it earlier."""

LeaderKey = tuple[str, str, str]
"""A key in readable form, the name and the ID of its action."""


class LeaderKeys(Rows):
    """Keys and names of the available actions, in columns; a click runs one."""

    area = "surface"

    def __init__(self) -> None:
        super().__init__()
        self._keys: Sequence[LeaderKey] = ()
        self._timer: Timer | None = None

    def show_soon(self, keys: Callable[[], Sequence[LeaderKey]] | None) -> None:
        """Show what `keys` returns after a moment; None hides the list."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = None if keys is None else self.set_timer(DELAY_S, partial(self._show_waited, keys))
        if keys is None:
            self._show(())

    def _show_waited(self, keys: Callable[[], Sequence[LeaderKey]]) -> None:
        if self._timer is not None:  # a timer that has fired is still in the queue when it is stopped
            self._show(keys())

    def _show(self, keys: Sequence[LeaderKey]) -> None:
        self._keys = keys
        self.display = bool(keys)
        self.refresh(layout=True)
        self.redraw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the columns and an empty row above and below."""
        most = max(4, viewport.height - 8)
        return min(-(-len(self._keys) // self._columns(width, most - 2)) + 2, most)

    def _columns(self, width: int, height: int) -> int:
        """Return the number of columns: as many as fit with whole names, more where the keys need more rows than there are."""
        longest = KEY + GAP + max((cells(name) for _, name, _ in self._keys), default=0)
        needed = -(-len(self._keys) // max(1, height))
        return max(1, (width - 2) // longest, min(needed, (width - 2) // NARROWEST))

    def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked key."""
        if act := pressed(event):
            event.stop()
            self.post_message(Pressed(act))

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the keys from top to bottom, then from left to right."""
        fill = self.look.palette.area(self.area)
        room = height - 2
        columns = self._columns(width, room)
        high = -(-len(self._keys) // columns)
        empty = Strip.blank(width, fill)
        rows = [self._row(self._keys[at::high], width, (width - 2) // columns) for at in range(min(high, room))]
        return [empty, *rows, empty]

    def _row(self, keys: Sequence[LeaderKey], width: int, column: int) -> Strip:
        palette, mark = self.look.palette, self.look.glyphs.ellipsis
        pieces: list[Piece] = [("  ", palette.area(self.area))]
        for key, name, action_id in keys:
            meta = pressing(action_id)
            words = pad(clip(name, column - KEY - GAP, mark), column - KEY)
            pieces += [
                (pad(key, KEY), palette.style("accent", self.area, bold=True) + meta),
                (words, palette.style("text", self.area) + meta),
            ]
        return row(width, pieces, fill=palette.area(self.area), mark=mark)
