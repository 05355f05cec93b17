"""Lookup and replacement of entries deep in a tree."""

from collections.abc import Mapping, Sequence

from opencode_tui.engine.snapshot.entry import above, by_depth, folders_above
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, FOLDER, encode

Item = tuple[str, str]
"""Git mode and id."""

_NOTHING: Item = (FOLDER, EMPTY_TREE)


class TreeIndex:
    """The items of one stored tree by path. What was found above a path is kept, so that neighbours cost one lookup each."""

    def __init__(self, store: ObjectStore, tree: str) -> None:
        self._store = store
        self._folders: dict[str, Item | None] = {"": (FOLDER, tree)}

    def find(self, path: str) -> Item | None:
        """Return mode and id of a path, None when there is none; raises SnapshotError."""
        folder, _, name = path.rpartition("/")
        return self._in(self._folder(folder), name)

    def _folder(self, path: str) -> Item | None:
        missing: list[str] = []
        while path not in self._folders:
            missing.append(path)
            path = above(path)
        item = self._folders[path]
        for folder in reversed(missing):
            item = self._folders[folder] = self._in(item, folder.rpartition("/")[2])
        return item

    def _in(self, folder: Item | None, name: str) -> Item | None:
        if folder is None or folder[0] != FOLDER:
            return None
        return self._store.tree(folder[1]).get(name)


def edit_tree(store: ObjectStore, writer: ObjectWriter, tree: str, changes: Mapping[str, Item | None]) -> str:
    """Store a tree like the stored one `tree` in which these paths have these items (None: removed), and return its id.

    Empty folders are left out; a path below a file replaces the file. Raises SnapshotError, StorageError.
    """
    edits: dict[str, dict[str, Item | None]] = {folder: {} for folder in ("", *folders_above(changes))}
    for path, item in changes.items():
        folder, _, name = path.rpartition("/")
        edits[folder][name] = item
    order = by_depth(edits)
    trees: dict[str, dict[str, Item]] = {}
    for folder in order:
        parent, _, name = folder.rpartition("/")
        mode, old = trees[parent].get(name, _NOTHING) if folder else (FOLDER, tree)
        trees[folder] = dict(store.tree(old)) if mode == FOLDER else {}
        for inner, item in edits[folder].items():
            if item is None:
                trees[folder].pop(inner, None)
            else:
                trees[folder][inner] = item
    return _store_trees(writer, trees, order)


def _store_trees(writer: ObjectWriter, trees: Mapping[str, dict[str, Item]], order: Sequence[str]) -> str:
    """Store edited folders, those deepest in `order` first, and return the id of the first one."""
    edited = EMPTY_TREE
    for folder in reversed(order):
        edited = writer.add("tree", encode(trees[folder])) if trees[folder] else EMPTY_TREE
        if folder:
            parent, _, name = folder.rpartition("/")
            if edited != EMPTY_TREE:
                trees[parent][name] = (FOLDER, edited)
            elif trees[parent].get(name, _NOTHING)[0] == FOLDER:
                trees[parent].pop(name, None)
    return edited
