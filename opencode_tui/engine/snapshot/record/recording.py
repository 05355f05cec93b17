"""Records what one step does to files: the state of a path directly before a tool writes it, all of them around its commands.

Commands of the agents that work for one request (a session and its children) may overlap. They share one stretch: it begins with
a scan before the first of them, and each step whose last command ends takes what changed since the last scan. What file tools of
other sessions claimed meanwhile is left out; where a command of somebody else ran, the rest is contested. Source: SPEC, section 5.
"""

import asyncio
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from opencode_tui.engine.snapshot.change_log import ChangeHistory, ChangeLog, OpenStep
from opencode_tui.engine.snapshot.entry import NOT_LOOKED, OVER_QUOTA, Entry, State, Unknown, parents, permission_bits
from opencode_tui.engine.snapshot.objects.changes import Change, is_certain, is_partial
from opencode_tui.engine.snapshot.objects.manifest import Defaults, Manifest
from opencode_tui.engine.snapshot.objects.store import ObjectStore, ObjectWriter
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, EXECUTABLE, FOLDER, LINK, PLAIN, encode
from opencode_tui.engine.snapshot.objects.view import View, add_snapshot, open_view
from opencode_tui.engine.snapshot.record.accumulator import CommandWindow, Segment, Tally
from opencode_tui.engine.snapshot.skipped import Stamps, find_touched, stamp_skipped
from opencode_tui.engine.snapshot.work import NOT_IN_PROJECT, Worktree
from opencode_tui.engine.snapshot.worktree_lock import LockedWorktree, WorktreeLock
from opencode_tui.schema.error import SnapshotError

# A snapshot of some paths alone, made from their states without a look at the disk or into the store.

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


# A step's record on its way to the store: what its writes will change, and the states before and after all of it.


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


def store_tally(opened: LockedWorktree, tally: Tally, writer: ObjectWriter) -> Recorded | None:
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


@dataclass(slots=True)
class _Shared:
    """The stretch in which commands of a family run, and how many of each step's."""

    shell: str
    claims: ChangeLog
    base: str
    since: int
    begun: float
    stamps: Stamps
    members: dict["StepRecording", int] = field(default_factory=dict["StepRecording", int])


@dataclass(slots=True)
class SharedWindow:
    """What the steps of a session and its children share; `name` is the id of the session that all work for."""

    name: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    shared: _Shared | None = None

    @property
    def at_work(self) -> set[str]:
        """The sessions whose commands run now."""
        return {member.session for member in self.shared.members} if self.shared is not None else set()


class StepRecording:
    """The record of one step. Its methods raise SnapshotError, StorageError; what they could not record is then not in it."""

    def __init__(self, door: WorktreeLock, *, session: str, message: str, family: SharedWindow) -> None:
        self._door = door
        self.session = session
        self._message = message
        self._family = family
        self._tally = Tally()
        self._keys: dict[int, str] = {}
        self._acting = asyncio.Lock()
        self._is_stale = False
        self._has_missed = False
        self._first: str | None = None
        self.result: Recorded | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether `settle` has something to do: commands of the step run, or were interrupted, or a write was."""
        return self._is_stale or self._membership() is not None

    @property
    def before(self) -> str | None:
        """Return the snapshot of what was looked at before the step changed it; None while nothing was."""
        return self.result.hash if self.result is not None else self._first

    @property
    def after(self) -> str | None:
        """Return the snapshot after the changes, the same as `before` where nothing changed; None when it is not known."""
        if self._has_missed:
            return None
        return self.result.after if self.result is not None else self._first

    async def before_write(self, writes: Sequence[Write], made: Iterable[Path]) -> tuple[int, list[Path]]:
        """Record files as they are, and as they will be; `made` are folders that were made for them.

        Returns the write's number, and the files that lie outside the project and are not recorded. What is recorded is on the disk
        when this returns. Raises SnapshotError when all lie outside.
        """
        number = 0
        outside: list[Path] = []

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            nonlocal number
            outside.extend(write.path for write in writes if opened.worktree.relative(str(write.path)) is None)
            segment, writer = observe_writes(opened.worktree, writes, made)
            key = opened.claims.begin_write(self.session, segment.changes, time=opened.clock())
            number = self._tally.add(segment)
            self._keys[number] = key
            self.result = store_tally(opened, self._tally, writer)
            if self._first is None and self.result is not None:
                self._first = self.result.hash

        async with self._acting:
            result = self.result
            try:
                await self._door.do(work)
            except BaseException:
                self._tally.drop(number)
                self.result = result
                raise
        return number, outside

    async def after_write(self, number: int) -> None:
        """Note that a write is in place."""
        self._tally.end(number, time.monotonic())
        await self._end_claim(number, done=True)

    async def not_written(self, number: int) -> None:
        """Forget a write that did not happen."""
        self.abandon(number)
        await self._end_claim(number, done=False)
        await self.discard_failed_writes()

    def abandon(self, number: int) -> None:
        """Forget a write that was interrupted before it began; `settle` puts the result right."""
        self._tally.drop(number)
        self._is_stale = True

    async def discard_failed_writes(self) -> None:
        """Put the result right after a write that did not happen."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            self.result = store_tally(opened, self._tally, ObjectWriter(opened.worktree.store))

        async with self._acting:
            await self._door.do(work)
            self._is_stale = False

    async def join(self) -> None:
        """Record all files directly before a command of the step starts."""
        async with self._family.lock:
            shared = self._family.shared
            if shared is None or not shared.members:
                shared = await self._begin()
            is_new = bool(shared.members) and self not in shared.members
            self._first = self._first or shared.base
            shared.members[self] = shared.members.get(self, 0) + 1
            if is_new:
                base, now = shared.base, self._door.clock()
                await self._door.note(
                    lambda claims: claims.begin_step(self._message, base, session=self.session, time=now)
                )

    async def leave(self) -> None:
        """Record what changed when a command of the step has ended; with others of it still running this waits for their end."""
        async with self._family.lock:
            shared = self._membership()
            if shared is None:
                return
            if shared.members[self] > 1:
                shared.members[self] -= 1
                return
            await self._end(shared)

    async def finalize(self) -> None:
        """Record what the step's commands changed, all of which have ended, and forget the writes that did not happen."""
        async with self._family.lock:
            shared = self._membership()
            if shared is not None:
                await self._end(shared)
        if self._is_stale:
            await self.discard_failed_writes()

    async def _begin(self) -> _Shared:
        def work(opened: LockedWorktree, stop: threading.Event) -> _Shared:
            opened.claims.trim(now=opened.clock())
            since, begun = opened.clock(), time.monotonic()
            shell = opened.claims.begin_shell(self._family.name, time=since)
            try:
                view = _whole(opened.worktree.scan(stop=stop))
            except BaseException:
                opened.claims.end_shell(shell, time=opened.clock())
                raise
            opened.claims.begin_step(self._message, view.id, session=self.session, time=since)
            opened.log.note(view.id, since)
            stamps = stamp_skipped(opened.worktree.root, view.manifest.skipped)
            self._family.shared = _Shared(shell, opened.claims, view.id, since, begun, stamps)
            return self._family.shared

        self._family.shared = None
        try:
            return await self._door.do(work)
        except asyncio.CancelledError:
            # The command will not start, so nothing needs to be looked for.
            left: _Shared | None = self._family.shared
            if left is not None:
                self._close(left)
            raise

    async def _end(self, shared: _Shared) -> None:
        """Take what changed since the last scan; the step stays a member when it is cancelled, so that `settle` can do it."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            now, begun = opened.clock(), time.monotonic()
            stretch = CommandWindow(shared.begun, begun)
            after = self._look(opened, shared, stretch, stop)
            opened.log.note(after.id, now)
            self.result = store_tally(opened, self._tally, ObjectWriter(opened.worktree.store))
            shared.base, shared.since, shared.begun = after.id, now, begun

        try:
            async with self._acting:
                await self._door.do(work)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._has_missed = True
            self._part(shared)
            raise
        self._part(shared)

    def _look(self, opened: LockedWorktree, shared: _Shared, stretch: CommandWindow, stop: threading.Event) -> View:
        """Scan, and add to the tally what the step's commands changed; returns the state now."""
        tree = opened.worktree
        base = open_view(tree.store, shared.base)
        after, found = tree.changes(base, stop=stop)
        _whole(after)
        ledger = opened.claims.read()
        foreign = {one.path for one in ledger.claims if one.session != self.session and one.time >= shared.since}
        written = self._tally.written_since(shared.begun) - foreign
        changes = {path: change for path, change in found.items() if path not in foreign and is_certain(change)}
        stamps = stamp_skipped(tree.root, after.manifest.skipped)
        touched = find_touched(base.manifest.skipped, after.manifest.skipped, shared.stamps, stamps)
        touched = {path: reason for path, reason in touched.items() if path not in foreign | written}
        shared.stamps = stamps
        is_doubtful = ledger.has_other_shell(self._family.name, since=shared.since)
        segment = Segment(
            changes,
            folders_above(changes, base, after),
            whole=(base.id, after.id),
            contested=frozenset(changes) if is_doubtful else frozenset(),
            skipped=touched,
            unseen=touched.keys() & (base.manifest.skipped.keys() ^ after.manifest.skipped.keys()),
        )
        self._tally.cover(segment, {path: (base.state(path), after.state(path)) for path in written}, stretch)
        return after

    def _membership(self) -> _Shared | None:
        shared = self._family.shared
        return shared if shared is not None and self in shared.members else None

    def _part(self, shared: _Shared) -> None:
        """Leave the stretch, and end it with its last member."""
        shared.members.pop(self, None)
        self._close(shared)

    def _close(self, shared: _Shared) -> None:
        """Note that the step's commands have ended. Blocks for a line appended to a file."""
        now = self._door.clock()
        shared.claims.end_step(self._message, time=now)
        if not shared.members:
            shared.claims.end_shell(shared.shell, time=now)
            self._family.shared = None

    async def _end_claim(self, number: int, *, done: bool) -> None:
        key, now = self._keys.pop(number, None), self._door.clock()
        if key is not None:
            await self._door.note(lambda claims: claims.end_write(key, done=done, time=now))


def _whole(view: View) -> View:
    if is_partial(view):
        raise SnapshotError(OVER_QUOTA)
    return view


# What is known of the commands of a step whose process died: which files differ from the state before them.


@dataclass(frozen=True, slots=True)
class OrphanedStep:
    """A step that nobody ended: the state before its commands, and the files (absolute paths) that differ from it now."""

    session: str
    message: str
    before: str
    files: list[str]


async def sessions_of_steps(door: WorktreeLock) -> set[str]:
    """Return the sessions of all steps that nobody ended, dead or not; raises SnapshotError, StorageError."""
    return await door.do(lambda opened, stop: {step.session for step in opened.claims.read().steps.values()})


async def collect_orphaned_steps(door: WorktreeLock, sessions: Collection[str]) -> list[OrphanedStep]:
    """Return the dead steps of these sessions, each once; raises SnapshotError, StorageError. Needs the sessions' run locks.

    Files that other sessions' tools wrote since are left out.
    """

    def work(opened: LockedWorktree, stop: threading.Event) -> list[OrphanedStep]:
        ledger = opened.claims.read()
        found: list[OrphanedStep] = []
        for message, step in ledger.steps.items():
            if step.session in sessions:
                found.append(OrphanedStep(step.session, message, step.before, _files(opened, ledger, step, stop)))
                opened.claims.end_step(message, time=opened.clock())
        return found

    return await door.do(work)


def _files(opened: LockedWorktree, ledger: ChangeHistory, step: OpenStep, stop: threading.Event) -> list[str]:
    try:
        _, changes = opened.worktree.changes(open_view(opened.worktree.store, step.before), stop=stop)
    except SnapshotError:  # the state before was cleaned away
        return []
    foreign = {claim.path for claim in ledger.claims if claim.session != step.session and claim.time >= step.started}
    certain = {path for path, change in changes.items() if is_certain(change)}
    return [opened.worktree.absolute(path) for path in sorted(certain - foreign)]
