"""The trash: each deleted session with all its records in a folder of its own, `trash/{time}-{sessionID}`.

The folder has the layout of the store, so records are moved by renaming them, and a manifest. Its suffix says what is being done
with it: a process that is killed meanwhile leaves the suffix, and `recover` completes the work. The record of the session is moved
out of the store first and into it last, so that a session which is listed is always complete. Every method blocks.
"""

import errno
import logging
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from opencode_tui.schema.api.trash import TrashedSession
from opencode_tui.schema.error import NotFoundError, SessionError, StorageError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import AtomicWriter, FileSystem, temporary_owner
from opencode_tui.storage.keys import SUFFIX, record_path, segment_of
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.session_record import parse_session

MANIFEST, RECORDS = "manifest.json", "records.txt"
"""The description of the session; the paths of its records below the store, a line for each, in the order of their moves."""

DELETING, RESTORING, EMPTYING = ".deleting", ".restoring", ".emptying"
"""Suffixes of the folders of unfinished work."""

_NAME = re.compile(r"(?P<time>\d{1,20})-(?P<session>ses_[0-9A-Za-z]{1,60})(?P<suffix>\.[a-z]+)?")
_MAIN_KINDS = frozenset({"session", "message", "part"})
_DAY_MS = 24 * 3600 * 1000

logger = logging.getLogger(__name__)


Generation = tuple[int, tuple[str, ...]]
"""When the trash changed, and what is in it; equal as long as no session was moved."""


class Trash:
    """The trash of one data folder; one process works on it at a time."""

    def __init__(self, paths: Paths, *, locks: Locks, clock: Clock, files: FileSystem | None = None) -> None:
        self._files = files or FileSystem()
        self._store = str(paths.storage)
        self._root = str(paths.trash)
        self._lock = locks.trash
        self._clock = clock

    def put(self, family: Sequence[SessionInfo]) -> TrashedSession:
        """Move sessions to the trash, the first one with those below it; the caller holds all their locks.

        Raises StorageError; then everything is in the store as before, or is moved back at the next start.
        """
        with self._lock():
            self._recover()
            name = self._new_name(family[0].id)
            folder = f"{self._root}/{name}{DELETING}"
            work = _Moves(self._files)
            try:
                entry, records = self._describe(name, family)
                work.writer.write(f"{folder}/{RECORDS}", "\n".join(records).encode(), durable=True)
                work.writer.write(f"{folder}/{MANIFEST}", entry.to_json(), durable=True)
            except OSError as error:
                self._discard(folder)
                raise storage_error(error, "write", folder) from error
            try:
                self._move_in(work, folder, records)
                self._files.replace(folder, f"{self._root}/{name}")
            except OSError as error:
                self._turn_back(folder, RESTORING, self._move_out)
                raise storage_error(error, f"move session {family[0].id} to", self._root) from error
            work.sync(self._root)
            return entry

    def restore(self, name: str) -> TrashedSession:
        """Move a deleted session back; the caller holds all its locks.

        Raises NotFoundError, SessionError when one of its records exists again, StorageError; then it stays in the trash.
        """
        with self._lock():
            self._recover()
            entry = self.find(name)
            path = f"{self._root}/{entry.name}"
            folder = f"{path}{RESTORING}"
            work = _Moves(self._files)
            try:
                self._check_free(path, entry)
                self._files.replace(path, folder)
            except OSError as error:
                raise storage_error(error, "restore", path) from error
            try:
                self._move_out(work, folder)
            except OSError as error:
                self._turn_back(folder, DELETING, self._complete_deletion)
                raise storage_error(error, "restore", path) from error
            work.sync(self._root)
            return entry

    def empty(self, names: Iterable[str]) -> list[TrashedSession]:
        """Delete sessions of the trash permanently and return them; names that are not there are skipped. Raises StorageError."""
        deleted: list[TrashedSession] = []
        with self._lock():
            self._recover()
            known = {entry.name: entry for entry in self.entries()}
            for name in dict.fromkeys(names):
                if name not in known:
                    continue
                folder = f"{self._root}/{name}{EMPTYING}"
                try:
                    self._files.replace(f"{self._root}/{name}", folder)
                    AtomicWriter(self._files).remove_tree(folder)
                except OSError as error:
                    raise storage_error(error, "delete", f"{self._root}/{name}") from error
                deleted.append(known[name])
        return deleted

    def entries(self) -> list[TrashedSession]:
        """Return the deleted sessions, the last deleted first. Raises StorageError."""
        found = [self._read(name) for name, suffix in self._names() if not suffix]
        return sorted(found, key=lambda entry: (entry.deleted, entry.name), reverse=True)

    def expired(self, days: int) -> list[str]:
        """Return the names of the sessions that were deleted more than `days` ago. Raises StorageError."""
        oldest = self._clock() - days * _DAY_MS
        return [entry.name for entry in self.entries() if entry.deleted < oldest]

    def find(self, wanted: str) -> TrashedSession:
        """Return a deleted session by its name, or the last deleted one with this session ID.

        Raises NotFoundError, StorageError.
        """
        for entry in self.entries():
            if wanted in (entry.name, entry.session_id):
                return entry
        raise NotFoundError(f"no session {wanted} in the trash; see `opencode-tui session trash list`")

    def recover(self) -> list[StorageError]:
        """Complete what killed processes left unfinished; return what could not be. Raises LockTimeoutError."""
        if not self.is_unfinished():
            return []
        with self._lock():
            return self._recover()

    def is_unfinished(self) -> bool:
        """Return whether work is unfinished, possibly that of a running process. Raises StorageError."""
        return any(suffix for _, suffix in self._names())

    def readers(self) -> list[RecordReader]:
        """Return a reader of the records of each deleted session, unfinished ones included. Raises StorageError."""
        names = [f"{name}{suffix}" for name, suffix in self._names() if suffix != EMPTYING]
        return [RecordReader(self._files, f"{self._root}/{name}") for name in names]

    def generation(self) -> Generation:
        """Return a value that differs once any session was moved to the trash or out of it. Raises StorageError."""
        names = tuple(f"{name}{suffix}" for name, suffix in self._names())
        try:
            return self._files.lstat(self._root).st_mtime_ns, names
        except FileNotFoundError:
            return 0, names
        except OSError as error:
            raise storage_error(error, "read", self._root) from error

    def _names(self) -> list[tuple[str, str]]:
        """Return the name and the suffix of each folder, the oldest first."""
        try:
            found = [match for name in self._files.names(self._root) if (match := _NAME.fullmatch(name))]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise storage_error(error, "list", self._root) from error
        return sorted((f"{match['time']}-{match['session']}", match["suffix"] or "") for match in found)

    def _new_name(self, session_id: str) -> str:
        time, used = self._clock(), {name for name, _ in self._names()}
        while f"{time}-{session_id}" in used:
            time += 1
        return f"{time}-{session_id}"

    def _describe(self, name: str, family: Sequence[SessionInfo]) -> tuple[TrashedSession, list[str]]:
        """Return the manifest of sessions and the paths of their records. Raises NotFoundError when one is gone, OSError."""
        records: list[str] = []
        later: list[str] = []
        messages = 0
        for info in family:
            record = f"session/{info.project_id}/{info.id}{SUFFIX}"
            if not self._files.exists(f"{self._store}/{record}"):
                raise NotFoundError(f"session {info.id} was deleted meanwhile; see `opencode-tui session trash list`")
            records.append(record)
            # A killed move of the session to another project leaves two records.
            others = [f"session/{one}/{info.id}{SUFFIX}" for one in self._listed("session") if one != info.project_id]
            records += [other for other in others if self._files.exists(f"{self._store}/{other}")]
            names = [segment for one in self._listed(f"message/{info.id}") if (segment := segment_of(one))]
            messages += len(names)
            later += [f"part/{one}" for one in names if self._files.exists(f"{self._store}/part/{one}")]
            later += [f"message/{info.id}"] if self._files.exists(f"{self._store}/message/{info.id}") else []
            later += self._siblings(info.id)
        records += later
        first = family[0]
        entry = TrashedSession(
            name=name,
            session_ids=[info.id for info in family],
            title=first.title,
            project_id=first.project_id,
            directory=first.directory,
            updated=first.time.updated,
            deleted=self._clock(),
            messages=messages,
            bytes=sum(self._size(f"{self._store}/{record}") for record in records),
        )
        return entry, records

    def _siblings(self, session_id: str) -> Iterator[str]:
        """Yield the records of any other kind that are named by a session, such as its todo list."""
        with self._files.scandir(self._store) as entries:
            kinds = sorted(entry.name for entry in entries if entry.is_dir() and entry.name not in _MAIN_KINDS)
        for kind in kinds:
            for name in (f"{kind}/{session_id}{SUFFIX}", f"{kind}/{session_id}"):
                if self._files.exists(f"{self._store}/{name}"):
                    yield name

    def _listed(self, folder: str) -> list[str]:
        try:
            return sorted(self._files.names(f"{self._store}/{folder}".rstrip("/")))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _size(self, path: str) -> int:
        try:
            return sum(state.st_size for _, state in self._files.list_states(path))
        except NotADirectoryError:
            return self._files.lstat(path).st_size

    def _read(self, name: str) -> TrashedSession:
        """Return the manifest of a folder, or what its records say when that is damaged."""
        path = f"{self._root}/{name}/{MANIFEST}"
        try:
            return TrashedSession.model_validate_json(self._files.read_whole(path)).changed(name=name)
        except FileNotFoundError:
            logger.warning("%s is missing", path)
        except OSError as error:
            raise storage_error(error, "read", path) from error
        except ValidationError:
            logger.warning("%s is damaged", path)
        time, _, session_id = name.partition("-")
        reader = RecordReader(self._files, f"{self._root}/{name}")
        keys = sorted(reader.list(("session",)), key=lambda key: key[-1] != session_id)
        entry = TrashedSession(
            name=name, session_ids=[session_id], title="", project_id="", directory="", updated=0, deleted=int(time)
        )
        with suppress(StorageError):
            if keys:
                record = record_path(f"{self._root}/{name}", keys[0])
                info = parse_session(reader.read(keys[0]), path=record, project_id=keys[0][1])
                entry = entry.changed(
                    session_ids=[key[-1] for key in keys],
                    title=info.title,
                    project_id=info.project_id,
                    directory=info.directory,
                    updated=info.time.updated,
                )
        return entry

    def _check_free(self, entry: str, found: TrashedSession) -> None:
        """Raise SessionError when a record to restore exists in the store."""
        projects = self._listed("session")
        for session_id in found.session_ids:
            if any(self._files.exists(f"{self._store}/session/{one}/{session_id}{SUFFIX}") for one in projects):
                raise SessionError(
                    f"session {session_id} exists again; delete that one or export it before restoring {found.name}"
                )
        for record in _records_in(self._files, entry):
            if self._files.exists(f"{self._store}/{record}"):
                raise SessionError(f"{self._store}/{record} is in the way; move it before restoring {found.name}")

    def _move_in(self, work: "_Moves", folder: str, records: Iterable[str]) -> None:
        for record in records:
            work.move(f"{self._store}/{record}", f"{folder}/{record}")

    def _move_out(self, work: "_Moves", folder: str) -> None:
        """Move everything in a folder to the store, the record of the session last, and remove the folder."""
        match = _NAME.fullmatch(os.path.basename(folder))
        session_id = match["session"] if match else ""
        records = list(_records_in(self._files, folder))
        records.sort(key=lambda one: (one.startswith("session/"), one.endswith(f"/{session_id}{SUFFIX}")))
        for record in records:
            work.move(f"{folder}/{record}", f"{self._store}/{record}")
        self._discard(folder)

    def _complete_deletion(self, work: "_Moves", folder: str) -> None:
        """Complete an unfinished deletion, or move everything back if it had not written what to move."""
        if not self._files.exists(f"{folder}/{MANIFEST}"):
            self._move_out(work, folder)
            return
        self._move_in(work, folder, self._files.read_whole(f"{folder}/{RECORDS}").decode().split("\n"))
        self._files.replace(folder, folder.removesuffix(DELETING))

    def _turn_back(self, folder: str, suffix: str, act: Callable[["_Moves", str], None]) -> None:
        """Undo failed work; what fails here is recovered later."""
        name = folder.removesuffix(DELETING).removesuffix(RESTORING)
        try:
            if self._files.exists(folder):
                self._files.replace(folder, f"{name}{suffix}")
                act(_Moves(self._files), f"{name}{suffix}")
        except OSError as error:
            logger.warning("%s", storage_error(error, "undo the work on", folder))

    def _discard(self, folder: str) -> None:
        """Remove a folder that holds no record any more; failures are logged and retried by `recover`."""
        try:
            self._remove_empty(folder)
        except FileNotFoundError:
            return
        except OSError as error:
            logger.warning("%s", storage_error(error, "remove", folder))

    def _remove_empty(self, folder: str) -> None:
        for inner in _subfolders(self._files, folder):
            self._remove_empty(inner)
        left = [name for name in self._files.names(folder) if name in (MANIFEST, RECORDS) or _is_temporary(name)]
        for name in left:
            self._files.unlink(f"{folder}/{name}")
        self._files.rmdir(folder)

    def _recover(self) -> list[StorageError]:
        """Complete unfinished work, with the lock held."""
        failures: list[StorageError] = []
        acts: Mapping[str, Callable[[_Moves, str], None]] = {
            DELETING: self._complete_deletion,
            RESTORING: self._move_out,
            EMPTYING: lambda work, folder: work.writer.remove_tree(folder),
        }
        for name, suffix in self._names():
            act = acts.get(suffix)
            if act is None:
                continue
            work = _Moves(self._files)
            folder = f"{self._root}/{name}{suffix}"
            try:
                act(work, folder)
                work.sync(self._root)
            except OSError as error:
                failures.append(storage_error(error, "complete the work on", folder))
        for failure in failures:
            logger.warning("%s", failure)
        return failures


class _Moves:
    """Moves files and folders, by renaming them or, to another file system, by copying, comparing and removing them.

    A move that was interrupted can be repeated. Nothing is overwritten. Raises OSError.
    """

    def __init__(self, files: FileSystem) -> None:
        self.writer = AtomicWriter(files)
        self._files = files
        self._made: set[str] = set()
        self._changed: set[str] = set()

    def move(self, source: str, target: str) -> None:
        """Move a file or a folder; one that does not exist was moved before."""
        if not self._files.exists(source):
            return
        folder = os.path.dirname(target)
        if folder not in self._made:
            self.writer.make_folders(folder)
            self._made.add(folder)
        self._changed |= {folder, os.path.dirname(source)}
        if self._files.exists(target):
            self._merge(source, target)
            return
        try:
            self._files.replace(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            self._copy(source, target)

    def sync(self, folder: str) -> None:
        """Sync the changed folders to the disk; a failure is logged, because the move is done."""
        try:
            self.writer.sync()
            for path in sorted({*self._changed, folder}):
                self._sync_folder(path)
        except OSError as error:
            logger.warning("%s", storage_error(error, "sync", folder))

    def _sync_folder(self, path: str) -> None:
        try:
            descriptor = self._files.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            self._files.fsync(descriptor)
        finally:
            self._files.close(descriptor)

    def _copy(self, source: str, target: str) -> None:
        if _is_folder(self._files, source):
            self.writer.make_folders(target)
            self._merge(source, target)
            return
        data = self._files.read_whole(source)
        self.writer.write(target, data, durable=True)
        self._remove_copied(source, target, data)

    def _merge(self, source: str, target: str) -> None:
        """Move what an interrupted copy has left."""
        if _is_folder(self._files, source) and _is_folder(self._files, target):
            for name in sorted(self._files.names(source)):
                self.move(f"{source}/{name}", f"{target}/{name}")
            self._files.rmdir(source)
            return
        self._remove_copied(source, target, self._files.read_whole(source))

    def _remove_copied(self, source: str, target: str, data: bytes) -> None:
        if self._files.read_whole(target) != data:
            raise FileExistsError(errno.EEXIST, "another file of this name exists", target)
        self._files.unlink(source)


def _is_temporary(file_name: str) -> bool:
    return temporary_owner(file_name) is not None


def _is_folder(files: FileSystem, path: str) -> bool:
    return stat.S_ISDIR(files.lstat(path).st_mode)


def _subfolders(files: FileSystem, folder: str) -> list[str]:
    with files.scandir(folder) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))


def _records_in(files: FileSystem, folder: str) -> Iterator[str]:
    """Yield the paths below a folder of the trash that are moved as a whole."""
    for kind in _subfolders(files, folder):
        inside = _subfolders(files, kind) if os.path.basename(kind) == "session" else [kind]
        for parent in inside:
            for name in sorted(files.names(parent)):
                if not _is_temporary(name):
                    yield f"{parent[len(folder) + 1 :]}/{name}"
