"""What the messages of each session add up to: steps, tokens and cost by model, calls by tool.

A sum is kept with the state of the folder of the session's messages and made anew when any process has changed that: records are
replaced, which changes the folder's state. The file `cache/index/{projectID}.sums` keeps them, with the total of the project for as
long as no state differs. It is read when a sum is not in memory, where only those stay that changed since, or that a list shows: a
project may have 100,000 sessions. All of it is derived data. Messages of a fork that are older than it were copied from
its source, where they count.
"""

import binascii
import hashlib
import json
import logging
import os
import sys
import threading
import time
from array import array
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from struct import Struct as Packing
from typing import NamedTuple, cast

import msgspec

from opencode_tui.schema.api.usage import ModelUsage, ProjectUsage
from opencode_tui.schema.record import MOST, JsonObject
from opencode_tui.schema.session.session import is_own, own_field
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_columns import ARCHIVED, FORK, Columns
from opencode_tui.storage.storage import Storage
from opencode_tui.storage.sum_table import NO_ROWS, SumTable, TableReader, table_with

_FORMAT = f"opencode-tui session sums 2 {sys.byteorder}".encode()

_TOLERATED_READS = 200
"""Messages that may be read before the file is written again."""

_REMEMBERED = 8
"""Sessions for which each message is cached: those that are changing now."""

_FEW = 1_000
"""Sessions whose folders are looked at one by one, in place of all."""

_MANY = 64
"""Sessions whose total is written down."""

_SEEN = 4_000
"""Sums from the file that stay in memory, of those that few are asked for."""

_YOUNG_NS = 100_000_000
"""A file modified this recently may change again without a new modification time."""

_BLOCK = 1_000
"""Names that are joined."""

_HEAD_BYTES = 1 << 16
"""The first line of the file has fewer bytes."""

_logger = logging.getLogger(__name__)


class _State(NamedTuple):
    """What changes with a file or folder, and the modification time among it."""

    inode: int
    size: int
    changed_ns: int

    def __str__(self) -> str:
        return " ".join(map(str, self))


class _Folders:
    """The states of all folders of messages: their names in blocks with a slash between them, and three numbers for each.

    So there is no object for each of 100,000.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers = array("q")

    @property
    def newest_ns(self) -> int:
        """When one of them was modified last."""
        return max(self.numbers[2::3], default=0)

    def states(self) -> Iterator[tuple[str, _State]]:
        """Yield the name and the state of each folder."""
        numbers = iter(self.numbers)
        names = (name for block in self.names if block for name in block.split("/"))
        yield from zip(names, map(_State, numbers, numbers, numbers), strict=True)


_HEAD = Packing("<Qqqq")
"""What is before a kept sum: the state of the folder of the messages, and `own_from` of the session."""


class _Use(msgspec.Struct, array_like=True, gc=False):
    """Steps with one model; the cost in USD."""

    model: str
    steps: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    cost: Decimal = Decimal(0)

    def add(self, other: "_Use") -> None:
        """Add the steps of another one with this model."""
        self.steps += other.steps
        self.input += other.input
        self.output += other.output
        self.cached += other.cached
        self.cost += other.cost


class _Sum(msgspec.Struct, array_like=True, gc=False):
    """What messages add up to. `tools` is None while their calls are not counted."""

    messages: int = 0
    uses: list[_Use] = msgspec.field(default_factory=list[_Use])
    tools: dict[str, int] | None = None

    @property
    def cost(self) -> Decimal:
        """The cost in USD."""
        return sum((use.cost for use in self.uses), Decimal(0))

    def add(self, other: "_Sum") -> None:
        """Add another one; calls are counted as long as those of all are."""
        self.messages += other.messages
        for one in other.uses:
            mine = next((use for use in self.uses if use.model == one.model), None)
            if mine is None:
                mine = _Use(one.model)
                self.uses.append(mine)
            mine.add(one)
        if other.tools is None:
            self.tools = None
        elif self.tools is not None:
            for tool, calls in other.tools.items():
                self.tools[tool] = self.tools.get(tool, 0) + calls


class _Total(msgspec.Struct, frozen=True, array_like=True):
    """The sum of all sessions while nothing differs from this digest of all states."""

    digest: bytes
    sum: _Sum


class _Spent(msgspec.Struct, frozen=True):
    """The USD of the sessions that are not archived, and of those that are, with this digest of all states."""

    digest: bytes
    active: Decimal
    archived: Decimal


class _Memory(msgspec.Struct):
    """What is in memory; a kept sum is packed, see `_packed`.

    `kept` are the sums that the file lacks, `seen` some of those that it has. `table` is the file's while something is looked up in
    it. `messages` of some sessions are by file and state.
    """

    total: _Total | None = None
    spent: _Spent | None = None
    kept: dict[str, bytes] = msgspec.field(default_factory=dict[str, bytes])
    seen: dict[str, bytes] = msgspec.field(default_factory=dict[str, bytes])
    table: TableReader | None = None
    messages: dict[str, dict[str, _Sum]] = msgspec.field(default_factory=dict[str, dict[str, _Sum]])
    unsaved: int = 0


class _File(msgspec.Struct, frozen=True, array_like=True):
    total: _Total | None = None
    table: SumTable = NO_ROWS


class _Found(NamedTuple):
    """The sum of a session, and whether it is kept with its calls."""

    session: str
    sum: _Sum
    is_kept: bool


class _Times(msgspec.Struct, frozen=True, gc=False):
    """When a message was created and completed, in ms."""

    created: int | float = 0
    completed: object = None


class _Cache(msgspec.Struct, frozen=True, gc=False):
    read: int | float = 0


class _Tokens(msgspec.Struct, frozen=True, gc=False):
    """The tokens of a step."""

    input: int | float = 0
    output: int | float = 0
    cache: _Cache = _Cache()


class _Message(msgspec.Struct, frozen=True, gc=False):
    """What is counted of a message's record; the cost in USD."""

    role: str = ""
    time: _Times = _Times()
    tokens: _Tokens = _Tokens()
    cost: int | float | str = 0
    provider: str = msgspec.field(default="", name="providerID")
    model: str = msgspec.field(default="", name="modelID")


_COUNTED = msgspec.json.Decoder(_Message)
_SUM = msgspec.msgpack.Decoder(_Sum)


class SessionSums:
    """The sums of one project's sessions; may be used from several threads."""

    def __init__(self, storage: Storage, project_id: str) -> None:
        self._files = storage.files
        self._root = str(storage.paths.storage)
        self._path = str(storage.paths.cache / "index" / f"{project_id}.sums")
        self._memory = _Memory()
        self._lock = threading.Lock()

    def costs(self, begun: Mapping[str, int]) -> dict[str, Decimal]:
        """Return the cost in USD of these sessions, given with their `own_from`; free ones are left out. Blocks.

        Lists one folder for many, or looks at each of a few, and reads the messages of those that have changed. Raises
        StorageError.
        """
        is_few = len(begun) <= _FEW
        with self._working() as memory:
            states = ((one, self._state(one)) for one in begun) if is_few else self._folders().states()
            asked = ((one, begun[one], state) for one, state in states if one in begun and state is not None)
            found = self._sums(memory, asked, has_tools=False, is_few=is_few)
            costs = {one.session: cost for one in found if (cost := one.sum.cost)}
            self._save(memory)
        return costs

    def spent(self, columns: Columns, *, is_archived: bool = False) -> Decimal:
        """Return the cost in USD of the sessions in these columns that are not archived, or of those that are. Blocks.

        Those of agents are archived with the session that called them. Calls without a message are included. Without a change to
        any session since the last call no sum is read. Raises StorageError.
        """
        with self._working() as memory:
            folders, digest = self._look(columns)
            spent = memory.spent
            if spent is None or not digest or spent.digest != digest:
                archived = _archived(columns)
                active_usd = archived_usd = Decimal(0)
                for session, found, _ in self._sums(memory, _asked(columns, folders), has_tools=False):
                    if session in archived:
                        archived_usd += found.cost
                    else:
                        active_usd += found.cost
                for session, cost in columns.costs.items():
                    if session in archived:
                        archived_usd += Decimal(str(cost))
                    else:
                        active_usd += Decimal(str(cost))
                spent = memory.spent = _Spent(digest, active_usd, archived_usd)
                self._save(memory)
        return spent.archived if is_archived else spent.active

    def total(self, columns: Columns, since: int = 0) -> ProjectUsage:
        """Return the totals of the sessions in these columns that were used since then (ms). Blocks. Raises StorageError.

        Without `since`, and with no change to any session since the last call of any process, no sum is read.
        """
        rows = [row for row, updated in enumerate(columns.updated) if updated >= since]
        with self._working() as memory:
            folders, digest = self._look(columns)
            if memory.total is None and not since:
                self._table(memory)
            known = memory.total
            if not since and known is not None and known.digest == digest:
                found = known.sum
            else:
                found, is_whole = _Sum(tools={}), True
                for one in self._sums(memory, _asked(columns, folders, rows), has_tools=True):
                    found.add(one.sum)
                    is_whole = is_whole and one.is_kept
                if not since and digest and is_whole:
                    memory.total = _Total(digest, found)
                    memory.unsaved += (_TOLERATED_READS + 1) * (len(rows) > _MANY)
                self._save(memory)
        hidden = columns.costs
        if len(rows) < len(columns.names):
            chosen = {columns.id_of(row) for row in rows}
            hidden = {one: cost for one, cost in hidden.items() if one in chosen}
        return _rendered(len(rows), found, sum((Decimal(str(cost)) for cost in hidden.values()), Decimal(0)))

    @contextmanager
    def _working(self) -> Generator[_Memory]:
        """Return what is in memory, for this thread alone; what was read of the file for it is dropped afterwards."""
        with self._lock:
            try:
                yield self._memory
            finally:
                self._memory.table = None

    def _sums(
        self,
        memory: _Memory,
        asked: Iterable[tuple[str, int, _State]],
        *,
        has_tools: bool,
        is_few: bool = False,
    ) -> Iterator[_Found]:
        """Yield the sums of sessions, of their own messages, whose folders were in these states since this is called."""
        horizon = time.time_ns() - _YOUNG_NS
        for session, begun, state in asked:
            head = _HEAD.pack(*state, begun)
            known = self._known(memory, session, is_few=is_few)
            if known is not None and known.startswith(head):
                found = _SUM.decode(memoryview(known)[_HEAD.size :])
                if not (has_tools and found.tools is None):
                    yield _Found(session, found, found.tools is not None)
                    continue
            found, is_open = self._add_up(memory, session, begun, horizon, has_tools=has_tools)
            memory.kept.pop(session, None)
            memory.seen.pop(session, None)
            if is_kept := state.changed_ns < horizon:
                memory.kept[session] = head + msgspec.msgpack.encode(_closed(found, is_open=is_open))
            yield _Found(session, found, is_kept and not is_open and found.tools is not None)

    def _known(self, memory: _Memory, session: str, *, is_few: bool) -> bytes | None:
        """Return the kept sum of a session; sums that `is_few` were asked for stay in memory."""
        known = memory.kept.get(session) or memory.seen.get(session)
        if known is not None or session in memory.messages:  # what changes now is not looked for in the file each time
            return known
        known = self._table(memory).find(session)
        if is_few and known is not None:
            if len(memory.seen) >= _SEEN:
                memory.seen.clear()
            memory.seen[session] = known
        return known

    def _add_up(self, memory: _Memory, session: str, begun: int, horizon: int, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return the sum of a session's messages, and whether one is being written; unchanged messages are not read again."""
        before = memory.messages.pop(session, {})
        folder = folder_path(self._root, ("message", session))
        total, is_any_open = _Sum(tools={}), False
        stable = memory.messages[session] = {}
        for name, state in self._states(folder):
            if (message := segment_of(f"{name}{SUFFIX}")) is None:
                continue
            key = f"{begun} {name} {state}"
            found, is_open = before.get(key), False
            if found is None or (has_tools and found.tools is None):
                found, is_open = self._read_message(f"{folder}/{name}{SUFFIX}", message, begun, has_tools=has_tools)
                memory.unsaved += 1
            total.add(found)
            is_any_open = is_any_open or is_open
            if state.changed_ns < horizon:
                stable[key] = _closed(found, is_open=is_open)
        if len(memory.messages) > _REMEMBERED:
            del memory.messages[next(iter(memory.messages))]
        return total, is_any_open

    def _read_message(self, path: str, message: str, begun: int, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return what a message adds, and whether it is being written; nothing for a damaged one, or one that a fork copied."""
        found, tools = self._message(path), dict[str, int]()
        if found.role not in ("user", "assistant") or not is_own(message, begun):
            return _Sum(tools=tools), False
        if found.role == "user":
            return _Sum(1, tools=tools), False
        used = found.tokens
        use = _Use(
            f"{found.provider}/{found.model}",
            1,
            _number(used.input),
            _number(used.output),
            _number(used.cache.read),
            _usd(found.cost),
        )
        for tool in self._tools(message) if has_tools else ():
            tools[tool] = tools.get(tool, 0) + 1
        return _Sum(1, [use], tools if has_tools else None), found.time.completed is None

    def _message(self, path: str) -> _Message:
        """Return what is counted of a message, an empty one when it is removed or damaged."""
        try:
            data = self._files.read_whole(path)
        except OSError:
            return _Message()
        try:
            return _COUNTED.decode(data)
        except (msgspec.MsgspecError, RecursionError):
            return _message_of(_parsed(data))  # slower, and takes what is not as expected

    def _tools(self, message: str) -> Iterable[str]:
        """Yield the tool of each call in a message."""
        folder = folder_path(self._root, ("part", message))
        try:
            names = self._files.names(folder)
        except OSError:
            return  # it has no parts, or opening the session reports the error
        for name in names:
            if segment_of(name) is not None:
                part = self._object(f"{folder}/{name}", b'"tool"')
                if part.get("type") == "tool" and isinstance(tool := part.get("tool"), str):
                    yield tool

    def _object(self, path: str, mark: bytes) -> JsonObject:
        """Return a record that has these bytes; nothing when it is removed or damaged: opening the session reports it."""
        try:
            data = self._files.read_whole(path)
        except OSError:
            return {}
        return _parsed(data) if mark in data else {}

    def _look(self, columns: Columns) -> tuple["_Folders", bytes]:
        """Return the states of all folders of messages, and a digest of all states.

        It is empty when a file or a folder may change again without another state.
        """
        horizon = time.time_ns() - _YOUNG_NS
        folders = self._folders()
        if folders.newest_ns >= horizon or 0 in columns.states[2::3]:
            return folders, b""
        digest = hashlib.blake2b(digest_size=16)
        blocks = ("/".join(columns.names[at : at + _BLOCK]) for at in range(0, len(columns.names), _BLOCK))
        for names, numbers in ((folders.names, folders.numbers), (blocks, columns.states)):
            digest.update(f"{len(numbers)}\n".encode())
            for block in names:
                digest.update(block.encode("utf-8", "surrogateescape") + b"/")
            digest.update(numbers)
        return folders, digest.digest()

    def _folders(self) -> "_Folders":
        """Return the states of all folders of messages. Raises StorageError."""
        folders, names = _Folders(), list[str]()
        add = folders.numbers.append
        for name, state in self._listed(folder_path(self._root, ("message",))):
            names.append(name)
            add(state.st_ino)  # `extend` with all three takes twice the time
            add(state.st_size)
            add(state.st_mtime_ns)
            if len(names) == _BLOCK:
                folders.names.append("/".join(names))
                names.clear()
        folders.names.append("/".join(names))
        return folders

    def _states(self, folder: str) -> Iterable[tuple[str, _State]]:
        """Yield the names in a folder, without the suffix of records, each with its state. Raises StorageError."""
        for name, one in self._listed(folder):
            yield name.removesuffix(SUFFIX), _state_of(one)

    def _listed(self, folder: str) -> Iterable[tuple[str, os.stat_result]]:
        try:
            yield from self._files.list_states(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "list", folder) from error

    def _state(self, session: str) -> _State | None:
        """Return the state of the folder of a session's messages, None without one. Raises StorageError."""
        folder = folder_path(self._root, ("message", session))
        try:
            return _state_of(self._files.lstat(folder))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "look at", folder) from error

    def _table(self, memory: _Memory) -> TableReader:
        """Return the table of the file, and keep the total that it has if there is none yet."""
        if memory.table is None:
            file = self._read_file()
            memory.total = memory.total or file.total
            memory.table = TableReader(file.table)
        return memory.table

    def _read_file(self) -> _File:
        try:
            content = memoryview(self._files.read_whole(self._path))
            head, _, _ = bytes(content[:_HEAD_BYTES]).partition(b"\n")
            body = content[len(head) + 1 :]
            if head == self._head(body):
                return msgspec.msgpack.decode(body, type=_File)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError) as error:
            _logger.info("adding up again what %s has: %s", self._path, error)
        return _File()

    def _save(self, memory: _Memory) -> None:
        """Replace the file when it lacks many messages; a failure is logged."""
        if memory.unsaved <= _TOLERATED_READS:
            return
        table = table_with(self._table(memory), memory.kept, present=self._present())
        body = msgspec.msgpack.encode([memory.total, table])
        try:
            AtomicWriter(self._files).write(self._path, b"\n".join([self._head(body), body]))
            memory.kept.clear()
        except OSError as error:
            _logger.warning("the sums of sessions were not kept: %s", storage_error(error, "write", self._path))
        memory.unsaved = 0

    def _present(self) -> frozenset[str] | None:
        """Return the sessions that have messages; None where that is not known."""
        try:
            return frozenset(self._files.names(folder_path(self._root, ("message",))))
        except FileNotFoundError:
            return frozenset()
        except OSError:
            return None

    def _head(self, body: bytes | memoryview) -> bytes:
        return b"\t".join([_FORMAT, self._root.encode("utf-8", "surrogateescape"), b"%08x" % binascii.crc32(body)])


def _closed(found: _Sum, *, is_open: bool) -> _Sum:
    """Return what may be kept: the calls of a message that is being written get more without a change of its record."""
    return msgspec.structs.replace(found, tools=None) if is_open else found


def _state_of(one: os.stat_result) -> _State:
    return _State(one.st_ino, one.st_size, one.st_mtime_ns)


def _asked(
    columns: Columns, folders: "_Folders", rows: Sequence[int] | None = None
) -> Iterator[tuple[str, int, _State]]:
    """Yield the sessions in these rows, or in all, that have messages, with their `own_from` and their states."""
    names, flags = columns.names, columns.flags
    wanted = set(names if rows is None else map(names.__getitem__, rows))
    forked = {names[row]: own_field(columns.id_of(row)) for row, one in enumerate(flags) if one & FORK}
    for session, state in folders.states():
        if (name := f"{session}{SUFFIX}") in wanted:
            yield session, forked.get(name, 0), state


def _archived(columns: Columns) -> set[str]:
    """Return the sessions that are archived themselves or with their callers."""
    found = {columns.id_of(row) for row, flags in enumerate(columns.flags) if flags & ARCHIVED}
    if not found:
        return found
    for session in columns.parents:
        above, one = list[str](), session
        while one not in found and one in columns.parents and one not in above:
            above.append(one)
            one = columns.parents[one]
        if one in found:
            found.update(above)
    return found


def _rendered(sessions: int, found: _Sum, hidden: Decimal) -> ProjectUsage:
    models = {
        use.model: ModelUsage(
            steps=use.steps, input=use.input, output=use.output, cached=use.cached, cost=float(use.cost)
        )
        for use in found.uses
    }
    tools = dict(sorted((found.tools or {}).items(), key=lambda one: (-one[1], one[0])))
    cost = float(found.cost + hidden)
    return ProjectUsage(
        sessions=sessions, messages=found.messages, cost=cost, hidden=float(hidden), models=models, tools=tools
    )


def _message_of(record: JsonObject) -> _Message:
    """Return what is counted of a record with values that may not be what they should."""
    times, tokens = _object(record.get("time")), _object(record.get("tokens"))
    return _Message(
        str(record.get("role")),
        _Times(_number(times.get("created")), times.get("completed")),
        _Tokens(
            _number(tokens.get("input")),
            _number(tokens.get("output")),
            _Cache(_number(_object(tokens.get("cache")).get("read"))),
        ),
        str(record.get("cost")),
        str(record.get("providerID", "")),
        str(record.get("modelID", "")),
    )


def _parsed(data: bytes) -> JsonObject:
    """Return a record, nothing for a damaged one."""
    try:
        return _object(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _object(value: object) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return int(value) if isinstance(value, int | float) and abs(value) <= MOST else 0


def _usd(value: object) -> Decimal:
    if not isinstance(value, int | float | str):
        return Decimal(0)
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return cost if cost.is_finite() and 0 < cost <= MOST else Decimal(0)
