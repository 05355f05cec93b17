"""The changes of a step as stored snapshots: the states of the changed paths before and after it."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opencode_tui.engine.snapshot.entry import (
    NOT_LOOKED,
    Entry,
    State,
    Unknown,
    by_depth,
    folders_above,
    is_folder,
    is_leaf,
    is_special,
    permission_bits,
)
from opencode_tui.engine.snapshot.objects.changes import Change
from opencode_tui.engine.snapshot.objects.manifest import Defaults, Manifest
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, EXECUTABLE, LINK, PLAIN
from opencode_tui.engine.snapshot.objects.tree_edit import edit_tree
from opencode_tui.engine.snapshot.objects.view import View, add_snapshot, open_view
from opencode_tui.engine.snapshot.record.accumulator import ChangeSet, StepAccumulator
from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.engine.snapshot.snapshot import LockedWorktree
from opencode_tui.engine.snapshot.worktree import NOT_IN_PROJECT, Worktree
from opencode_tui.schema.error import SnapshotError

_USUAL = Defaults()
_NOTHING: Mapping[str, str] = {}


def add_partial(
    store: ObjectStore,
    writer: ObjectWriter,
    states: Mapping[str, State],
    *,
    skipped: Mapping[str, str] = _NOTHING,
    private: frozenset[str] = frozenset(),
    times: Mapping[str, int] | None = None,
) -> View:
    """Add a snapshot of these paths only to the writer, whose `flush` stores it, and return it.

    `skipped` are other paths with the reasons why they are unknown; a folder among the paths makes its other content unknown.
    The content of files must be stored, or added to the writer, already. A path with another path below it counts as a folder.
    """
    leaves = {path: state for path, state in states.items() if is_leaf(state)}
    special = {path: state for path, state in states.items() if is_special(state)}
    filled = folders_above(leaves)
    folders = {path: state for path, state in states.items() if path in filled or is_folder(state)}
    entries = {path: state for path, state in {**leaves, **folders}.items() if isinstance(state, Entry)}
    known = {path for path in folders if path not in filled}
    holding = folders_above((*known, *special))
    held = filled | holding
    manifest = Manifest(
        modes={
            path: state.mode
            for path, state in entries.items()
            if state.kind in ("file", "folder") and state.mode != _usual(state)
        },
        folders=frozenset(known - holding),
        skipped={path: reason for path, reason in skipped.items() if path not in states or path in filled}
        | {"": NOT_LOOKED}
        | {path: state.reason for path, state in states.items() if isinstance(state, Unknown) and path not in filled},
        looked=frozenset(path for path, state in states.items() if state is None and path not in held),
        special={path: state for path, state in special.items() if path not in held},
        private=private,
        times=dict(times or {}),
    )
    tree = edit_tree(store, writer, EMPTY_TREE, {path: (_git_mode(entry), entry.id) for path, entry in leaves.items()})
    return add_snapshot(store, writer, tree, manifest)


def _git_mode(entry: Entry) -> str:
    if entry.kind == "link":
        return LINK
    return EXECUTABLE if entry.mode & 0o100 else PLAIN


def _usual(entry: Entry) -> int:
    if entry.kind == "folder":
        return _USUAL.folder
    return _USUAL.executable if entry.mode & 0o100 else _USUAL.file


@dataclass(frozen=True, slots=True)
class Recorded:
    """The changes of a step so far; `files` are absolute paths.

    Without files it changed only paths that are not recorded: an undo then reports these.
    """

    hash: str
    after: str
    files: list[str]


def observe_writes(tree: Worktree, writes: Sequence[FileWrite], made: Iterable[Path]) -> tuple[ChangeSet, ObjectWriter]:
    """Return the change that writes will make, and the writer with the content of both states.

    `made` are folders that were made for them. Raises SnapshotError when all of them are outside the project.
    """
    writer = ObjectWriter(tree.store)
    changes: dict[str, Change] = {}
    inside = [(inner, write) for write in writes if (inner := tree.relative(str(write.path))) is not None]
    states = tree.observe_paths(path for path, _ in inside)
    for (inner, write), now in zip(inside, states, strict=True):
        if is_leaf(now.state):
            writer.add("blob", now.data)
        after = None
        if write.content is not None:
            after = Entry("file", permission_bits(write.mode), writer.add("blob", write.content))
        changes[inner] = (now.state, after)
    if not changes:
        raise SnapshotError(NOT_IN_PROJECT)
    new = {inner for one in made if (inner := tree.relative(str(one))) is not None}
    folders: dict[str, Change] = {}
    parents = by_depth(folders_above(changes))
    for folder, now in zip(parents, tree.observe_paths(parents), strict=True):
        folders[folder] = (None if folder in new else now.state, now.state)
    times = {inner: now.time for (inner, _), now in zip(inside, states, strict=True) if now.time is not None}
    return ChangeSet(changes, folders, begun=time.monotonic(), times=times), writer


def changes_above(changes: Mapping[str, Change], before: View, after: View) -> dict[str, Change]:
    """Return the states of the folders above changed paths in two snapshots."""
    return {path: (before.state(path), after.state(path)) for path in folders_above(changes)}


def private_among(paths: Iterable[str], before: View, after: View) -> frozenset[str]:
    """Return those of the changed paths whose content is only for undo."""
    return frozenset(path for path in paths if before.is_private(path) or after.is_private(path))


def store_changes(opened: LockedWorktree, accumulator: StepAccumulator, writer: ObjectWriter) -> Recorded | None:
    """Store the writer's objects and the states before and after a step; return None when it changed nothing."""
    total = accumulator.total()
    if not total.files and not total.skipped:
        writer.flush()
        return None
    store = opened.worktree.store
    if total.whole is not None:
        before, after = total.whole
        after = _with_facts(open_view(store, after), writer, total.skipped, total.times)
        writer.flush()
    else:
        before, after = (
            add_partial(store, writer, states, skipped=total.skipped, private=total.private, times=times).id
            for states, times in ((total.before, None), (total.after, total.times))
        )
        writer.flush()
    if total.contested:
        opened.change_log.mark_contested(after, total.contested, time=opened.clock())
    if total.beside:
        opened.change_log.record_beside(after, total.beside, time=opened.clock())
    for name in (before, after):
        opened.snapshot_log.add(name, opened.clock())
    files = [opened.worktree.absolute(path) for path in total.files]
    return Recorded(before, after, files)


def _with_facts(view: View, writer: ObjectWriter, touched: Iterable[str], times: Mapping[str, int]) -> str:
    """Return the id of the snapshot extended by the left-out paths that the step changed, and the times of files before it."""
    manifest = replace(view.manifest, times=dict(times))
    if manifest.skipped:
        manifest = replace(manifest, touched=frozenset(touched))
    return view.id if manifest == view.manifest else add_snapshot(view.store, writer, view.files, manifest).id
