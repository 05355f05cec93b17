"""Copies the records of forks in the background, and tells when a session may be changed that a fork still reads.

A copy can be broken off at any moment and begun again, in another process too: records that exist are passed by. Whoever opens a
fork that is not whole goes on with it. Prune, revert, compaction, edit and delete come after `settled`. Source: SPEC section 3.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from opencode_tui.engine.session.publisher import Publisher
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.pending_copies import PendingCopies
from opencode_tui.storage.storage import Storage

if TYPE_CHECKING:
    from opencode_tui.engine.session.fork_copying import ForkCopying

GIVE_UP_WAIT_MS = 600_000
"""How long a fork that is to be deleted waits for another process that copies it."""

_logger = logging.getLogger(__name__)


class ForkCopies:
    """All copies of the process; its tasks are children of the engine's group and end with `close`."""

    def __init__(self, *, group: asyncio.TaskGroup, storage: Storage, locks: Locks, publisher: Publisher) -> None:
        self._group = group
        self._storage = storage
        self._locks = locks
        self._pending = PendingCopies(storage.paths, locks=locks, files=storage.files)
        self._publisher = publisher
        self._tasks: dict[str, asyncio.Task[OpencodeError | None]] = {}
        self._is_closed = False

    @cached_property
    def _copying(self) -> "ForkCopying":
        from opencode_tui.engine.session.fork_copying import ForkCopying  # not for turns in sessions that nobody forked

        return ForkCopying(storage=self._storage, locks=self._locks, pending=self._pending, publisher=self._publisher)

    def resume(self, fork_id: str) -> None:
        """Go on copying in the background, unless this process does already; what fails is logged and tried at the next opening."""
        if not self._is_closed:
            self._task(fork_id)

    def expect(self, source_id: str, fork_id: str) -> None:
        """Note that a fork is about to read a source: with the source's fork lock held, before the fork's record is written."""
        self._pending.add(source_id, fork_id)

    async def settled(self, session_id: str) -> None:
        """Return when no fork needs the session's records any more and its own are complete.

        To be awaited directly before the records are changed, under the run lock. Copies what is missing if need be. Raises
        StorageError when that cannot be done: then nothing may be changed.
        """
        async with self.held(session_id):
            pass

    async def freeze(self, session_id: str) -> None:
        """Write down where forks that take over everything end; a run does this before it adds the first message.

        Raises StorageError. Costs one look into a folder that is hardly ever there.
        """
        forks = self._pending.of(session_id)
        if forks:
            async with self._locks.session_fork(session_id):
                for fork_id in forks:
                    await self._copying.fix_end(fork_id)

    @asynccontextmanager
    async def held(self, session_id: str) -> AsyncGenerator[None]:
        """Do what `settled` does; no fork of the session begins before the context is left. It cannot be nested."""
        if await self._source_of(session_id) is not None:
            await self._finish(session_id)
        async with self._held(session_id):
            yield

    @asynccontextmanager
    async def given_up(self, session_id: str) -> AsyncGenerator[None]:
        """Do what `held` does, except that the session's own copy ends as it is: it is about to be deleted."""
        async with self._held(session_id):
            source_id = await self._source_of(session_id)
            if source_id is None:
                yield
                return
            task = self._tasks.get(session_id)
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
            copying = self._locks.session_copy(session_id)
            await copying.acquire(GIVE_UP_WAIT_MS)
            try:
                yield
            finally:
                copying.release()
            self._pending.remove(source_id, session_id)

    async def close(self) -> None:
        """Break off all copies; returns when none writes any more."""
        self._is_closed = True
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    @asynccontextmanager
    async def _held(self, session_id: str) -> AsyncGenerator[None]:
        async with self._locks.session_fork(session_id):
            for fork_id in await asyncio.to_thread(self._pending.of, session_id):
                await self._finish(fork_id)
                self._pending.remove(session_id, fork_id)
            yield

    async def _finish(self, fork_id: str) -> None:
        """Return when a fork is whole; raises StorageError."""
        task = self._task(fork_id)
        await asyncio.wait({task})
        if task.cancelled():
            raise StorageError(f"fork {fork_id} was not copied whole, because the program ends; try again")
        error = task.result()
        if error is not None:
            raise error

    def _task(self, fork_id: str) -> "asyncio.Task[OpencodeError | None]":
        task = self._tasks.get(fork_id)
        if task is None:
            task = self._tasks[fork_id] = self._group.create_task(self._work(fork_id), name=f"copy {fork_id}")
            task.add_done_callback(lambda _: self._tasks.pop(fork_id, None))
        return task

    async def _work(self, fork_id: str) -> OpencodeError | None:
        """Copy and return what went wrong: an error that escaped would end the engine."""
        try:
            await self._copying.copy(fork_id)
        except OpencodeError as error:
            _logger.warning("fork %s is not copied whole yet: %s", fork_id, error)
            return error
        except Exception as error:
            _logger.exception("copying fork %s failed", fork_id)
            return StorageError(f"fork {fork_id} cannot be copied whole ({error!r}); see the log")
        return None

    async def _source_of(self, session_id: str) -> str | None:
        return await asyncio.to_thread(self._copying.source_of, session_id)
