"""The sessions of a project, by the table of sessions in the index file.

Each look compares the state of every session's record (inode, size, times of modification and change) with that of its row, reads
those that differ, and deletes the rows of those that are gone. So a change by any program is seen at the next look.
"""

import json
import logging
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from os import stat_result
from typing import cast

from msgspec import Struct

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.file_path import read_path, write_path
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.listed import ListedSession, listed
from opencode_tui.schema.session.session import SessionInfo, hidden_cost, own_from
from opencode_tui.storage.index_file import DamagedIndexError, writing
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

_BATCH = 1_000
"""Records that are read before their rows are written: other processes can write in between."""

_TICK_NS, _LONG_TICK_NS = 100_000_000, 2_100_000_000
"""A file that changed this recently may change again with the same times; the longer one on a file system with whole seconds."""

_SHOWN = (
    "id, title, directory, created, updated, is_archived, parent_id, fork_of, fork_before, is_pinned, is_shared, is_undone,"
    " undone_requests, additions, deletions, has_changes"
)
"""The columns of a row that a list shows, in the order of the fields of `ListedSession`."""

_PUT = f"""
INSERT INTO session(folder, state, own_from, hidden, record, {_SHOWN}) VALUES({", ".join("?" * 21)})
ON CONFLICT(folder, id) DO UPDATE SET
    sum_state = CASE own_from WHEN excluded.own_from THEN sum_state ELSE '' END,
    {", ".join(f"{name} = excluded.{name}" for name in ("state", "own_from", "hidden", "record", *_SHOWN.split(", ")[1:]))}
"""

_NEWEST = "ORDER BY created DESC, id"

_logger = logging.getLogger(__name__)


class SessionListing(Struct, frozen=True):
    """Sessions of a project, and an error for each record of it that could not be read."""

    sessions: list[SessionInfo]
    damaged: list[StorageError]


class Look(Struct, frozen=True):
    """What a look found: the number of the project's folder in the table, and an error for each damaged record."""

    folder: int
    damaged: list[StorageError]


class SessionIndex:
    """Lists the sessions of a project; may be used from several threads.

    Every method blocks, and raises StorageError when the folder of the sessions cannot be read.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._root = str(storage.paths.storage)

    def list(self, project_id: str) -> SessionListing:
        """Return all sessions of a project, newest first by (creation, id)."""
        return self._read(project_id, f"SELECT record FROM session WHERE folder = ? {_NEWEST}")

    def children(self, project_id: str, session_id: str) -> SessionListing:
        """Return the sessions whose parent this is, newest first by (creation, id)."""
        return self._read(
            project_id, f"SELECT record FROM session WHERE folder = ? AND parent_id = ? {_NEWEST}", session_id
        )

    def listed(self, project_id: str) -> tuple["list[ListedSession]", "list[StorageError]"]:
        """Return all sessions as lists show them, newest first, with the errors of damaged records."""

        def work(db: sqlite3.Connection) -> tuple[list[ListedSession], list[StorageError]]:
            look = self.look(db, project_id)
            rows = db.execute(f"SELECT {_SHOWN} FROM session WHERE folder = ? {_NEWEST}", (look.folder,))
            return [*map(_shown, rows)], look.damaged

        return self._storage.index.use(work)

    def recent(
        self,
        project_id: str,
        limit: int,
        *,
        is_archived: bool = False,
        is_top: bool = False,
        accept: Callable[[SessionInfo], bool] = lambda _: True,
    ) -> SessionListing:
        """Return the sessions that were used last and are accepted, the last one first; with `is_top` without child sessions."""

        def work(db: sqlite3.Connection) -> SessionListing:
            look = self.look(db, project_id)
            top = "AND parent_id = ''" if is_top else ""
            names = db.execute(
                f"SELECT id FROM session WHERE folder = ? AND is_archived = ? {top} ORDER BY updated DESC, created DESC, id",
                (look.folder, is_archived),
            )
            found: list[SessionInfo] = []
            for (name,) in names:
                if len(found) >= limit:
                    break
                row = db.execute(
                    "SELECT record FROM session WHERE folder = ? AND id = ?", (look.folder, name)
                ).fetchone()
                if row is not None and accept(info := _record(row[0])):
                    found.append(info)
            return SessionListing(found, look.damaged)

        return self._storage.index.use(work)

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

    def look(self, db: sqlite3.Connection, project_id: str) -> Look:
        """Make the rows of a project those of its records as they are now; for work on the index file."""
        path, folder = folder_path(self._root, ("session", project_id)), self.number(db, project_id)
        known = dict[str, str](db.execute("SELECT id, state FROM session WHERE folder = ?", (folder,)))
        changed: dict[str, str] = {}
        now = time.time_ns()
        try:
            for name, status in self._storage.files.list_states(path):
                if not name.endswith(SUFFIX):
                    continue
                state = _state(status)
                if known.pop(name.removesuffix(SUFFIX), "") != state and (segment := segment_of(name)) is not None:
                    changed[segment] = state if is_old(status, now) else ""
        except FileNotFoundError:
            pass  # no session yet, or none any more
        except OSError as error:
            raise storage_error(error, "list", path) from error
        damaged: list[StorageError] = []
        _remove(db, folder, known)
        names = [*changed]
        for start in range(0, len(names), _BATCH):
            some = {name: changed[name] for name in names[start : start + _BATCH]}
            self._renew(db, folder, project_id, some, damaged)
        return Look(folder, damaged)

    def number(self, db: sqlite3.Connection, project_id: str) -> int:
        """Return the number of a project's folder in the table."""
        path = (folder_path(self._root, ("session", project_id)).encode("utf-8", "surrogateescape"),)
        while (row := db.execute("SELECT id FROM folder WHERE path = ?", path).fetchone()) is None:
            db.execute("INSERT OR IGNORE INTO folder(path) VALUES(?)", path)
        return row[0]

    def _renew(
        self,
        db: sqlite3.Connection,
        folder: int,
        project_id: str,
        changed: Mapping[str, str],
        damaged: "list[StorageError]",
    ) -> None:
        """Read these sessions again, which are in these states, and write their rows; add the errors of damaged ones."""
        worktree = cache(lambda: self.worktree(project_id))
        rows: list[tuple[object, ...]] = []
        lost: list[str] = []
        for name, state in changed.items():
            key = ("session", project_id, name)
            try:
                data = self._storage.read_sync(key)
                info = parse_session(data, path=self._storage.path_of(key), project_id=project_id, worktree=worktree)
            except NotFoundError:  # removed since the folder was listed
                lost.append(name)
            except StorageError as error:
                damaged.append(error)
                lost.append(name)
            else:
                rows.append((folder, state, own_from(info), str(hidden_cost(info)), info.to_line(), *_columns(info)))
        _remove(db, folder, lost)
        if rows:
            with writing(db):
                db.executemany(_PUT, rows)

    def _read(self, project_id: str, query: str, *values: object) -> SessionListing:
        def work(db: sqlite3.Connection) -> SessionListing:
            look = self.look(db, project_id)
            records = db.execute(query, (look.folder, *values))
            return SessionListing([_record(one) for (one,) in records], look.damaged)

        return self._storage.index.use(work)


def is_old(status: stat_result, now: int) -> bool:
    """Return whether a file or folder can not change after `now` (ns since 1970) without having other times."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    return changed < now - (_TICK_NS if status.st_ctime_ns % 1_000_000_000 else _LONG_TICK_NS)


def _state(status: stat_result) -> str:
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _remove(db: sqlite3.Connection, folder: int, names: Iterable[str]) -> None:
    """Delete the rows of sessions, if they have any."""
    gone = [(folder, name) for name in names]
    if gone:
        with writing(db):
            db.executemany("DELETE FROM session WHERE folder = ? AND id = ?", gone)


def _record(data: bytes) -> SessionInfo:
    try:
        return SessionInfo.model_validate_json(data)
    except ValidationError as error:
        raise DamagedIndexError(str(error)) from error


def _columns(info: SessionInfo) -> tuple[object, ...]:
    """Return what a list shows of a session, for its row."""
    one = listed(info)
    return (
        one.id,
        one.title,
        write_path(one.directory),
        one.created,
        one.updated,
        one.is_archived,
        one.parent_id,
        one.fork_of,
        one.fork_before,
        one.is_pinned,
        one.is_shared,
        one.is_undone,
        one.undone_requests,
        one.additions,
        one.deletions,
        one.has_changes,
    )


def _shown(row: tuple[str, str, str, int, int, int, str, str, str, int, int, int, int, int, int, int]) -> ListedSession:
    """Return a session as lists show it, from its row."""
    name, title, directory, created, updated, archived, parent, origin, before, pinned, shared, undone, *numbers = row
    requests, additions, deletions, has_changes = numbers
    return ListedSession(
        name,
        title,
        sys.intern(read_path(directory)),  # one text for all
        created,
        updated,
        archived == 1,
        parent,
        origin,
        before,
        pinned == 1,
        shared == 1,
        undone == 1,
        requests,
        additions,
        deletions,
        has_changes == 1,
    )
