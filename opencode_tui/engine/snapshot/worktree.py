"""Blocking operations on a worktree's files and its store, for use while its lock is held.

Each operation first rolls back a revert that a killed process left unfinished.
"""

import logging
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opencode_tui.engine.snapshot.entry import (
    CHANGING,
    NOT_KEPT,
    NOT_LOOKED,
    OUTSIDE,
    OVER_QUOTA,
    SPECIAL,
    UNREADABLE,
    Entry,
    State,
    Unknown,
    above,
    by_depth,
    folders_above,
    is_folder,
    is_leaf,
    is_special,
    permission_bits,
)
from opencode_tui.engine.snapshot.objects.changes import (
    Change,
    changed,
    is_partial,
    known_paths,
    without_made_folders,
)
from opencode_tui.engine.snapshot.objects.manifest import Manifest
from opencode_tui.engine.snapshot.objects.quota import merge_small
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter, StoreFullError
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, EXECUTABLE, FOLDER, LINK, PLAIN
from opencode_tui.engine.snapshot.objects.tree_edit import TreeIndex, edit_tree
from opencode_tui.engine.snapshot.objects.view import View, open_view, write_snapshot
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.revert.journal import CompletedReverts, Journal, RevertIntent
from opencode_tui.engine.snapshot.revert.plan import CHANGED_SINCE, PathChange, Plan, make_plan
from opencode_tui.engine.snapshot.revert.restore import Outcome, Restore
from opencode_tui.engine.snapshot.scan.forced_paths import ForcedPaths, TrackedPaths
from opencode_tui.engine.snapshot.scan.kept import KeptLimits
from opencode_tui.engine.snapshot.scan.lost_files import LostFile, LostPath, find_lost
from opencode_tui.engine.snapshot.scan.scan import Scan, full_stamp
from opencode_tui.engine.snapshot.scan.stat_cache import (
    KnownFile,
    StatCache,
    load_cache,
    save_cache,
    young_since,
    young_stamp,
)
from opencode_tui.engine.snapshot.scan.stat_file import Observation, Observer, observe_in
from opencode_tui.engine.snapshot.scan.stat_index import RunGit, StatIndex
from opencode_tui.engine.snapshot.skipped import Stamps, stamp_skipped
from opencode_tui.engine.snapshot.unlocked import UnlockedPaths
from opencode_tui.engine.snapshot.worktree_paths import StorePaths
from opencode_tui.schema.error import SnapshotError, StorageError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.safe_folder import Disk, OpenFolders, split

if TYPE_CHECKING:
    from opencode_tui.schema.session.undo import RevertReport

_log = logging.getLogger(__name__)


def with_parents(paths: Iterable[str]) -> list[str]:
    """Return the paths and all folders above them, each once, folders before what is in them."""
    wanted = set(paths)
    return by_depth(wanted | folders_above(wanted))


def nothing_known(store: ObjectStore, reason: str = NOT_LOOKED) -> View:
    """Return a view, not stored, in which every path is unknown."""
    return View(store, "", EMPTY_TREE, Manifest(skipped={"": reason}))


def compose(
    base: View, states: Mapping[str, State], writer: ObjectWriter, *, private: frozenset[str] = frozenset()
) -> View:
    """Store a snapshot like `base` in which these paths have these states; the bytes of files are stored already.

    The folders above the paths must be among them. `private` are further private paths. Raises StorageError, SnapshotError.
    """
    store = base.store
    changes = {path: _item(state) for path, state in states.items() if _is_set(base, path, state)}
    files = edit_tree(store, writer, base.files, changes)
    writer.flush()
    manifest = _manifest(base, files, states)
    if private:
        manifest = replace(manifest, private=manifest.private | private)
    return write_snapshot(store, writer, files, manifest)


def _is_set(base: View, path: str, state: State) -> bool:
    """Return whether a state changes the tree at its path: a folder is there only through its content, or replaces a file."""
    if not is_folder(state):
        return True
    found = base.index.find(path)
    return found is not None and found[0] != FOLDER


def _item(state: State) -> tuple[str, str] | None:
    if not is_leaf(state):
        return None
    if state.kind == "link":
        return (LINK, state.id)
    return (EXECUTABLE if state.mode & 0o100 else PLAIN, state.id)


def _manifest(base: View, files: str, states: Mapping[str, State]) -> Manifest:
    known, tree = base.manifest, TreeIndex(base.store, files)
    gone = _Below({path for path, state in states.items() if not is_folder(state)})
    modes = {path: mode for path, mode in known.modes.items() if not gone.has(path)}
    skipped = {path: why for path, why in known.skipped.items() if not gone.has(path)}
    special = {path: entry for path, entry in known.special.items() if not gone.has(path) and path not in states}
    folders = {path for path in known.folders if not gone.has(path)}
    looked = set(known.looked) - states.keys()
    for path, state in states.items():
        item = tree.find(path)
        if is_folder(state) and item is None:
            folders.add(path)
        else:
            folders.discard(path)
        if is_special(state):
            special[path] = state
            modes.pop(path, None)
        elif isinstance(state, Entry) and state.kind != "link":
            usual = _usual(known, state)
            modes.pop(path, None)
            if state.mode != usual:
                modes[path] = state.mode
        if isinstance(state, Unknown):
            skipped[path] = state.reason
        elif known.skipped.get(path) == OUTSIDE and isinstance(state, Entry) and state.kind == "link":
            skipped[path] = OUTSIDE
    covered = _Below(set(skipped))
    looked |= {path for path, state in states.items() if state is None and covered.has(above(path))}
    folders -= folders_above((*folders, *special, *skipped))
    return replace(
        known, modes=modes, folders=frozenset(folders), skipped=skipped, looked=frozenset(looked), special=special
    )


def _usual(known: Manifest, state: Entry) -> int:
    if is_folder(state):
        return known.defaults.folder
    return known.defaults.executable if state.mode & 0o100 else known.defaults.file


class _Below:
    """The paths that are, or are below, one of some paths."""

    def __init__(self, tops: set[str]) -> None:
        self._known = dict.fromkeys(tops, True)
        self._known.setdefault("", False)

    def has(self, path: str) -> bool:
        """Return whether a path is among them."""
        missing: list[str] = []
        while path not in self._known:
            missing.append(path)
            path = above(path)
        found = self._known[path]
        self._known.update(dict.fromkeys(missing, found))
        return found


_SAVE_EVERY_S = 30.0
"""Seconds between two writes of the stat cache: a lost one only makes the next scan read the changed files again."""

NOT_IN_PROJECT = "it is outside the project"


@dataclass(frozen=True, slots=True)
class Reverted:
    """An executed revert: the plan, its outcome, and the snapshots before and after."""

    plan: Plan
    outcome: Outcome
    before: View
    after: View


class Worktree:
    """One worktree and its store; every method blocks and needs the worktree's lock. `root` is a real path."""

    def __init__(
        self,
        root: str,
        *,
        paths: StorePaths,
        own_folders: Sequence[str] = (),
        quota_bytes: int,
        kept: KeptLimits | None = None,
        keep_bytes: int = 0,
        files: FileSystem | None = None,
        disk: Disk | None = None,
        git: RunGit | None = None,
    ) -> None:
        """`kept` are the limits for ignored files, `keep_bytes` that for files kept before a command discards them.

        `git` compares the files of a large worktree.
        """
        self.root = root
        self.paths = paths
        self.store = ObjectStore(paths.objects, files=files)
        self._files = files or FileSystem()
        self._disk = disk or Disk(root)
        self.completed_reverts = CompletedReverts(paths.completed, files=files)
        self._journal = Journal(paths.journal, files=files)
        self._unlocked = UnlockedPaths(paths.unlocked, files=files)
        self._own_folders = own_folders
        self._quota_bytes = quota_bytes
        self._kept = kept or KeptLimits()
        self._keep_bytes = keep_bytes
        self._whole: dict[str, KnownFile] = {}
        self._tracked = TrackedPaths()
        self._cache: StatCache | None = None
        self._index = StatIndex(git, paths.objects)
        self._earlier = StatCache()
        self._is_unsaved = False
        self._next_save = 0.0

    def open(self) -> None:
        """Prepare the store and roll back an unfinished revert; raises StorageError, SnapshotError."""
        self.store.prepare()
        self.store.refresh()
        self._unlocked.restore(self._disk)
        self._roll_back()
        merge_small(self.store)

    def scan(self, *, wanted: Sequence[View] = (), stop: threading.Event | None = None) -> View:
        """Return a snapshot of the whole worktree as it is; files in the `wanted` snapshots are included even if ignored or large.

        When the store is full the snapshot contains no path. Raises as `Scan.run`.
        """
        if self._cache is None:
            self._cache = load_cache(self.paths.cache, self._files)
        size = self.store.size()
        try:
            with self.folders(0o500) as folders:
                view, cache = Scan(
                    folders,
                    store=self.store,
                    cache=self._cache,
                    wanted=ForcedPaths(self._tracked, folders, views=wanted, whole=self._whole),
                    own_folders=self._own_folders,
                    room=self._quota_bytes - size,
                    kept=self._kept,
                    has_room=size < self._quota_bytes // 2,
                    index=self._index,
                ).run(stop)
        except StoreFullError:
            if self._kept.file_bytes:
                # Ignored files must not cost the others their undo.
                self._kept = replace(self._kept, file_bytes=0)
                return self.scan(wanted=wanted, stop=stop)
            return compose(nothing_known(self.store, OVER_QUOTA), {}, ObjectWriter(self.store))
        self._earlier = self._cache
        self._is_unsaved |= cache.folders != self._cache.folders
        self._cache = cache
        if self._is_unsaved and time.monotonic() >= self._next_save:
            save_cache(cache, self.paths.cache, self._files)
            self._is_unsaved, self._next_save = False, time.monotonic() + _SAVE_EVERY_S
        return view

    def record(self, paths: Iterable[str], base: View | None = None, *, private: frozenset[str] = frozenset()) -> View:
        """Return a snapshot like `base` (without one: empty) with these paths as they are now; `private` are private ones."""
        wanted = with_parents(set(paths))
        writer = ObjectWriter(self.store)
        states: dict[str, State] = {}
        with self.folders() as folders:
            observer = Observer(folders, wanted)
            for path in wanted:
                observation = observer.observe(path)
                states[path] = observation.state
                if is_leaf(observation.state):
                    writer.add("blob", observation.data)
        return compose(base or nothing_known(self.store), states, writer, private=private)

    def find_lost(
        self, view: View, paths: Iterable[LostPath], *, stop: threading.Event | None = None
    ) -> list[LostFile]:
        """Return the files at and below paths that a command is about to remove or overwrite; `view` is the state now."""
        with self.folders(0o500) as folders:
            tracked = self._tracked.of("", folders)
            return find_lost(folders, view, tracked, paths, room=self.store.kept.room(self._keep_bytes), stop=stop)

    def keep(self, view: View, files: Iterable[LostFile]) -> View:
        """Keep the content of those of the files that the snapshot `view` leaves out, and return the snapshot with them.

        Those that cannot be kept are in it with the reason: the others must not lose their undo. Raises StorageError.
        """
        states: dict[str, State] = {}
        private: set[str] = set()
        writer = ObjectWriter(self.store)
        with self.folders(0o500) as folders:
            observer = Observer(folders)
            for file in files:
                if file.is_extra:
                    states[file.path] = self._kept_state(folders, file.path, writer)
                elif file.reason == NOT_KEPT:
                    states[file.path] = Unknown(NOT_KEPT)
                if file.is_extra and file.kind == "ignored":
                    private.add(file.path)
            if not states:
                return view
            states |= {path: observer.observe(path).state for path in by_depth(folders_above(states))}
        return compose(view, states, writer, private=frozenset(private))

    def _kept_state(self, folders: OpenFolders, path: str, writer: ObjectWriter) -> State:
        """Keep one file, if it is not kept yet, and return its state."""
        folder, name = split(path)
        started = time.time_ns()
        try:
            parent = folders.open(folder)
            status = parent.status(name)
            if not stat.S_ISREG(status.st_mode):
                observation = observe_in(folders, parent, path)
                if is_leaf(observation.state):
                    writer.add("blob", observation.data)
                return observation.state
            known = self._whole.get(path)
            if known is None or known[0] != full_stamp(status) or not self.store.kept.has(known[2]):
                descriptor = parent.open_to_read(name)
                try:
                    status = os.fstat(descriptor)
                    if not stat.S_ISREG(status.st_mode):
                        return Unknown(SPECIAL)
                    file_id = self.store.kept.add(descriptor, status.st_size)
                finally:
                    parent.close(descriptor)
                stamp = young_stamp(status) if young_since(status, started) else full_stamp(status)
                known = self._whole[path] = (stamp, EXECUTABLE if status.st_mode & 0o100 else PLAIN, file_id)
        except FileNotFoundError:
            return None
        except OSError:
            return Unknown(UNREADABLE)
        except StorageError as error:
            _log.warning("%s is not kept: %s", path, error)
            return Unknown(NOT_KEPT)
        except SnapshotError:  # it changes all the time, as a log does
            return Unknown(CHANGING)
        return Entry("file", permission_bits(status.st_mode), known[2])

    def overlay(self, base: View, over: View, paths: Iterable[str]) -> View:
        """Return a snapshot like `base` with these paths as in `over`."""
        return self.with_states(base, {path: over.state(path) for path in with_parents(paths)})

    def with_states(self, base: View, states: Mapping[str, State]) -> View:
        """Return a snapshot like `base` with these states, also of the folders above; the bytes of files are stored already."""
        return compose(base, states, ObjectWriter(self.store))

    def changes(self, before: View, *, stop: threading.Event | None = None) -> tuple[View, dict[str, Change]]:
        """Return the state now, and what changed since a snapshot."""
        if is_partial(before):
            after = self.record(known_paths(before), private=before.manifest.private)
            return after, without_made_folders(changed(before, after))
        after = self.scan(wanted=[before], stop=stop)
        found = changed(before, after)
        # A file of the earlier snapshot may have been deleted from a folder that is ignored now: check it by name.
        lost = [path for path, (old, new) in found.items() if isinstance(old, Entry) and isinstance(new, Unknown)]
        if lost and not is_partial(after):
            after = self.record(lost, after)
            found = changed(before, after)
        return after, without_made_folders(found)

    def times_before(self, changes: Mapping[str, Change]) -> dict[str, int]:
        """Return when changed files had last been changed before, in ns, as far as the scan before the last one knows it."""
        times: dict[str, int] = {}
        for path, (old, _) in changes.items():
            if not isinstance(old, Entry) or old.kind != "file":
                continue
            folder, name = split(path)
            scanned = self._earlier.folders.get(folder)
            for known in (scanned.files.get(name) if scanned is not None else None, self._whole.get(path)):
                if known is not None and known[2] == old.id:
                    times[path] = known[0][2]
        return times

    def plan(self, patches: Sequence[Patch], contested: Mapping[str, set[str]]) -> Plan:
        """Return the plan that reverts these patches, given oldest first; raises SnapshotError when a snapshot is incomplete.

        `contested` are paths that another session may have changed too, by the id of the snapshot after the change.
        """
        chains: dict[str, list[PathChange]] = {}
        outside: dict[str, str] = {}
        asked: set[str] = set()
        private: set[str] = set()
        for patch in patches:
            if not patch.files:
                continue
            before = open_view(self.store, patch.hash)
            after = open_view(self.store, patch.after) if patch.after else None
            doubtful = contested.get(patch.after or "", set())
            inner = {file: self.relative(file) for file in patch.files}
            outside.update({file: NOT_IN_PROJECT for file, path in inner.items() if path is None})
            files = {path for path in inner.values() if path is not None}
            asked |= files
            views = [view for view in (before, after) if view is not None and view.manifest.private]
            private.update(path for path in files if any(view.is_private(path) for view in views))
            for path in with_parents(files):
                chains.setdefault(path, []).append(PathChange(before, after, path in doubtful))
        with self.folders() as folders:
            observer = Observer(folders, chains)
            plan = make_plan(
                chains,
                lambda path: observer.observe(path).state,
                lambda folder: _names_in(folders, folder),
                asked=frozenset(asked),
            )
        plan.unprotected.update(outside)
        plan.private = frozenset(private)
        for step in plan.steps:
            if is_leaf(step.target):
                self.store.check(step.target.id)
        return plan

    def revert(self, plan: Plan, *, key: str, make_report: Callable[[Reverted], "RevertReport"]) -> "RevertReport":
        """Execute a plan, protected by a journal, and return the report that `make_report` makes.

        With a key the report is stored under it: from then on the revert counts as completed.

        Raises SnapshotError, StorageError, with everything as it was.
        """
        before = self.record(plan.paths, private=plan.private)
        self._check_now(plan, before)
        if not plan.steps:
            return self._record_completed(make_report(Reverted(plan, Outcome(), before, before)), key)
        intent = self._make_intent(plan, before, key)
        self._journal.begin(intent)
        try:
            outcome = self._apply(plan, intent.temporary)
            after = self.record(plan.paths, private=plan.private)
            report = self._record_completed(make_report(Reverted(plan, outcome, before, after)), key)
        except BaseException:
            if key:
                self.completed_reverts.delete(key)
            self._roll_back()
            raise
        self._journal.end()
        return report

    @contextmanager
    def folders(self, rights: int = 0o700) -> Generator[OpenFolders]:
        """Open folders of the worktree for the context; those that a turn closed to their owner are open until it ends."""
        with OpenFolders(self._disk, rights=rights, allow=self._unlocked.add) as folders:
            yield folders
        self._unlocked.clear()

    def observe_paths(self, paths: Iterable[str]) -> list[Observation]:
        """Return the states of paths on disk; folders come before what is in them."""
        wanted = list(paths)
        with self.folders() as folders:
            observer = Observer(folders, wanted)
            return [observer.observe(path) for path in wanted]

    def stamps(self, view: View) -> Stamps:
        """Return the stamps of the paths that a snapshot leaves out."""
        with OpenFolders(self._disk) as folders:
            return stamp_skipped(folders, view.manifest.skipped)

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a path, None when it cannot be read."""
        folder, name = split(path)
        try:
            with OpenFolders(self._disk) as folders:
                return folders.open(folder).find(name)
        except OSError:
            return None

    def relative(self, file: str) -> str | None:
        """Return a path relative to the worktree, None when it is outside of it or in a `.git`; links are not resolved."""
        path = os.path.normpath(os.path.join(self.root, file))
        if not path.startswith(f"{self.root}/"):
            return None
        inner = path[len(self.root) + 1 :]
        is_own = any(inner == own or inner.startswith(f"{own}/") for own in self._own_folders)
        return None if is_own or ".git" in inner.split("/") else inner

    def absolute(self, path: str) -> str:
        """Return the absolute form of a path."""
        return path if os.path.isabs(path) else f"{self.root}/{path}"

    def _check_now(self, plan: Plan, before: View) -> None:
        """Remove the steps whose path changed while the plan was made, or became unreadable."""
        for step in list(plan.steps):
            now = before.state(step.path)
            if now == step.now:
                continue
            plan.steps.remove(step)
            if step.path not in plan.implied:
                is_refused = now == Unknown(UNREADABLE)
                (plan.unreadable if is_refused else plan.conflicts)[step.path] = (
                    UNREADABLE if is_refused else CHANGED_SINCE
                )

    def _record_completed(self, report: "RevertReport", key: str) -> "RevertReport":
        if key:
            self.completed_reverts.write(key, report)
        return report

    def _make_intent(self, plan: Plan, before: View, key: str) -> RevertIntent:
        states = {folder: before.state(folder) for folder in folders_above(step.path for step in plan.steps)}
        modes = {path: state.mode for path, state in states.items() if is_folder(state)}
        made = tuple(sorted(path for path, state in states.items() if state is None))
        return RevertIntent(f".opencode-tui-{secrets.token_hex(8)}.tmp", tuple(plan.steps), modes, made, key)

    def _roll_back(self) -> None:
        """Roll back an unfinished revert; files that changed since stay as they are."""
        intent = self._journal.read()
        if intent is None:
            return
        if self.completed_reverts.has(intent.key):
            self._journal.end()
            return
        with self.folders() as folders:
            for folder in by_depth({split(step.path)[0] for step in intent.steps}):
                self._remove_temporary(folders, folder, intent.temporary)
        outcome = self._apply(intent.reversed(), intent.temporary)
        if outcome.failed:
            path, reason = next(iter(outcome.failed.items()))
            raise SnapshotError(
                f"a revert was interrupted and cannot be rolled back: {self.absolute(path)}: {reason}; "
                "make room or access, then try again"
            )
        self._journal.end()

    def _apply(self, plan: Plan, temporary: str) -> Outcome:
        return Restore(plan, folders=self.folders, store=self.store, temporary=temporary).apply()

    @staticmethod
    def _remove_temporary(folders: OpenFolders, folder: str, name: str) -> None:
        try:
            parent = folders.open(folder)
            if stat.S_ISDIR(parent.status(name).st_mode):
                parent.remove_folder(name)
            else:
                parent.remove(name)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise SnapshotError(f"{folder}/{name} cannot be removed: {error.strerror}; remove it by hand") from error


def _names_in(folders: OpenFolders, folder: str) -> list[str]:
    """Return what is in a folder of the worktree; nothing where it cannot be read, which its removal then reports."""
    try:
        return [name.rstrip("/") for name in folders.open(folder).entries()]
    except OSError:
        return []
