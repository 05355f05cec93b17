"""The selected row of a list, and the rows of it that are visible."""

from collections.abc import Sequence


class Selection:
    """Follows a row by its ID; rows with an empty ID, such as headings, cannot be selected."""

    def __init__(self) -> None:
        self.ids: Sequence[str] = ()
        self.chosen = ""
        """The ID of the selected row, which may come with the next rows; empty when there is none."""
        self.at = 0
        """The number of the selected row."""
        self._top = 0

    def show(self, ids: Sequence[str], *, near: int | None = None) -> None:
        """Select among other rows: the same one, else the one at `near` or after it, else the first."""
        if ids is self.ids and self.chosen and self.at < len(ids) and ids[self.at] == self.chosen:
            return
        self.ids = ids
        if self.chosen and self.chosen in ids:
            self._select(ids.index(self.chosen))
        elif near is None:
            self._select(self._next(-1, 1, 0))
        else:
            self._select(self._next(near - 1, 1, self._next(len(ids), -1, 0)))

    def move(self, rows: int) -> bool:
        """Move up or down by selectable rows; return whether there are any."""
        at, step = self.at, 1 if rows > 0 else -1
        if abs(rows) >= len(self.ids):  # to the first or the last row, however many there are
            at = self._next(len(self.ids) if step > 0 else -1, -step, at)
        else:
            for _ in range(abs(rows)):
                at = self._next(at, step, at)
        self._select(at)
        return bool(self.chosen)

    def _next(self, at: int, step: int, otherwise: int) -> int:
        """Return the place of the next selectable row in a direction, `otherwise` where there is none."""
        end = len(self.ids) if step > 0 else -1
        return next((place for place in range(at + step, end, step) if self.ids[place]), otherwise)

    def select(self, row_id: str) -> None:
        """Select a row by its ID, which may come with the next rows."""
        self.chosen = row_id
        if row_id and row_id in self.ids:
            self.at = self.ids.index(row_id)

    def scroll(self, rows: int) -> None:
        """Show the rows that are so many below the visible ones, as far as the selection stays visible."""
        self._top += rows

    def visible(self, height: int) -> range:
        """Return the numbers of the visible rows: the selected one and its neighbors are among them."""
        top = min(max(self._top, self.at - height + 2), self.at - 1 if self.at else 0, len(self.ids) - height)
        self._top = max(0, top)
        return range(self._top, min(len(self.ids), self._top + height))

    def _select(self, at: int) -> None:
        self.at = at
        self.chosen = self.ids[at] if at < len(self.ids) else ""
