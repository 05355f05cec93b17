"""Snapshots of one worktree: record what the files are, tell what a step changed, undo it, undo the undoing.

    snapshots = Snapshots(worktree=…, project_id=…, paths=…, locks=…, clock=…)
    before = await snapshots.track()                       # directly before a step's first writing tool
    patch = await snapshots.patch(before.id, session=id, since=started)
    report = await snapshots.revert([patch])               # oldest first; the report of an active revert's `as_patch()` comes last
    await snapshots.unrevert(report)

Everything happens in a thread under one lock per worktree, between processes too. Nothing of the person's repository is touched or
run. Source: SPEC, section 5.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from opencode_tui.engine.snapshot.changes import Change, changed, without_made_folders
from opencode_tui.engine.snapshot.claims import Claims, Ledger
from opencode_tui.engine.snapshot.diff import file_diffs
from opencode_tui.engine.snapshot.disk import Disk
from opencode_tui.engine.snapshot.entry import Unknown
from opencode_tui.engine.snapshot.place import StorePlace, find_place, own_folders, refusal
from opencode_tui.engine.snapshot.quota import Quota, SnapshotLog, Usage, clean, usage_of
from opencode_tui.engine.snapshot.report import Patch, Preview, Report, Snapshot
from opencode_tui.engine.snapshot.store import Verdict
from opencode_tui.engine.snapshot.telling import blanks, joined, preview_of, remarks, report_of
from opencode_tui.engine.snapshot.view import View, open_view
from opencode_tui.engine.snapshot.work import Worktree
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.ids import Clock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, ensure

T = TypeVar("T")

LOCK_WAIT_MS = 60_000
"""How long to wait for another process's scan or revert of the same worktree."""


@dataclass(slots=True)
class _Opened:
    """What is needed for work, made when it is first asked for."""

    place: StorePlace
    worktree: Worktree
    claims: Claims
    log: SnapshotLog


class Snapshots:
    """The service of one worktree. `unavailable` tells why there is no undo here; then every verb raises SnapshotError."""

    def __init__(
        self,
        *,
        worktree: Path,
        project_id: str,
        paths: Paths,
        locks: Locks,
        clock: Clock,
        quota: Quota | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.worktree = worktree
        self.unavailable = refusal(worktree, paths)
        self._project_id = project_id
        self._paths = paths
        self._locks = locks
        self._clock = clock
        self._quota = quota or Quota()
        self._disk = disk
        self._opened: _Opened | None = None

    async def track(self) -> Snapshot:
        """Record the whole worktree as it is now. Raises SnapshotError, StorageError."""
        return await self._do(lambda opened, stop: self._told(opened, opened.worktree.scan(stop=stop)))

    async def track_paths(self, paths: Iterable[str | Path], *, base: str | None = None) -> Snapshot:
        """Record these paths as they are now, ignored and large ones too; the rest is as in `base`, or unknown without one.

        Paths outside the worktree are left out. Raises SnapshotError, StorageError.
        """
        wanted = [str(path) for path in paths]

        def work(opened: _Opened, stop: threading.Event) -> Snapshot:
            found = {inner for path in wanted if (inner := opened.worktree.relative(path)) is not None}
            below = open_view(opened.worktree.store, base) if base else None
            return self._told(opened, opened.worktree.record(found, below))

        return await self._do(work)

    async def overlay(self, base: str, over: str, paths: Iterable[str | Path]) -> Snapshot:
        """Record a state like `base` in which these paths are as in `over`; raises SnapshotError, StorageError."""
        wanted = [str(path) for path in paths]

        def work(opened: _Opened, stop: threading.Event) -> Snapshot:
            tree = opened.worktree
            found = {inner for path in wanted if (inner := tree.relative(path)) is not None}
            return self._told(opened, tree.overlay(open_view(tree.store, base), open_view(tree.store, over), found))

        return await self._do(work)

    async def patch(self, before: str, *, session: str | None = None, since: int = 0) -> Patch:
        """Return what changed since a snapshot; where it holds only some paths, of these.

        With a session, paths that others' file tools changed since the time `since` (ms) are left out, and where another
        session's shell ran meanwhile the rest is contested. Raises SnapshotError, StorageError.
        """

        def work(opened: _Opened, stop: threading.Event) -> Patch:
            view = open_view(opened.worktree.store, before)
            after, found = opened.worktree.changes(view, stop=stop)
            paths = _certain(found)
            contested: set[str] = set()
            if session is not None:
                paths, contested = _own(paths, opened.claims.read(), session, since)
            if contested:
                opened.claims.contest(after.id, contested, time=self._clock())
            opened.log.note(after.id, self._clock())
            return Patch(hash=before, after=after.id, files=[opened.worktree.absolute(path) for path in paths])

        return await self._do(work)

    async def claim(self, session: str, path: Path, *, before: str, after: str) -> None:
        """Note that a session's file tool changed a path from its state in one snapshot to that in another."""

        def work(opened: _Opened, stop: threading.Event) -> None:
            tree = opened.worktree
            inner = tree.relative(str(path))
            if inner is not None:
                change = (open_view(tree.store, before).state(inner), open_view(tree.store, after).state(inner))
                opened.claims.add(session, inner, change=change, time=self._clock())

        await self._do(work)

    async def begin_shell(self, session: str) -> str:
        """Note that a session's shell command begins, and return the key for its end."""
        return await self._do(lambda opened, stop: opened.claims.begin_shell(session, time=self._clock()))

    async def end_shell(self, key: str) -> None:
        """Note that a shell command has ended."""
        await self._do(lambda opened, stop: opened.claims.end_shell(key, time=self._clock()))

    async def preview(self, patches: Sequence[Patch]) -> Preview:
        """Return what `revert` would do now, without doing it; raises SnapshotError, StorageError."""

        def work(opened: _Opened, stop: threading.Event) -> Preview:
            tree = opened.worktree
            return preview_of(tree, tree.plan(patches, opened.claims.read().contested), blanks(tree, patches))

        return await self._do(work)

    async def revert(self, patches: Sequence[Patch], *, active: Report | None = None) -> Report:
        """Undo patches, given oldest first; `active` is the report of a revert that is in force, whose changes go first.

        The new report then stands for both. What somebody changed since is left and named. Raises SnapshotError or StorageError,
        with everything as it was.
        """
        all_patches = [*patches, active.as_patch()] if active is not None else list(patches)

        def work(opened: _Opened, stop: threading.Event) -> Report:
            tree = opened.worktree
            reverted = tree.revert(tree.plan(all_patches, opened.claims.read().contested))
            for view in (reverted.before, reverted.after):
                opened.log.note(view.id, self._clock())
            report = report_of(tree, reverted, blanks(tree, all_patches))
            return report if active is None else joined(tree, active, report)

        return await self._do(work)

    async def unrevert(self, report: Report) -> Report:
        """Bring back what a revert undid, and return what was done; raises as `revert`."""
        return await self.revert([report.as_patch()])

    async def diff(self, before: str, after: str, files: Iterable[str] | None = None) -> list[FileDiff]:
        """Return the changes between two snapshots, or those of some files; raises SnapshotError."""
        wanted = None if files is None else list(files)

        def work(opened: _Opened, stop: threading.Event) -> list[FileDiff]:
            tree = opened.worktree
            found = changed(open_view(tree.store, before), open_view(tree.store, after))
            chosen = None if wanted is None else {tree.relative(file) for file in wanted}
            kept = {path: change for path, change in found.items() if chosen is None or path in chosen}
            return file_diffs(tree.store, without_made_folders(kept))

        return await self._do(work)

    async def verify(self) -> Verdict:
        """Read every stored object and compare it with its id."""
        return await self._do(lambda opened, stop: opened.worktree.store.verify())

    async def size(self) -> Usage:
        """Return what the store takes."""
        return await self._do(lambda opened, stop: usage_of(opened.worktree.store, opened.place, self._quota))

    async def clean(self, *, keep: Iterable[str] = ()) -> Usage:
        """Drop snapshots older than the quota's age, except those in `keep`, and return what is left."""
        kept = list(keep)

        def work(opened: _Opened, stop: threading.Event) -> Usage:
            clean(opened.worktree.store, opened.place, before=self._clock() - self._quota.age_ms, keep=kept)
            opened.claims.forget(before=self._clock() - self._quota.age_ms)
            return usage_of(opened.worktree.store, opened.place, self._quota)

        return await self._do(work)

    async def _do(self, work: Callable[[_Opened, threading.Event], T]) -> T:
        """Do blocking work in a thread under the worktree's lock; a cancel sets the stop flag and waits for the thread."""
        if self.unavailable is not None:
            raise SnapshotError(self.unavailable)
        opened = self._opened or await asyncio.to_thread(self._open)
        self._opened = opened
        lock = self._locks.worktree(opened.place.name)
        await lock.acquire(LOCK_WAIT_MS)
        stop = threading.Event()
        try:
            return await _finish(asyncio.to_thread(_prepared(opened, work), stop), stop)
        finally:
            lock.release()

    def _open(self) -> _Opened:
        place = find_place(self._paths, project_id=self._project_id, worktree=self.worktree)
        ensure(place.folder)
        worktree = Worktree(
            str(self.worktree),
            place=place,
            own_folders=own_folders(self.worktree, self._paths),
            quota_bytes=self._quota.bytes,
            disk=self._disk,
        )
        return _Opened(place, worktree, Claims(place.claims), SnapshotLog(place.log))

    def _told(self, opened: _Opened, view: View) -> Snapshot:
        opened.log.note(view.id, self._clock())
        return Snapshot(id=view.id, unprotected=remarks(view.manifest.skipped))


def _prepared(opened: _Opened, work: Callable[[_Opened, threading.Event], T]) -> Callable[[threading.Event], T]:
    def prepare_and_work(stop: threading.Event) -> T:
        opened.worktree.open()
        return work(opened, stop)

    return prepare_and_work


def _certain(changes: Mapping[str, Change]) -> list[str]:
    """Return the paths of which both states are known."""
    return [path for path, states in changes.items() if not any(isinstance(state, Unknown) for state in states)]


def _own(paths: list[str], ledger: Ledger, session: str, since: int) -> tuple[list[str], set[str]]:
    """Return the paths that are this session's change, and those among them that may be another's as well."""
    foreign = ledger.claimed_by_others(session, since=since)
    kept = [path for path in paths if path not in foreign]
    if not ledger.has_other_shell(session, since=since):
        return kept, set()
    return kept, set(kept) - ledger.claimed_by(session, since=since)


async def _finish(work: Coroutine[Any, Any, T], stop: threading.Event) -> T:
    """Return what the work gives; a cancel sets the flag and is delivered when the thread has ended."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
            stop.set()
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()
