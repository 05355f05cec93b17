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
        places = [at for at, row_id in enumerate(ids) if row_id]
        at = places[0] if places else 0
        if near is not None and places:
            at = next((place for place in places if place >= near), places[-1])
        self._select(next((place for place in places if ids[place] == self.chosen), at))

    def move(self, rows: int) -> bool:
        """Move up or down by selectable rows; return whether there are any."""
        places = [at for at, row_id in enumerate(self.ids) if row_id]
        if places:
            here = places.index(self.at) if self.at in places else 0
            self._select(places[min(max(0, here + rows), len(places) - 1)])
        return bool(places)

    def select(self, row_id: str) -> None:
        """Select a row by its ID, which may come with the next rows."""
        self.chosen = row_id
        if row_id in self.ids:
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
