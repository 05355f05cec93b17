"""Sessions as rows of a list, each with its state and made when it is asked for; deleted sessions."""

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.schema.on_demand import OnDemand
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session_table import CHILD, SessionTable
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.sessions.arrangement import Arranged, day
from opencode_tui.tui.state.folder import FolderState
from opencode_tui.tui.state.session_state import State, name_of, shown_titles, state_of, still_state

if TYPE_CHECKING:
    from opencode_tui.schema.api.trash import TrashedSession


class Row(Struct, frozen=True, gc=False):
    """A session, or a deleted one. Texts are safe."""

    of: "ListedSession | TrashedSession"
    id: str
    """The ID of the session, or the name of the entry in the trash."""
    time: int
    """When it was last updated, or deleted, in ms since 1970."""
    title: str
    group: str = ""
    """The day of `time`, of a fork or subagent session that of its tree; `Pinned`, or the folder of another project."""
    state: State = "idle"
    branch: str = ""
    """The tree line before it."""
    kind: str = ""
    """Empty, `fork` or the agent's name."""

    @property
    def is_pinned(self) -> bool:
        """Whether the user pinned the session."""
        return isinstance(self.of, ListedSession) and self.of.is_pinned

    @property
    def is_shared(self) -> bool:
        """Whether the session is on a share server."""
        return isinstance(self.of, ListedSession) and self.of.is_shared


class RowList(OnDemand[Row]):
    """The rows of a list from top to bottom."""

    groups: Sequence[tuple[int, str]] = ()
    """Where each group begins, with its name."""
    waiting: int = 0
    """How many sessions wait for an answer of the user."""

    @abstractmethod
    def find(self, row_id: str) -> int:
        """Return the place of a row, -1 without it."""

    @abstractmethod
    def id_at(self, at: int) -> str:
        """Return the ID of a row, without making it."""

    @abstractmethod
    def newest_first(self) -> Sequence[int]:
        """Return the places of all rows by their time, the latest first."""

    @abstractmethod
    def titles(self, places: Iterable[int]) -> list[str]:
        """Return the titles of these rows."""


class TableRows(RowList):
    """Rows of sessions in a table, as it is when a row is made."""

    def __init__(self, table: SessionTable, arranged: Arranged, folder: FolderState) -> None:
        self.groups = arranged.groups
        self._table = table
        self._rows = arranged.rows
        self._branches = arranged.branches
        self._folder = folder
        self._active = {*folder.statuses, *folder.ended, *(one.session_id for one in folder.asking.values())}
        self._places: dict[str, int] = {}
        self.waiting = sum(self.find(one) >= 0 for one in {one.session_id for one in folder.asking.values()})

    def __len__(self) -> int:
        return len(self._rows)

    def item(self, at: int) -> Row:
        """Return a row as its session is now."""
        row = self._rows[at]
        info, group = self._table[row], bisect_right(self.groups, at, key=itemgetter(0)) - 1
        kind, title = name_of(info)
        state = state_of(info, self._folder) if info.id in self._active else still_state(info)
        branch = self._branches.get(row, "")
        return Row(info, info.id, info.updated, title, self.groups[group][1], state, branch, kind)

    def find(self, row_id: str) -> int:
        """Return the place of a row, -1 without it."""
        if row_id not in self._places:
            row = self._table.row_of(row_id)
            self._places[row_id] = self._rows.index(row) if row >= 0 and row in self._rows else -1
        return self._places[row_id]

    def id_at(self, at: int) -> str:
        """Return the ID of a row."""
        return self._table.ids[self._rows[at]]

    def newest_first(self) -> Sequence[int]:
        """Return the places of all rows, the session that was updated last first."""
        updated, rows = self._table.updated, self._rows
        return array("I", sorted(range(len(rows)), key=lambda at: updated[rows[at]], reverse=True))

    def titles(self, places: Iterable[int]) -> list[str]:
        """Return the titles of these rows."""
        rows = [*map(self._rows.__getitem__, places)]
        flags = self._table.flags
        return shown_titles(self._table.titles.picked(rows), [flags[row] & CHILD for row in rows])


class TrashRows(RowList):
    """Deleted sessions in their order."""

    def __init__(self, entries: Iterable["TrashedSession"], now: int) -> None:
        self._rows = [
            Row(
                one,
                one.name,
                one.deleted,
                screen_line(" ".join(one.title.split())) or "(no title)",
                day(one.deleted, now),
            )
            for one in entries
        ]
        self._ids = [one.id for one in self._rows]
        self.groups = [
            (at, one.group) for at, one in enumerate(self._rows) if not at or one.group != self._rows[at - 1].group
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def item(self, at: int) -> Row:
        """Return a row."""
        return self._rows[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrashRows) and self._rows == other._rows

    def find(self, row_id: str) -> int:
        """Return the place of a row, -1 without it."""
        return self._ids.index(row_id) if row_id in self._ids else -1

    def id_at(self, at: int) -> str:
        """Return the name of an entry."""
        return self._ids[at]

    def newest_first(self) -> Sequence[int]:
        """Return the places of all rows, the session that was deleted last first."""
        return sorted(range(len(self)), key=lambda at: self._rows[at].time, reverse=True)

    def titles(self, places: Iterable[int]) -> list[str]:
        """Return the titles of these rows."""
        return [self._rows[at].title for at in places]


def row_of(info: ListedSession) -> Row:
    """Return a session outside of a list."""
    return Row(info, info.id, info.updated, name_of(info)[1])
