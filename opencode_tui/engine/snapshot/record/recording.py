"""The record of one step's changes: the state of a path directly before a tool writes it, of all paths around its commands.

Commands of the agents that work for one request (a session and its children) may overlap. They share one window: it begins with
a scan before the first of them, and each step whose last command ends records the changes since the last scan. Writes of other
sessions' file tools are left out; where a command of another request ran, the rest is contested.

A background command has a scan of its own before it, one when the run that started it ends, and one after it: its step gets what
changed in between, without what file tools wrote and what other commands of the same request were found to change. What changes
after the run is contested, because the user may have changed it. Other commands that run at the same time get what they may have
changed, except files that the background command has open for writing: a later step must not revert the database of a server that
an earlier one started. Steps with such commands record which ones ran at the same time. Source: docs/internals/snapshots.md#steps.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.snapshot.change_log import ChangeHistory, ChangeLog, OpenStep
from opencode_tui.engine.snapshot.entry import OVER_QUOTA, folders_above
from opencode_tui.engine.snapshot.objects.changes import is_certain, is_partial
from opencode_tui.engine.snapshot.objects.store import ObjectWriter
from opencode_tui.engine.snapshot.objects.view import View, open_view
from opencode_tui.engine.snapshot.record.accumulator import ChangeSet, Interval, StepAccumulator
from opencode_tui.engine.snapshot.record.step_snapshots import (
    Recorded,
    changes_above,
    observe_writes,
    private_among,
    store_changes,
)
from opencode_tui.engine.snapshot.record.write import BackgroundProgram, FileWrite
from opencode_tui.engine.snapshot.scan.lost_files import LostFile, LostPath
from opencode_tui.engine.snapshot.skipped import Stamps, find_touched
from opencode_tui.engine.snapshot.snapshot import LockedWorktree, WorktreeLock
from opencode_tui.engine.snapshot.worktree import Worktree
from opencode_tui.schema.error import SnapshotError, SnapshotUnreadableError


@dataclass(slots=True)
class _ActiveWindow:
    """The window while commands run: the last scan, and the number of running commands of each step.

    `since` is the change log's position before the scan, `begun` the moment in monotonic seconds.
    """

    shell: str
    base: str
    since: int
    begun: float
    stamps: Stamps
    members: dict["StepRecording", int] = field(default_factory=dict["StepRecording", int])


@dataclass(eq=False, slots=True)
class BackgroundWindow:
    """The time in which a background command of a step runs: the last scan, and what others were found to change since.

    `since` is the change log's position before the scan.
    `is_contested` is set when the run that started it has ended, `is_ended` when the changes are recorded.
    """

    step: "StepRecording"
    program: BackgroundProgram
    shell: str
    base: str
    since: int
    stamps: Stamps
    others: set[str] = field(default_factory=set[str])
    is_contested: bool = False
    is_ended: bool = False


@dataclass(slots=True)
class CommandWindow:
    """The command window that a session and its children share; `name` is the id of the root session."""

    name: str
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    active: _ActiveWindow | None = None
    background: list[BackgroundWindow] = field(default_factory=list[BackgroundWindow])

    @property
    def running_sessions(self) -> set[str]:
        """The sessions whose commands run now."""
        members = self.active.members if self.active is not None else ()
        return {*(step.session for step in members), *(window.step.session for window in self.background)}

    def exclude(self, paths: Iterable[str]) -> None:
        """Leave paths, which another command was found to change, out of the changes of the background commands."""
        for one in self.background:
            one.others.update(paths)


Moment = Literal["write", "written", "command", "background", "after run"]
"""When a step's record is stored.

Before a write or a command, after a write, after a command; before a program in the background and after it, each maybe long after
the run.
"""


async def _store_nothing(_moment: Moment) -> None:
    pass


class StepRecording:
    """The record of one step. Its methods raise SnapshotError, StorageError; the failed part is then missing from it."""

    def __init__(
        self,
        lock: WorktreeLock,
        *,
        session: str,
        message: str,
        window: CommandWindow,
        agent: str | None = None,
        store: Callable[[Moment], Awaitable[None]] = _store_nothing,
    ) -> None:
        """`agent` names the agent in the background that takes the step; `store` stores the present `result` with the session."""
        self._lock = lock
        self.session = session
        self.message = message
        self.store = store
        self.agent = agent
        self._window = window
        self._accumulator = StepAccumulator()
        self._keys: dict[int, str] = {}
        self._acting = asyncio.Lock()
        self._is_stale = False
        self._has_missed = False
        self._first: str | None = None
        self.result: Recorded | None = None

    @property
    def is_open(self) -> bool:
        """Return whether `finalize` is needed: commands of the step run, or a command or a write was interrupted."""
        return self._is_stale or self._current_window() is not None

    @property
    def before(self) -> str | None:
        """The snapshot before the step's changes; None while there is none."""
        return self.result.hash if self.result is not None else self._first

    @property
    def after(self) -> str | None:
        """The snapshot after the changes, the same as `before` where nothing changed; None when it is unknown."""
        if self._has_missed:
            return None
        return self.result.after if self.result is not None else self._first

    async def before_write(self, writes: Sequence[FileWrite], made: Iterable[Path]) -> tuple[int, list[Path]]:
        """Record files as they are and as they will be; `made` are folders that were made for them.

        Return the write's number, and the files outside the project, which are not recorded. The record is on disk when this
        returns. Raises SnapshotError when all files are outside.
        """
        number = 0
        outside: list[Path] = []

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            nonlocal number
            outside.extend(write.path for write in writes if opened.worktree.relative(str(write.path)) is None)
            change_set, writer = observe_writes(opened.worktree, writes, made)
            key = opened.change_log.begin_write(self.session, change_set.changes, time=opened.clock())
            number = self._accumulator.add(change_set)
            self._keys[number] = key
            self.result = store_changes(opened, self._accumulator, writer)
            if self._first is None and self.result is not None:
                self._first = self.result.hash

        async with self._acting:
            result = self.result
            try:
                await self._lock.run(work)
            except BaseException:
                self._accumulator.drop(number)
                self.result = result
                raise
        return number, outside

    async def after_write(self, number: int) -> None:
        """Mark a write as done."""
        self._accumulator.end(number, time.monotonic())
        await self._end_claim(number, done=True)

    async def cancel_write(self, number: int) -> None:
        """Remove a write that did not happen from the record."""
        self.abandon(number)
        await self._end_claim(number, done=False)
        await self.discard_failed_writes()

    def abandon(self, number: int) -> None:
        """Remove a write that was interrupted before it began; `finalize` corrects the result."""
        self._accumulator.drop(number)
        self._is_stale = True

    async def discard_failed_writes(self) -> None:
        """Correct the result after a write that did not happen."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            self.result = store_changes(opened, self._accumulator, ObjectWriter(opened.worktree.store))

        async with self._acting:
            await self._lock.run(work)
            self._is_stale = False

    async def find_lost(self, paths: Sequence[LostPath]) -> list[LostFile]:
        """Return the files that a command would remove or overwrite, as they are now."""

        def work(opened: LockedWorktree, stop: threading.Event) -> list[LostFile]:
            return opened.worktree.find_lost(_whole(opened.worktree.scan(stop=stop)), paths, stop=stop)

        return await self._lock.run(work)

    async def begin_command(self, lost: Sequence[LostPath] = ()) -> None:
        """Record all files directly before a command of the step starts, and keep what it is about to discard."""
        async with self._window.lock:
            active = self._window.active
            if active is None or not active.members:
                active = await self._open_window(lost)
            elif lost:
                await self._keep(active, lost)
            is_new = bool(active.members) and self not in active.members
            self._first = self._first or active.base
            active.members[self] = active.members.get(self, 0) + 1
            if is_new:
                base, now = active.base, self._lock.clock()
                await self._lock.append(
                    lambda claims: claims.begin_step(self.message, base, session=self.session, time=now)
                )

    async def end_command(self) -> None:
        """Record the changes when a command of the step has ended; while others of the step run, the last one records them."""
        async with self._window.lock:
            active = self._current_window()
            if active is None:
                return
            if active.members[self] > 1:
                active.members[self] -= 1
                return
            await self._record_commands(active)

    async def begin_background(self, program: BackgroundProgram) -> BackgroundWindow:
        """Record all files directly before a background command of the step starts; returns its window for `end_background`."""

        made: list[BackgroundWindow] = []

        def work(opened: LockedWorktree, stop: threading.Event) -> BackgroundWindow:
            now = opened.clock()
            since = _begin_window(opened.change_log, now)
            view = _whole(opened.worktree.scan(stop=stop))
            opened.snapshot_log.add(view.id, now)
            stamps = opened.worktree.stamps(view)
            shell = opened.change_log.begin_shell(self._window.name, time=now)
            window = BackgroundWindow(self, program, shell, view.id, since, stamps)
            made.append(window)
            opened.change_log.begin_step(self.message, view.id, session=self.session, time=now)
            return window

        async with self._window.lock:
            try:
                window = await self._lock.run(work)
            except BaseException:
                # The command will not start, so there are no changes to record.
                for window in made:
                    await run_to_completion(self._close_background(window, is_stored=True))
                raise
            self._window.background.append(window)
        self._first = self._first or window.base
        return window

    async def end_run(self, window: BackgroundWindow) -> None:
        """Record what a background command has changed when the run that started it ends; what changes later is contested.

        Does nothing once the run or the command has ended. A failure makes all changes of the command contested.
        """
        if window.is_contested or window.is_ended:
            return
        try:
            await self._record_background(window)
        finally:
            window.is_contested = True

    async def end_background(self, window: BackgroundWindow) -> None:
        """Record and store the changes of a background command that has ended, maybe long after the step. Raises as `store`."""
        is_stored = False
        try:
            try:
                await self._record_background(window)
            except BaseException:
                self._has_missed = True
                raise
            finally:
                window.is_ended = True
            await self.store("after run")
            is_stored = True
        finally:
            await self._close_background(window, is_stored=is_stored)

    async def _record_background(self, window: BackgroundWindow) -> None:
        """Record the changes since the last scan of the window, which then begins with the new one."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            tree, now = opened.worktree, opened.change_log.position()
            base = open_view(tree.store, window.base)
            after, found = tree.changes(base, stop=stop)
            _whole(after)
            history = opened.change_log.read()
            others = window.others | history.written_since(window.since)
            changes = {path: change for path, change in found.items() if path not in others and is_certain(change)}
            stamps = tree.stamps(after)
            touched = find_touched(base.manifest.skipped, after.manifest.skipped, window.stamps, stamps)
            touched = {path: reason for path, reason in touched.items() if path not in others}
            is_doubtful = window.is_contested or history.may_have_other_shell(self._window.name, since=window.since)
            beside = {one.program.name for one in self._window.background if one is not window}
            self._accumulator.add(
                ChangeSet(
                    changes,
                    changes_above(changes, base, after),
                    whole=(base.id, after.id),
                    contested=frozenset(changes) if is_doubtful else frozenset(),
                    skipped=touched,
                    skipped_before={path: base.state(path) for path in {*touched, *folders_above(touched)}},
                    beside=frozenset(beside if changes else ()),
                    private=private_among(changes, base, after),
                    times=tree.times_before(changes),
                )
            )
            opened.snapshot_log.add(after.id, opened.clock())
            self.result = store_changes(opened, self._accumulator, ObjectWriter(tree.store))
            self._window.exclude(changes)
            window.base, window.since, window.stamps, window.others = after.id, now, stamps, set()

        async with self._window.lock, self._acting:
            if not window.is_ended:
                await self._lock.run(work)

    async def _close_background(self, window: BackgroundWindow, *, is_stored: bool) -> None:
        """Record that a background command has ended; changes that are not stored count as those of a killed program."""
        now = self._lock.clock()
        if window in self._window.background:
            self._window.background.remove(window)

        def close(changes: ChangeLog) -> None:
            changes.end_shell(window.shell, time=now)
            if is_stored and not self._has_background and self._current_window() is None:
                changes.end_step(self.message, time=now)

        await self._lock.append(close)

    @property
    def _has_background(self) -> bool:
        return any(one.step is self for one in self._window.background)

    async def finalize(self) -> None:
        """Record the changes of the step's commands, which have all ended, and remove the writes that did not happen."""
        async with self._window.lock:
            active = self._current_window()
            if active is not None:
                await self._record_commands(active)
        if self._is_stale:
            await self.discard_failed_writes()

    async def _open_window(self, lost: Sequence[LostPath]) -> _ActiveWindow:
        def work(opened: LockedWorktree, stop: threading.Event) -> _ActiveWindow:
            now, begun = opened.clock(), time.monotonic()
            since = _begin_window(opened.change_log, now)
            shell = opened.change_log.begin_shell(self._window.name, time=now)
            try:
                view = _whole(opened.worktree.scan(stop=stop))
                if lost:
                    view = opened.worktree.keep(view, opened.worktree.find_lost(view, lost, stop=stop))
            except BaseException:
                opened.change_log.end_shell(shell, time=opened.clock())
                raise
            opened.change_log.begin_step(self.message, view.id, session=self.session, time=now)
            opened.snapshot_log.add(view.id, now)
            stamps = opened.worktree.stamps(view)
            self._window.active = _ActiveWindow(shell, view.id, since, begun, stamps)
            return self._window.active

        self._window.active = None
        try:
            return await self._lock.run(work)
        except asyncio.CancelledError:
            # The command will not start, so there are no changes to record.
            left: _ActiveWindow | None = self._window.active
            if left is not None:
                await self._close_window(left)
            raise

    async def _keep(self, active: _ActiveWindow, lost: Sequence[LostPath]) -> None:
        """Add to the window's last state what a scan leaves out and another command is about to discard."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            tree = opened.worktree
            base = open_view(tree.store, active.base)
            view = tree.keep(base, tree.find_lost(base, lost, stop=stop))
            if view.id != base.id:
                opened.snapshot_log.add(view.id, opened.clock())
                active.base, active.stamps = view.id, tree.stamps(view)

        await self._lock.run(work)

    async def _record_commands(self, active: _ActiveWindow) -> None:
        """Record the changes since the last scan; after a cancel the step stays in the window, so that `finalize` can do it."""

        def work(opened: LockedWorktree, stop: threading.Event) -> None:
            now, begun = opened.change_log.position(), time.monotonic()
            interval = Interval(active.begun, begun)
            after = self._scan_changes(opened, active, interval, stop)
            opened.snapshot_log.add(after.id, opened.clock())
            self.result = store_changes(opened, self._accumulator, ObjectWriter(opened.worktree.store))
            active.base, active.since, active.begun = after.id, now, begun

        try:
            async with self._acting:
                await self._lock.run(work)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._has_missed = True
            await self._leave_window(active)
            raise
        await self._leave_window(active)

    def _scan_changes(
        self, opened: LockedWorktree, active: _ActiveWindow, interval: Interval, stop: threading.Event
    ) -> View:
        """Scan, add the changes of the step's commands to the accumulator, and return the present state."""
        tree = opened.worktree
        base = open_view(tree.store, active.base)
        after, found = tree.changes(base, stop=stop)
        _whole(after)
        history = opened.change_log.read()
        foreign = history.written_since(active.since, but=self.session)
        written = self._accumulator.written_since(active.begun) - foreign
        changes = {path: change for path, change in found.items() if path not in foreign and is_certain(change)}
        stamps = tree.stamps(after)
        touched = find_touched(base.manifest.skipped, after.manifest.skipped, active.stamps, stamps)
        touched = {path: reason for path, reason in touched.items() if path not in foreign | written}
        active.stamps = stamps
        is_doubtful = history.may_have_other_shell(self._window.name, since=active.since)
        written_beside, kept = self._written_beside(tree, changes.keys())
        changes = {path: change for path, change in changes.items() if path not in written_beside}
        change_set = ChangeSet(
            changes,
            changes_above(changes, base, after),
            whole=(base.id, after.id),
            contested=frozenset(changes) if is_doubtful else frozenset(kept),
            skipped=touched,
            skipped_before={path: base.state(path) for path in {*touched, *folders_above(touched)}},
            beside=self._beside(active) if changes else frozenset(),
            private=private_among(changes, base, after),
            times=tree.times_before(changes),
        )
        self._window.exclude((*(path for path in changes if path not in kept), *touched))
        self._accumulator.add_commands(
            change_set, {path: (base.state(path), after.state(path)) for path in written}, interval
        )
        return after

    def _beside(self, active: _ActiveWindow) -> frozenset[str]:
        """Return what in the background runs commands now; the commands of its agents are in the same window as the step's own."""
        agents = {step.agent for step in active.members if step.agent is not None} - {self.agent}
        return frozenset({*(one.program.name for one in self._window.background), *filter(None, agents)})

    def _written_beside(self, tree: Worktree, paths: Collection[str]) -> tuple[set[str], set[str]]:
        """Return which changed paths a background command has open for writing: in its own run, and after it.

        Those of the first kind are recorded as the command's. Those of the second kind are contested: undoing the step of the
        command and this one reports them.
        """
        own: set[str] = set()
        late: set[str] = set()
        for window in self._window.background if paths else ():
            files = frozenset(window.program.open_files())
            found = {path for path in paths if files and _identity(tree, path) in files}
            (late if window.is_contested else own).update(found)
        return own - late, late

    def _current_window(self) -> _ActiveWindow | None:
        active = self._window.active
        return active if active is not None and self in active.members else None

    async def _leave_window(self, active: _ActiveWindow) -> None:
        """Remove the step from the window, which ends with its last step."""
        active.members.pop(self, None)
        await self._close_window(active)

    async def _close_window(self, active: _ActiveWindow) -> None:
        """Record that the step's commands have ended."""
        now, is_last = self._lock.clock(), not active.members
        if is_last:
            self._window.active = None

        def close(changes: ChangeLog) -> None:
            if not self._has_background:
                changes.end_step(self.message, time=now)
            if is_last:
                changes.end_shell(active.shell, time=now)

        await self._lock.append(close)

    async def _end_claim(self, number: int, *, done: bool) -> None:
        key, now = self._keys.pop(number, None), self._lock.clock()
        if key is not None:
            await self._lock.append(lambda claims: claims.end_write(key, done=done, time=now))


def _begin_window(log: ChangeLog, now: int) -> int:
    """Return the log's position before a window's first scan, once what dead processes left open in it is closed."""
    log.close_left(now=now)
    log.trim(now=now)
    return log.position()


def _identity(tree: Worktree, path: str) -> tuple[int, int] | None:
    status = tree.status(path)
    return None if status is None else (status.st_dev, status.st_ino)


def _whole(view: View) -> View:
    if is_partial(view):
        raise SnapshotError(OVER_QUOTA)
    return view


@dataclass(frozen=True, slots=True)
class OrphanedStep:
    """A step without a recorded end: the snapshot before its commands, and the files (absolute paths) that differ now."""

    session: str
    message: str
    before: str
    files: list[str]


async def sessions_of_steps(lock: WorktreeLock) -> set[str]:
    """Return the sessions of all steps without a recorded end, running or orphaned; raises SnapshotError, StorageError."""
    return await lock.run(lambda opened, stop: {step.session for step in opened.change_log.read().steps.values()})


async def runs_elsewhere(lock: WorktreeLock, family: str) -> bool:
    """Return whether a command of a family of sessions, by its root, runs in a living process; raises as above."""

    def work(opened: LockedWorktree, stop: threading.Event) -> bool:
        opened.change_log.close_left(now=opened.clock())
        return any(one.session == family and one.ended is None for one in opened.change_log.read().shells)

    return await lock.run(work)


async def collect_orphaned_steps(lock: WorktreeLock, sessions: Collection[str]) -> list[OrphanedStep]:
    """Return the orphaned steps of these sessions, each once; raises SnapshotError, StorageError. Needs the sessions' run locks.

    Files that other sessions' tools wrote since are left out.
    """

    def work(opened: LockedWorktree, stop: threading.Event) -> list[OrphanedStep]:
        history = opened.change_log.read()
        found: list[OrphanedStep] = []
        for message, step in history.steps.items():
            if step.session in sessions:
                found.append(OrphanedStep(step.session, message, step.before, _files(opened, history, step, stop)))
                opened.change_log.end_step(message, time=opened.clock())
        return found

    return await lock.run(work)


def _files(opened: LockedWorktree, history: ChangeHistory, step: OpenStep, stop: threading.Event) -> list[str]:
    try:
        _, changes = opened.worktree.changes(open_view(opened.worktree.store, step.before), stop=stop)
    except SnapshotUnreadableError:  # the step stays open, for the next look
        raise
    except SnapshotError:  # the snapshot before was deleted by `clean`
        return []
    foreign = history.written_since(step.begun, but=step.session)
    certain = {path for path, change in changes.items() if is_certain(change)}
    return [opened.worktree.absolute(path) for path in sorted(certain - foreign)]
