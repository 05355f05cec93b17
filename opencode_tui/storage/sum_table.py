"""A table of bytes by session: the sums of 100,000 sessions without an object for each of them.

Names and values are one run of bytes each, with the end of each row beside it. Slots by the checksums of the names say which row to
look at: a name is in the first slots from its own on, up to an empty one.
"""

from array import array
from binascii import crc32
from collections.abc import Mapping, Sequence
from itertools import chain

import msgspec


class SumTable(msgspec.Struct, frozen=True, array_like=True):
    """The table as the file has it, with the integers of this machine: ends of 64 bits, slots (row + 1, 0 for none) of 32."""

    names: memoryview
    name_ends: memoryview
    values: memoryview
    value_ends: memoryview
    slots: memoryview


NO_ROWS = SumTable(*[memoryview(b"")] * 5)


class TableReader:
    """Finds the rows of a table, fastest in their order. Raises TypeError for a table of another form."""

    def __init__(self, table: SumTable) -> None:
        self._names, self._values = table.names, table.values
        self._name_ends, self._value_ends = table.name_ends.cast("q"), table.value_ends.cast("q")
        self._slots = table.slots.cast("i")
        self._next = 0

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._name_ends)

    def find(self, session: str) -> bytes | None:
        """Return what a session has, None without a row."""
        name, row = _name(session), self._next
        if row >= len(self) or self.name(row) != name:
            row = self._row(name)
        if row < 0:
            return None
        self._next = row + 1
        return self.value(row)

    def _row(self, name: bytes) -> int:
        slots, at = self._slots, crc32(name)
        while slots and (row := slots[at % len(slots)]):
            if self.name(row - 1) == name:
                return row - 1
            at += 1
        return -1

    def name(self, row: int) -> bytes:
        """Return the name of the session in a row."""
        return bytes(self._names[self._name_ends[row - 1] if row else 0 : self._name_ends[row]])

    def value(self, row: int) -> bytes:
        """Return what is in a row."""
        return bytes(self._values[self._value_ends[row - 1] if row else 0 : self._value_ends[row]])


def table_with(
    old: TableReader, changed: Mapping[str, bytes], *, present: frozenset[str] | None = None
) -> Sequence[bytes | bytearray]:
    """Return the fields of a table with these values in place of those in an older one, as bytes.

    Of sessions that are not `present` nothing is kept, unless that is None.
    """
    new = {_name(session): value for session, value in changed.items() if present is None or session in present}
    names_left = None if present is None else frozenset(map(_name, present))
    names, values = bytearray(), bytearray()
    name_ends, value_ends = array("q"), array("q")
    slots = array("i", bytes(4 * (2 * (len(old) + len(new)) + 1)))
    kept = (
        (name, old.value(row))
        for row in range(len(old))
        if (name := old.name(row)) not in new and (names_left is None or name in names_left)
    )
    for name, value in chain(kept, new.items()):
        names += name
        values += value
        name_ends.append(len(names))
        value_ends.append(len(values))
        at = crc32(name)
        while slots[at % len(slots)]:
            at += 1
        slots[at % len(slots)] = len(name_ends)
    return [names, name_ends.tobytes(), values, value_ends.tobytes(), slots.tobytes()]


def _name(session: str) -> bytes:
    return session.encode("utf-8", "surrogateescape")
