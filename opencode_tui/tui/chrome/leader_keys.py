"""The list of keys that can follow the leader key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.timer import Timer

from opencode_tui.schema.api.keybinds import Action
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.cells import width as cells
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.widgets.row import Piece, Rows, row

NARROWEST = 26
"""Cells of a column, under which names would be cut too much: the key, the name, a gap."""

KEY, GAP = 7, 2
"""Cells of a key, and between columns."""

MARGIN = 2
"""Cells left of the keys."""

AROUND = 4
"""Rows of the window outside the list: the title, an empty one, and the two below the prompt."""

DELAY_S = 0.4
"""Seconds after the leader key until the keys are listed; who knows the second key presses it earlier."""


LeaderKey = tuple[str, Action]
"""A key in readable form, and its action."""


@dataclass(frozen=True, slots=True)
class Column:
    """Keys below each other with their names, and the cells of both."""

    keys: Sequence[LeaderKey]
    names: Sequence[str]
    key_cells: int
    name_cells: int


def columns_of(keys: Sequence[LeaderKey], width: int, height: int) -> Sequence[Column]:
    """Return the keys in columns: as many as fit with whole names, equal ones before narrower ones, short names last.

    Names are cut only where not even short ones fit in columns of that height.
    """
    full, short = [one.name for _, one in keys], [one.short or one.name for _, one in keys]
    longest = KEY + GAP + max((cells(name) for name in full), default=0)
    needed = -(-len(keys) // max(1, height))
    equal = max(1, width // longest)
    if needed <= equal:
        return _columns(keys, full, equal, (KEY, width // equal - KEY))
    for names in (full, short):
        found = _columns(keys, names, needed)
        if sum(one.key_cells + one.name_cells for one in found) - GAP <= width:
            return found
    most = max(1, min(needed, width // NARROWEST))
    return _columns(keys, short, most, (KEY, width // most - KEY))


def _columns(
    keys: Sequence[LeaderKey], names: Sequence[str], count: int, cells_of: tuple[int, int] | None = None
) -> Sequence[Column]:
    """Return so many columns, each as wide as `cells_of` says, or as its own keys and names need."""
    high = -(-len(keys) // count)
    found: list[Column] = []
    for at in range(0, len(keys), high or 1):
        here, called = keys[at : at + high], names[at : at + high]
        key, name = cells_of or (
            max(cells(one) for one, _ in here) + GAP,
            max(map(cells, called)) + GAP,
        )
        found.append(Column(here, called, key, name))
    return found


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
        most = max(4, viewport.height - AROUND)
        columns = columns_of(self._keys, width - MARGIN, most - 2)
        return min(max((len(one.keys) for one in columns), default=0) + 2, most)

    def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked key."""
        if act := pressed(event):
            event.stop()
            self.post_message(Pressed(act))

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the keys from top to bottom, then from left to right."""
        fill = self.look.palette.area(self.area)
        room = height - 2
        columns = columns_of(self._keys, width - MARGIN, room)
        empty = Strip.blank(width, fill)
        high = max((len(one.keys) for one in columns), default=0)
        return [empty, *(self._row(columns, at, width) for at in range(min(high, room))), empty]

    def _row(self, columns: Sequence[Column], at: int, width: int) -> Strip:
        palette, mark = self.look.palette, self.look.glyphs.ellipsis
        pieces: list[Piece] = [(" " * MARGIN, palette.area(self.area))]
        for column in columns:
            if at >= len(column.keys):
                continue
            (key, action), room = column.keys[at], column.name_cells
            meta = pressing(action.id)
            pieces += [
                (pad(key, column.key_cells), palette.style("accent", self.area, bold=True) + meta),
                (pad(clip(column.names[at], room - GAP, mark), room), palette.style("text", self.area) + meta),
            ]
        return row(width, pieces, fill=palette.area(self.area), mark=mark)
