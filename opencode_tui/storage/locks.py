"""The locks of one data folder: files in its lock folder, which are deleted with the session that they are of.

`{session}.run` guards messages and parts, `{session}.write` the session's record and its small siblings, `store` the rest.
`{session}.fork` is held while the session is forked, or to keep others from forking it; `{session}.copy` while the records of that
fork are copied; `import.write` while sessions are imported, `trash.write` while they are deleted or restored, `{server}.sign-in`
while the token of an MCP server is refreshed, `{repository}.tasks` while the worktree of a batch task is added or removed.
Source: docs/internals/session.md#locks.
"""

import logging
import os
import threading
from collections.abc import AsyncGenerator, Iterable
from contextlib import ExitStack, asynccontextmanager, suppress

from msgspec import Struct

from opencode_tui.schema.error import StorageError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import check_key, is_segment
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.process_identity import is_alive
from opencode_tui.storage.process_lock import (
    OWNER_SUFFIX,
    RUNNING,
    Keep,
    ProcessLock,
    RunLock,
    RunOwner,
    read_owner,
)
from opencode_tui.storage.record_file import storage_error

_logger = logging.getLogger(__name__)


class Seen(Struct, frozen=True):
    """Which run of a session was the last one when its records were read: of any process, and of this one.

    `owner` is None before the first run, and where it could not be read.
    """

    owner: RunOwner | None
    own: int | None


NEVER_RUN = Seen(None, None)

_KINDS = ("run", "fork", "copy", "write")
"""The locks of one session, in the order in which a deletion acquires them."""

COPY_WAIT_MS = 600_000
"""Limit of the wait for a fork of a session that is being copied."""


class Locks:
    """The locks of one data folder, each made once. Thread-safe."""

    def __init__(self, paths: Paths, *, files: FileSystem | None = None, keep: Keep | None = None) -> None:
        """`keep` is `Storage.keep` where the records of sessions are written."""
        self._paths = paths
        self._keep = keep
        self._folder = paths.lock
        self._files = files or FileSystem()
        self._locks: dict[str, ProcessLock] = {}
        self._run_locks: dict[str, RunLock] = {}
        self._guard = threading.Lock()

    def session_write(self, session_id: str) -> ProcessLock:
        """Return the lock for read-modify-write of a session's record and its small siblings."""
        return self._lock(f"{session_id}.write")

    def session_fork(self, session_id: str) -> ProcessLock:
        """Return the lock that is held while a fork of the session starts, or to keep one from starting."""
        return self._lock(f"{session_id}.fork")

    @asynccontextmanager
    async def unforked(self, session_id: str) -> AsyncGenerator[None]:
        """Hold a session's fork lock: wait for a fork that is being copied, and let none begin. It cannot be nested."""
        lock = self.session_fork(session_id)
        await lock.acquire(COPY_WAIT_MS)
        try:
            yield
        finally:
            lock.release()

    def session_copy(self, session_id: str) -> ProcessLock:
        """Return the lock that is held while the records of a fork are copied."""
        return self._lock(f"{session_id}.copy")

    def session_run(self, session_id: str) -> RunLock:
        """Return the lock that is held for the length of a session's run."""
        lock = self._lock(f"{session_id}.run")
        with self._guard:
            run_lock = self._run_locks.get(session_id)
            if run_lock is None:
                owner_path = self._owner_path(session_id)
                run_lock = RunLock(
                    lock, session_id=session_id, owner_path=owner_path, files=self._files, keep=self._keep
                )
                self._run_locks[session_id] = run_lock
            return run_lock

    def holds_run(self, session_id: str) -> bool:
        """Return whether this process holds the session's run lock; reads no file."""
        with self._guard:
            lock = self._locks.get(f"{session_id}.run")
        return lock is not None and lock.is_held()

    def is_running(self, session_id: str) -> bool:
        """Return whether this or another process holds the session's run lock. Blocks for one small file; raises StorageError.

        It does not try the lock: whoever acquires it in that moment would be refused.
        """
        owner = self.read_owner(session_id)
        return self.holds_run(session_id) or (owner is not None and owner.is_set and is_alive(owner.process))

    def look(self, session_id: str) -> Seen:
        """Return what `is_current` compares with, from before the records of a session are read. Blocks for one small file."""
        own = self.own_generation(session_id)
        try:
            return Seen(self.read_owner(session_id), own)
        except StorageError as error:
            _logger.warning("whether another process has changed a session is not known: %s", error)
            return Seen(None, own)

    def is_current(self, session_id: str, seen: Seen) -> bool:
        """Return whether no other process can have changed the session's records since. Blocks for one small file.

        This one may have: it does so in memory too.
        """
        own = self.own_generation(session_id)
        try:
            owner = self.read_owner(session_id)
        except StorageError as error:
            _logger.warning("whether another process has changed a session is not known: %s", error)
            return False
        if owner is None:  # it never ran, or was deleted since
            return seen.owner is None and own is None
        is_free = not owner.is_set or not is_alive(owner.process)
        return owner.generation == own or (is_free and owner == seen.owner)

    def own_generation(self, session_id: str) -> int | None:
        """Return the generation of this process's last run of a session, None before the first one; reads no file."""
        with self._guard:
            lock = self._run_locks.get(session_id)
        return None if lock is None else lock.last_generation

    def read_owner(self, session_id: str) -> RunOwner | None:
        """Return the process that runs a session or ran it last, None when it never ran; raises StorageError."""
        path = self._owner_path(session_id)
        try:
            return read_owner(self._files, path)
        except OSError as error:
            raise storage_error(error, "read", path) from error

    def killed_runs(self) -> list[str]:
        """Return the ids of sessions whose run was killed, sorted; an owner file that cannot be read counts as none. Blocks.

        Reads the file of each session that ever ran: versions before 0.4 left no other one.
        """
        ran = [name.removesuffix(OWNER_SUFFIX) for name in _names(str(self._folder)) if name.endswith(OWNER_SUFFIX)]
        return [session_id for session_id, owner in self._owners(ran).items() if not is_alive(owner.process)]

    def killed_of(self, session_ids: Iterable[str]) -> list[str]:
        """Return which of these sessions had their run killed, as `killed_runs` does. Blocks."""
        killed: list[str] = []
        for session_id in session_ids:
            with suppress(OSError):
                owner = read_owner(self._files, self._owner_path(session_id))
                if owner is not None and owner.is_set and not is_alive(owner.process):
                    killed.append(session_id)
        return killed

    def run_owners(self) -> dict[str, RunOwner]:
        """Return the process that runs each session now, or was killed while it did; sorted by id. Blocks.

        Reads as many files as runs. An owner file that cannot be read counts as none.
        """
        return self._owners(_names(f"{self._folder}/{RUNNING}"))

    def _owners(self, session_ids: Iterable[str]) -> dict[str, RunOwner]:
        """Return the set owners of these sessions, sorted by id."""
        owners: dict[str, RunOwner] = {}
        for session_id in sorted(session_ids):
            with suppress(OSError):
                owner = read_owner(self._files, f"{self._folder}/{session_id}{OWNER_SUFFIX}")
                if owner is not None and owner.is_set:
                    owners[session_id] = owner
        return owners

    def ended_runs(self, since: int) -> dict[str, int]:
        """Return the sessions whose last run ended after a moment, with when, the last one first; times are in ms. Blocks.

        An owner file that cannot be read counts as none.
        """
        ended: dict[str, int] = {}
        try:
            with self._files.scandir(str(self._folder)) as entries:
                for entry in entries:
                    if not entry.name.endswith(OWNER_SUFFIX):
                        continue
                    with suppress(OSError):
                        at = entry.stat(follow_symlinks=False).st_mtime_ns // 1_000_000
                        if at > since and (owner := read_owner(self._files, entry.path)) and not owner.is_set:
                            ended[entry.name.removesuffix(OWNER_SUFFIX)] = at
        except OSError:
            return {}
        return dict(sorted(ended.items(), key=lambda one: one[1], reverse=True))

    def delete(self, session_id: str) -> None:
        """Delete the lock files of a session that was deleted, unless one of them is in use. Blocks.

        They are deleted while they are locked: who then locks one of them makes a new file. A failure is logged, because files
        that are left are in the way of nothing.
        """
        locks = [self._lock(f"{session_id}.{kind}") for kind in _KINDS]
        running = f"{self._folder}/{RUNNING}/{session_id}"
        with ExitStack() as held:
            try:
                for lock in locks:
                    if not lock.try_acquire():
                        return
                    held.callback(lock.release)
                owner = self.read_owner(session_id)
                if owner is not None and owner.is_set:  # restored since, then killed
                    return
                for path in (running, self._owner_path(session_id), *(lock.path for lock in locks)):
                    self._delete_file(path)
            except StorageError as error:
                _logger.warning("%s", error)

    def _delete_file(self, path: str) -> None:
        try:
            self._files.unlink(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(error, "delete", path) from error

    def store(self) -> ProcessLock:
        """Return the lock for everything outside of sessions: permission, project, credentials, migration, index."""
        return self._lock("store")

    def importing(self) -> ProcessLock:
        """Return the lock that is held while sessions of other programs are imported."""
        return self._lock("import.write")

    def trash(self) -> ProcessLock:
        """Return the lock that is held while sessions are moved to the trash or out of it."""
        return self._lock("trash.write")

    def sign_in(self, name: str) -> ProcessLock:
        """Return the lock that is held while the token of an MCP server is refreshed; `name` is derived from the server's."""
        return self._lock(f"{name}.sign-in")

    def worktree(self, name: str) -> ProcessLock:
        """Return the lock of a worktree's files and snapshots; `name` is derived from its path."""
        return self._lock(f"{name}.worktree")

    def task_worktrees(self, name: str) -> ProcessLock:
        """Return the lock for adding and removing worktrees of batch tasks; `name` is derived from the repository's."""
        return self._lock(f"{name}.tasks")

    def _lock(self, name: str) -> ProcessLock:
        with self._guard:
            lock = self._locks.get(name)
            if lock is None:
                if not is_segment(name):
                    raise StorageError(f"{name!r} is not a valid name of a lock; use letters, digits, '_', '-' and '.'")
                lock = self._locks[name] = ProcessLock(f"{self._make_folder()}/{name}")
            return lock

    def _owner_path(self, session_id: str) -> str:
        return f"{self._folder}/{check_key((session_id,))[0]}{OWNER_SUFFIX}"

    def _make_folder(self) -> str:
        try:
            return str(ensure(self._folder))
        except OSError as error:
            raise storage_error(error, "create", str(self._folder)) from error


def _names(folder: str) -> list[str]:
    """Return the names in a folder; none where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
