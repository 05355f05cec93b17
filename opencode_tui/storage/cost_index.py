"""An index of session costs, summed over messages and cached with the state of the message folder.

A sum is recalculated when any process has changed the folder: records are replaced, which changes the folder's state. The file
`cache/index/{projectID}.costs` keeps the sums for the next process; it is derived data. Messages older than their session were
copied into a fork and do not count.
"""

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, cast

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.keys import folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage

_FORMAT = "opencode-tui session costs 1"

_TOLERATED_READS = 200
"""Messages that may be read before the file is written again."""

_REMEMBERED = 8
"""Sessions for which the cost of each message is cached: those that are changing now."""

_YOUNG_NS = 100_000_000
"""A file modified this recently may change again without a new modification time."""

_logger = logging.getLogger(__name__)


class _State(NamedTuple):
    """A text that changes with the file or folder, and the modification time."""

    text: str
    changed_ns: int


class _Sum(NamedTuple):
    """A session's cost in USD while the folder of its messages is in this state."""

    state: str
    cost: Decimal


@dataclass(slots=True)
class _Memory:
    sums: dict[str, _Sum] = field(default_factory=dict[str, _Sum])
    messages: dict[str, dict[str, Decimal]] = field(default_factory=dict[str, dict[str, Decimal]])
    """By session, for the last few: the cost of each message by the state of its file."""
    unsaved: int = 0


class CostIndex:
    """The costs of one project's sessions; may be used from several threads."""

    def __init__(self, storage: Storage, project_id: str) -> None:
        self._files = storage.files
        self._root = str(storage.paths.storage)
        self._path = str(storage.paths.cache / "index" / f"{project_id}.costs")
        self._memory: _Memory | None = None
        self._lock = threading.Lock()

    def read(self, sessions: Sequence[SessionInfo]) -> dict[str, Decimal]:
        """Return the cost of these sessions in USD, by session; free ones are left out. Blocks.

        Lists one folder for all of them, and reads the messages of those that have changed. Raises StorageError.
        """
        with self._lock:
            memory = self._memory = self._memory or self._load()
            horizon = time.time_ns() - _YOUNG_NS
            states = self._states(folder_path(self._root, ("message",)))
            found: dict[str, Decimal] = {}
            for info in sessions:
                if (state := states.get(info.id)) is None:
                    continue
                known = memory.sums.get(info.id)
                if known is None or known.state != state.text:
                    known = memory.sums[info.id] = _Sum(state.text, self._add_up(info, horizon, memory))
                if known.cost:
                    found[info.id] = known.cost
                if state.changed_ns >= horizon:
                    del memory.sums[info.id]
            if memory.unsaved > _TOLERATED_READS:
                self._save(memory)
            return found

    def _add_up(self, info: SessionInfo, horizon: int, memory: _Memory) -> Decimal:
        """Return the sum over a session's messages; unchanged messages are not read again."""
        before = memory.messages.pop(info.id, {})
        folder = folder_path(self._root, ("message", info.id))
        total = Decimal(0)
        stable = memory.messages[info.id] = {}
        for name, state in self._states(folder).items():
            if segment_of(name) is None:
                continue
            cost = before.get(f"{name} {state.text}")
            if cost is None:
                cost = self._read_cost(f"{folder}/{name}", info.time.created)
                memory.unsaved += 1
            total += cost
            if state.changed_ns < horizon:
                stable[f"{name} {state.text}"] = cost
        if len(memory.messages) > _REMEMBERED:
            del memory.messages[next(iter(memory.messages))]
        return total

    def _states(self, folder: str) -> dict[str, _State]:
        """Return the state of each name in a folder."""
        try:
            found = self._files.list_states(folder)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "list", folder) from error
        return {name: _State(f"{one.st_ino} {one.st_size} {one.st_mtime_ns}", one.st_mtime_ns) for name, one in found}

    def _read_cost(self, path: str, since: int) -> Decimal:
        """Return the cost of a message; 0 for a request, a damaged record, or a message older than the session."""
        try:
            data = self._files.read_whole(path)
            found: object = json.loads(data) if b'"cost"' in data else None
        except (OSError, ValueError):
            return Decimal(0)  # removed or damaged: opening the session reports it
        if not isinstance(found, dict):
            return Decimal(0)
        record = cast("dict[str, object]", found)
        times = record.get("time")
        created = cast("dict[str, object]", times).get("created") if isinstance(times, dict) else None
        if isinstance(created, int | float) and created < since:
            return Decimal(0)
        return _usd(record.get("cost"))

    def _load(self) -> _Memory:
        try:
            loaded: object = json.loads(self._files.read_whole(self._path))
        except FileNotFoundError:
            return _Memory()
        except (OSError, ValueError) as error:
            _logger.info("recalculating the costs in %s: %s", self._path, error)
            return _Memory()
        fields = cast("dict[str, object]", loaded) if isinstance(loaded, dict) else {}
        sums = fields.get("sums")
        if [fields.get("format"), fields.get("root")] != [_FORMAT, self._root] or not isinstance(sums, dict):
            return _Memory()
        return _Memory({name: one for name, pair in cast("dict[str, object]", sums).items() if (one := _sum(pair))})

    def _save(self, memory: _Memory) -> None:
        """Replace the file; a failure is logged."""
        sums = {name: [one.state, str(one.cost)] for name, one in memory.sums.items()}
        content: Mapping[str, object] = {"format": _FORMAT, "root": self._root, "sums": sums}
        try:
            AtomicWriter(self._files).write(self._path, json.dumps(content).encode("utf-8", "surrogatepass"))
        except OSError as error:
            _logger.warning("session costs were not cached: %s", storage_error(error, "write", self._path))
        memory.unsaved = 0


def _sum(pair: object) -> _Sum | None:
    match pair:
        case [str(state), str(cost)]:
            return _Sum(state, _usd(cost))
        case _:
            return None


def _usd(value: object) -> Decimal:
    if not isinstance(value, int | float | str):
        return Decimal(0)
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return Decimal(0)
    return cost if cost.is_finite() and cost > 0 else Decimal(0)
