"""An index of sessions, which lists thousands of them about as fast as a database.

The index keeps every session of a project with the state of its file (inode, size, mtime): in memory for the project that was
listed last, and in a file for the next process. A listing compares the state of each file with the index and reads those that
differ, so a change by any program is noticed. The index is derived data; an unreadable one only costs time.
"""

import binascii
import builtins
import json
import logging
import time
from functools import cache
from operator import attrgetter
from typing import cast

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import SUFFIX, folder_path, segment_of
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_record import parse_session
from opencode_tui.storage.storage import Storage

_TOLERATED_CHANGES = 32
"""Records that the index file may lack before it is written again; small projects never have one."""

_YOUNG_NS = 100_000_000
"""A file modified this recently may change again with the same mtime: file systems count in ticks of up to 10 ms."""

_INDEX_FORMAT = "opencode-tui session index 1"
_BLOCK = 500
"""Sessions parsed at once; other threads can run in between."""

_logger = logging.getLogger(__name__)


class SessionListing(Struct, frozen=True):
    """A project's sessions, newest first by (creation, id), and an error for each record that could not be read."""

    sessions: list[SessionInfo]
    damaged: list[StorageError]


class _Known(Struct, frozen=True):
    """Sessions by file state, and how many entries of the index file are missing or out of date."""

    project_id: str
    sessions: dict[str, SessionInfo]
    unsaved: int = 0


class SessionIndex:
    """Lists the sessions of a project; may be used from several threads."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._root = str(storage.paths.storage)
        self._index = _IndexFile(storage.files, folder=str(storage.paths.cache / "index"), root=self._root)
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
        stable = {state: info for state, info in sessions.items() if states[state] < horizon} if read else sessions
        self._remember(_Known(project_id, stable, known.unsaved + len(read) + gone))
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
        """Return a text for the present state of each file, with its mtime in ns."""
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
        """Return the sessions of these files by state, and the errors of damaged ones."""
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
        """Return the folder of a project, empty when its record has none. Reads one small file."""
        try:
            project: object = json.loads(self._storage.read_sync(("project", project_id)))
        except NotFoundError:
            return ""
        except StorageError as error:
            _logger.warning("the folder of the project is unknown: %s", error)
            return ""
        return str(cast(JsonObject, project).get("worktree", "")) if isinstance(project, dict) else ""


class _IndexFile:
    """Loads and saves the index files of one store, `cache/index/{projectID}.index`. Both methods block.

    The first line has the format, the store's folder and a checksum of the rest; then blocks of two lines, a JSON array of file
    states and
    one of the session records in the same order.
    """

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store; indexes of another store are ignored."""
        self._files = files
        self._folder = folder
        self._root = root

    def load(self, project_id: str) -> dict[str, SessionInfo]:
        """Return the sessions by file state; none when the index is missing, damaged, or of another store or version."""
        path = self._path(project_id)
        try:
            head, _, body = self._files.read_whole(path).partition(b"\n")
            return _parse_index(body) if head == self._head(body) else {}
        except FileNotFoundError:
            return {}
        except OSError as error:
            _logger.warning("listing sessions without an index: %s", storage_error(error, "read", path))
            return {}
        except ValidationError:
            _logger.info("rebuilding the index %s of another version", path)
            return {}

    def save(self, project_id: str, sessions: dict[str, SessionInfo]) -> None:
        """Replace the index; a failure is logged."""
        path = self._path(project_id)
        body = _render_index(sessions)
        try:
            AtomicWriter(self._files).write(path, self._head(body) + b"\n" + body)
        except OSError as error:
            _logger.warning("the index of sessions was not saved: %s", storage_error(error, "write", path))

    def _head(self, body: bytes) -> bytes:
        return f"{_INDEX_FORMAT}\t{self._root}\t{binascii.crc32(body):08x}".encode("utf-8", "surrogateescape")

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.index"


def _parse_index(body: bytes) -> dict[str, SessionInfo]:
    adapter = TypeAdapter(list[SessionInfo])
    sessions: dict[str, SessionInfo] = {}
    lines = body.split(b"\n") if body else []
    for states, records in zip(lines[::2], lines[1::2], strict=True):
        sessions.update(zip(json.loads(states), adapter.validate_json(records), strict=True))
    return sessions


def _render_index(sessions: dict[str, SessionInfo]) -> bytes:
    lines: list[str] = []
    states = list(sessions)
    for start in range(0, len(states), _BLOCK):
        block = states[start : start + _BLOCK]
        lines.append(json.dumps(block))
        lines.append(f"[{','.join(sessions[state].model_dump_json(by_alias=True) for state in block)}]")
    return "\n".join(lines).encode()
