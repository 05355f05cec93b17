"""The lines of a list of sessions: its rows by group with headings, or those that a filter found; a row is made when asked for."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter

from msgspec.structs import replace

from opencode_tui.schema.on_demand import OnDemand
from opencode_tui.tui.sessions.rows import Row, RowList


class Lines(OnDemand[Row | str]):
    """All rows, with a heading above each group, and an empty line before all headings but the first."""

    def __init__(self, rows: RowList) -> None:
        self._rows = rows
        self._heads = [start + 2 * number for number, (start, _) in enumerate(rows.groups)]
        """The lines of the headings."""

    def __len__(self) -> int:
        return len(self._rows) + max(0, 2 * len(self._heads) - 1)

    def item(self, at: int) -> Row | str:
        """Return a row, or the text of a line without one."""
        place = self._place(at)
        return self._rows[place] if place >= 0 else self._word(at)

    def find(self, row_id: str) -> int:
        """Return the line of a row, -1 without it."""
        place = self._rows.find(row_id)
        if place < 0:
            return -1
        group = bisect_right(self._rows.groups, place, key=itemgetter(0)) - 1
        return place + 2 * group + 1

    def id_at(self, at: int) -> str:
        """Return the ID of the row in a line, empty for a heading or an empty line."""
        place = self._place(at)
        return self._rows.id_at(place) if place >= 0 else ""

    def _place(self, at: int) -> int:
        """Return the place of the row in a line, -1 for a heading or an empty line."""
        group = self._group(at)
        place = at - 2 * group - 1
        ends = [start for start, _ in self._rows.groups[group + 1 : group + 2]] or [len(self._rows)]
        return place if self._rows.groups[group][0] <= place < ends[0] else -1

    def _word(self, at: int) -> str:
        group = self._group(at)
        return self._rows.groups[group][1] if at == self._heads[group] else ""

    def _group(self, at: int) -> int:
        if not 0 <= at < len(self):
            raise IndexError(at)
        return bisect_right(self._heads, at) - 1


class Picked(Lines):
    """Some rows in another order, without headings and without tree lines."""

    def __init__(self, rows: RowList, places: Sequence[int]) -> None:
        super().__init__(rows)
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def item(self, at: int) -> Row | str:
        """Return a row, without its tree line."""
        one = self._rows[self._places[at]]
        return replace(one, branch="") if one.branch else one

    def find(self, row_id: str) -> int:
        """Return the line of a row, -1 without it."""
        place = self._rows.find(row_id)
        return self._places.index(place) if place >= 0 and place in self._places else -1

    def id_at(self, at: int) -> str:
        """Return the ID of the row in a line."""
        return self._rows.id_at(self._places[at])


class LineIds(OnDemand[str]):
    """The IDs of lines, empty for those without a row."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def item(self, at: int) -> str:
        """Return the ID in a line."""
        return self._lines.id_at(at)

    def __contains__(self, row_id: object) -> bool:
        return isinstance(row_id, str) and self._lines.find(row_id) >= 0

    def index(self, value: str, start: int = 0, stop: int | None = None) -> int:
        """Return the line of an ID. Raises ValueError."""
        at = self._lines.find(value)
        if not start <= at < (len(self) if stop is None else stop):
            raise ValueError(value)
        return at
