"""Snapshots made from another snapshot and the states of some paths."""

from collections.abc import Mapping
from dataclasses import replace

from opencode_tui.engine.snapshot.entry import NOT_LOOKED, OUTSIDE, Entry, State, Unknown, parents
from opencode_tui.engine.snapshot.objects.manifest import Manifest
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, EXECUTABLE, LINK, PLAIN
from opencode_tui.engine.snapshot.objects.tree_edit import edit_tree, find
from opencode_tui.engine.snapshot.objects.view import View, write_snapshot


def with_parents(paths: Mapping[str, State] | set[str]) -> list[str]:
    """Return the paths and all folders above them, each once, folders before what is in them."""
    return sorted(
        {above for path in paths for above in [path, *parents(path)]}, key=lambda path: (path.count("/"), path)
    )


def nothing_known(store: ObjectStore, reason: str = NOT_LOOKED) -> View:
    """Return a view, not stored, in which every path is unknown."""
    return View(store, "", EMPTY_TREE, Manifest(skipped={"": reason}))


def compose(base: View, states: Mapping[str, State], writer: ObjectWriter) -> View:
    """Store a snapshot like `base` in which these paths have these states; the bytes of files are stored already.

    The folders above the paths must be among them. Raises StorageError, SnapshotError.
    """
    store = base.store
    files = edit_tree(
        store, writer, store.tree(base.files), {path: _item(state) for path, state in states.items() if _is_set(state)}
    )
    writer.flush()
    manifest = _manifest(base, files, states)
    return write_snapshot(store, writer, files, manifest)


def _is_set(state: State) -> bool:
    """Return whether the state has a tree entry of its own: a folder has one only through its content."""
    return not (isinstance(state, Entry) and state.kind == "folder")


def _item(state: State) -> tuple[str, str] | None:
    if not isinstance(state, Entry):
        return None
    if state.kind == "link":
        return (LINK, state.id)
    return (EXECUTABLE if state.mode & 0o100 else PLAIN, state.id)


def _manifest(base: View, files: str, states: Mapping[str, State]) -> Manifest:
    known = base.manifest
    gone = {path for path, state in states.items() if not (isinstance(state, Entry) and state.kind == "folder")}
    modes = {path: mode for path, mode in known.modes.items() if not _is_at_or_below(path, gone)}
    skipped = {path: why for path, why in known.skipped.items() if not _is_at_or_below(path, gone)}
    folders = {path for path in known.folders if not _is_at_or_below(path, gone)}
    looked = set(known.looked) - states.keys()
    for path, state in states.items():
        item = find(base.store, files, path)
        is_folder = isinstance(state, Entry) and state.kind == "folder"
        if is_folder and item is None:
            folders.add(path)
        else:
            folders.discard(path)
        if isinstance(state, Entry) and state.kind != "link":
            usual = _usual(known, state)
            modes.pop(path, None)
            if state.mode != usual:
                modes[path] = state.mode
        if isinstance(state, Unknown):
            skipped[path] = state.reason
        elif known.skipped.get(path) == OUTSIDE and isinstance(state, Entry) and state.kind == "link":
            skipped[path] = OUTSIDE
    looked |= {path for path, state in states.items() if state is None and _is_covered(path, skipped)}
    folders -= {above for path in (*folders, *skipped) for above in parents(path)}
    return replace(known, modes=modes, folders=frozenset(folders), skipped=skipped, looked=frozenset(looked))


def _usual(known: Manifest, state: Entry) -> int:
    if state.kind == "folder":
        return known.defaults.folder
    return known.defaults.executable if state.mode & 0o100 else known.defaults.file


def _is_at_or_below(path: str, tops: set[str]) -> bool:
    return path in tops or any(above in tops for above in parents(path))


def _is_covered(path: str, skipped: Mapping[str, str]) -> bool:
    return "" in skipped or any(above in skipped for above in parents(path))
