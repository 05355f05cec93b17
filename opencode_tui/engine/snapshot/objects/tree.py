"""Git trees: names with modes and ids, in git's order. Source: git's tree object format."""

import os
from collections.abc import Mapping

from opencode_tui.engine.snapshot.objects.pack import object_id

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
