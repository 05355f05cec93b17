"""What the messages of each session add up to: steps, tokens and cost by model, calls by tool.

A sum is kept in the row of the session in the index file, with the state of the folder of its messages, and made again when any
process has changed that: records are replaced, which changes the folder. Messages of a fork that are older than it were copied from
its source, where they count.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.schema.api.usage import ModelUsage, ProjectUsage
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.message import AnyMessage, UserMessage
from opencode_tui.schema.session.newer import parse_message, parse_stored_part
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import SessionInfo, hidden_cost, is_own, own_from
from opencode_tui.storage.index_file import writing
from opencode_tui.storage.keys import folder_path, segment_of
from opencode_tui.storage.record_file import checked, storage_error
from opencode_tui.storage.session_index import SessionIndex, is_old
from opencode_tui.storage.storage import Storage

T = TypeVar("T")

_REMEMBERED = 8
"""Sessions for which the sum of each message is cached: those that are changing now."""

_FEW = 1_000
"""Sessions whose folders of messages are looked at one by one, in place of all."""

_BATCH = 500
"""Sums that are written together."""


class _Use(Struct):
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


class _Sum(Struct):
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


_USES = msgspec.json.Decoder(list[_Use])
_TOOLS = msgspec.json.Decoder(dict[str, int] | None)


class _Row(Struct, frozen=True):
    """A session in the table: `hidden` are the USD of its calls without a message, `state` is that of what was added up."""

    id: str
    parent_id: str
    is_archived: int
    own_from: int
    hidden: str
    state: str
    messages: int
    uses: bytes
    tools: bytes | None

    def stored_sum(self) -> _Sum | None:
        """Return what was added up; None for a damaged row."""
        try:
            return _Sum(self.messages, _USES.decode(self.uses), _TOOLS.decode(self.tools or b"null"))
        except msgspec.MsgspecError:
            return None

    def with_hidden(self, found: _Sum) -> Decimal:
        """Return the cost in USD of the session, whose messages add up to this."""
        return found.cost + Decimal(self.hidden)


_ROW = "id, parent_id, is_archived, own_from, hidden, sum_state, messages, uses, tools"


class _State(Struct, frozen=True):
    """What changes with a folder; `is_old` if no change can leave it the same any more."""

    text: str
    is_old: bool


class SessionSums:
    """The sums of one project's sessions; may be used from several threads. Every method blocks, and raises StorageError."""

    def __init__(self, storage: Storage, index: SessionIndex, project_id: str) -> None:
        self._files = storage.files
        self._file = storage.index
        self._index = index
        self._project_id = project_id
        self._root = str(storage.paths.storage)
        self._messages: dict[str, dict[str, _Sum]] = {}
        """The sums of the messages of some sessions, by file and state."""
        self._lock = threading.Lock()

    def costs(self) -> dict[str, Decimal]:
        """Return what each session cost in USD, without those that cost nothing.

        Calls without a message are included, the sessions of agents are not.
        """
        rows, _ = self._rows()
        return {one.id: cost for one, found in self._sums(rows) if (cost := one.with_hidden(found))}

    def cost(self, infos: Iterable[SessionInfo]) -> Decimal:
        """Return what some sessions, of any project, cost together in USD, calls without a message included.

        Looks at no other session.
        """
        asked = [_Row(one.id, "", 0, own_from(one), str(hidden_cost(one)), "", 0, b"", None) for one in infos]

        def work(db: sqlite3.Connection) -> list[_Row]:
            folder = self._index.number(db, self._project_id)
            query = f"SELECT {_ROW} FROM session WHERE folder = {folder:d} AND id = ? AND own_from = ?"
            found = ((one, db.execute(query, (one.id, one.own_from)).fetchone()) for one in asked)
            return [one if row is None else replace(_Row(*row), hidden=one.hidden) for one, row in found]

        return sum((one.with_hidden(found) for one, found in self._sums(self._file.use(work))), Decimal(0))

    def family_costs(self, session_ids: Sequence[str], *, is_archived: bool = False) -> dict[str, Decimal]:
        """Return what these sessions cost with those of their agents in USD, without those that cost nothing.

        Agents' sessions that are archived count with `is_archived` only. What is no session of the project is left out.
        """
        families: dict[str, Sequence[str]] = {}

        def members(db: sqlite3.Connection, folder: int) -> Sequence[str]:
            parents = db.execute(
                "SELECT id, parent_id FROM session WHERE folder = ? AND parent_id != '' AND is_archived <= ?",
                (folder, is_archived),
            )
            below = dict[str, list[str]]()
            for one, parent in parents:
                below.setdefault(parent, []).append(one)
            families.update((one, _with_all_below(one, below)) for one in session_ids)
            return [*dict.fromkeys(one for family in families.values() for one in family)]

        rows, _ = self._rows(members)
        own = {one.id: one.with_hidden(found) for one, found in self._sums(rows)}
        costs = {
            name: sum((own.get(one, Decimal(0)) for one in family), Decimal(0))
            for name, family in families.items()
            if name in own
        }
        return {name: cost for name, cost in costs.items() if cost}

    def spent(self, *, is_archived: bool = False) -> Decimal:
        """Return the cost in USD of the sessions that are not archived, or of those that are.

        Those of agents are archived with the session that called them. Calls without a message are included.
        """
        rows, _ = self._rows()
        archived = _archived(rows)
        chosen = [one for one in rows if (one.id in archived) == is_archived]
        return sum((one.with_hidden(found) for one, found in self._sums(chosen)), Decimal(0))

    def total(self, since: int = 0) -> tuple[ProjectUsage, list[StorageError]]:
        """Return what the sessions used that were changed since then (ms since 1970), with the errors of damaged records."""

        def changed(db: sqlite3.Connection, folder: int) -> Sequence[str]:
            rows = db.execute("SELECT id FROM session WHERE folder = ? AND updated >= ?", (folder, since))
            return [name for (name,) in rows]

        rows, damaged = self._rows(changed if since else None)
        total, hidden = _Sum(tools={}), Decimal(0)
        for one, found in self._sums(rows, has_tools=True):
            total.add(found)
            hidden += Decimal(one.hidden)
        return _rendered(len(rows), total, hidden), damaged

    def _rows(
        self, choose: Callable[[sqlite3.Connection, int], Sequence[str]] | None = None
    ) -> tuple[list[_Row], list[StorageError]]:
        """Return the rows of all sessions, or of the chosen ones, as their records are now, with the errors of damaged ones."""

        def work(db: sqlite3.Connection) -> tuple[list[_Row], list[StorageError]]:
            look = self._index.look(db, self._project_id)
            query = f"SELECT {_ROW} FROM session WHERE folder = ?"
            if choose is None:
                return [_Row(*row) for row in db.execute(query, (look.folder,))], look.damaged
            found = (
                db.execute(f"{query} AND id = ?", (look.folder, name)).fetchone() for name in choose(db, look.folder)
            )
            return [_Row(*row) for row in found if row is not None], look.damaged

        return self._file.use(work)

    def _sums(self, rows: Collection[_Row], *, has_tools: bool = False) -> Iterator[tuple[_Row, _Sum]]:
        """Yield what the messages of sessions add up to, and keep it in their rows; those that were kept come first."""
        states = self._states_of(rows)
        stale: list[_Row] = []
        for one in rows:
            state = states.get(one.id)
            if state is None:
                yield one, _Sum(tools={})
            elif one.state != state.text or (has_tools and one.tools is None) or (found := one.stored_sum()) is None:
                stale.append(one)
            else:
                yield one, found
        kept: list[tuple[object, ...]] = []
        for one in stale:
            with self._lock:
                found, is_open = self._add_up(one, has_tools=has_tools)
            yield one, found
            tools = None if found.tools is None or is_open else msgspec.json.encode(found.tools)
            state = states[one.id]
            values = (found.messages, msgspec.json.encode(found.uses), tools)
            kept.append((state.text if state.is_old else "", *values, one.own_from, one.id))
            if len(kept) == _BATCH:
                self._keep(kept)
                kept.clear()
        self._keep(kept)

    def _keep(self, kept: Sequence[tuple[object, ...]]) -> None:
        """Write sums into the rows of their sessions, unless other messages count there now."""

        def work(db: sqlite3.Connection) -> None:
            folder = self._index.number(db, self._project_id)
            with writing(db):
                db.executemany(
                    "UPDATE session SET sum_state = ?, messages = ?, uses = ?, tools = ?"
                    f" WHERE folder = {folder:d} AND own_from = ? AND id = ?",
                    kept,
                )

        if kept:
            self._file.use(work)

    def _states_of(self, rows: Collection[_Row]) -> Mapping[str, _State]:
        """Return the states of the folders of the messages of sessions, without those that have none."""
        top, now = folder_path(self._root, ("message",)), time.time_ns()
        if len(rows) > _FEW:
            wanted = {one.id for one in rows}
            return {name: _state_of(status, now) for name, status in self._listed(top) if name in wanted}
        states: dict[str, _State] = {}
        for one in rows:
            try:
                states[one.id] = _state_of(self._files.lstat(f"{top}/{one.id}"), now)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise storage_error(error, "look at", f"{top}/{one.id}") from error
        return states

    def _add_up(self, one: _Row, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return the sum of a session's messages, and whether one is being written; unchanged messages are not read again."""
        before = self._messages.pop(one.id, {})
        folder, now = folder_path(self._root, ("message", one.id)), time.time_ns()
        total, is_any_open = _Sum(tools={}), False
        stable = self._messages[one.id] = {}
        for name, status in self._listed(folder):
            if (message := segment_of(name)) is None:
                continue
            state = _state_of(status, now)
            key = f"{one.own_from} {name} {state.text}"
            found, is_open = before.get(key), False
            if found is None or (has_tools and found.tools is None):
                found, is_open = self._read_message(f"{folder}/{name}", message, one.own_from, has_tools=has_tools)
            total.add(found)
            is_any_open = is_any_open or is_open
            if state.is_old:
                # The calls of a message that is being written get more without a change of its record.
                stable[key] = replace(found, tools=None) if is_open else found
        if len(self._messages) > _REMEMBERED:
            del self._messages[next(iter(self._messages))]
        return total, is_any_open

    def _read_message(self, path: str, message: str, begun: int, *, has_tools: bool) -> tuple[_Sum, bool]:
        """Return what a message adds, and whether it is being written; nothing for a damaged one, or one that a fork copied."""
        found, tools = self._message(path), dict[str, int]()
        if found is None or not is_own(message, begun):
            return _Sum(tools=tools), False
        if isinstance(found, UserMessage):
            return _Sum(1, tools=tools), False
        used = found.tokens
        cost = max(Decimal(0), Decimal(str(found.cost)))
        use = _Use(f"{found.provider_id}/{found.model_id}", 1, used.input, used.output, used.cache.read, cost)
        for tool in self._tools(message) if has_tools else ():
            tools[tool] = tools.get(tool, 0) + 1
        return _Sum(1, [use], tools if has_tools else None), found.time.completed is None

    def _message(self, path: str) -> AnyMessage | None:
        """Return a message; None for one of an unknown role, or without one."""
        found = self._record(path, parse_message)
        if found is None or (found.unknown_values is not None and found.unknown_values.is_whole):
            return None
        return found

    def _record(self, path: str, parse: Callable[[bytes], T]) -> T | None:
        """Return a record; None when it is removed or damaged: opening the session reports that."""
        try:
            data = self._files.read_whole(path)
            try:
                return parse(data)
            except ValidationError:
                return parse(checked(data, path))
        except (OSError, ValueError, StorageError):
            return None

    def _tools(self, message: str) -> Iterable[str]:
        """Yield the tool of each call in a message, without those whose records are removed or damaged."""
        folder = folder_path(self._root, ("part", message))
        try:
            names = self._files.names(folder)
        except OSError:
            return  # it has no parts, or opening the session reports the error
        for name in filter(segment_of, names):
            part = self._record(f"{folder}/{name}", parse_stored_part)
            if isinstance(part, ToolPart):
                yield part.tool

    def _listed(self, folder: str) -> Iterable[tuple[str, os.stat_result]]:
        try:
            yield from self._files.list_states(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "list", folder) from error


def _state_of(status: os.stat_result, now: int) -> _State:
    return _State(f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}", is_old(status, now))


def _with_all_below(session_id: str, below: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a session and all whose parents are among these."""
    found = {session_id: None}
    for one in (waiting := [session_id]):
        new = [child for child in below.get(one, ()) if child not in found]
        found.update(dict.fromkeys(new))
        waiting += new
    return list(found)


def _archived(rows: Iterable[_Row]) -> set[str]:
    """Return the sessions that are archived themselves or with their callers."""
    found, below = set[str](), dict[str, list[str]]()
    for one in rows:
        below.setdefault(one.parent_id, []).append(one.id)
        if one.is_archived:
            found.add(one.id)
    for one in (waiting := [*found]):
        new = [child for child in below.get(one, ()) if child not in found]
        found.update(new)
        waiting += new
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
