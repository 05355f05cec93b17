"""A step's record on its way to the store: what its writes will change, and the states before and after all of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opencode_tui.engine.snapshot.changes import Change
from opencode_tui.engine.snapshot.door import Opened
from opencode_tui.engine.snapshot.entry import Entry, parents, permission_bits
from opencode_tui.engine.snapshot.object_writer import ObjectWriter
from opencode_tui.engine.snapshot.partial import add_partial
from opencode_tui.engine.snapshot.tally import Segment, Tally
from opencode_tui.engine.snapshot.view import View, add_snapshot, open_view
from opencode_tui.engine.snapshot.work import NOT_IN_PROJECT, Worktree
from opencode_tui.schema.error import SnapshotError


@dataclass(frozen=True, slots=True)
class Write:
    """What a file is about to become: its whole content and permission bits; `content` None deletes it."""

    path: Path
    content: bytes | None
    mode: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a step has changed so far; `files` are absolute paths.

    Without files it changed only what is not recorded: undo then has something to name.
    """

    hash: str
    after: str
    files: list[str]


def observe_writes(tree: Worktree, writes: Sequence[Write], made: Iterable[Path]) -> tuple[Segment, ObjectWriter]:
    """Return the change that writes will make, and the writer that has taken the bytes of both states.

    `made` are folders that were made for them. Raises SnapshotError when all of them lie outside the project.
    """
    writer = ObjectWriter(tree.store)
    changes: dict[str, Change] = {}
    for write in writes:
        inner = tree.relative(str(write.path))
        if inner is None:
            continue
        now = tree.now(inner)
        if isinstance(now.state, Entry) and now.state.kind != "folder":
            writer.add("blob", now.data)
        after = None
        if write.content is not None:
            after = Entry("file", permission_bits(write.mode), writer.add("blob", write.content))
        changes[inner] = (now.state, after)
    if not changes:
        raise SnapshotError(NOT_IN_PROJECT)
    new = {inner for one in made if (inner := tree.relative(str(one))) is not None}
    folders: dict[str, Change] = {}
    for folder in {above for path in changes for above in parents(path)}:
        state = tree.now(folder).state
        folders[folder] = (None if folder in new else state, state)
    return Segment(changes, folders), writer


def folders_above(changes: Mapping[str, Change], before: View, after: View) -> dict[str, Change]:
    """Return the states of the folders above changed paths in two snapshots."""
    above = {folder for path in changes for folder in parents(path)}
    return {path: (before.state(path), after.state(path)) for path in above}


def store_tally(opened: Opened, tally: Tally, writer: ObjectWriter) -> Recorded | None:
    """Store what the writer has taken, and the states before and after a step; returns None when it changed nothing."""
    total = tally.sum()
    if not total.files and not total.has_unseen:
        writer.flush()
        return None
    store = opened.worktree.store
    if total.whole is not None:
        before, after = total.whole
        after = _with_touched(open_view(store, after), writer, total.skipped)
        writer.flush()
    else:
        before, after = (
            add_partial(store, writer, states, skipped=total.skipped).id for states in (total.before, total.after)
        )
        writer.flush()
    if total.contested:
        opened.claims.contest(after, total.contested, time=opened.clock())
    for name in (before, after):
        opened.log.note(name, opened.clock())
    files = [opened.worktree.absolute(path) for path in total.files]
    return Recorded(before, after, files)


def _with_touched(view: View, writer: ObjectWriter, touched: Iterable[str]) -> str:
    """Return the id of the snapshot that also says which of the paths that it leaves out the step changed."""
    if not view.manifest.skipped:
        return view.id
    return add_snapshot(view.store, writer, view.files, replace(view.manifest, touched=frozenset(touched))).id
