"""Copies the states of files that the patches of OpenCode name from its snapshots into ours, so that undo works for them.

OpenCode's snapshots are plain git trees. All trees of a state are copied, so that its id stays the same, and of the files those
that the patch changed. Where a state is gone, undo reports that another program recorded the step.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.snapshot.objects.pack import Kind, object_id
from opencode_tui.engine.snapshot.objects.tree import FOLDER, encode
from opencode_tui.extras.importing.source import SnapshotStore
from opencode_tui.schema.error import GitMissingError, GitUnavailableError
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.part import PatchPart, StepFinishPart

MAX_AGE_MS = 30 * 24 * 3600 * 1000
"""Patches of older messages are not copied: both programs delete such snapshots."""

MAX_STATE_ENTRIES = 200_000

Objects = Sequence[tuple[Kind, bytes]]


def with_states(message: MessageWithParts) -> MessageWithParts:
    """Return a message whose patches have the state after them, as OpenCode recorded it at the end of their step."""
    ends = [part.snapshot for part in message.parts if isinstance(part, StepFinishPart) and part.snapshot]
    if not ends or not any(isinstance(part, PatchPart) and part.after is None for part in message.parts):
        return message
    parts = [
        part.changed(after=ends[-1]) if isinstance(part, PatchPart) and part.after is None else part
        for part in message.parts
    ]
    return with_parts(message.info, parts)


class StateReader(Struct, frozen=True):
    """Reads the states of one worktree, `root`, from the git folders of OpenCode. Blocks."""

    stores: Sequence[SnapshotStore]
    root: Path
    environ: Mapping[str, str]

    def objects(self, states: Sequence[str], files: Sequence[str]) -> Objects | None:
        """Return the objects of these states, of the files only those that are named; None when one is gone."""
        inner = {os.path.relpath(file, self.root) for file in files}
        for store in self.stores:
            git = SafeGit(store.git_dir, environ=self.environ, is_private=True)
            try:
                return [found for state in states for found in _state(git, store.git_dir, state, inner)]
            except (GitMissingError, GitUnavailableError, ValueError):
                continue  # another folder may have it
        return None


def _state(git: SafeGit, git_dir: Path, state: str, files: set[str]) -> Iterator[tuple[Kind, bytes]]:
    """Yield the trees of a state, and its content of some files; raises ValueError when it cannot be rebuilt exactly."""
    more = {"GIT_DIR": str(git_dir)}
    listing = git.run_blocking("ls-tree", "-r", "-t", "-z", "--full-tree", state, more=more)
    folders: dict[str, dict[str, tuple[str, str]]] = {"": {}}
    ids = {"": state}
    lines = [line for line in listing.split("\0") if line]
    if len(lines) > MAX_STATE_ENTRIES:
        raise ValueError("too many files")
    wanted: list[str] = []
    for line in lines:
        head, _, path = line.partition("\t")
        mode, kind, name = head.split(" ")
        above, _, last = path.rpartition("/")
        folders.setdefault(above, {})[last] = (mode.lstrip("0") if kind == "tree" else mode, name)
        if kind == "tree":
            folders.setdefault(path, {})
            ids[path] = name
        elif kind == "blob" and path in files:
            wanted.append(name)
    for path, entries in folders.items():
        data = encode({name: (FOLDER if mode == FOLDER else mode, inner) for name, (mode, inner) in entries.items()})
        if object_id("tree", data).hex() != ids[path]:
            raise ValueError(f"the tree of {path!r} cannot be rebuilt")
        yield "tree", data
    for name in dict.fromkeys(wanted):
        text = git.run_blocking("cat-file", "blob", name, more=more)
        yield "blob", text.encode("utf-8", "surrogateescape")
