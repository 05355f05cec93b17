"""One run per session: who works on it, who waits for it, and how it ends.

A run is a body (the loop) and a supervisor. The supervisor is a child of the engine's TaskGroup, the only one who awaits the body,
and cleans up only after the body is dead, itself un-cancelled. However a run ends, its records are closed, its status is idle and
its lock is released. Source: design, "Cancellation".
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.session.publisher import Publisher
from opencode_tui.engine.session.status import SessionStatuses
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.schema.error import OpencodeError, SessionError, StoredError, aborted, to_stored
from opencode_tui.schema.event import SessionFailed
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.status import IdleStatus
from opencode_tui.storage.locks import Locks

logger = logging.getLogger(__name__)

Settle = Callable[[StoredError], Awaitable[None]]
"""Closes the records that an unfinished step left open."""

Body = Callable[["Run"], Awaitable[MessageWithParts]]
"""What a run does; returns the last assistant message."""


class RunAborted(SessionError):
    """The run was interrupted before it had its answer."""


class Run:
    """The work on one session from a prompt to idle."""

    def __init__(self, session_id: str, policy: Policy) -> None:
        self.session_id = session_id
        self.policy = policy
        self.settle: Settle | None = None
        self._body: asyncio.Task[MessageWithParts] | None = None
        self._aborted = False
        self._ended: asyncio.Future[MessageWithParts] = asyncio.get_running_loop().create_future()
        self._ended.add_done_callback(_retrieve)

    async def answer(self) -> MessageWithParts:
        """Wait for the run's end and return its last assistant message; raises what made it fail, RunAborted after an abort."""
        return await asyncio.shield(self._ended)

    def abort(self) -> None:
        """Interrupt the run; returns at once, `answer` ends when everything is closed."""
        self._aborted = True
        if self._body is not None:
            self._body.cancel()

    async def supervise(self, body: Body, *, publisher: Publisher) -> None:
        """Own the body until it is dead, then close what it left open. Raises nothing of the body's."""
        self._body = asyncio.create_task(_as_coroutine(body, self), name=f"run {self.session_id}")
        if self._aborted:
            self._body.cancel()
        await asyncio.wait({self._body})
        error = _failure(self._body)
        if error is not None:
            await self._close(error, publisher)

    def resolve(self) -> None:
        """Hand the outcome to all who wait for it."""
        if self._ended.done() or self._body is None:
            return
        error = _failure(self._body)
        if error is None:
            self._ended.set_result(self._body.result())
        elif isinstance(error, asyncio.CancelledError):
            self._ended.set_exception(RunAborted(f"session {self.session_id} was interrupted"))
        else:
            self._ended.set_exception(error)

    def refuse(self, error: BaseException) -> None:
        """End a run that never began."""
        if not self._ended.done():
            self._ended.set_exception(error)

    async def _close(self, error: BaseException, publisher: Publisher) -> None:
        stored = aborted() if isinstance(error, asyncio.CancelledError) else to_stored(error)
        if not isinstance(error, OpencodeError | asyncio.CancelledError):
            logger.error("run of session %s failed", self.session_id, exc_info=error)
        if self.settle is not None:
            try:
                await self.settle(stored)
            except Exception:
                logger.exception("closing the records of session %s failed", self.session_id)
        publisher.publish(SessionFailed(session_id=self.session_id, error=stored))


class RunRegistry:
    """All runs of the process."""

    def __init__(
        self,
        *,
        group: asyncio.TaskGroup,
        locks: Locks,
        store: SessionStore,
        statuses: SessionStatuses,
        publisher: Publisher,
    ) -> None:
        self._group = group
        self._locks = locks
        self._store = store
        self._statuses = statuses
        self._publisher = publisher
        self._runs: dict[str, Run] = {}
        self._supervisors: set[asyncio.Task[None]] = set()

    def get(self, session_id: str) -> Run | None:
        """Return the run that works on the session now."""
        return self._runs.get(session_id)

    def start(self, session_id: str, body: Body, *, policy: Policy) -> Run:
        """Start a run; the caller has made sure that there is none. `policy` answers the run's permission questions."""
        run = self._runs[session_id] = Run(session_id, policy)
        task = self._group.create_task(self._supervise(run, body), name=f"supervise {session_id}")
        self._supervisors.add(task)
        task.add_done_callback(self._supervisors.discard)
        return run

    def abort(self, session_id: str) -> bool:
        """Interrupt the session's run; tells whether there was one."""
        run = self._runs.get(session_id)
        if run is not None:
            run.abort()
        return run is not None

    async def close(self, *, grace_ms: int) -> None:
        """Interrupt all runs and wait for their supervisors, at most so many milliseconds."""
        for run in tuple(self._runs.values()):
            run.abort()
        if self._supervisors:
            _, late = await asyncio.wait(self._supervisors, timeout=grace_ms / 1000)
            for task in late:
                task.cancel()

    async def _supervise(self, run: Run, body: Body) -> None:
        try:
            await self._hold_lock(run, body)
        except OpencodeError as error:
            run.refuse(error)
        finally:
            del self._runs[run.session_id]
            self._statuses.set(run.session_id, IdleStatus())
            run.resolve()

    async def _hold_lock(self, run: Run, body: Body) -> None:
        lock = self._locks.session_run(run.session_id)
        if lock.try_acquire().was_elsewhere:
            self._store.drop(run.session_id)
        try:
            await run.supervise(body, publisher=self._publisher)
            await self._store.flush()
        finally:
            lock.release()


async def _as_coroutine(body: Body, run: Run) -> MessageWithParts:
    return await body(run)


def _failure(body: "asyncio.Task[MessageWithParts]") -> BaseException | None:
    return asyncio.CancelledError() if body.cancelled() else body.exception()


def _retrieve(future: "asyncio.Future[MessageWithParts]") -> None:
    """Mark the outcome as seen: nobody has to wait for a run."""
    if not future.cancelled():
        future.exception()
