"""An index of sessions, which lists thousands of them about as fast as a database.

The index keeps what lists sort by for every session of a project, with the state of its file (inode, size, mtime): in memory for
the project that was listed last, and in a file for the next process. A listing compares the state of each file with the index and
reads those that differ, so a change by any program is noticed. The sessions of a short list are read from their records. The
index is derived data; an unreadable one only costs time.

A short list of a large project looks only at what this program changed since the last look at all files, and at the sessions used
last, if no other program has changed the folder meanwhile (`session_changes.py`); the system needs 0.3 s for 100,000 files.
"""

import builtins
import heapq
import json
import logging
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, cached_property
from itertools import groupby, repeat
from operator import attrgetter, eq
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.listed import listed
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.session_table import SessionTable, newest_first
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.listed_file import ListedFile
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_changes import LastLook
from opencode_tui.storage.session_columns import (
    ARCHIVED,
    CHILD,
    STATE,
    Columns,
    IndexFile,
    edited_columns,
    numbers,
    updated_columns,
)
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

_TOLERATED_CHANGES = 32
"""Records that the index file may lack before it is written again; small projects never have one."""

MANY_SESSIONS = 20_000
"""A project with more is not looked at as a whole for each short list; it would take more than 60 ms."""

_USED_LAST = 200
"""Sessions used last, at which each list looks: another program changes these in place, if any."""

_YOUNG_NS = 100_000_000
"""A file modified this recently may change again with the same mtime: file systems count in ticks of up to 10 ms."""

_logger = logging.getLogger(__name__)


class SessionListing(Struct, frozen=True):
    """Sessions of a project, and an error for each record of it that could not be read."""

    sessions: list[SessionInfo]
    damaged: list[StorageError]


class _Known(Struct, frozen=True):
    """The present columns, and what the index file lacks.

    `read` are the sessions by file that were read since it was written; `unsaved` counts them and those that are gone. `lost` are
    files without a row: removed since, or damaged. `every` are all sessions, once a list had all.

    `mark` is that of the index file, `look` the stamp of the last look at all files, if it was saved or served here.
    """

    project_id: str
    columns: Columns
    read: Mapping[str, SessionInfo]
    unsaved: int = 0
    every: Mapping[str, SessionInfo] | None = None
    lost: Set[str] = frozenset()
    mark: str = ""
    look: bytes = b""

    @property
    def is_far(self) -> bool:
        """Whether the index file lacks so many that it is to be written again."""
        return self.unsaved > max(_TOLERATED_CHANGES, len(self.columns.names) // 200)


class SessionIndex:
    """Lists the sessions of a project; may be used from several threads."""

    def __init__(self, storage: Storage, *, clock: Clock = system_clock, many: int = MANY_SESSIONS) -> None:
        """Short lists of a project with more than `many` sessions do not look at all files."""
        self._storage = storage
        self._clock = clock
        self._many = many
        self._root = str(storage.paths.storage)
        self._index = IndexFile(storage.files, folder=str(storage.paths.cache / "index"), root=self._root)
        self._known: _Known | None = None
        self._looked_s = 0.0  # by the monotonic clock, when the files of the known project were looked at
        self._lock = threading.Lock()

    @cached_property
    def _tables(self) -> ListedFile:
        return ListedFile(self._storage.files, folder=str(self._storage.paths.cache / "index"), root=self._root)

    def list(self, project_id: str) -> SessionListing:
        """Return all sessions of a project, newest first by (creation, id).

        Blocks. Raises StorageError when their folder cannot be read.
        """
        with self._lock:
            known, damaged = self._refresh(project_id)
            every, is_whole = self._every(known)
            known = self._known = replace(known, every=every)
            if not is_whole:
                self._known = self._save(known)
        listed = [*every.values()]
        listed.sort(key=attrgetter("id"))
        listed.sort(key=attrgetter("time.created"), reverse=True)
        return SessionListing(listed, damaged)

    def listed(self, project_id: str, *, is_short: bool = False) -> tuple[SessionTable, builtins.list[StorageError]]:
        """Return what `list` does, in the form of lists, with the errors of damaged records. Keeps no session in memory.

        With `is_short` it looks at the files as short lists do.
        """
        with self._lock:
            known, damaged = self._refresh(project_id, is_short=is_short)
            return self._listed(known), damaged

    def recent(
        self,
        project_id: str,
        limit: int,
        *,
        is_archived: bool = False,
        is_top: bool = False,
        accept: Callable[[SessionInfo], bool] = lambda _: True,
    ) -> SessionListing:
        """Return the sessions that were used last and are accepted, the last one first; with `is_top` without child sessions.

        Reads about as many records as it returns. Blocks. Raises StorageError when the folder of the sessions cannot be read.
        """
        columns, damaged = self.columns(project_id)
        updated, created = columns.updated, columns.created
        hidden = (0 if is_archived else ARCHIVED) | (CHILD if is_top else 0)
        rows = _rows_by_use(columns, 2 * limit, hidden=hidden, wanted=ARCHIVED if is_archived else 0)
        found: builtins.list[SessionInfo] = []
        reader = self._reader(project_id)
        for _, alike in groupby(rows, updated.__getitem__):
            if len(found) >= limit:
                break
            for row in sorted(alike, key=lambda row: (-created[row], columns.names[row])):
                info = reader(columns.names[row], damaged)
                if info is not None and accept(info):
                    found.append(info)
        del found[limit:]
        return SessionListing(found, damaged)

    def children(self, project_id: str, session_id: str, *, age_s: float = 0) -> SessionListing:
        """Return the sessions whose parent this is, newest first by (creation, id); see `columns` for `age_s`.

        Blocks. Raises as `list` does.
        """
        columns, damaged = self.columns(project_id, age_s=age_s)
        reader = self._reader(project_id)
        names = [f"{one}{SUFFIX}" for one, parent in columns.parents.items() if parent == session_id]
        found = [info for name in names if (info := reader(name, damaged)) is not None]
        found.sort(key=attrgetter("id"))
        found.sort(key=attrgetter("time.created"), reverse=True)
        return SessionListing(found, damaged)

    def columns(self, project_id: str, *, age_s: float = 0) -> tuple[Columns, builtins.list[StorageError]]:
        """Return the columns of all sessions, with the errors of damaged records.

        The last look at their files serves again if it is less than `age_s` seconds ago. Blocks. Raises as `list` does.
        """
        with self._lock:
            known = self._known
            if known is not None and known.project_id == project_id and time.monotonic() - self._looked_s < age_s:
                return known.columns, []
            known, damaged = self._refresh(project_id, is_short=True)
            return known.columns, damaged

    def worktree(self, project_id: str) -> str:
        """Return the folder of a project, empty when its record has none. Reads one small file."""
        try:
            project: object = json.loads(self._storage.read_sync(("project", project_id)))
        except NotFoundError:
            return ""
        except StorageError as error:
            _logger.warning("the folder of the project is unknown: %s", error)
            return ""
        return str(cast(JsonObject, project).get("worktree", "")) if isinstance(project, dict) else ""

    def _refresh(self, project_id: str, *, is_short: bool = False) -> tuple[_Known, builtins.list[StorageError]]:
        """Return what is known after a look at the state of each file, and the errors of damaged records.

        For short lists, a look at the files that may have changed since the last look at all serves.
        """
        known = self._known if self._known is not None and self._known.project_id == project_id else None
        looked_s, at = time.monotonic(), self._clock()
        last = self._storage.changes.last_look(project_id, at) if is_short else None
        if known is None or (last is not None and known.look != last.stamp):
            known = self._load(project_id)
        looked = None if last is None else self._look_again(known, last)
        self._known, damaged = self._look_at_all(known, at) if looked is None else looked
        self._looked_s = looked_s
        return self._known, damaged

    def _load(self, project_id: str) -> _Known:
        """Return what the index file has."""
        columns, mark = self._index.load(project_id)
        return _Known(project_id, columns, {}, mark=mark)

    def _look_at_all(self, known: _Known, at: int) -> tuple[_Known, builtins.list[StorageError]]:
        """Return what is known after a look at all files, and the errors of damaged records; `at` is the time in ms."""
        if len(known.columns.names) > self._many and self._index.mark(known.project_id) not in ("", known.mark):
            known = self._load(known.project_id)  # what is saved here should serve the other processes as well
        horizon, folder = time.time_ns() - _YOUNG_NS, self._storage.changes.folder_state(known.project_id)
        names, states = self._scan(known.project_id)
        damaged: builtins.list[StorageError] = []
        if names != known.columns.names or states != known.columns.states:
            known, damaged = self._compare(known, names, states, horizon)
            if known.is_far:
                known = self._save(known)
        look = b""
        if folder is not None and len(names) > self._many and known.mark:
            again = set(_names_to_look_at(known))
            look = self._storage.changes.save(known.project_id, folder, index=known.mark, at=at, names=again)
        return replace(known, look=look), damaged

    def _look_again(self, known: _Known, last: LastLook) -> tuple[_Known, builtins.list[StorageError]] | None:
        """Return the same after a look at the files that may have changed since the last look at all; None if too many have."""
        old = known.columns
        if known.mark != last.index or len(old.names) <= self._many:
            return None
        horizon = time.time_ns() - _YOUNG_NS
        rows = {name: row for row, name in enumerate(old.names) if name in last.names}
        changed: dict[str, tuple[int, int, int]] = {}
        for name in sorted(last.names):
            row, state = rows.get(name), self._state(known.project_id, name)
            if row is not None and state is not None and old.states[row * STATE : (row + 1) * STATE] == numbers(state):
                del rows[name]
            elif state is not None:
                changed[name] = state
        read, damaged = self._read(changed, known.project_id)
        for name in read:
            if changed[name][-1] >= horizon:  # it is read again with the next list
                changed[name] = (0, 0, 0)
        lost = {*rows, *changed}
        found = _Known(
            known.project_id,
            edited_columns(old, changed, read, rows) if lost else old,
            _without(known.read, lost) | read,
            known.unsaved + len(lost.difference(known.read).intersection({*rows, *read})),
            None if known.every is None else _without(known.every, lost) | read,
            {*known.lost, *lost}.difference(read),
            known.mark,
            last.stamp,
        )
        return None if found.is_far else (found, damaged)

    def _state(self, project_id: str, name: str) -> tuple[int, int, int] | None:
        """Return the state of a session's file, None when there is none."""
        path = f"{folder_path(self._root, ('session', project_id))}/{name}"
        try:
            state = self._storage.files.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, "look at", path) from error
        return state.st_ino, state.st_size, state.st_mtime_ns

    def _compare(
        self, known: _Known, names: builtins.list[str], states: "array[int]", horizon: int
    ) -> tuple[_Known, builtins.list[StorageError]]:
        """Return what is known after the sessions were read whose files have other states than before."""
        old = known.columns
        rows = [*map(dict(zip(old.names, range(len(old.names)), strict=True)).get, names, repeat(-1))]
        changed = _differing(states, old.states, rows)
        read, damaged = self._read([names[number] for number in changed], known.project_id)
        lost = set(old.names).difference(names).union(names[number] for number in changed)
        for number in changed:
            rows[number] = -1
        unknown = numbers((0, 0, 0))
        for number, changed_ns in enumerate(states[STATE - 1 :: STATE]):
            if changed_ns >= horizon:  # it is read again with the next list
                states[number * STATE : (number + 1) * STATE] = unknown
        for number in reversed(changed):
            if names[number] not in read:
                del names[number], rows[number], states[number * STATE : (number + 1) * STATE]
        return (
            _Known(
                known.project_id,
                updated_columns(old, names, states, rows, read, lost=lost),
                _without(known.read, lost) | read,
                known.unsaved + len(read) + len(lost.intersection(old.names)),
                None if known.every is None else _without(known.every, lost) | read,
                {*known.lost, *lost}.difference(read),
                known.mark,
            ),
            damaged,
        )

    def _every(self, known: _Known) -> tuple[Mapping[str, SessionInfo], bool]:
        """Return all sessions by file, and whether the index file had those that were not read since it was written."""
        if known.every is not None:
            return known.every, True
        missing = [name for name in known.columns.names if name not in known.read]
        if not missing:
            return known.read, True
        stored = self._index.records(known.project_id, known.mark)
        is_whole = stored is not None
        if stored is None:  # damaged, or replaced by another process
            stored, _ = self._read(missing, known.project_id)
        every = {name: info for name in known.columns.names if (info := known.read.get(name) or stored.get(name))}
        return every, is_whole

    def _listed(self, known: _Known) -> SessionTable:
        """Return all sessions in the form of lists, newest first."""
        names, read = known.columns.names, known.read
        if len(read) == len(names):
            return newest_first(map(listed, read.values()))
        table = self._tables.load(known.project_id, known.mark)
        if table is None:
            stored = self._index.listed(known.project_id, known.mark)
            if stored is None:  # the index is damaged, too, or another process has replaced it
                every, _ = self._every(known)
                self._known = replace(self._save(replace(known, every=every)), every=None)
                return newest_first(map(listed, every.values()))
            table = newest_first(stored.values())
            self._tables.save(known.project_id, known.mark, table)
        lost = [one for name in known.lost if table.row_of(one := name[: -len(SUFFIX)]) >= 0]
        if read or lost:
            table.change(lost, map(listed, read.values()))
        return table

    def _save(self, known: _Known) -> _Known:
        """Write the index file, and return what is known then."""
        every, _ = self._every(known)
        mark = ""
        if len(every) == len(known.columns.names):
            mark = self._index.save(known.project_id, known.columns, every)
            if mark:
                self._tables.save(known.project_id, mark, newest_first(map(listed, every.values())))
        return _Known(known.project_id, known.columns, {}, every=known.every, lost=known.lost, mark=mark)

    def _scan(self, project_id: str) -> tuple[builtins.list[str], "array[int]"]:
        """Return the names of the files of sessions, and their states."""
        folder = folder_path(self._root, ("session", project_id))
        names: builtins.list[str] = []
        states = numbers()
        try:
            for name, state in self._storage.files.list_states(folder):
                if name.endswith(SUFFIX):
                    names.append(name)
                    states.extend((state.st_ino, state.st_size, state.st_mtime_ns))
        except FileNotFoundError:
            return [], numbers()
        except OSError as error:
            raise storage_error(error, "list", folder) from error
        return names, states

    def _read(
        self, names: Iterable[str], project_id: str
    ) -> tuple[dict[str, SessionInfo], builtins.list[StorageError]]:
        """Return the sessions of these files by name, and the errors of damaged ones."""
        damaged: builtins.list[StorageError] = []
        reader = self._reader(project_id)
        return {name: info for name in names if (info := reader(name, damaged)) is not None}, damaged

    def _reader(self, project_id: str) -> Callable[[str, builtins.list[StorageError]], SessionInfo | None]:
        """Return a function that reads the session of a file; None for one that is gone, or damaged, which is added to the list."""
        worktree = cache(lambda: self.worktree(project_id))

        def read(name: str, damaged: builtins.list[StorageError]) -> SessionInfo | None:
            segment = segment_of(name)
            if segment is None:
                return None
            key = ("session", project_id, segment)
            try:
                data = self._storage.read_sync(key)
                return parse_session(data, path=self._storage.path_of(key), project_id=project_id, worktree=worktree)
            except NotFoundError:
                return None  # removed since the folder was read
            except StorageError as error:
                damaged.append(error)
                return None

        return read


def _rows_by_use(columns: Columns, about: int, *, hidden: int, wanted: int) -> Iterator[int]:
    """Yield the rows with these flags by their last use, the last one first; the first ones, `about` so many, are found faster."""
    updated, flags = columns.updated, columns.flags

    def chosen(rows: Iterable[int]) -> builtins.list[int]:
        found = [row for row in rows if not flags[row] & hidden and flags[row] & wanted == wanted]
        found.sort(key=updated.__getitem__, reverse=True)
        return found

    last = heapq.nlargest(about, updated)
    least = last[-1] if last else 0
    yield from chosen(row for row, used in enumerate(updated) if used >= least)
    yield from chosen(row for row, used in enumerate(updated) if used < least)


def _names_to_look_at(known: _Known) -> Iterator[str]:
    """Yield the files that each list looks at: those that the index file lacks or has no state of, and those used last."""
    columns = known.columns
    yield from known.read
    yield from known.lost
    inodes = columns.states[::STATE]
    if 0 in inodes:
        yield from (columns.names[row] for row, inode in enumerate(inodes) if inode == 0)
    for row in heapq.nlargest(_USED_LAST, range(len(columns.names)), key=columns.updated.__getitem__):
        yield columns.names[row]


def _differing(states: "array[int]", old: "array[int]", rows: Sequence[int]) -> list[int]:
    """Return which states differ from those in rows of old ones, or have a row -1."""
    same = (map(eq, states[at::STATE], map(numbers([*old[at::STATE], -1]).__getitem__, rows)) for at in range(STATE))
    return [number for number, one in enumerate(zip(*same, strict=True)) if not all(one)]


def _without(sessions: Mapping[str, SessionInfo], names: Set[str]) -> dict[str, SessionInfo]:
    return {name: info for name, info in sessions.items() if name not in names}
