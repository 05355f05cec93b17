"""A snapshot of some paths alone, made from their states without a look at the disk or into the store."""

from collections.abc import Mapping

from opencode_tui.engine.snapshot.entry import NOT_LOOKED, Entry, State, Unknown, parents
from opencode_tui.engine.snapshot.manifest import Defaults, Manifest
from opencode_tui.engine.snapshot.object_writer import ObjectWriter
from opencode_tui.engine.snapshot.store import ObjectStore
from opencode_tui.engine.snapshot.tree import EMPTY_TREE, EXECUTABLE, FOLDER, LINK, PLAIN, encode
from opencode_tui.engine.snapshot.view import View, add_snapshot

_USUAL = Defaults()
_NOTHING: Mapping[str, str] = {}


def add_partial(
    store: ObjectStore, writer: ObjectWriter, states: Mapping[str, State], *, skipped: Mapping[str, str] = _NOTHING
) -> View:
    """Take a snapshot that says only what states these paths have; the writer's `flush` stores it.

    `skipped` are other paths with the reasons why nothing is known of them, or of what else is in a folder of the paths.
    What a file holds must be stored, or taken by the writer, already. A path below which something is counts as a folder.
    """
    leaves = {path: state for path, state in states.items() if isinstance(state, Entry) and state.kind != "folder"}
    filled = {above for path in leaves for above in parents(path)}
    folders = {
        path: state
        for path, state in states.items()
        if path in filled or (isinstance(state, Entry) and state.kind == "folder")
    }
    entries = {path: state for path, state in {**leaves, **folders}.items() if isinstance(state, Entry)}
    known = {path for path in folders if path not in filled}
    holding = {above for path in known for above in parents(path)}
    manifest = Manifest(
        modes={
            path: state.mode for path, state in entries.items() if state.kind != "link" and state.mode != _usual(state)
        },
        folders=frozenset(known - holding),
        skipped={path: reason for path, reason in skipped.items() if path not in states or path in filled}
        | {"": NOT_LOOKED}
        | {path: state.reason for path, state in states.items() if isinstance(state, Unknown) and path not in filled},
        looked=frozenset(path for path, state in states.items() if state is None and path not in filled | holding),
    )
    return add_snapshot(store, writer, _add_tree(writer, leaves), manifest)


def _add_tree(writer: ObjectWriter, leaves: Mapping[str, Entry]) -> str:
    """Take the tree of these files and links, their paths relative to it, and return its id."""
    names: dict[str, tuple[str, str]] = {}
    below: dict[str, dict[str, Entry]] = {}
    for path, entry in leaves.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = entry
        else:
            names[name] = (_git_mode(entry), entry.id)
    for name, inner in below.items():
        names[name] = (FOLDER, _add_tree(writer, inner))
    return writer.add("tree", encode(names)) if names else EMPTY_TREE


def _git_mode(entry: Entry) -> str:
    if entry.kind == "link":
        return LINK
    return EXECUTABLE if entry.mode & 0o100 else PLAIN


def _usual(entry: Entry) -> int:
    if entry.kind == "folder":
        return _USUAL.folder
    return _USUAL.executable if entry.mode & 0o100 else _USUAL.file
