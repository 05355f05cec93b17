"""What the messages of each session add up to: steps, tokens and cost by model, calls by tool.

A sum is kept with the state of the folder of the session's messages and made anew when any process has changed that: records are
replaced, which changes the folder's state. The file `cache/index/{projectID}.sums` keeps them for the next process, with the total
of the project for as long as no state differs. All of it is derived data. Messages of a fork that are older than it were copied
from its source, where they count.
"""

import binascii
import hashlib
import json
import logging
import os
import threading
import time
from array import array
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, cast

import msgspec

from opencode_tui.schema.api.usage import ModelUsage, ProjectUsage
from opencode_tui.schema.record import MOST, JsonObject
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_columns import Columns
from opencode_tui.storage.storage import Storage

_FORMAT = b"opencode-tui session sums 1"

_TOLERATED_READS = 200
"""Messages that may be read before the file is written again."""

_REMEMBERED = 8
"""Sessions for which each message is cached: those that are changing now."""

_FEW = 64
"""Sessions whose folders are looked at one by one, in place of all."""

_YOUNG_NS = 100_000_000
"""A file modified this recently may change again without a new modification time."""

_logger = logging.getLogger(__name__)


class _State(NamedTuple):
    """A text that changes with the file or folder, and the modification time."""

    text: str
    changed_ns: int


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
        """Add another one; one whose calls are not counted has none."""
        self.messages += other.messages
        for one in other.uses:
            mine = next((use for use in self.uses if use.model == one.model), None)
            if mine is None:
                mine = _Use(one.model)
                self.uses.append(mine)
            mine.add(one)
        if other.tools is not None:
            self.tools = self.tools or {}
            for tool, calls in other.tools.items():
                self.tools[tool] = self.tools.get(tool, 0) + calls


class _Kept(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A session's sum, of messages since `since` (ms), while the folder of its messages is in this state."""

    state: str
    since: int
    sum: _Sum


class _Total(msgspec.Struct, frozen=True, array_like=True):
    """The sum of all sessions while nothing differs from this digest of all states."""

    digest: bytes
    sum: _Sum


class _Memory(msgspec.Struct):
    """`kept` is by session, `stored` that of the file until it is needed; `messages` of some sessions, by file and state."""

    total: _Total | None = None
    stored: msgspec.Raw | None = None
    kept: dict[str, _Kept] = msgspec.field(default_factory=dict[str, _Kept])
    messages: dict[str, dict[str, _Sum]] = msgspec.field(default_factory=dict[str, dict[str, _Sum]])
    unsaved: int = 0


class _File(msgspec.Struct, frozen=True, array_like=True):
    total: _Total | None
    kept: msgspec.Raw


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


class SessionSums:
    """The sums of one project's sessions; may be used from several threads."""

    def __init__(self, storage: Storage, project_id: str) -> None:
        self._files = storage.files
        self._root = str(storage.paths.storage)
        self._path = str(storage.paths.cache / "index" / f"{project_id}.sums")
        self._memory: _Memory | None = None
        self._lock = threading.Lock()

    def costs(self, since: Mapping[str, int]) -> dict[str, Decimal]:
        """Return the cost in USD of these sessions, each of its messages since a time (ms); free ones are left out. Blocks.

        Lists one folder for all of them, or looks at each of a few, and reads the messages of those that have changed. Raises
        StorageError.
        """
        with self._lock:
            memory = self._memory = self._memory or self._load()
            if len(since) <= _FEW:
                states = {one: state for one in since if (state := self._state(one)) is not None}
            else:
                states = dict(self._states(folder_path(self._root, ("message",))))
            sums = self._sums(memory, since, states, has_tools=False)
            self._save(memory)
        return {one: cost for one, found in sums.items() if (cost := found.cost)}

    def total(self, columns: Columns, since: int = 0) -> ProjectUsage:
        """Return the totals of the sessions in these columns that were used since then (ms). Blocks. Raises StorageError.

        Without `since`, and with no change to any session since the last call of any process, no sum is read.
        """
        rows = [row for row, updated in enumerate(columns.updated) if updated >= since]
        with self._lock:
            memory = self._memory = self._memory or self._load()
            names, states, digest = self._look(columns)
            known = memory.total
            if not since and known is not None and known.digest == digest:
                found = known.sum
            else:
                found = _Sum(tools={})
                sums = self._sums(memory, columns.begun(rows), _by_name(names, states), has_tools=True)
                for one in sums.values():
                    found.add(one)
                if not since and digest and all(memory.kept[one].sum.tools is not None for one in sums):
                    memory.total = _Total(digest, found)
                    memory.unsaved += _TOLERATED_READS * (len(rows) > _FEW)
                self._save(memory)
        hidden = columns.costs
        if len(rows) < len(columns.names):
            chosen = {columns.id_of(row) for row in rows}
            hidden = {one: cost for one, cost in hidden.items() if one in chosen}
        return _rendered(len(rows), found, sum((Decimal(str(cost)) for cost in hidden.values()), Decimal(0)))

    def _sums(
        self, memory: _Memory, since: Mapping[str, int], states: Mapping[str, _State], *, has_tools: bool
    ) -> dict[str, _Sum]:
        """Return the sums of these sessions, of messages since then; those without messages are left out."""
        horizon = time.time_ns() - _YOUNG_NS
        if memory.stored is not None:
            memory.kept, memory.stored = _kept_of(memory.stored), None
        sums: dict[str, _Sum] = {}
        for session, begun in since.items():
            if (state := states.get(session)) is None:
                continue
            known = memory.kept.get(session)
            is_current = known is not None and (known.state, known.since) == (state.text, begun)
            if known is not None and is_current and not (has_tools and known.sum.tools is None):
                sums[session] = known.sum
                continue
            sums[session], is_open = self._add_up(memory, session, begun, horizon, has_tools=has_tools)
            memory.kept.pop(session, None)
            if state.changed_ns < horizon:
                memory.kept[session] = _Kept(state.text, begun, _closed(sums[session], is_open=is_open))
        return sums

    def _add_up(self, memory: _Memory, session: str, since: int, horizon: int, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return the sum of a session's messages, and whether one is being written; unchanged messages are not read again."""
        before = memory.messages.pop(session, {})
        folder = folder_path(self._root, ("message", session))
        total, is_any_open = _Sum(tools={} if has_tools else None), False
        stable = memory.messages[session] = {}
        for name, state in self._states(folder):
            if (message := segment_of(f"{name}{SUFFIX}")) is None:
                continue
            key = f"{since} {name} {state.text}"
            found, is_open = before.get(key), False
            if found is None or (has_tools and found.tools is None):
                found, is_open = self._read_message(f"{folder}/{name}{SUFFIX}", message, since, has_tools=has_tools)
                memory.unsaved += 1
            total.add(found)
            is_any_open = is_any_open or is_open
            if state.changed_ns < horizon:
                stable[key] = _closed(found, is_open=is_open)
        if len(memory.messages) > _REMEMBERED:
            del memory.messages[next(iter(memory.messages))]
        return total, is_any_open

    def _read_message(self, path: str, message: str, since: int, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return what a message adds, and whether it is being written; nothing for a damaged one, or one from before `since`."""
        found, tools = self._message(path), dict[str, int]()
        if found.role not in ("user", "assistant") or _number(found.time.created) < since:
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

    def _look(self, columns: Columns) -> tuple[list[str], "array[int]", bytes]:
        """Return the names and states of all folders of messages, and a digest of all states.

        It is empty when a file or a folder may change again without another state.
        """
        horizon = time.time_ns() - _YOUNG_NS
        names, states = list[str](), array("q")
        for name, state in self._listed(folder_path(self._root, ("message",))):
            names.append(name)
            states.append(state.st_ino)  # `extend` with all three takes twice the time
            states.append(state.st_size)
            states.append(state.st_mtime_ns)
        if max(states[2::3], default=0) >= horizon or 0 in columns.states[2::3]:
            return names, states, b""
        digest = hashlib.blake2b(digest_size=16)
        for listed, numbers in ((names, states), (columns.names, columns.states)):
            digest.update(f"{len(listed)}\n".encode())
            digest.update("\n".join(listed).encode("utf-8", "surrogateescape"))
            digest.update(numbers)
        return names, states, digest.digest()

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

    def _load(self) -> _Memory:
        try:
            head, _, body = self._files.read_whole(self._path).partition(b"\n")
            if head == self._head(body):
                stored = msgspec.msgpack.decode(body, type=_File)
                return _Memory(stored.total, stored.kept)
        except FileNotFoundError:
            pass
        except (OSError, msgspec.MsgspecError) as error:
            _logger.info("adding up again what %s has: %s", self._path, error)
        return _Memory()

    def _save(self, memory: _Memory) -> None:
        """Replace the file when it lacks many messages; a failure is logged."""
        if memory.unsaved <= _TOLERATED_READS:
            return
        body = msgspec.msgpack.encode([memory.total, memory.kept if memory.stored is None else memory.stored])
        try:
            AtomicWriter(self._files).write(self._path, self._head(body) + b"\n" + body)
        except OSError as error:
            _logger.warning("the sums of sessions were not kept: %s", storage_error(error, "write", self._path))
        memory.unsaved = 0

    def _head(self, body: bytes) -> bytes:
        return b"\t".join([_FORMAT, self._root.encode("utf-8", "surrogateescape"), b"%08x" % binascii.crc32(body)])


def _closed(found: _Sum, *, is_open: bool) -> _Sum:
    """Return what may be kept: the calls of a message that is being written get more without a change of its record."""
    return msgspec.structs.replace(found, tools=None) if is_open else found


def _kept_of(stored: msgspec.Raw) -> dict[str, _Kept]:
    try:
        return msgspec.msgpack.decode(stored, type=dict[str, _Kept])
    except msgspec.MsgspecError as error:
        _logger.info("adding up all sessions again: %s", error)
        return {}


def _state_of(one: os.stat_result) -> _State:
    return _State(_text(one.st_ino, one.st_size, one.st_mtime_ns), one.st_mtime_ns)


def _text(*state: int) -> str:
    return " ".join(map(str, state))


def _by_name(names: Sequence[str], states: "array[int]") -> dict[str, _State]:
    """Return the states of folders by name."""
    at = iter(states)
    triples = zip(at, at, at, strict=True)
    return {name: _State(_text(*one), one[2]) for name, one in zip(names, triples, strict=True)}


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
