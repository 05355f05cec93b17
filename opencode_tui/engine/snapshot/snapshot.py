"""Snapshots of one worktree: record what the files are, tell what a step changed, undo it, undo the undoing.

    snapshots = Snapshots(worktree=…, project_id=…, paths=…, locks=…, clock=…)
    before = await snapshots.track()                       # directly before a step's first writing tool
    patch = await snapshots.patch(before.id)
    report = await snapshots.revert([patch])               # oldest first; the report of an active revert's `as_patch()` comes last
    await snapshots.unrevert(report)

Everything happens in a thread under one lock per worktree, between processes too. Nothing of the person's repository is touched or
run. Source: SPEC, section 5.
"""

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from opencode_tui.engine.snapshot.disk import Disk
from opencode_tui.engine.snapshot.objects.changes import changed, is_certain, without_made_folders
from opencode_tui.engine.snapshot.objects.diff import file_diffs
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings, Usage, clean, left_by_clean, usage_of
from opencode_tui.engine.snapshot.objects.store import VerifyResult
from opencode_tui.engine.snapshot.objects.view import open_view
from opencode_tui.engine.snapshot.report import Patch, Preview, Report, Snapshot
from opencode_tui.engine.snapshot.reporting import combine, preview_of, report_of, unrecorded_paths
from opencode_tui.engine.snapshot.work import Reverted
from opencode_tui.engine.snapshot.worktree_lock import LockedWorktree, WorktreeLock
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths


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
        settings: SnapshotSettings | None = None,
        disk: Disk | None = None,
    ) -> None:
        self.worktree = worktree
        self._clock = clock
        self._settings = settings or SnapshotSettings()
        self.lock = WorktreeLock(
            worktree=worktree,
            project_id=project_id,
            paths=paths,
            locks=locks,
            clock=clock,
            settings=self._settings,
            disk=disk,
        )

    @property
    def unavailable(self) -> str | None:
        """Why there is no undo here, None when there is."""
        return self.lock.unavailable

    async def track(self) -> Snapshot:
        """Record the whole worktree as it is now. Raises SnapshotError, StorageError."""
        return await self.lock.run(lambda opened, stop: opened.log_snapshot(opened.worktree.scan(stop=stop)))

    async def patch(self, before: str) -> Patch:
        """Return what changed since a snapshot; where it holds only some paths, of these. Raises SnapshotError, StorageError."""

        def work(opened: LockedWorktree, stop: threading.Event) -> Patch:
            view = open_view(opened.worktree.store, before)
            after, found = opened.worktree.changes(view, stop=stop)
            opened.snapshot_log.add(after.id, self._clock())
            files = [opened.worktree.absolute(path) for path, change in found.items() if is_certain(change)]
            return Patch(hash=before, after=after.id, files=files)

        return await self.lock.run(work)

    async def preview(self, patches: Sequence[Patch]) -> Preview:
        """Return what `revert` would do now, without doing it; raises SnapshotError, StorageError."""

        def work(opened: LockedWorktree, stop: threading.Event) -> Preview:
            tree = opened.worktree
            return preview_of(
                tree, tree.plan(patches, opened.change_log.read().contested), unrecorded_paths(tree, patches)
            )

        return await self.lock.run(work)

    async def missing(self, names: Iterable[str]) -> set[str]:
        """Return those of these snapshots that the store does not hold, or not whole enough to read them."""
        wanted = set(names)

        def is_there(opened: LockedWorktree, name: str) -> bool:
            try:
                open_view(opened.worktree.store, name)
            except SnapshotError:
                return False
            return True

        return await self.lock.run(lambda opened, stop: {name for name in wanted if not is_there(opened, name)})

    async def revert(self, patches: Sequence[Patch], *, active: Report | None = None, key: str = "") -> Report:
        """Undo patches, given oldest first; `active` is the report of a revert that is in force, whose changes go first.

        The new report then stands for both. What somebody changed since is left and named. With a key (letters and digits)
        `finished` gives the report again, until `forget`. Raises SnapshotError or StorageError, with everything as it was.
        """
        all_patches = [*patches, active.as_patch()] if active is not None else list(patches)

        def work(opened: LockedWorktree, stop: threading.Event) -> Report:
            tree = opened.worktree

            def report(reverted: Reverted) -> Report:
                report = report_of(tree, reverted, unrecorded_paths(tree, all_patches))
                report = report if active is None else combine(tree, active, report)
                for name in {report.before, reverted.before.id, report.after}:
                    opened.snapshot_log.add(name, self._clock())
                return report

            return tree.revert(tree.plan(all_patches, opened.change_log.read().contested), key=key, make_report=report)

        return await self.lock.run(work)

    async def unrevert(self, report: Report, *, key: str = "") -> Report:
        """Bring back what a revert undid, and return what was done; arguments and errors as for `revert`."""
        return await self.revert([report.as_patch()], key=key)

    async def completed_revert(self, key: str) -> Report | None:
        """Return what the revert with this key did, None when it was not done or has been taken back."""
        return await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.read(key))

    async def completed_keys(self) -> list[str]:
        """Return the keys of finished reverts whose notes are still there; one that was cut short is taken back first."""
        return await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.keys())

    async def delete_completed(self, key: str) -> None:
        """Drop the note of a finished revert, when its report is kept elsewhere."""
        await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.delete(key))

    async def diff(self, before: str, after: str, files: Iterable[str] | None = None) -> list[FileDiff]:
        """Return the changes between two snapshots, or those of some files; raises SnapshotError."""
        wanted = None if files is None else list(files)

        def work(opened: LockedWorktree, stop: threading.Event) -> list[FileDiff]:
            tree = opened.worktree
            found = changed(open_view(tree.store, before), open_view(tree.store, after))
            chosen = None if wanted is None else {tree.relative(file) for file in wanted}
            kept = {path: change for path, change in found.items() if chosen is None or path in chosen}
            return file_diffs(tree.store, without_made_folders(kept))

        return await self.lock.run(work)

    async def verify(self) -> VerifyResult:
        """Read every stored object and compare it with its id."""
        return await self.lock.run(lambda opened, stop: opened.worktree.store.verify())

    async def size(self) -> Usage:
        """Return what the store takes."""
        return await self.lock.run(lambda opened, stop: usage_of(opened.worktree.store, opened.paths, self._settings))

    def has_outdated(self, usage: Usage) -> bool:
        """Tell whether a store holds a snapshot that `clean` may drop."""
        return usage.oldest is not None and usage.oldest < self._clock() - self._settings.age_ms

    async def clean(self, *, keep: Iterable[str] = (), is_dry_run: bool = False) -> Usage:
        """Drop snapshots older than the age of the settings, except those in `keep`, and return what is left.

        A dry run drops nothing and estimates that. Raises SnapshotError, StorageError.
        """
        kept = list(keep)

        def work(opened: LockedWorktree, stop: threading.Event) -> Usage:
            store, before = opened.worktree.store, self._clock() - self._settings.age_ms
            if is_dry_run:
                return left_by_clean(store, opened.paths, self._settings, before=before, keep=kept)
            clean(store, opened.paths, before=before, keep=kept)
            opened.change_log.expire(before=before, kept=opened.snapshot_log.read())
            return usage_of(store, opened.paths, self._settings)

        return await self.lock.run(work)
