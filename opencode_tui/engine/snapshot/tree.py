"""Git trees: names with modes and ids, in git's order. Source: git's tree object format."""

import os
from collections.abc import Mapping

from opencode_tui.engine.snapshot.pack import object_id
from opencode_tui.engine.snapshot.store import ObjectStore, ObjectWriter
from opencode_tui.schema.error import SnapshotError

FOLDER = "40000"
PLAIN = "100644"
EXECUTABLE = "100755"
LINK = "120000"

Tree = Mapping[str, tuple[str, str]]
"""Name to (git mode, 40-hex id)."""

EMPTY_TREE = object_id("tree", b"").hex()


def encode(tree: Tree) -> bytes:
    """Return a tree's bytes."""
    lines = [(os.fsencode(name), mode, name_id) for name, (mode, name_id) in tree.items()]
    # Git sorts a folder as if its name ended in a slash.
    lines.sort(key=lambda line: line[0] + b"/" if line[1] == FOLDER else line[0])
    return b"".join([b"%s %s\0%s" % (mode.encode(), name, bytes.fromhex(name_id)) for name, mode, name_id in lines])


def decode(data: bytes) -> Tree:
    """Return the names in a tree; raises ValueError when it is none."""
    tree: dict[str, tuple[str, str]] = {}
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, _, name = data[at:end].partition(b" ")
        tree[os.fsdecode(name)] = (mode.decode("ascii").lstrip("0"), data[end + 1 : end + 21].hex())
        at = end + 21
    return tree


def read_tree(store: ObjectStore, name: str) -> Tree:
    """Return a stored tree; raises SnapshotError."""
    if name == EMPTY_TREE:
        return {}
    try:
        return decode(store.read(name, "tree"))
    except ValueError as error:
        raise SnapshotError(f"snapshot store {store.folder}: tree {name} cannot be read; {error}") from error


def find(store: ObjectStore, tree: str, path: str) -> tuple[str, str] | None:
    """Return mode and id of a path below a tree, None when there is none."""
    item = (FOLDER, tree)
    for name in path.split("/"):
        below = read_tree(store, item[1]).get(name) if item[0] == FOLDER else None
        if below is None:
            return None
        item = below
    return item


def graft(store: ObjectStore, writer: ObjectWriter, tree: Tree, changes: Mapping[str, tuple[str, str] | None]) -> str:
    """Store a tree like `tree` in which these paths have these modes and ids, or are gone; returns its id.

    Folders that hold nothing are left out; a path below a file takes the file's place. Shorter paths are put in first.
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
        new = graft(store, writer, read_tree(store, old) if mode == FOLDER else {}, inner)
        if new == EMPTY_TREE:
            names.pop(name, None)
        else:
            names[name] = (FOLDER, new)
    return writer.add("tree", encode(names)) if names else EMPTY_TREE
