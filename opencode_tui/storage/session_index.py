"""Lists of sessions by the thousand at about the price of a database.

The index remembers every record of a project beside the state of its file (inode, size, mtime): in memory for the project that was
listed last, and in a file for the next process. A listing looks at the state of each file and reads those that the index does not
know as they are now, so a change by any process and any program is noticed. The index is derived and never the truth; one that
cannot be read or written costs time and nothing else.
"""

import builtins
import json
import logging
import time
from functools import cache
from operator import attrgetter
from typing import cast

from msgspec import Struct

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.index_file import IndexFile
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

_TOLERATED_CHANGES = 32
"""So many records may be missing in the index file before it is written anew; small projects never have one."""

_YOUNG_NS = 100_000_000
"""A file changed so shortly before it was read may change again with the same mtime: file systems count in ticks of up to 10 ms."""

_logger = logging.getLogger(__name__)


class SessionListing(Struct, frozen=True):
    """A project's sessions, newest first by (creation, id), and the records that could not be read; neither hides the other."""

    sessions: list[SessionInfo]
    damaged: list[StorageError]


class _Known(Struct, frozen=True):
    """Sessions by file state, and how many of them the index file lacks or has in vain."""

    project_id: str
    sessions: dict[str, SessionInfo]
    unsaved: int = 0


class SessionIndex:
    """Lists the sessions of a project; may be used from several threads."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._root = str(storage.paths.storage)
        self._index = IndexFile(storage.files, folder=str(storage.paths.cache / "index"), root=self._root)
        self._known: _Known | None = None

    def list(self, project_id: str) -> SessionListing:
        """Return all sessions of a project; blocks. Raises StorageError when their folder cannot be read."""
        horizon = time.time_ns() - _YOUNG_NS
        states = self._scan(project_id)
        known = self._recall(project_id)
        sessions = {state: session for state, session in known.sessions.items() if state in states}
        read, damaged = self._read([state for state in states if state not in sessions], project_id)
        gone = len(known.sessions) - len(sessions)
        sessions |= read
        settled = {state: info for state, info in sessions.items() if states[state] < horizon} if read else sessions
        self._remember(_Known(project_id, settled, known.unsaved + len(read) + gone))
        listed = list(sessions.values())
        listed.sort(key=attrgetter("id"))
        listed.sort(key=attrgetter("time.created"), reverse=True)
        return SessionListing(listed, damaged)

    def _recall(self, project_id: str) -> _Known:
        known = self._known
        if known is None or known.project_id != project_id:
            return _Known(project_id, self._index.load(project_id))
        return known

    def _remember(self, known: _Known) -> None:
        if known.unsaved > _TOLERATED_CHANGES:
            self._index.save(known.project_id, known.sessions)
            known = _Known(known.project_id, known.sessions)
        self._known = known

    def _scan(self, project_id: str) -> dict[str, int]:
        """Return for each file a text that stands for its present state, and its mtime in ns."""
        folder = folder_path(self._root, ("session", project_id))
        try:
            found = self._storage.files.list_states(folder)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "list", folder) from error
        return {
            f"{name} {state.st_ino} {state.st_size} {state.st_mtime_ns}": state.st_mtime_ns
            for name, state in found
            if name.endswith(SUFFIX)
        }

    def _read(
        self, states: builtins.list[str], project_id: str
    ) -> tuple[dict[str, SessionInfo], builtins.list[StorageError]]:
        """Return the sessions of these files by state, and what was damaged."""
        read: dict[str, SessionInfo] = {}
        damaged: builtins.list[StorageError] = []
        worktree = cache(lambda: self.worktree(project_id))
        for state in states:
            segment = segment_of(state.rsplit(" ", 3)[0])
            if segment is None:
                continue
            key = ("session", project_id, segment)
            try:
                data = self._storage.read_sync(key)
                path = self._storage.path_of(key)
                read[state] = parse_session(data, path=path, project_id=project_id, worktree=worktree)
            except NotFoundError:
                continue  # removed since the folder was read
            except StorageError as error:
                damaged.append(error)
        return read, damaged

    def worktree(self, project_id: str) -> str:
        """Return the folder of a project, empty when its record does not name it. Blocks for one small file."""
        try:
            project: object = json.loads(self._storage.read_sync(("project", project_id)))
        except NotFoundError:
            return ""
        except StorageError as error:
            _logger.warning("sessions without a folder of their own are listed without one: %s", error)
            return ""
        return str(cast(JsonObject, project).get("worktree", "")) if isinstance(project, dict) else ""
