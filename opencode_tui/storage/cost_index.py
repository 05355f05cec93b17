"""What each session cost, summed up from its messages and remembered beside the state of their folder.

A sum is made anew when the folder has changed since, by whatever process: records are replaced, so the folder tells. The file
`cache/index/{projectID}.costs` carries the sums to the next process; it is derived and never the truth. Messages that are older
than their session were copied into a fork and are none of its costs.
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
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.keys import folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage

_FORMAT = "opencode-tui session costs 1"

_TOLERATED_READS = 200
"""So many messages may have been read since the file was written last."""

_REMEMBERED = 8
"""Sessions whose messages are known one by one: those that change while one looks."""

_YOUNG_NS = 100_000_000
"""What was changed so shortly before it was read may change again with the same time."""

_logger = logging.getLogger(__name__)


class _State(NamedTuple):
    """What tells a file or folder from what it was before, and when it was changed."""

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
        """Return what the answers of these sessions cost in USD, by session; free ones are left out. Blocks.

        Costs one look at a folder for all of them, and the messages of those that have changed. Raises StorageError.
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
        """Return the sum over a session's messages; what was read of them lately is not read again."""
        before = memory.messages.pop(info.id, {})
        folder = folder_path(self._root, ("message", info.id))
        total = Decimal(0)
        settled = memory.messages[info.id] = {}
        for name, state in self._states(folder).items():
            if segment_of(name) is None:
                continue
            cost = before.get(f"{name} {state.text}")
            if cost is None:
                cost = self._read_cost(f"{folder}/{name}", info.time.created)
                memory.unsaved += 1
            total += cost
            if state.changed_ns < horizon:
                settled[f"{name} {state.text}"] = cost
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
        """Return the cost of a message; nothing for a request, a damaged record, or one from before the session."""
        try:
            data = self._files.read_whole(path)
            found: object = json.loads(data) if b'"cost"' in data else None
        except (OSError, ValueError):
            return Decimal(0)  # gone, or to be repaired: opening the session reports it
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
            told: object = json.loads(self._files.read_whole(self._path))
        except FileNotFoundError:
            return _Memory()
        except (OSError, ValueError) as error:
            _logger.info("the costs in %s are summed up anew: %s", self._path, error)
            return _Memory()
        fields = cast("dict[str, object]", told) if isinstance(told, dict) else {}
        sums = fields.get("sums")
        if [fields.get("format"), fields.get("root")] != [_FORMAT, self._root] or not isinstance(sums, dict):
            return _Memory()
        return _Memory({name: one for name, pair in cast("dict[str, object]", sums).items() if (one := _sum(pair))})

    def _save(self, memory: _Memory) -> None:
        """Replace the file; a disk that refuses is told in the log."""
        sums = {name: [one.state, str(one.cost)] for name, one in memory.sums.items()}
        told: Mapping[str, object] = {"format": _FORMAT, "root": self._root, "sums": sums}
        try:
            AtomicWriter(self._files).write(self._path, json.dumps(told).encode("utf-8", "surrogatepass"))
        except OSError as error:
            _logger.warning("the next sums of costs take longer: %s", storage_error(error, "write", self._path))
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
