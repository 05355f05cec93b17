"""One run per session: its body, its waiters and its end.

A run is a body (the loop) and a supervisor. The supervisor is one of the engine's tasks; it alone awaits the body,
and cleans up only after the body has ended, itself not canceled. However a run ends, its records are closed, its status is idle and
its lock is released.

For its callers a run ends before that in two cases: what is left of the cleanup (recording what interrupted commands changed,
summarizing changes) takes longer than `AFTER_RUN_WAIT_MS`, or the body does not end within `STOP_S` after an interruption, because
a disk does not respond; a line then names the file. Until its lock is released the run is `SessionSlot.ending`: the session's next
run and changes wait for it. Source: docs/internals/loop.md#runs.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import Struct, field

from opencode_tui.cancellation import consume_error
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.session.repair import repair
from opencode_tui.engine.waits import Report, reporting, waiting
from opencode_tui.schema.error import BusyError, OpencodeError, RunAborted
from opencode_tui.schema.event.event import Event, SessionFailed, SessionIdle, SessionStatusChanged
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.session import UNDO_KEY, AnyStatus, BusyStatus, IdleStatus, Wait
from opencode_tui.schema.session.stored_error import StoredError, aborted, to_stored
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.process_lock import RunGrant, RunLock
from opencode_tui.tasks import Tasks


class SessionStatuses:
    """The current status of all sessions; every change is published."""

    def __init__(self, *, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._busy: dict[str, AnyStatus] = {}

    def get(self, session_id: str) -> AnyStatus:
        """Return the status of one session."""
        return self._busy.get(session_id) or IdleStatus()

    def all(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        return dict(self._busy)

    def set(self, session_id: str, status: AnyStatus) -> None:
        """Change the status and publish it; idle is followed by `session.idle`."""
        if isinstance(status, IdleStatus):
            self._busy.pop(session_id, None)
        else:
            self._busy[session_id] = status
        self._publish(SessionStatusChanged.trusted(session_id=session_id, status=status))
        if isinstance(status, IdleStatus):
            self._publish(SessionIdle.trusted(session_id=session_id))

    def busy(self, session_id: str) -> None:
        """Mark the session as busy."""
        self.set(session_id, BusyStatus.trusted())


logger = logging.getLogger(__name__)

T = TypeVar("T")

Cleanup = Callable[[], Awaitable[None]]
"""Work after a run, before another run of the session starts."""

Finalizer = Callable[[StoredError], Awaitable[Cleanup | None]]
"""Closes the records that an unfinished step left open; returns the remaining cleanup."""

CLOSE_GRACE_MS = 3_000
"""Milliseconds that interrupted runs have when the program ends: undo would not know what their commands changed otherwise."""

LATE_S = 0.5
"""Seconds to close the records of a run that takes longer."""

ABORT_WAIT_S = 5.0
"""Seconds that a change of a session waits for the end of an interrupted run, which takes 0.3 s unless a command resists."""

CHANGE_WAIT_S = 5.0
"""Seconds that a run or a change of a session waits for another change: a preview that was left ends within one."""

STOP_S = 2.0
"""Seconds that an interrupted run has to end; commands are killed before. After them only a disk that does not respond holds it."""

_MOMENT_S = 0.05
"""Seconds for what a disk that responds ends at once."""

AFTER_RUN_WAIT_MS = 50
"""Milliseconds that the end of a run waits for its after_run, so that requests right after the response see its result."""

Body = Callable[["Run"], Awaitable[MessageWithParts]]
"""The work of a run; returns the last assistant message."""


@dataclass(slots=True, eq=False)
class CheckCount:
    """The checks of a run: the turns that their failures started, the equal failures in a row with their mark."""

    turns: int = 0
    equal: int = 0
    mark: str = ""
    is_over: bool = False
    """No other check runs in this run."""


class Run:
    """The work on one session from a prompt to idle.

    `finalize` closes open records after an interruption or a failure and returns the `cleanup`; `end_changes`, which records
    what its background commands have changed, and `after_run` always follow.
    """

    def __init__(self, session_id: str, policy: Policy) -> None:
        self.session_id = session_id
        self.policy = policy
        self.finalize: Finalizer | None = None
        self.cleanup: Cleanup | None = None
        self.end_changes: Cleanup | None = None
        self.after_run: Cleanup | None = None
        self.checks = CheckCount()
        self.read: set[str] = set()
        """The messages that a step has read: they can no longer be withdrawn."""
        self.withdrawn: set[str] = set()
        """Withdrawn requests; no step reads them, even before they are removed."""
        self.released: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the run does nothing more and its lock is released."""
        self._body: asyncio.Task[MessageWithParts] | None = None
        self._aborted = False
        self._ended: asyncio.Future[MessageWithParts] = asyncio.get_running_loop().create_future()
        self._ended.add_done_callback(consume_error)
        self._stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writer: asyncio.Future[SessionWriter] = asyncio.get_running_loop().create_future()

    def set_writer(self, writer: SessionWriter) -> None:
        """Let requests join the run, which has its session's lock."""
        self._writer.set_result(writer)

    async def writer(self) -> SessionWriter:
        """Wait until the run has its session's lock; return what changes it. Raises the error of a run that ends before."""
        await asyncio.wait({self._writer, self._ended}, return_when=asyncio.FIRST_COMPLETED)
        if not self._writer.done():
            await asyncio.shield(self._ended)
        return self._writer.result()

    async def answer(self) -> MessageWithParts:
        """Wait for the run's end and return its last assistant message; raises the run's error, RunAborted after an abort."""
        return await asyncio.shield(self._ended)

    async def wait_end(self, seconds: float | None = None) -> None:
        """Wait until the result is known, at most so long; without a time to its end."""
        await asyncio.wait({self._ended}, timeout=seconds)

    def abort(self) -> None:
        """Interrupt the run; returns at once, `answer` ends when everything is closed."""
        self._aborted = True
        if not self._stopped.done():
            self._stopped.set_result(None)
        if self._body is not None:
            self._body.cancel()

    @property
    def is_aborted(self) -> bool:
        """Return whether the run was interrupted."""
        return self._aborted

    @property
    def is_ended(self) -> bool:
        """Return whether the result is known."""
        return self._ended.done()

    async def wait_for(self, earlier: "asyncio.Future[None]", seconds: float | None = None) -> None:
        """Wait until other work has released the session, at most so long; raises RunAborted when this run is interrupted."""
        await asyncio.wait({earlier, self._stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._stopped.done() and not earlier.done():
            raise self._interrupted()

    async def while_wanted(self, work: Awaitable[T]) -> T:
        """Return the result of `work`; raises RunAborted, and cancels it, when the run is interrupted and it does not end."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait({task}, timeout=_MOMENT_S)
        finally:
            has_ended = task.done()  # a future that is canceled has ended too
            if not has_ended:
                task.cancel()
                task.add_done_callback(consume_error)
        if not has_ended:
            raise self._interrupted()
        return task.result()

    async def supervise(self, body: Body, *, publisher: Publisher, left: Callable[[], None]) -> None:
        """Run the body until it has ended, then close what it left open. Does not raise the body's errors.

        `left` is called when an interrupted body does not end within `STOP_S`, after what is open was closed.
        """
        self._body = asyncio.create_task(_as_coroutine(body, self), name=f"run {self.session_id}")
        if self._aborted:
            self._body.cancel()
        is_closed = False
        try:
            await asyncio.wait({self._body, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({self._body}, timeout=STOP_S)
            if not self._body.done():
                await self._close(asyncio.CancelledError(), publisher)
                is_closed = True
                left()
                await asyncio.wait({self._body})
        except (
            asyncio.CancelledError
        ):  # the program ends before the body: nothing may be left running, or be written later
            self._body.cancel()
            await asyncio.wait({self._body}, timeout=_MOMENT_S)
            if not is_closed:
                await self._close(asyncio.CancelledError(), publisher)
            raise
        error = _failure(self._body)
        if error is not None:
            await self._close(error, publisher, is_again=is_closed)

    def _interrupted(self) -> RunAborted:
        return RunAborted(f"session {self.session_id} was interrupted")

    def resolve(self) -> None:
        """Set the result for all waiters; a body that never began or has not ended yet counts as interrupted."""
        if self._ended.done():
            return
        error = _failure(self._body)
        if isinstance(error, asyncio.CancelledError):
            self._ended.set_exception(self._interrupted())
        elif error is not None:
            self._ended.set_exception(error)
        elif self._body is not None:
            self._ended.set_result(self._body.result())

    def fail(self, error: BaseException) -> None:
        """End a run that could not start."""
        if not self._ended.done():
            self._ended.set_exception(error)

    async def _close(self, error: BaseException, publisher: Publisher, *, is_again: bool = False) -> None:
        stored = aborted() if isinstance(error, asyncio.CancelledError) else to_stored(error)
        if not isinstance(error, OpencodeError | asyncio.CancelledError):
            logger.error("run of session %s failed", self.session_id, exc_info=error)
        if self.finalize is not None:
            try:
                self.cleanup = await self.finalize(stored)
            except Exception:
                logger.exception("closing the records of session %s failed", self.session_id)
        if not is_again:
            publisher.publish(SessionFailed(session_id=self.session_id, error=stored))


class Change(Struct, frozen=True, eq=False):
    """A change of a session while it is not running; `limit_s` are the seconds that others wait for its end, None for no limit."""

    ended: "asyncio.Future[None]"
    limit_s: float | None


class SessionSlot:
    """A session in this process: its run, an earlier run that still has its lock, and the changes that have begun."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.run: Run | None = None
        """The run that requests join."""
        self.ending: Run | None = None
        """The run whose body has ended, or was left, and that still works under the session's lock."""
        self.written: list[str] = []
        """Files and folders that runs write now, and that an interruption waits for."""
        self._changes: list[Change] = []

    @property
    def is_free(self) -> bool:
        """Return whether the session has no run in this process, nor the rest of one."""
        return self.run is None and self.ending is None

    def ends(self) -> "set[asyncio.Future[None]]":
        """Return the ends of what has the session's lock however long it takes, and does not join a run."""
        changes = {one.ended for one in self._changes if one.limit_s is None}
        return changes if self.ending is None else {*changes, self.ending.released}

    def changes(self) -> Sequence[Change]:
        """Return the changes that have not ended, in the order in which they began."""
        return tuple(self._changes)

    @asynccontextmanager
    async def changing(self, *, limit_s: float | None = CHANGE_WAIT_S) -> AsyncGenerator[None]:
        """Wait for earlier changes of the session, and let later ones, and its next run, wait for the end of the context.

        They wait `limit_s` seconds at most. Raises BusyError when an earlier change does not end in its time.
        """
        change = Change(asyncio.get_running_loop().create_future(), limit_s)
        self._changes.append(change)
        try:
            while (earlier := self._changes[0]) is not change:
                await asyncio.wait({earlier.ended}, timeout=earlier.limit_s)
                if not earlier.ended.done():
                    raise BusyError(
                        f"session {self.session_id} is still being changed after {earlier.limit_s:g} s; try again"
                    )
            yield
        finally:
            self._changes.remove(change)
            change.ended.set_result(None)


class RunRegistry:
    """All runs of the process, by session."""

    def __init__(
        self,
        *,
        tasks: Tasks,
        locks: Locks,
        store: SessionStore,
        statuses: SessionStatuses,
        publisher: Publisher,
    ) -> None:
        self._tasks = tasks
        self._locks = locks
        self._store = store
        self._statuses = statuses
        self._publisher = publisher
        self._slots: dict[str, SessionSlot] = {}
        self._supervisors: set[asyncio.Task[None]] = set()

    def slot(self, session_id: str) -> SessionSlot:
        """Return what this process does with a session; the same object at each call."""
        if session_id not in self._slots:
            self._slots[session_id] = SessionSlot(session_id)
        return self._slots[session_id]

    def get(self, session_id: str) -> Run | None:
        """Return the session's current run."""
        slot = self._slots.get(session_id)
        return None if slot is None else slot.run

    def start(self, session_id: str, body: Body, *, policy: Policy) -> Run:
        """Start a run; there must be none. `policy` answers the run's permission requests."""
        slot, run = self.slot(session_id), Run(session_id, policy)
        task = self._tasks.start(self._supervise(slot, run, body), name=f"supervise {session_id}")
        slot.run = run
        self._supervisors.add(task)
        task.add_done_callback(self._supervisors.discard)
        return run

    def was_killed(self, session_id: str) -> bool:
        """Return whether the process that had the session before died in a run; needs the session's run lock."""
        return self._locks.session_run(session_id).was_killed

    async def ensure_idle(self, session_id: str) -> None:
        """Wait for the end of an interrupted run, at most `ABORT_WAIT_S`. Raises BusyError while a run continues."""
        run = self.get(session_id)
        if run is not None and run.is_aborted:
            await run.wait_end(ABORT_WAIT_S)
        if self.get(session_id) is not None:
            raise BusyError(f"session {session_id} is running; interrupt it first")

    async def wait_released(self, session_id: str) -> None:
        """Wait until earlier runs of the session have finished their cleanup; its lock is free then, unless another runs.

        Also waits for the cleanup of runs of other sessions: they may be its child sessions.
        """
        if ends := {end for slot in self._slots.values() for end in slot.ends()}:
            await asyncio.wait(ends)
        while ends := self.slot(session_id).ends():
            await asyncio.wait(ends)

    def abort(self, session_id: str) -> bool:
        """Interrupt the session's run; returns whether there was one."""
        run = self.get(session_id)
        if run is not None:
            run.abort()
        return run is not None

    async def close(self, *, limit_ms: int = CLOSE_GRACE_MS) -> None:
        """Interrupt all runs and wait for their ends and their cleanup, at most so long.

        Of those that take longer the records are closed without the cleanup.
        """
        for slot in self._slots.values():
            if slot.run is not None:
                slot.run.abort()
        late = set(self._supervisors)
        if late:
            _, late = await asyncio.wait(late, timeout=limit_ms / 1000)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=LATE_S)

    async def _supervise(self, slot: SessionSlot, run: Run, body: Body) -> None:
        try:
            await self._hold_lock(slot, run, body)
        except OpencodeError as error:
            run.fail(error)
        except Exception as error:
            run.fail(error)
            self._publisher.publish(SessionFailed(session_id=run.session_id, error=to_stored(error)))
            raise  # and is logged
        finally:
            if slot.ending is run:
                slot.ending = None
            self._end(slot, run)
            run.released.set_result(None)

    def _end(self, slot: SessionSlot, run: Run) -> None:
        """Publish the end of a run, once."""
        if slot.run is run:
            slot.run = None
            if run.is_aborted and (path := self._written(slot)):
                self._say_written(run.session_id, path)
            self._statuses.set(run.session_id, IdleStatus.trusted())
        run.resolve()

    def _end_early(self, slot: SessionSlot, run: Run) -> None:
        """End a run for its callers; the session's next run waits for the rest of it."""
        slot.ending = run
        self._end(slot, run)

    def _written(self, slot: SessionSlot) -> str:
        """Return the file or folder that a session's run waits for, empty when there is none."""
        return slot.written[0] if slot.written else self._store.held_path(_MOMENT_S)

    def _say_written(self, session_id: str, path: str) -> None:
        from opencode_tui.schema.event.screen_event import ScreenToastShown  # only for such a line

        line = f"Interrupted. Still writing {path}: the disk is not responding. It will be saved when the disk recovers"
        self._publisher.publish(ScreenToastShown(message=line, variant="warning", session_id=session_id))

    async def _hold_lock(self, slot: SessionSlot, run: Run, body: Body) -> None:
        report = self._report(slot, run)
        await self._wait_for_earlier(slot, run, report)
        async with self._store.locked(run.session_id, partial(self._acquire, slot, run, report)) as writer:
            run.set_writer(writer)
            reported = self._reporting(slot, body, report)
            await run.supervise(reported, publisher=self._publisher, left=partial(self._end_early, slot, run))
            await self._flush(run)
            left = [work for work in (run.cleanup, run.end_changes, run.after_run) if work is not None]
            if left:
                # While this process has the lock, it looks at no file for what others withdraw: it is removed at the end too.
                await self._run_cleanup(slot, run, [*left, writer.carry_out_left])
            self._store.release_older(run.session_id)

    async def _wait_for_earlier(self, slot: SessionSlot, run: Run, report: Report) -> None:
        """Wait for what an earlier run still does, and for changes that have begun. Raises RunAborted."""
        if slot.ending is not None:
            with reporting(report, []), waiting("disk", lambda: self._written(slot), limit_s=None):
                await run.wait_for(slot.ending.released)
        for change in slot.changes():
            await run.wait_for(change.ended, change.limit_s)

    async def _acquire(self, slot: SessionSlot, run: Run, report: Report, lock: RunLock) -> RunGrant:
        """Acquire the lock of a session on a thread, which the disk may hold; raises BusyError, StorageError, RunAborted.

        The next run waits for the thread of one that is interrupted meanwhile.
        """
        acquiring = lock.begin_acquire()
        try:
            with reporting(report, []), waiting("disk", lock.owner_path, limit_s=None):
                return await run.while_wanted(asyncio.shield(acquiring))
        except (RunAborted, asyncio.CancelledError) as error:
            lock.leave(acquiring)
            if isinstance(error, RunAborted):
                self._end_early(slot, run)
                await asyncio.wait({acquiring})
            raise

    async def _flush(self, run: Run) -> None:
        """Write what is queued; after an interruption only if the disk writes it at once."""
        try:
            await run.while_wanted(self._store.flush())
        except RunAborted:
            logger.warning("the end of session %s is not on the disk yet", run.session_id)

    def _report(self, slot: SessionSlot, run: Run) -> Report:
        """Return what puts a wait into the status of a session while it runs."""

        def report(wait: Wait | None) -> None:
            if slot.run is run:
                self._statuses.set(run.session_id, BusyStatus.trusted(wait=wait))

        return report

    def _reporting(self, slot: SessionSlot, body: Body, report: Report) -> Body:
        """Return a body whose long waits are in the status of its session."""

        async def reported(run: Run) -> MessageWithParts:
            with reporting(report, slot.written):
                return await body(run)

        return reported

    async def _run_cleanup(self, slot: SessionSlot, run: Run, left: Sequence[Cleanup]) -> None:
        """Run the cleanup; the run ends when it is done or takes longer than `AFTER_RUN_WAIT_MS`."""
        slot.ending = run
        work = asyncio.create_task(self._finish(run.session_id, left), name=f"clean up {run.session_id}")
        try:
            if not run.is_aborted:
                await asyncio.wait({work}, timeout=AFTER_RUN_WAIT_MS / 1000)
            self._end(slot, run)
            await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work})

    async def _finish(self, session_id: str, left: Sequence[Cleanup]) -> None:
        for work in (*left, self._store.sync):
            try:
                await work()
            except Exception:
                logger.exception("session %s: the cleanup after its run failed", session_id)


class SessionRuns(Struct, frozen=True):
    """Starts the runs of one folder's sessions: each begins with a recovered session in which no undo is open.

    All but `start` needs the session's run lock. `recover_files` records the changes of files by commands of a dead process, where
    `has_open_steps`, which blocks for one small file, finds any; `end_changes` those of background commands. `recover_agents`
    recovers the sessions of the agents of a session. `new_answer` makes an answer to a request. `finish_undo` makes an active or
    started undo final. `summarize` sums up what the last turn and the session changed in files, after a run.
    """

    registry: RunRegistry
    store: SessionStore
    clock: Clock
    has_open_steps: Callable[[], bool]
    recover_files: Callable[[str], Awaitable[None]]
    end_changes: Callable[[str], Awaitable[None]]
    recover_agents: Callable[[str], Awaitable[int]]
    new_answer: Callable[[UserMessage], AssistantMessage]
    finish_undo: Callable[[str], Awaitable[object]]
    summarize: Callable[[str], Awaitable[None]]
    recovered: set[str] = field(default_factory=set[str])
    """The sessions whose files this process has looked at."""

    def start(self, session_id: str, body: Body, *, policy: Policy) -> Run:
        """Start a run; there must be none. Its body fails as `finish_undo` does, before anything is added."""

        async def prepare_and_run(run: Run) -> MessageWithParts:
            await self.recover(session_id)
            info = await self.store.get(session_id)
            if info.revert is not None or UNDO_KEY in (info.metadata or {}):
                await self.finish_undo(session_id)
            return await body(run)

        return self.registry.start(session_id, prepare_and_run, policy=policy)

    async def recover(self, session_id: str) -> int:
        """Close what a dead process left open, files included, and return the number of repaired messages.

        Files are looked at once in this process, and when a message was unfinished, so that a process died. A failure is logged.
        """
        killed = self.new_answer if self.registry.was_killed(session_id) else None
        repaired = await repair(self.store, session_id, clock=self.clock, killed=killed)
        if repaired or session_id not in self.recovered:
            self.recovered.add(session_id)
            if await self.store.recent(session_id):
                repaired += await self.recover_agents(session_id)
            try:
                if await asyncio.to_thread(self.has_open_steps):
                    await self.recover_files(session_id)
            except OpencodeError as error:
                logger.warning("session %s: what a killed command changed is not known: %s", session_id, error)
        return repaired


async def _as_coroutine(body: Body, run: Run) -> MessageWithParts:
    return await body(run)


def _failure(body: "asyncio.Task[MessageWithParts] | None") -> BaseException | None:
    if body is None or not body.done() or body.cancelled():
        return asyncio.CancelledError()
    return body.exception()
