"""The paths that differ between two snapshots; equal folders are not descended into."""

from collections.abc import Iterator

from opencode_tui.engine.snapshot.entry import Entry, State, Unknown, folders_above, is_folder
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, FOLDER
from opencode_tui.engine.snapshot.objects.view import View

Change = tuple[State, State]
"""A path's state in the older and in the newer snapshot."""


def changed(old: View, new: View) -> dict[str, Change]:
    """Return the paths that differ with their two states, sorted; paths unknown to both snapshots are left out.

    Where a snapshot contains only some paths, only these are compared. Folders are included like files. Raises SnapshotError.
    """
    found: dict[str, Change] = {}
    for path in sorted(_candidates(old, new)):
        change = (old.state(path), new.state(path))
        if change[0] != change[1] and any(state is None or isinstance(state, Entry) for state in change):
            found[path] = change
    return found


def known_paths(view: View) -> set[str]:
    """Return all paths whose state a snapshot knows for certain."""
    known = view.manifest
    return {*_below(view.store, view.files), *known.folders, *known.looked, *known.special}


def is_certain(change: Change) -> bool:
    """Return whether both states of a change are known."""
    return not any(isinstance(state, Unknown) for state in change)


def is_partial(view: View) -> bool:
    """Return whether the snapshot contains only some paths."""
    return "" in view.manifest.skipped


def without_made_folders(changes: dict[str, Change]) -> dict[str, Change]:
    """Return the changes without folders that appeared or disappeared together with their content: they follow from it."""
    above = folders_above(changes)
    return {
        path: change
        for path, change in changes.items()
        if not (path in above and None in change and any(map(is_folder, change)))
    }


def _candidates(old: View, new: View) -> set[str]:
    for partial in (old, new):
        if is_partial(partial):
            return known_paths(partial)
    if old.manifest.defaults != new.manifest.defaults:
        return known_paths(old) | known_paths(new)
    found = set(_differing(old.store, old.files, new.files))
    first, second = old.manifest, new.manifest
    found.update(path for path, _ in first.modes.items() ^ second.modes.items())
    found.update(path for path, _ in first.special.items() ^ second.special.items())
    return found | (first.folders ^ second.folders) | (first.looked ^ second.looked)


def _differing(store: ObjectStore, old: str, new: str) -> Iterator[str]:
    """Yield the paths that have another mode or id, or are in one tree only, folders too."""
    pending = [(old, new, "")]
    while pending:
        old, new, base = pending.pop()
        before, after = store.tree(old), store.tree(new)
        for name in before.keys() | after.keys():
            first, second = before.get(name), after.get(name)
            if first == second:
                continue
            path = base + name
            trees = [item[1] if item is not None and item[0] == FOLDER else EMPTY_TREE for item in (first, second)]
            if not (first and second and first[0] == second[0] == FOLDER):
                yield path
            if trees[0] != trees[1]:
                pending.append((trees[0], trees[1], f"{path}/"))


def _below(store: ObjectStore, tree: str) -> Iterator[str]:
    """Yield the paths in a tree."""
    pending = [(tree, "")]
    while pending:
        tree, base = pending.pop()
        for name, (mode, inner) in store.tree(tree).items():
            yield base + name
            if mode == FOLDER:
                pending.append((inner, f"{base}{name}/"))
