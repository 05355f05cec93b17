"""Many listed sessions in columns: about 150 bytes for each, where an object for each would need 500.

A project may have 100,000 sessions, of which a screen shows 40. Texts are stored one after the other in one piece of memory,
numbers in arrays; a session is made when it is asked for. Rows are only added: who replaces sessions notes which rows count.
"""

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple, Self

from msgspec.structs import replace

from opencode_tui.schema.on_demand import OnDemand
from opencode_tui.schema.session.listed import ListedSession

ARCHIVED, PINNED, SHARED, UNDONE, CHANGED, CHILD, FORK = (1 << bit for bit in range(7))
"""Bits of `SessionTable.flags`; CHANGED: the changed lines are known, FORK: of a session that has no parent."""

_MANY = 1_000
"""Added rows from which all are sorted by their IDs again."""

_NEW = 1 << 31
"""Where the numbers of new rows begin while they are put between the old ones."""

_MANGLED = "surrogatepass"
"""Half a character is kept: names of files and titles of other programs may have one."""


class Texts(OnDemand[str]):
    """Texts in one piece of memory; the last one can be added to, none can be changed."""

    def __init__(self, data: bytes = b"", ends: "Iterable[int] | bytes" = ()) -> None:
        """`ends` are where each text ends in `data`."""
        self._data = bytearray(data)
        self._starts = array("Q", [0])
        if isinstance(ends, bytes):
            self._starts.frombytes(ends)
        else:
            self._starts.extend(ends)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return these texts."""
        encoded = [text.encode("utf-8", _MANGLED) for text in texts]
        return cls(b"".join(encoded), accumulate(map(len, encoded)))

    def dump(self) -> tuple[bytes, bytes]:
        """Return the data and the ends, which make the same texts again."""
        return bytes(self._data), self._starts[1:].tobytes()

    def append(self, text: str) -> None:
        """Add a text."""
        self._data += text.encode("utf-8", _MANGLED)
        self._starts.append(len(self._data))

    def extend(self, other: "Texts", start: int, stop: int) -> None:
        """Add texts of other ones."""
        first, moved = other._starts[start], len(self._data) - other._starts[start]
        self._data += other._data[first : other._starts[stop]]
        self._starts.extend(end + moved for end in other._starts[start + 1 : stop + 1])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def item(self, at: int) -> str:
        """Return a text."""
        starts = self._starts
        return self._data[starts[at] : starts[at + 1]].decode("utf-8", _MANGLED)

    def __iter__(self) -> Iterator[str]:
        data, start = self._data, 0
        for end in self._starts[1:]:
            yield data[start:end].decode("utf-8", _MANGLED)
            start = end

    def edit(self, edits: Iterable["_Edit"], other: "Texts") -> None:
        """Replace texts by some of others; of the edits the last one comes first."""
        sizes, others = (array("Q", (end - start for start, end in pairwise(one._starts))) for one in (self, other))
        for start, stop, begin, end in edits:
            self._data[self._starts[start] : self._starts[stop]] = other._data[
                other._starts[begin] : other._starts[end]
            ]
            sizes[start:stop] = others[begin:end]
        self._starts = array("Q", accumulate(sizes, initial=0))

    def picked(self, places: Iterable[int]) -> list[str]:
        """Return the texts in these places, many of them faster than one by one."""
        places = [*places]
        if len(places) < len(self) // 2 or not self._data.isascii():
            return [*map(self.item, places)]
        text, starts = self._data.decode("ascii"), self._starts
        return [text[starts[at] : starts[at + 1]] for at in places]

    def is_empty(self, at: int) -> bool:
        """Return whether a text is empty."""
        return self._starts[at] == self._starts[at + 1]


class _Edit(NamedTuple):
    """The rows from `start` to `stop` are replaced by those of another table from `begin` to `end`."""

    start: int
    stop: int
    begin: int
    end: int


class _Rest(NamedTuple):
    """What few sessions have."""

    parent_id: str = ""
    fork_of: str = ""
    fork_before: str = ""
    undone_requests: int = 0
    additions: int = 0
    deletions: int = 0


_NO_REST = _Rest()


class SessionTable(OnDemand[ListedSession]):
    """Sessions as lists show them, each by its row, and rows by their IDs; of several rows with one ID the last one counts."""

    def __init__(self) -> None:
        self.ids = Texts()
        self.titles = Texts()
        self.created = array("q")
        self.updated = array("q")
        self.flags = bytearray()
        self._rests = Texts()
        self._directories: list[str] = []
        self._directory = array("I")
        self._by_id = array("I")
        """Rows in the order of their IDs."""
        self._added: dict[str, int] = {}
        """Rows after these, by ID."""
        self._indexed = 0
        """Rows that are in one of both."""

    @classmethod
    def of(cls, sessions: Iterable[ListedSession]) -> Self:
        """Return a table of these sessions in their order."""
        table = cls()
        for one in sessions:
            table.append(one)
        return table

    @classmethod
    def load(cls, pieces: Iterator[bytes]) -> Self:
        """Return a table that was dumped, of which each piece is asked for when it is needed. Raises ValueError for other ones."""
        table = cls()

        def piece() -> bytes:
            if (found := next(pieces, None)) is None:
                raise ValueError("a table without all its columns")
            return found

        table.ids, table.titles, table._rests, directories = (Texts(piece(), piece()) for _ in range(4))
        for column in (table._directory, table.created, table.updated, table._by_id):
            column.frombytes(piece())
        table.flags += piece()
        table._directories, table._indexed = [*directories], len(table)
        columns = (table.ids, table.titles, table._rests, table._directory, table.created, table.updated, table._by_id)
        if {*map(len, columns)} != {len(table)}:
            raise ValueError("a table with columns of different lengths")
        return table

    def dump(self) -> list[bytes]:
        """Return the pieces that `load` reads; numbers are in the byte order of the machine."""
        texts = (self.ids, self.titles, self._rests, Texts.of(self._directories))
        arrays = (self._directory, self.created, self.updated, self._sorted())
        return [
            *(piece for one in texts for piece in one.dump()),
            *(one.tobytes() for one in arrays),
            bytes(self.flags),
        ]

    def __len__(self) -> int:
        return len(self.flags)

    def item(self, at: int) -> ListedSession:
        """Return a session."""
        flags, rest = self.flags[at], self._rest(at)
        return ListedSession(
            self.ids[at],
            self.titles[at],
            self._directories[self._directory[at]],
            self.created[at],
            self.updated[at],
            flags & ARCHIVED != 0,
            rest.parent_id,
            rest.fork_of,
            rest.fork_before,
            flags & PINNED != 0,
            flags & SHARED != 0,
            flags & UNDONE != 0,
            rest.undone_requests,
            rest.additions,
            rest.deletions,
            flags & CHANGED != 0,
        )

    def __iter__(self) -> Iterator[ListedSession]:
        return map(self.item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | SessionTable) and [*self] == [*other]

    def origin_at(self, row: int) -> str:
        """Return the ID of the session that this one came from, as `ListedSession.origin`."""
        rest = self._rest(row)
        return rest.parent_id or rest.fork_of

    def parent_at(self, row: int) -> str:
        """Return the ID of the parent, empty without one."""
        return self._rest(row).parent_id

    def changes_at(self, row: int) -> tuple[int, int]:
        """Return the added and deleted lines."""
        rest = self._rest(row)
        return rest.additions, rest.deletions

    def directory_at(self, row: int) -> str:
        """Return the folder of a session."""
        return self._directories[self._directory[row]]

    def row_of(self, session_id: str) -> int:
        """Return the row of a session, -1 without one."""
        self._index()
        if (row := self._added.get(session_id)) is not None:
            return row
        by_id = self._by_id
        at = bisect_right(by_id, session_id, key=self.ids.item) - 1
        return by_id[at] if at >= 0 and self.ids[by_id[at]] == session_id else -1

    def by_id(self) -> "array[int]":
        """Return all rows in the order of their IDs, those with one ID from the first to the last."""
        self._index()
        rows = self._by_id[:]
        for row in self._added.values():
            rows.insert(bisect_right(rows, self.ids[row], key=self.ids.item), row)
        return rows

    def _index(self) -> None:
        """Note where the IDs of added rows are: of many in one array, of a few in a dictionary, which needs 20 times as much."""
        if len(self) - self._indexed + len(self._added) > _MANY:
            self._by_id = self._sorted()
            self._added.clear()
        else:
            self._added.update((self.ids[row], row) for row in range(self._indexed, len(self)))
        self._indexed = len(self)

    def _sorted(self) -> "array[int]":
        """Return all rows in the order of their IDs, those with one ID from the first to the last."""
        return array("I", sorted(range(len(self)), key=[*self.ids].__getitem__))

    def put(self, info: ListedSession) -> bool:
        """Add a session; return whether it has a new row: one that differs only by its times keeps its own."""
        row = self.row_of(info.id)
        if row >= 0 and self[row] == replace(info, created=self.created[row], updated=self.updated[row]):
            self.created[row], self.updated[row] = info.created, info.updated
            return False
        self.append(info)
        return True

    def extend(self, other: "SessionTable", start: int, stop: int) -> None:
        """Add rows of another table."""
        for mine, theirs in ((self.ids, other.ids), (self.titles, other.titles), (self._rests, other._rests)):
            mine.extend(theirs, start, stop)
        self.created += other.created[start:stop]
        self.updated += other.updated[start:stop]
        self.flags += other.flags[start:stop]
        numbers = array("I", map(self._number_of, other._directories))
        self._directory.extend(map(numbers.__getitem__, other._directory[start:stop]))

    def change(self, lost: Iterable[str], added: Iterable[ListedSession]) -> None:
        """Remove some sessions and add others, which replace those of their IDs; all rows are the newest first, and stay so."""
        by_id, new = self.by_id(), SessionTable.of(sorted(added, key=_newest_first))
        without = {self.row_of(one) for one in (*lost, *new.ids)} - {-1}
        places = (bisect_left(range(len(self)), _newest_first(one), key=self._order_of) for one in new)
        edits = [*(_Edit(row, row + 1, 0, 0) for row in without)]
        edits += (_Edit(place, place, number, number + 1) for number, place in enumerate(places))
        edits.sort(reverse=True)  # the last one first: rows before it keep their numbers
        for mine, theirs in ((self.ids, new.ids), (self.titles, new.titles), (self._rests, new._rests)):
            mine.edit(edits, theirs)
        directory = array("I", (self._number_of(new.directory_at(row)) for row in range(len(new))))
        rows = array("I", range(len(self)))
        numbered = array("I", (_NEW + row for row in range(len(new))))
        for start, stop, begin, end in edits:
            self.created[start:stop] = new.created[begin:end]
            self.updated[start:stop] = new.updated[begin:end]
            self.flags[start:stop] = new.flags[begin:end]
            self._directory[start:stop] = directory[begin:end]
            rows[start:stop] = numbered[begin:end]
        moved, self._added = array("I", by_id), {}
        for number, row in enumerate(rows):
            if row < _NEW:
                moved[row] = number
            else:
                self._added[new.ids[row - _NEW]] = number
        self._by_id = array("I", (moved[row] for row in by_id if row not in without))
        self._indexed = len(self)

    def _order_of(self, row: int) -> tuple[int, str]:
        return -self.created[row], self.ids[row]

    def append(self, info: ListedSession) -> None:
        """Add a row."""
        self.ids.append(info.id)
        self.titles.append(info.title)
        rest = _Rest(
            info.parent_id,
            info.fork_of,
            info.fork_before,
            info.undone_requests,
            info.additions,
            info.deletions,
        )
        self._rests.append("" if rest == _NO_REST else json.dumps(rest))
        self._directory.append(self._number_of(info.directory))
        self.created.append(info.created)
        self.updated.append(info.updated)
        self.flags.append(
            ARCHIVED * info.is_archived
            | PINNED * info.is_pinned
            | SHARED * info.is_shared
            | UNDONE * info.is_undone
            | CHANGED * info.has_changes
            | CHILD * bool(info.parent_id)
            | FORK * bool(info.fork_of and not info.parent_id)
        )

    def _number_of(self, directory: str) -> int:
        """Return the number of a folder; there are few."""
        if directory not in self._directories:
            self._directories.append(directory)
        return self._directories.index(directory)

    def _rest(self, row: int) -> _Rest:
        return _NO_REST if self._rests.is_empty(row) else _Rest(*json.loads(self._rests[row]))


def _newest_first(info: ListedSession) -> tuple[int, str]:
    return -info.created, info.id


def newest_first(sessions: Iterable[ListedSession]) -> SessionTable:
    """Return a table of sessions, the newest first by (creation, ID)."""
    return SessionTable.of(sorted(sessions, key=_newest_first))
