"""The sessions of a folder by ID, kept in columns: a project may have 100,000."""

from collections.abc import ItemsView, Iterable, Iterator, MutableMapping, Sequence, ValuesView
from heapq import nlargest

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session_table import ARCHIVED, CHILD, FORK, SessionTable


class SessionMap(MutableMapping[str, ListedSession]):
    """A table of sessions that follows events. What walks over many rows uses `table` and `rows`: a value is made for each look."""

    def __init__(self, sessions: Iterable[ListedSession] = ()) -> None:
        self.table = sessions if isinstance(sessions, SessionTable) else SessionTable.of(sessions)
        self.changes: list[str] = []
        """The ID of the session of each change, the last one at the end."""
        self._gone = bytearray(len(self.table))
        """1 for each row that does not count any more."""
        self._below: dict[str, list[int]] = {}
        """The rows of what came from a session, of the first rows."""
        self._sorted = 0
        """How many these are."""

    @property
    def rows(self) -> Sequence[int]:
        """The rows of the table that count, in the order of their IDs."""
        gone = self._gone
        return [row for row in self.table.by_id() if not gone[row]]

    def newest(self, count: int) -> list[ListedSession]:
        """Return the sessions that were updated last, the last one first, without subagent and archived ones."""
        updated, flags = self.table.updated, self.table.flags
        rows = (row for row, is_gone in enumerate(self._gone) if not is_gone and not flags[row] & (CHILD | ARCHIVED))
        return [self.table[row] for row in nlargest(count, rows, key=updated.__getitem__)]

    def below(self, session_id: str) -> Iterator[ListedSession]:
        """Return the sessions that came from this one: its subagent sessions and its forks."""
        table, below = self.table, self._below
        for row in range(self._sorted, len(table)):
            if table.flags[row] & (CHILD | FORK):
                one = table[row]
                for origin in {one.parent_id, one.fork_of}:
                    below.setdefault(origin, []).append(row)
        self._sorted = len(table)
        return (table[row] for row in below.get(session_id, ()) if not self._gone[row])

    def row_of(self, session_id: str) -> int:
        """Return the row of a session, -1 without one."""
        row = self.table.row_of(session_id)
        return -1 if row < 0 or self._gone[row] else row

    def __getitem__(self, session_id: str) -> ListedSession:
        if (row := self.row_of(session_id)) < 0:
            raise KeyError(session_id)
        return self.table[row]

    def __setitem__(self, session_id: str, info: ListedSession) -> None:
        before = self.table.row_of(session_id)
        if self.table.put(info):
            if before >= 0:
                self._gone[before] = 1
            self._gone.append(0)
        else:
            self._gone[before] = 0
        self.changes.append(session_id)

    def __delitem__(self, session_id: str) -> None:
        if (row := self.row_of(session_id)) < 0:
            raise KeyError(session_id)
        self._gone[row] = 1
        self.changes.append(session_id)

    def __contains__(self, session_id: object) -> bool:
        return isinstance(session_id, str) and self.row_of(session_id) >= 0

    def __len__(self) -> int:
        return self._gone.count(0)

    def __iter__(self) -> Iterator[str]:
        return (one for one, is_gone in zip(self.table.ids, self._gone, strict=True) if not is_gone)

    def all(self) -> Iterator[ListedSession]:
        """Yield the sessions."""
        return (self.table[row] for row, is_gone in enumerate(self._gone) if not is_gone)

    def values(self) -> ValuesView[ListedSession]:
        """Return the sessions."""
        return _Values(self)

    def items(self) -> ItemsView[str, ListedSession]:
        """Return the sessions with their IDs."""
        return _Items(self)


class _Values(ValuesView[ListedSession]):
    """Sessions by their rows: looking up each ID would take longer."""

    def __init__(self, sessions: SessionMap) -> None:
        super().__init__(sessions)
        self._sessions = sessions

    def __iter__(self) -> Iterator[ListedSession]:
        return self._sessions.all()


class _Items(ItemsView[str, ListedSession]):
    def __init__(self, sessions: SessionMap) -> None:
        super().__init__(sessions)
        self._sessions = sessions

    def __iter__(self) -> Iterator[tuple[str, ListedSession]]:
        return ((info.id, info) for info in self._sessions.values())
