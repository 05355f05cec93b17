"""Access to one worktree's snapshots: a lock between processes, a thread, and a store that the first operation opens."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.snapshot.change_log import ChangeLog
from opencode_tui.engine.snapshot.objects.quota import SnapshotLog, SnapshotSettings
from opencode_tui.engine.snapshot.objects.view import View
from opencode_tui.engine.snapshot.report import Snapshot
from opencode_tui.engine.snapshot.reporting import path_notes
from opencode_tui.engine.snapshot.worktree import Worktree
from opencode_tui.engine.snapshot.worktree_paths import StorePaths, find_store, own_folders, why_unavailable
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.ids import Clock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.safe_folder import Disk

T = TypeVar("T")

LOCK_WAIT_MS = 60_000
"""Limit of the wait for another process's scan or revert of the same worktree."""


@dataclass(slots=True)
class LockedWorktree:
    """The worktree, its store and its logs, for use while the worktree's lock is held."""

    paths: StorePaths
    worktree: Worktree
    change_log: ChangeLog
    snapshot_log: SnapshotLog
    clock: Clock

    def log_snapshot(self, view: View) -> Snapshot:
        """Add a new snapshot to the log and return its record."""
        self.snapshot_log.add(view.id, self.clock())
        return Snapshot(id=view.id, unprotected=path_notes(view.manifest.skipped))


Work = Callable[[LockedWorktree, threading.Event], T]
"""A blocking operation; it raises an error early when the flag is set."""


class WorktreeLock:
    """Runs operations on one worktree. Where `unavailable` gives a reason, all of them raise SnapshotError with it."""

    def __init__(
        self,
        *,
        worktree: Path,
        project_id: str,
        paths: Paths,
        locks: Locks,
        clock: Clock,
        settings: SnapshotSettings,
        disk: Disk | None,
    ) -> None:
        self.unavailable = why_unavailable(worktree, paths, is_on=settings.is_on)
        self._root = worktree
        self.project_id = project_id
        self.paths = paths
        self._locks = locks
        self.clock = clock
        self._settings = settings
        self._disk = disk
        self._opened: LockedWorktree | None = None

    async def run(self, work: Work[T]) -> T:
        """Run a blocking operation in a thread under the worktree's lock; a cancel sets the stop flag and waits for the thread.

        Raises SnapshotError, StorageError, LockTimeoutError after a minute, and the operation's errors.
        """
        if self.unavailable is not None:
            raise SnapshotError(self.unavailable)
        opened = self._opened or await asyncio.to_thread(self._open)
        self._opened = opened
        lock = self._locks.worktree(opened.paths.name)
        await lock.acquire(LOCK_WAIT_MS)
        stop = threading.Event()
        try:
            return await run_to_completion(asyncio.to_thread(_prepared(opened, work), stop), stop=stop)
        finally:
            lock.release()

    async def append(self, work: Callable[[ChangeLog], T]) -> T:
        """Append to the change log in a thread, without the lock; raises SnapshotError, StorageError."""
        if self._opened is None:
            return await self.run(lambda opened, stop: work(opened.change_log))
        return await asyncio.to_thread(work, self._opened.change_log)

    def _open(self) -> LockedWorktree:
        paths = find_store(self.paths, project_id=self.project_id, worktree=self._root)
        ensure(paths.folder)
        worktree = Worktree(
            str(self._root),
            paths=paths,
            own_folders=own_folders(self._root, self.paths),
            quota_bytes=self._settings.bytes,
            disk=self._disk,
        )
        return LockedWorktree(paths, worktree, ChangeLog(paths.change_log), SnapshotLog(paths.log), self.clock)


def _prepared(opened: LockedWorktree, work: Work[T]) -> Callable[[threading.Event], T]:
    def prepare_and_work(stop: threading.Event) -> T:
        opened.worktree.open()
        return work(opened, stop)

    return prepare_and_work
