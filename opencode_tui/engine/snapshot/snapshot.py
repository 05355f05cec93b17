"""The snapshot service of one worktree: record the files, list a step's changes, revert them, and restore what was reverted.

    snapshots = Snapshots(WorktreeLock(worktree=…, project_id=…, paths=…, locks=…, clock=…))
    report = await snapshots.revert([patch])               # oldest first; `active` is the report of the revert in effect
    await snapshots.unrevert(report)

The patches are those that steps recorded, through `record/recording.py`. `track` records a whole worktree, for a fork with a
worktree of its own; `patch` what has changed since, for `debug snapshot`.

Every operation runs in a thread, under one lock per worktree that holds between processes too. The user's repository is not
changed, and none of its programs run. Source: docs/internals/snapshots.md#store.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.snapshot.change_log import ChangeLog
from opencode_tui.engine.snapshot.entry import (
    NOT_LOOKED,
    OVER_QUOTA,
    OWN_DATA,
    Entry,
    State,
    Unknown,
    by_depth,
    folders_above,
    is_folder,
    is_leaf,
    unrestorable,
)
from opencode_tui.engine.snapshot.objects.changes import (
    Change,
    changed,
    is_certain,
    is_partial,
    known_paths,
    without_made_folders,
)
from opencode_tui.engine.snapshot.objects.diff import count_lines, file_diffs, name_changes, text_of
from opencode_tui.engine.snapshot.objects.manifest import Manifest
from opencode_tui.engine.snapshot.objects.pack import Kind
from opencode_tui.engine.snapshot.objects.quota import (
    SnapshotLog,
    SnapshotSettings,
    Usage,
    clean,
    left_by_clean,
    usage_of,
)
from opencode_tui.engine.snapshot.objects.store import ObjectWriter, StoreFullError, VerifyResult
from opencode_tui.engine.snapshot.objects.view import View, open_view
from opencode_tui.engine.snapshot.report import Patch, PathNote, Snapshot, as_patch
from opencode_tui.engine.snapshot.revert.plan import Plan, Step
from opencode_tui.engine.snapshot.revert.restore import Restore
from opencode_tui.engine.snapshot.scan.kept import KeptLimits
from opencode_tui.engine.snapshot.scan.stat_file import Observer
from opencode_tui.engine.snapshot.scan.stat_index import RunGit
from opencode_tui.engine.snapshot.skipped import keep_touched
from opencode_tui.engine.snapshot.worktree import Reverted, Worktree
from opencode_tui.engine.snapshot.worktree_paths import StorePaths, find_store, own_folders, why_unavailable
from opencode_tui.engine.waits import writing
from opencode_tui.schema.error import SnapshotError, SnapshotUnreadableError, StorageError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoFile
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.safe_folder import Disk, OpenFolders

T = TypeVar("T")

_log = logging.getLogger(__name__)
_UNDO = "undo"
"""The name of all undos in the change log, in the place of a session's: to each command their changes are somebody else's."""

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
        known = view.manifest
        special = {path: reason for path, entry in known.special.items() if (reason := unrestorable(entry)) is not None}
        return Snapshot(id=view.id, unprotected=path_notes({**special, **known.skipped}))


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
        settings: SnapshotSettings | None = None,
        disk: Disk | None = None,
        git: RunGit | None = None,
    ) -> None:
        """`disk` are the calls on the worktree's files; `git` compares those of a large worktree."""
        self.settings = settings or SnapshotSettings()
        self.unavailable = why_unavailable(worktree, paths, is_on=self.settings.is_on)
        self.root = worktree
        self.project_id = project_id
        self.paths = paths
        self._locks = locks
        self.clock = clock
        self._disk = disk
        self._git = git
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
            with writing(str(opened.paths.folder)):
                return await run_to_completion(asyncio.to_thread(_prepared(opened, work), stop), stop=stop)
        finally:
            lock.release()

    async def append(self, work: Callable[[ChangeLog], T]) -> T:
        """Append to the change log in a thread, without the worktree's lock; raises SnapshotError, StorageError."""
        if self._opened is None:
            return await self.run(lambda opened, stop: work(opened.change_log))
        return await asyncio.to_thread(work, self._opened.change_log)

    def _open(self) -> LockedWorktree:
        paths = find_store(self.paths, project_id=self.project_id, worktree=self.root)
        ensure(paths.folder)
        worktree = Worktree(
            str(self.root),
            paths=paths,
            own_folders=own_folders(self.root, self.paths),
            quota_bytes=self.settings.bytes,
            kept=KeptLimits(self.settings.ignored_bytes),
            keep_bytes=self.settings.keep_bytes,
            disk=self._disk,
            git=self._git,
        )
        return LockedWorktree(paths, worktree, ChangeLog(paths.change_log), SnapshotLog(paths.log), self.clock)


def _prepared(opened: LockedWorktree, work: Work[T]) -> Callable[[threading.Event], T]:
    def prepare_and_work(stop: threading.Event) -> T:
        opened.worktree.open()
        return work(opened, stop)

    return prepare_and_work


_TEMPORARY = ".opencode-tui-unpack.tmp"


class Snapshots:
    """The snapshots of one worktree. Where `unavailable` gives a reason, every method raises SnapshotError with it."""

    def __init__(self, lock: WorktreeLock) -> None:
        self.lock = lock

    @property
    def worktree(self) -> Path:
        """Return the folder whose files are recorded."""
        return self.lock.root

    @property
    def unavailable(self) -> str | None:
        """The reason why there is no undo here, None when there is."""
        return self.lock.unavailable

    async def track(self) -> Snapshot:
        """Record the whole worktree as it is now. Raises SnapshotError, StorageError."""
        return await self.lock.run(lambda opened, stop: opened.log_snapshot(opened.worktree.scan(stop=stop)))

    async def track_all(self) -> Snapshot:
        """Record the whole worktree, to fill another one from it. Raises SnapshotError where there is no such record."""
        if self.unavailable is not None:
            raise SnapshotError(f"a worktree is filled from a snapshot, and there is none: {self.unavailable}")
        state = await self.track()
        blank = next((remark for remark in state.unprotected if remark.path == "."), None)
        if blank is not None and blank.reason in (OVER_QUOTA, NOT_LOOKED):
            raise SnapshotError(f"a worktree is filled from a snapshot, and there is none: {blank.reason}")
        return state

    async def patch(self, before: str) -> Patch:
        """Return the changes since a snapshot, for the paths that it contains. Raises SnapshotError, StorageError."""

        def work(opened: LockedWorktree, stop: threading.Event) -> Patch:
            view = open_view(opened.worktree.store, before)
            after, found = opened.worktree.changes(view, stop=stop)
            opened.snapshot_log.add(after.id, opened.clock())
            files = [opened.worktree.absolute(path) for path, change in found.items() if is_certain(change)]
            return Patch(hash=before, after=after.id, files=files)

        return await self.lock.run(work)

    async def preview(self, patches: Sequence[Patch]) -> RevertPreview:
        """Return the effect that `revert` would have now, with counts of lines; raises SnapshotError, StorageError."""

        def work(opened: LockedWorktree, stop: threading.Event) -> RevertPreview:
            tree = opened.worktree
            return preview_of(
                tree, tree.plan(patches, opened.change_log.read().contested), unrecorded_paths(tree, patches)
            )

        return await self.lock.run(work)

    async def beside(self, patches: Sequence[Patch]) -> list[str]:
        """Return the background commands that ran while commands of these patches did; raises SnapshotError, StorageError."""
        ends = {patch.after for patch in patches if patch.files}

        def work(opened: LockedWorktree, stop: threading.Event) -> list[str]:
            found = opened.change_log.read().beside
            return list(dict.fromkeys(name for end in found if end in ends for name in found[end]))

        return await self.lock.run(work) if ends else []

    async def add_foreign(self, states: Iterable[str], objects: Sequence[tuple[Kind, bytes]]) -> bool:
        """Store snapshots of another program, given with their objects; return False when the store is full.

        Raises SnapshotError, StorageError.
        """

        def work(opened: LockedWorktree, stop: threading.Event) -> bool:
            store = opened.worktree.store
            writer = ObjectWriter(store, limit=max(0, self.lock.settings.bytes - store.size()))
            try:
                for kind, data in objects:
                    writer.add(kind, data)
            except StoreFullError:
                writer.discard()
                return False
            writer.flush()
            for name in states:
                opened.snapshot_log.add(name, opened.clock())
            return True

        return await self.lock.run(work)

    async def missing(self, names: Iterable[str]) -> set[str]:
        """Return those of these snapshots that the store lacks, or that are damaged.

        Raises SnapshotUnreadableError where it cannot say.
        """
        wanted = set(names)

        def is_there(opened: LockedWorktree, name: str) -> bool:
            try:
                open_view(opened.worktree.store, name)
            except SnapshotUnreadableError:
                raise
            except SnapshotError:
                return False
            return True

        return await self.lock.run(lambda opened, stop: {name for name in wanted if not is_there(opened, name)})

    async def revert(
        self, patches: Sequence[Patch], *, active: RevertReport | None = None, key: str = ""
    ) -> RevertReport:
        """Revert patches, given oldest first; `active` is the report of the revert in effect, which is undone first.

        The new report then covers both. Files that changed since are left unchanged and reported. With a key (letters and digits)
        `completed_revert` returns the report again, until `delete_completed`. On SnapshotError or StorageError nothing is changed.
        """
        undone = None if active is None else as_patch(active)
        all_patches = [*patches] if undone is None else [*patches, undone]

        def work(opened: LockedWorktree, stop: threading.Event) -> RevertReport:
            tree, log = opened.worktree, opened.change_log
            done: list[str] = []

            def make_report(reverted: Reverted) -> RevertReport:
                done.extend(step.path for step in reverted.outcome.done)
                report = report_of(tree, reverted, unrecorded_paths(tree, all_patches))
                report = report if active is None else combine(tree, active, report)
                for name in filter(None, (report.before, reverted.before.id, report.after)):
                    opened.snapshot_log.add(name, opened.clock())
                return report

            plan = tree.plan(all_patches, log.read().contested)
            # What it changes while a command of another session runs is not that command's.
            with _claimed(opened, plan, done):
                return tree.revert(plan, key=key, make_report=make_report)

        return await self.lock.run(work)

    async def unrevert(self, report: RevertReport, *, key: str = "") -> RevertReport:
        """Restore what a revert changed and return the report; arguments and errors as for `revert`."""
        patch = as_patch(report)
        return await self.revert([] if patch is None else [patch], key=key)

    async def completed_revert(self, key: str) -> RevertReport | None:
        """Return the report of the revert with this key, None when it was not completed or was rolled back."""
        return await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.read(key))

    async def completed_keys(self) -> list[str]:
        """Return the keys of completed reverts that are still stored; an interrupted one is rolled back first."""
        return await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.keys())

    async def delete_completed(self, key: str) -> None:
        """Delete the stored report of a completed revert, once the caller has stored it."""
        await self.lock.run(lambda opened, stop: opened.worktree.completed_reverts.delete(key))

    async def diff(self, before: str, after: str, files: Iterable[str] | None = None) -> list[FileDiff]:
        """Return the changes between two snapshots, of all files or of some, without private ones; raises SnapshotError."""
        wanted = None if files is None else list(files)

        def work(opened: LockedWorktree, stop: threading.Event) -> list[FileDiff]:
            tree = opened.worktree
            old, new = open_view(tree.store, before), open_view(tree.store, after)
            chosen = None if wanted is None else {tree.relative(file) for file in wanted}
            shown = {
                path: change
                for path, change in changed(old, new).items()
                if (chosen is None or path in chosen) and not old.is_private(path) and not new.is_private(path)
            }
            return file_diffs(tree.store, without_made_folders(shown))

        return await self.lock.run(work)

    async def ignored_changes(self, ends: Mapping[tuple[str, str], Collection[str]]) -> list[FileDiff]:
        """Return the private files among these that differ between two snapshots each, by path, without their content.

        `ends` are files (absolute paths) by the ids of the snapshots before and after. Raises SnapshotError.
        """

        def work(opened: LockedWorktree, stop: threading.Event) -> list[FileDiff]:
            tree, found = opened.worktree, dict[str, Change]()
            for (before, after), files in ends.items():
                old, new = open_view(tree.store, before), open_view(tree.store, after)
                for path in filter(None, map(tree.relative, files)):
                    change = (old.state(path), new.state(path))
                    if change[0] != change[1] and (old.is_private(path) or new.is_private(path)):
                        found[path] = change
            return name_changes(found)

        return await self.lock.run(work)

    async def unpack(self, snapshot: str, folder: Path) -> int:
        """Write all paths of a snapshot into another folder, verify them, and return their number.

        Ignored files are left out. Bytes, modes and links are unchanged; existing files are not overwritten, and a link keeps its
        target text. Raises SnapshotError with the first path that could not be written.
        """

        def work(opened: LockedWorktree, stop: threading.Event) -> int:
            store = opened.worktree.store
            view = open_view(store, snapshot)
            if is_partial(view):
                raise SnapshotError(f"the files were not recorded: {view.manifest.skipped['']}")
            plan = _creation_of(view)
            disk = Disk(str(folder))
            outcome = Restore(plan, folders=lambda: OpenFolders(disk), store=store, temporary=_TEMPORARY).apply()
            for path, reason in {**outcome.failed, **outcome.conflicts}.items():
                raise SnapshotError(f"{folder / path} cannot be written: {reason}")
            return len(plan.steps)

        return await self.lock.run(work)

    async def verify(self) -> VerifyResult:
        """Read every stored object, compare it with its id, and return the result."""
        return await self.lock.run(lambda opened, stop: opened.worktree.store.verify())

    async def size(self) -> Usage:
        """Return the disk usage of the store."""
        return await self.lock.run(
            lambda opened, stop: usage_of(opened.worktree.store, opened.paths, self.lock.settings)
        )

    def has_outdated(self, usage: Usage) -> bool:
        """Return whether a store contains a snapshot that `clean` may delete."""
        return usage.oldest is not None and usage.oldest < self.lock.clock() - self.lock.settings.age_ms

    async def clean(self, *, keep: Iterable[str] = (), is_dry_run: bool = False) -> Usage:
        """Delete snapshots older than the age of the settings, except those in `keep`, and return the usage afterwards.

        A dry run deletes nothing and estimates the usage. Raises SnapshotError, StorageError.
        """
        kept = list(keep)

        def work(opened: LockedWorktree, stop: threading.Event) -> Usage:
            store, before = opened.worktree.store, self.lock.clock() - self.lock.settings.age_ms
            if is_dry_run:
                return left_by_clean(store, opened.paths, self.lock.settings, before=before, keep=kept)
            clean(store, opened.paths, before=before, keep=kept)
            opened.change_log.expire(before=before, kept=opened.snapshot_log.read())
            return usage_of(store, opened.paths, self.lock.settings)

        return await self.lock.run(work)


@contextmanager
def _claimed(opened: LockedWorktree, plan: Plan, done: Collection[str]) -> Generator[None]:
    """Record in the change log that a revert changes the paths of a plan, and at the end that it changed those in `done`."""
    if not plan.steps:
        yield
        return
    log, changes = opened.change_log, {step.path: (step.now, step.target) for step in plan.steps}
    key = log.begin_write(_UNDO, changes, time=opened.clock())
    is_done = False
    try:
        yield
        is_done = True
    finally:
        try:
            log.end_write(key, done=is_done, time=opened.clock(), paths=done)
        except StorageError as error:  # the files are changed; the next line of the log brings the end with it
            _log.warning("the end of an undo is not recorded yet: %s", error)


def _creation_of(view: View) -> Plan:
    plan = Plan()
    for path in sorted(known_paths(view)):
        state = None if view.is_private(path) else view.state(path)
        if isinstance(state, Entry) and unrestorable(state) is None:
            plan.steps.append(Step(path, None, state))
            if state.kind == "folder":
                plan.folder_modes[path] = state.mode
    return plan


def path_notes(reasons: Mapping[str, str]) -> list[PathNote]:
    """Return paths with their reasons, sorted; "" is the worktree itself."""
    return [PathNote(path=path or ".", reason=reason) for path, reason in sorted(reasons.items())]


def unrecorded_paths(tree: Worktree, patches: Sequence[Patch]) -> dict[str, str]:
    """Return the paths that the patches' steps changed without a record, relative to the worktree, with the reasons.

    Raises SnapshotError when a snapshot with files to revert is incomplete.
    """
    found: dict[str, str] = {}
    for patch in patches:
        before, after = _manifest(tree, patch.hash, patch), _manifest(tree, patch.after, patch)
        skipped = keep_touched({**before.skipped, **after.skipped}, after.touched)
        found.update({path: reason for path, reason in skipped.items() if reason not in (NOT_LOOKED, OWN_DATA)})
    return found


def _manifest(tree: Worktree, name: str | None, patch: Patch) -> Manifest:
    try:
        return open_view(tree.store, name).manifest if name else Manifest()
    except SnapshotError as error:
        if patch.files or isinstance(error, SnapshotUnreadableError):
            raise
        return Manifest()


def preview_of(tree: Worktree, plan: Plan, unprotected: Mapping[str, str]) -> RevertPreview:
    """Return the effect that a plan would have; raises SnapshotError when the store is damaged."""
    restored: list[UndoFile] = []
    deleted: list[UndoFile] = []
    with tree.folders() as folders:
        observer = Observer(folders, plan.paths)
        for step in _reported_steps(plan.steps, plan):
            before, after = text_of(observer.observe(step.path).data), _target_text(tree, step)
            added, removed = (0, 0) if before is None or after is None else count_lines(before, after)
            file = UndoFile(path=tree.absolute(step.path), additions=added, deletions=removed)
            (deleted if step.target is None else restored).append(file)
    return RevertPreview(
        restored=restored,
        deleted=deleted,
        kept=_with_reasons(tree, {**plan.conflicts, **plan.unreadable}),
        unprotected=_with_reasons(tree, {**unprotected, **plan.unprotected}),
    )


def _target_text(tree: Worktree, step: Step) -> str | None:
    """Return the text that a step restores, "" for no file, None for a binary file and a large one."""
    if not is_leaf(step.target):
        return ""
    return None if tree.store.kept.has(step.target.id) else text_of(tree.store.read(step.target.id, "blob"))


def report_of(tree: Worktree, reverted: Reverted, unprotected: Mapping[str, str]) -> RevertReport:
    """Return the report of an executed revert."""
    outcome = reverted.outcome
    done = _reported_steps(outcome.done, reverted.plan)
    return RevertReport(
        before=reverted.before.id,
        after=reverted.after.id,
        restored=_files(tree, sorted(step.path for step in done if step.target is not None)),
        deleted=_files(tree, sorted(step.path for step in done if step.target is None)),
        kept=_with_reasons(tree, {**reverted.plan.conflicts, **outcome.conflicts}),
        unprotected=_with_reasons(tree, {**unprotected, **reverted.plan.unprotected}),
        failed=_with_reasons(tree, {**reverted.plan.unreadable, **outcome.failed}),
    )


def combine(tree: Worktree, active: RevertReport, report: RevertReport) -> RevertReport:
    """Return one report for a revert that replaced an active one: from before the first to after the second."""
    undone = as_patch(active)
    if undone is None or undone.after is None or report.before is None or report.after is None:
        return report
    first, last, after = (open_view(tree.store, name) for name in (undone.hash, undone.after, report.after))
    files = _inner(tree, undone.files)
    # A path that failed may have been changed all the same, when only its verification failed.
    refused = _inner(tree, [file.path for file in active.failed])
    files |= {path for path in refused if not isinstance(first.state(path), Unknown)}
    own = _inner(tree, [file.path for file in (*report.restored, *report.deleted)])
    kept = _inner(tree, [file.path for file in report.kept])
    edited = {path for path in files - own if after.state(path) not in (first.state(path), last.state(path))}
    # Where it is not known how the active one left a path, the second one has found what it had to restore, or kept the path.
    edited -= {path for path in edited - kept if isinstance(last.state(path), Unknown)}
    # A folder that somebody changed, and in which the second revert changed something, must not be restored.
    shared = edited & folders_above(own)
    files, edited = files - shared, edited - shared
    before = tree.overlay(open_view(tree.store, report.before), first, files)
    after = _as_left(tree, last, after, folders=folders_above(files) - own, edited=edited)
    changed = [path for path in sorted(files | own) if before.state(path) != after.state(path)]
    changed = sorted({*changed, *_made_or_removed(files | own, changed, before, after)})
    shown = [path for path in changed if path not in edited]
    return report.changed(
        before=before.id,
        after=after.id,
        restored=_files(tree, [path for path in shown if after.state(path) is not None]),
        deleted=_files(tree, [path for path in shown if after.state(path) is None]),
        edited=[tree.absolute(path) for path in changed if path in edited],
    )


def _as_left(tree: Worktree, last: View, after: View, *, folders: set[str], edited: set[str]) -> View:
    """Return the state `after` with the edited paths as a revert left them, in the state `last`, and with its modes of folders.

    Else a redo would take what somebody made since for what the revert had made.
    """
    states: dict[str, State] = {path: last.state(path) for path in edited}
    for folder in folders - edited:
        left, now = last.state(folder), after.state(folder)
        if is_folder(left) and (is_folder(now) or folder in folders_above(edited)):
            states[folder] = left
    states |= {folder: after.state(folder) for folder in folders_above(states) - states.keys()}
    if all(after.state(path) == state for path, state in states.items()):
        return after
    return tree.with_states(after, {path: states[path] for path in by_depth(states)})


def _made_or_removed(paths: set[str], changed: Sequence[str], before: View, after: View) -> set[str]:
    """Return the folders above these paths that appeared or disappeared without a changed path in them."""
    return {
        folder
        for folder in folders_above(paths) - folders_above(changed)
        if _has_come_or_gone(before.state(folder), after.state(folder))
    }


def _has_come_or_gone(before: State, after: State) -> bool:
    return (before is None and is_folder(after)) or (is_folder(before) and after is None)


def _inner(tree: Worktree, files: Iterable[str]) -> set[str]:
    return {inner for file in files if (inner := tree.relative(file)) is not None}


def _reported_steps(steps: Sequence[Step], plan: Plan) -> list[Step]:
    """Return the steps without implied folders that contain another step's path."""
    above = folders_above(step.path for step in steps)
    return [step for step in steps if not (step.path in plan.implied and step.path in above)]


def _files(tree: Worktree, paths: Sequence[str]) -> list[UndoFile]:
    return [UndoFile(path=tree.absolute(path)) for path in paths]


def _with_reasons(tree: Worktree, reasons: Mapping[str, str]) -> list[UndoFile]:
    """Return paths with the reasons why they are as they were, sorted; "" is the worktree itself."""
    return [
        UndoFile(path=tree.absolute(path) if path else tree.root, reason=why) for path, why in sorted(reasons.items())
    ]
