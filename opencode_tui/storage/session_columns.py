"""The index file of a project's sessions: columns that lists choose and sort by, then the records, which only whole lists read.

Columns are arrays, so that 100,000 sessions are loaded and compared in milliseconds and need a few megabytes. The first line of
the file has the format, the store's folder, the length of the columns, and checksums of the columns and of the records.
"""

import binascii
import logging
import os
import sys
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec

from opencode_tui.schema.record import Reader
from opencode_tui.schema.session.listed import ListedSession, read_listed
from opencode_tui.schema.session.session import SessionInfo, fork_origin, hidden_cost, own_field
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import SUFFIX
from opencode_tui.storage.record_file import storage_error

_FORMAT = f"opencode-tui session index 2 {sys.byteorder}"

CHILD, ARCHIVED, FORK = 1, 2, 4
"""Bits of `Columns.flags`."""

STATE = 3
"""Numbers of a file's state: inode, size, modification time in ns."""

_BLOCK = 500
"""Sessions parsed at once; other threads can run in between."""

_HEAD_BYTES = 1 << 16
"""Bytes that are read at first; the first line has fewer."""

_READ_BYTES = 1 << 20

_logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class Columns(msgspec.Struct, frozen=True):
    """One row for each session, in the order in which the system lists the files.

    `names` are those of the files, times are in ms. `parents`, and `costs` in USD of calls without a message, have only the
    sessions with one, by ID.
    """

    names: Sequence[str]
    states: "array[int]"
    created: "array[int]"
    updated: "array[int]"
    flags: bytes
    parents: Mapping[str, str]
    costs: Mapping[str, float]

    def id_of(self, row: int) -> str:
        """Return the ID of the session in a row."""
        return self.names[row][: -len(SUFFIX)]

    def begun(self, rows: Iterable[int]) -> dict[str, int]:
        """Return for sessions by ID what says which of their messages are their own, as `own_from` does."""
        return {one: own_field(one) if self.flags[row] & FORK else 0 for row in rows for one in (self.id_of(row),)}


class _Stored(msgspec.Struct, frozen=True, array_like=True):
    """Columns in the file: names with a line feed between them, numbers as the bytes of their arrays."""

    names: str
    states: bytes
    created: bytes
    updated: bytes
    flags: bytes
    parents: dict[str, str]
    costs: dict[str, float]


def numbers(values: "Iterable[int] | bytes" = ()) -> "array[int]":
    """Return integers of 64 bits."""
    return array("q", values)


NONE = Columns((), numbers(), numbers(), numbers(), b"", {}, {})
"""The columns of no session."""


def updated_columns(
    old: Columns,
    names: Sequence[str],
    states: "array[int]",
    rows: Sequence[int],
    read: Mapping[str, SessionInfo],
    *,
    lost: Set[str],
) -> Columns:
    """Return the columns of these names: their rows in `old`, or what was `read` where the row is negative.

    `lost` are the names in `old` without a row here, and those that were read.
    """
    created, updated = (numbers(_picked([*column, 0], rows)) for column in (old.created, old.updated))
    flags = bytearray(_picked(old.flags + b"\0", rows))
    for number, row in enumerate(rows):
        if row < 0:
            info = read[names[number]]
            created[number], updated[number], flags[number] = info.time.created, info.time.updated, _flags(info)
    without = {name[: -len(SUFFIX)] for name in lost}
    parents = {one: parent for one, parent in old.parents.items() if one not in without}
    costs = {one: cost for one, cost in old.costs.items() if one not in without}
    for info in read.values():
        _add_extras(info, parents, costs)
    return Columns(names, states, created, updated, bytes(flags), parents, costs)


def edited_columns(
    old: Columns, states: Mapping[str, tuple[int, int, int]], read: Mapping[str, SessionInfo], rows: Mapping[str, int]
) -> Columns:
    """Return columns with the sessions that were `read` in their rows or behind the others, without the other ones in `rows`.

    `rows` has the row in `old` of each name that differs. As fast for 100,000 sessions as for one.
    """
    names, all_states, created, updated = [*old.names], old.states[:], old.created[:], old.updated[:]
    flags, parents, costs = bytearray(old.flags), dict(old.parents), dict(old.costs)
    for name in rows:
        parents.pop(name[: -len(SUFFIX)], None)
        costs.pop(name[: -len(SUFFIX)], None)
    for name, info in read.items():
        row = rows.get(name, len(names))
        names[row : row + 1] = [name]
        all_states[row * STATE : (row + 1) * STATE] = numbers(states[name])
        created[row : row + 1] = numbers([info.time.created])
        updated[row : row + 1] = numbers([info.time.updated])
        flags[row : row + 1] = bytes([_flags(info)])
        _add_extras(info, parents, costs)
    for row in sorted((row for name, row in rows.items() if name not in read), reverse=True):
        del names[row], all_states[row * STATE : (row + 1) * STATE], created[row], updated[row], flags[row]
    return Columns(names, all_states, created, updated, bytes(flags), parents, costs)


def _add_extras(info: SessionInfo, parents: dict[str, str], costs: dict[str, float]) -> None:
    """Add what only some sessions have."""
    if info.parent_id is not None:
        parents[info.id] = info.parent_id
    if cost := hidden_cost(info):
        costs[info.id] = float(cost)


def _picked(column: Sequence[int], rows: Iterable[int]) -> Iterator[int]:
    """Yield the numbers of a column in these rows; its last number is that of a row -1."""
    return map(column.__getitem__, rows)


def _flags(info: SessionInfo) -> int:
    is_child, is_archived = info.parent_id is not None, info.time.archived is not None
    return CHILD * is_child | ARCHIVED * is_archived | FORK * (fork_origin(info) is not None)


class _Begun(msgspec.Struct, frozen=True):
    """An open index of which the first line and the columns were read, and the `rest` of what was read with them."""

    descriptor: int
    head: bytes
    columns: bytes
    rest: bytes


class IndexFile:
    """Loads and saves the index files of one store, `cache/index/{projectID}.index`. All methods block."""

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store; indexes of another store are ignored."""
        self._files = files
        self._folder = folder
        self._root = root

    def load(self, project_id: str) -> tuple[Columns, str]:
        """Return the columns and the mark of the file; none when it is missing, damaged, or of another store or version."""
        path = self._path(project_id)
        try:
            with self._opened(path) as begun:
                if begun.head.startswith(self._head(begun.columns)):
                    return _parse_columns(begun.columns), _mark(begun.head)
        except FileNotFoundError:
            pass
        except OSError as error:
            _logger.warning("listing sessions without an index: %s", storage_error(error, "read", path))
        except (msgspec.MsgspecError, ValueError):
            _logger.info("rebuilding the index %s of another version", path)
        return NONE, ""

    def mark(self, project_id: str) -> str:
        """Return a text that is another one for an index file with other sessions; empty where there is none."""
        try:
            descriptor = self._files.open(self._path(project_id), os.O_RDONLY)
        except OSError:
            return ""
        try:
            return _mark(self._files.read(descriptor, _HEAD_BYTES).partition(b"\n")[0])
        except OSError:
            return ""
        finally:
            self._files.close(descriptor)

    def records(self, project_id: str, mark: str) -> dict[str, SessionInfo] | None:
        """Return the sessions in the file with this mark by the names of their files, None for another or a damaged one."""
        return self._by_name(project_id, mark, _parse_records)

    def listed(self, project_id: str, mark: str) -> dict[str, ListedSession] | None:
        """Return the sessions as `records` does, in the form of lists."""
        return self._by_name(project_id, mark, read_listed)

    def _by_name(
        self, project_id: str, mark: str, parse: Callable[[Iterable[bytes]], Iterable[_T]]
    ) -> dict[str, _T] | None:
        try:
            with self._opened(self._path(project_id)) as begun:
                if not mark or _mark(begun.head) != mark:
                    return None
                names = _parse_columns(begun.columns).names
                return dict(zip(names, parse(self._lines(begun)), strict=True))
        except (OSError, msgspec.MsgspecError, ValueError):
            return None

    def _lines(self, begun: "_Begun") -> Iterator[bytes]:
        """Yield the lines of records, piece by piece: they may have 40 MB. They are valid only if this comes to its end.

        Raises OSError, ValueError when the file is damaged.
        """
        left, checksum = begun.rest, binascii.crc32(begun.rest)
        while more := self._files.read(begun.descriptor, _READ_BYTES):
            checksum = binascii.crc32(more, checksum)
            *lines, left = (left + more).split(b"\n")
            yield from filter(None, lines)
        yield from filter(None, left.split(b"\n"))
        if begun.head != self._head(begun.columns) + _hexadecimal(checksum):
            raise ValueError("the index is damaged")

    @contextmanager
    def _opened(self, path: str) -> Generator["_Begun"]:
        """Open an index and read its first line and its columns. Raises OSError."""
        descriptor = self._files.open(path, os.O_RDONLY)
        try:
            head, _, rest = self._files.read(descriptor, _HEAD_BYTES).partition(b"\n")
            length = _length(head)
            while len(rest) < length and (more := self._files.read(descriptor, length - len(rest))):
                rest += more
            yield _Begun(descriptor, head, rest[:length], rest[length:])
        finally:
            self._files.close(descriptor)

    def save(self, project_id: str, columns: Columns, sessions: Mapping[str, SessionInfo]) -> str:
        """Replace the index and return its mark; `sessions` has those of all rows. A failure is logged, the mark empty then."""
        path = self._path(project_id)
        stored, body = _render_columns(columns), _render_records([sessions[name] for name in columns.names])
        try:
            head = self._head(stored) + _checksum(body)
            AtomicWriter(self._files).write(path, head + b"\n" + stored + body)
        except OSError as error:
            _logger.warning("the index of sessions was not saved: %s", storage_error(error, "write", path))
            return ""
        return _mark(head)

    def _head(self, columns: bytes) -> bytes:
        """Return the first line up to the checksum of the records."""
        root = self._root.encode("utf-8", "surrogateescape")
        return b"\t".join([_FORMAT.encode(), root, b"%d" % len(columns), _checksum(columns), b""])

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.index"


def _checksum(data: bytes) -> bytes:
    return _hexadecimal(binascii.crc32(data))


def _hexadecimal(checksum: int) -> bytes:
    return b"%08x" % checksum


def _mark(head: bytes) -> str:
    """Return the length of the columns and both checksums in the first line."""
    return " ".join(field.decode("ascii", "replace") for field in head.split(b"\t")[-3:])


def _length(head: bytes) -> int:
    """Return the length of the columns by the first line, 0 for a line of another format."""
    with suppress(IndexError, ValueError):
        return max(0, int(head.split(b"\t")[-3]))
    return 0


def _parse_columns(data: bytes) -> Columns:
    """Return stored columns. Raises MsgspecError, ValueError."""
    stored = msgspec.msgpack.decode(data, type=_Stored)
    names = stored.names.split("\n") if stored.names else []
    return Columns(
        names,
        numbers(stored.states),
        numbers(stored.created),
        numbers(stored.updated),
        stored.flags,
        stored.parents,
        stored.costs,
    )


def _render_columns(columns: Columns) -> bytes:
    stored = _Stored(
        "\n".join(columns.names),
        columns.states.tobytes(),
        columns.created.tobytes(),
        columns.updated.tobytes(),
        columns.flags,
        dict(columns.parents),
        dict(columns.costs),
    )
    return msgspec.msgpack.encode(stored)


def _parse_records(lines: Iterable[bytes]) -> list[SessionInfo]:
    """Return the sessions in the lines. Raises ValidationError, a ValueError."""
    return [info for line in lines for info in _SESSIONS.validate_json(line)]


_SESSIONS: Reader[list[SessionInfo]] = Reader(list[SessionInfo])


def _render_records(sessions: Sequence[SessionInfo]) -> bytes:
    blocks = (sessions[start : start + _BLOCK] for start in range(0, len(sessions), _BLOCK))
    lines = (",".join(info.to_line().decode() for info in block) for block in blocks)
    return "\n".join(f"[{line}]" for line in lines).encode()
