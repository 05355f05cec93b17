"""Reading one snapshot: the state of a path in it.

A plain OpenCode tree is read as well, as a snapshot whose modes are git's and which has no proof that a path was absent.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from opencode_tui.engine.snapshot.entry import LINK_MODE, NOT_LOOKED, Entry, State, Unknown, above, folders_above
from opencode_tui.engine.snapshot.objects import manifest as manifests
from opencode_tui.engine.snapshot.objects.manifest import Manifest
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EXECUTABLE, FOLDER, LINK, PLAIN, encode
from opencode_tui.engine.snapshot.objects.tree_edit import TreeIndex
from opencode_tui.schema.error import SnapshotError

FILES_NAME = "files"
MANIFEST_NAME = "manifest.json"
_ID = re.compile(r"[0-9a-f]{40}\Z")


@dataclass(frozen=True)
class View:
    """An open snapshot; `files` is the id of the files' tree."""

    store: ObjectStore
    id: str
    files: str
    manifest: Manifest

    def state(self, path: str) -> State:
        """Return the state of a path; raises SnapshotError when the store is damaged."""
        item = self.index.find(path)
        if item is not None:
            return self.entry(path, item)
        known = self.manifest
        if path in known.special:
            return known.special[path]
        if path in known.folders:
            return Entry("folder", known.modes.get(path, known.defaults.folder))
        if path in known.looked:
            return None
        if path in known.skipped:
            return Unknown(known.skipped[path])
        if path in self.implied:
            return Entry("folder", known.modes.get(path, known.defaults.folder))
        return self._absence(path)

    @cached_property
    def index(self) -> TreeIndex:
        """The items of the files' tree by path."""
        return TreeIndex(self.store, self.files)

    @cached_property
    def implied(self) -> frozenset[str]:
        """Folders that exist because they contain an empty folder, something special or a left-out path, and no recorded file."""
        known = self.manifest
        return frozenset(folders_above((*known.folders, *known.special, *known.skipped)))

    def is_private(self, path: str) -> bool:
        """Return whether the content of a path is only for undo: it was recorded although git ignores it."""
        private = self.manifest.private
        while private and path:
            if path in private:
                return True
            path = above(path)
        return False

    def entry(self, path: str, item: tuple[str, str]) -> Entry:
        """Return the entry for a path that has this git mode and id in the tree."""
        mode, name = item
        known = self.manifest
        if mode == LINK:
            return Entry("link", LINK_MODE, name)
        if mode == FOLDER:
            return Entry("folder", known.modes.get(path, known.defaults.folder))
        default = known.defaults.executable if mode == EXECUTABLE else known.defaults.file
        return Entry("file", known.modes.get(path, default), name)

    @cached_property
    def _absences(self) -> dict[str, State]:
        """What an unlisted path is in each folder that was asked for."""
        skipped = self.manifest.skipped
        return {"": Unknown(skipped[""]) if "" in skipped else None}

    def _absence(self, path: str) -> State:
        """Return whether an unlisted path was absent or is unknown: the nearest known folder above it decides."""
        folder, missing = above(path), list[str]()
        while folder not in self._absences:
            missing.append(folder)
            folder = above(folder)
        state, known = self._absences[folder], self.manifest
        for inner in reversed(missing):
            item = self.index.find(inner)
            if (item is not None and item[0] != FOLDER) or inner in known.special:
                state = None
            elif inner in known.skipped:
                state = Unknown(known.skipped[inner])
            elif inner in known.looked:
                state = None
            self._absences[inner] = state
        return state


def open_view(store: ObjectStore, name: str) -> View:
    """Return a snapshot; raises SnapshotError when it is not there, or is damaged."""
    if not _ID.match(name):
        raise SnapshotError(f"{name!r} is not a snapshot; `opencode-tui debug snapshot track` makes one")
    top = store.tree(name)
    if set(top) != {FILES_NAME, MANIFEST_NAME}:
        return View(store, name, name, Manifest(skipped={"": NOT_LOOKED}))
    try:
        manifest = manifests.decode(store.read(top[MANIFEST_NAME][1], "blob"))
    except ValueError as error:
        raise SnapshotError(f"snapshot {name} in {store.folder} has no usable manifest: {error}") from error
    return View(store, name, top[FILES_NAME][1], manifest)


def write_snapshot(store: ObjectStore, writer: ObjectWriter, files: str, manifest: Manifest) -> View:
    """Store a snapshot of these files and return it."""
    view = add_snapshot(store, writer, files, manifest)
    writer.flush()
    return view


def add_snapshot(store: ObjectStore, writer: ObjectWriter, files: str, manifest: Manifest) -> View:
    """Add a snapshot of these files to the writer, whose next `flush` stores it."""
    writer.add("tree", b"")
    blob = writer.add("blob", manifest.encode())
    name = writer.add("tree", encode({FILES_NAME: (FOLDER, files), MANIFEST_NAME: (PLAIN, blob)}))
    return View(store, name, files, manifest)
