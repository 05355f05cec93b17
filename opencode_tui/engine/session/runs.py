"""One run per session: its body, its waiters and its end; and the repair of what a run left open whose process died.

A run is a body (the loop) and a supervisor. The supervisor is one of the engine's tasks; it alone awaits the body,
and cleans up only after the body has ended, itself not canceled. However a run ends, its records are closed, its status is idle and
its lock is released. A file that the disk does not end to write delays none of it for the user: the run ends for its callers
within `ABORT_S`, a line names the file, and the rest follows under the lock (`Storage.keep`).

Cleanup that need not delay the answer (recording what interrupted commands changed, summarizing changes) follows while the lock
is held; the status is idle when it is done or after `AFTER_RUN_WAIT_MS`; `wait_released` waits for all of it. Source:
docs/internals/loop.md#runs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec import Struct, field

from opencode_tui.cancellation import consume_error
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.waits import Report, reporting, waiting
from opencode_tui.schema.error import BusyError, OpencodeError, RunAborted
from opencode_tui.schema.event.event import Event, SessionFailed, SessionIdle, SessionStatusChanged
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import FINISH_CONTINUES, AssistantMessage, UserMessage, is_waiting
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.session import UNDO_KEY, AnyStatus, BusyStatus, IdleStatus, Wait
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, StoredError, aborted, to_stored
from opencode_tui.schema.session.tool_state import ToolStateRunning, ToolStateUnion, fail
from opencode_tui.schema.tools import row_of
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

ABORT_S = 0.1
"""Seconds after an interruption for which the run waits for a file that is being written."""

HELD_S = 0.05
"""Seconds after which a file that is being written is named when a run was interrupted."""

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
        self.is_followed = False
        self.read: set[str] = set()
        """The messages that a step has read: they can no longer be withdrawn."""
        self.withdrawn: set[str] = set()
        """Withdrawn requests; no step reads them, even before they are removed."""
        self.written: list[str] = []
        """Files and folders that the run writes now, and that an interruption would wait for."""
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
                await asyncio.wait({task}, timeout=HELD_S)
        finally:
            has_ended = task.done()  # a future that is canceled has ended too
            if not has_ended:
                task.cancel()
                task.add_done_callback(consume_error)
        if not has_ended:
            raise self._interrupted()
        return task.result()

    async def supervise(self, body: Body, *, publisher: Publisher, held: Callable[[str], None]) -> None:
        """Run the body until it has ended, then close what it left open. Does not raise the body's errors.

        `held` is called with the file for which an interrupted body still waits after `ABORT_S`, for each of several.
        """
        self._body = asyncio.create_task(_as_coroutine(body, self), name=f"run {self.session_id}")
        if self._aborted:
            self._body.cancel()
        named = ""
        try:
            await asyncio.wait({self._body, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
            while not self._body.done():
                await asyncio.wait({self._body}, timeout=ABORT_S)
                path = self.written[0] if self.written else named
                if not self._body.done() and path != named:
                    if not named:
                        await self._close(asyncio.CancelledError(), publisher)
                    held(path)
                    named = path
        except (
            asyncio.CancelledError
        ):  # the program ends before the body: nothing may be left running, or be written later
            self._body.cancel()
            await asyncio.wait({self._body}, timeout=ABORT_S)
            if not named:
                await self._close(asyncio.CancelledError(), publisher)
            raise
        error = _failure(self._body)
        if error is not None:
            await self._close(error, publisher, is_again=bool(named))

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


class RunRegistry:
    """All runs of the process."""

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
        self._runs: dict[str, Run] = {}
        self._releasing: dict[str, asyncio.Future[None]] = {}
        self._changing: dict[str, dict[asyncio.Task[object], asyncio.Future[None]]] = {}
        """The changes of sessions, each by its task, in the order in which they began."""
        self._held: dict[str, str] = {}
        """The file that an interrupted run of a session waits for."""
        self._supervisors: dict[asyncio.Task[None], Run] = {}

    def get(self, session_id: str) -> Run | None:
        """Return the session's current run."""
        return self._runs.get(session_id)

    def start(self, session_id: str, body: Body, *, policy: Policy) -> Run:
        """Start a run; there must be none. `policy` answers the run's permission requests."""
        run = Run(session_id, policy)
        task = self._tasks.start(self._supervise(run, body), name=f"supervise {session_id}")
        self._runs[session_id] = run
        self._supervisors[task] = run
        task.add_done_callback(self._supervisors.pop)
        return run

    def was_killed(self, session_id: str) -> bool:
        """Return whether the process that had the session before died in a run; needs the session's run lock."""
        return self._locks.session_run(session_id).was_killed

    async def ensure_idle(self, session_id: str) -> None:
        """Wait for the end of an interrupted run, at most `ABORT_WAIT_S`. Raises BusyError while a run continues."""
        run = self._runs.get(session_id)
        if run is not None and run.is_aborted:
            await run.wait_end(ABORT_WAIT_S)
        if session_id in self._runs:
            raise BusyError(f"session {session_id} is running; interrupt it first")

    async def wait_released(self, session_id: str) -> None:
        """Wait until earlier runs of the session have finished their cleanup; its lock is free then, unless another runs.

        Also waits for the cleanup of runs of other sessions: they may be its child sessions.
        """
        if self._releasing:
            await asyncio.wait(set(self._releasing.values()))
        while (earlier := self._releasing.get(session_id)) is not None:
            await asyncio.wait({earlier})

    def must_wait_for_change(self, session_id: str) -> bool:
        """Return whether another change of the session in this process comes before that of the present task."""
        return self._change_before(session_id) is not None

    async def wait_for_change(self, session_id: str) -> None:
        """Wait for the end of the change that has the session before that of the present task. Raises BusyError."""
        change = self._change_before(session_id)
        if change is None:
            return
        await asyncio.wait({change}, timeout=CHANGE_WAIT_S)
        if not change.done():
            raise BusyError(f"session {session_id} is still being changed after {CHANGE_WAIT_S:g} s; try again")

    def _change_before(self, session_id: str) -> "asyncio.Future[None] | None":
        first, change = next(iter(self._changing.get(session_id, {}).items()), (None, None))
        return None if first is asyncio.current_task() else change

    def is_released(self, session_id: str) -> bool:
        """Return whether the session has no run in this process, nor the rest of one. Does not yield."""
        return session_id not in self._runs and session_id not in self._releasing

    @contextmanager
    def changing(self, session_id: str) -> Generator[None]:
        """Let later changes of the session, and its next run, wait for the end of the context, which waits for earlier ones."""
        task = asyncio.current_task()
        assert task is not None
        changes = self._changing.setdefault(session_id, {})
        change = changes[task] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del changes[task]
            if not changes:
                del self._changing[session_id]
            change.set_result(None)

    @contextmanager
    def awaited(self, session_id: str) -> Generator[None]:
        """Let the session's next run wait for the end of the context, which holds the lock, however long it takes."""
        self._releasing[session_id] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            self._releasing.pop(session_id).set_result(None)

    def abort(self, session_id: str) -> bool:
        """Interrupt the session's run; returns whether there was one."""
        run = self._runs.get(session_id)
        if run is not None:
            run.abort()
        return run is not None

    async def close(self, *, limit_ms: int = CLOSE_GRACE_MS) -> None:
        """Interrupt all runs and wait for their ends and their cleanup, at most so long.

        Of those that take longer the records are closed without the cleanup.
        """
        for run in tuple(self._runs.values()):
            run.abort()
        late = set(self._supervisors)
        if late:
            _, late = await asyncio.wait(late, timeout=limit_ms / 1000)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=LATE_S)

    async def _supervise(self, run: Run, body: Body) -> None:
        try:
            await self._hold_lock(run, body)
        except OpencodeError as error:
            run.fail(error)
        except Exception as error:
            run.fail(error)
            self._publisher.publish(SessionFailed(session_id=run.session_id, error=to_stored(error)))
            raise  # and is logged
        finally:
            self._end(run)
            self._held.pop(run.session_id, None)
            if run.is_followed:
                self._releasing.pop(run.session_id).set_result(None)

    def _end(self, run: Run) -> None:
        """Publish the end of a run, once."""
        if self._runs.get(run.session_id) is run:
            del self._runs[run.session_id]
            if run.is_aborted and (path := self._store.held_path(HELD_S)):
                self._say_held(run.session_id, path)
            self._statuses.set(run.session_id, IdleStatus.trusted())
        run.resolve()

    def _held_path(self, session_id: str) -> str:
        return self._held.get(session_id) or self._store.held_path(HELD_S)

    def _end_held(self, run: Run, path: str) -> None:
        """Publish the end of an interrupted run whose body waits for a file; the next run waits for the body."""
        self._held[run.session_id] = path
        self._say_held(run.session_id, path)
        self._follow(run)
        self._end(run)

    def _follow(self, run: Run) -> None:
        """Let the next run of the session wait for the rest of this one."""
        if not run.is_followed:
            self._releasing[run.session_id] = asyncio.get_running_loop().create_future()
            run.is_followed = True

    def _say_held(self, session_id: str, path: str) -> None:
        from opencode_tui.schema.event.screen_event import ScreenToastShown  # only for such a line

        line = f"Interrupted while the disk does not end to write {path}: it goes on, and is stored when the disk works"
        self._publisher.publish(ScreenToastShown(message=line, variant="warning", session_id=session_id))

    async def _hold_lock(self, run: Run, body: Body) -> None:
        report = self._report(run)
        if (earlier := self._releasing.get(run.session_id)) is not None:
            # what an earlier run is still doing is to record its changes
            with reporting(report, []), waiting("disk", lambda: self._held_path(run.session_id), limit_s=None):
                await run.wait_for(earlier)
        for change in tuple(self._changing.get(run.session_id, {}).values()):
            await run.wait_for(change, CHANGE_WAIT_S)
        async with self._store.locked(run.session_id, partial(self._acquire, run, report)) as writer:
            run.set_writer(writer)
            reported = self._reporting(body, report)
            await run.supervise(reported, publisher=self._publisher, held=lambda path: self._end_held(run, path))
            await self._flush(run)
            left = [work for work in (run.cleanup, run.end_changes, run.after_run) if work is not None]
            if left:
                await self._run_cleanup(run, left)
            self._store.release_older(run.session_id)

    async def _acquire(self, run: Run, report: Report, lock: RunLock) -> RunGrant:
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
                self._follow(run)
                self._end(run)
                await asyncio.wait({acquiring})
            raise

    async def _flush(self, run: Run) -> None:
        """Write what is queued; after an interruption only if the disk writes it at once."""
        try:
            await run.while_wanted(self._store.flush())
        except RunAborted:
            logger.warning("the end of session %s is not on the disk yet", run.session_id)

    def _report(self, run: Run) -> Report:
        """Return what puts a wait into the status of a session while it runs."""

        def report(wait: Wait | None) -> None:
            if self._runs.get(run.session_id) is run:
                self._statuses.set(run.session_id, BusyStatus.trusted(wait=wait))

        return report

    def _reporting(self, body: Body, report: Report) -> Body:
        """Return a body whose long waits are in the status of its session."""

        async def reported(run: Run) -> MessageWithParts:
            with reporting(report, run.written):
                return await body(run)

        return reported

    async def _run_cleanup(self, run: Run, left: Sequence[Cleanup]) -> None:
        """Run the cleanup; the run ends when it is done or takes longer than `AFTER_RUN_WAIT_MS`."""
        self._follow(run)
        work = asyncio.create_task(self._finish(run.session_id, left), name=f"clean up {run.session_id}")
        try:
            if not run.is_aborted:
                await asyncio.wait({work}, timeout=AFTER_RUN_WAIT_MS / 1000)
            self._end(run)
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


INTERRUPTED_TOOL = "Interrupted: opencode-tui was stopped before this call had a result"
UNSEEN = "opencode-tui was stopped while this ran; undo lists its changes, but does not revert them"


async def repair(
    store: SessionStore,
    session_id: str,
    *,
    clock: Clock,
    killed: Callable[[UserMessage], AssistantMessage] | None = None,
) -> int:
    """Close what a dead process left unfinished in the session; returns the number of repaired messages. Needs its run lock.

    Afterwards no part is `pending` or `running`, no text is open, every message has `time.completed` and no compaction is running.
    Messages before the last compaction are looked at when they are in memory, or when a later one was unfinished. With `killed`
    the process ended during a run: a turn that it left between two steps says so, and so does a new answer, which `killed` makes,
    to a request that it left before the first step.
    """
    broken = [message for message in await store.recent(session_id) if is_unfinished(message)]
    if broken:
        broken = [message for message in await store.messages(session_id) if is_unfinished(message)]
    for message in broken:
        await _close(store.writer(session_id), message, clock())
    left = _left_answer(await store.recent(session_id), killed) if killed is not None and not broken else None
    if left is not None:
        ended = left.time.changed(completed=left.time.completed or clock())
        await store.writer(session_id).update_message(left.changed(error=aborted(PROGRAM_ENDED), time=ended))
    if (await store.get(session_id)).time.compacting is not None:
        await store.update(session_id, lambda info: info.changed(time=info.time.changed(compacting=None)), touch=False)
    count = len(broken) + (left is not None)
    if count:
        await store.sync()
    return count


def is_unfinished(message: MessageWithParts) -> bool:
    """Return whether an assistant message or one of its parts never ended."""
    info = message.info
    if not isinstance(info, AssistantMessage):
        return False
    return info.time.completed is None or any(_is_open(part) for part in message.parts)


def _left_answer(
    messages: Sequence[MessageWithParts], new: Callable[[UserMessage], AssistantMessage]
) -> AssistantMessage | None:
    """Return the answer after which a turn would have gone on, or a new one to a request without any; None when all has ended."""
    last = next((one for one in reversed(messages) if not is_waiting(one.info)), None)
    info = None if last is None else last.info
    if isinstance(info, UserMessage):
        return new(info)
    if info is None or info.error is not None or info.finish not in FINISH_CONTINUES:
        return None
    return info


async def _close(writer: SessionWriter, message: MessageWithParts, now: int) -> None:
    info = message.info
    for part in message.parts:
        match part:
            case ToolPart() if part.is_open:
                await writer.update_part(part.changed(state=_interrupted(part, now)))
            case TextPart() | ReasoningPart() if _is_open(part) and part.time is not None:
                await writer.update_part(part.changed(text=part.text.rstrip(), time=part.time.changed(end=now)))
            case _:
                pass
    if isinstance(info, AssistantMessage) and info.time.completed is None:
        error = info.error or aborted(PROGRAM_ENDED)
        await writer.update_message(info.changed(time=info.time.changed(completed=now), error=error))


def _interrupted(part: ToolPart, now: int) -> ToolStateUnion:
    ran = isinstance(part.state, ToolStateRunning) and row_of(part.tool).may_change_unseen
    return fail(part.state, error=INTERRUPTED_TOOL, now=now, metadata={"unprotected": UNSEEN} if ran else None)


def _is_open(part: AnyPart) -> bool:
    match part:
        case ToolPart():
            return part.is_open
        case TextPart() | ReasoningPart():
            return part.time is not None and part.time.end is None
        case _:
            return False


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
