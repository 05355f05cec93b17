"""Lookup and replacement of entries deep in a tree."""

from collections.abc import Mapping

from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, FOLDER, Tree, encode


def find(store: ObjectStore, tree: str, path: str) -> tuple[str, str] | None:
    """Return mode and id of a path in a tree, None when there is none."""
    item = (FOLDER, tree)
    for name in path.split("/"):
        below = store.tree(item[1]).get(name) if item[0] == FOLDER else None
        if below is None:
            return None
        item = below
    return item


def edit_tree(
    store: ObjectStore, writer: ObjectWriter, tree: Tree, changes: Mapping[str, tuple[str, str] | None]
) -> str:
    """Store a tree like `tree` in which these paths have these modes and ids (None: removed), and return its id.

    Empty folders are left out; a path below a file replaces the file. Shorter paths are inserted first.
    """
    names = dict(tree)
    below: dict[str, dict[str, tuple[str, str] | None]] = {}
    for path, item in sorted(changes.items(), key=lambda change: change[0].count("/")):
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = item
        elif item is None:
            names.pop(name, None)
        else:
            names[name] = item
    for name, inner in below.items():
        mode, old = names.get(name, (FOLDER, EMPTY_TREE))
        if mode != FOLDER and all(item is None for item in inner.values()):
            continue
        new = edit_tree(store, writer, store.tree(old) if mode == FOLDER else {}, inner)
        if new == EMPTY_TREE:
            names.pop(name, None)
        else:
            names[name] = (FOLDER, new)
    return writer.add("tree", encode(names)) if names else EMPTY_TREE
