"""Holds a session for one change by the person, while nothing else works on it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from opencode_tui.engine.session.fork_copy import ForkCopies
from opencode_tui.engine.session.runs import RunRegistry
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.schema.error import BusyError
from opencode_tui.storage.locks import Locks


class Exclusive:
    """Gives the run lock to one act at a time, once no fork reads the session any more."""

    def __init__(self, *, store: SessionStore, runs: RunRegistry, locks: Locks, copies: ForkCopies) -> None:
        self._store = store
        self._runs = runs
        self._locks = locks
        self._copies = copies

    @asynccontextmanager
    async def held(self, session_id: str) -> AsyncGenerator[None]:
        """Hold the session's run lock; waits for what an ended run has left to do.

        Raises NotFoundError, BusyError while a run works there, here or elsewhere, StorageError.
        """
        await self._store.get(session_id)
        if self._runs.get(session_id) is not None:
            raise BusyError(f"session {session_id} is being worked on; interrupt it first")
        await self._runs.settled(session_id)
        lock = self._locks.session_run(session_id)
        if lock.try_acquire().was_elsewhere:
            self._store.drop(session_id)
        try:
            async with self.unread(session_id):
                yield
        finally:
            lock.release()

    @asynccontextmanager
    async def unread(self, session_id: str) -> AsyncGenerator[None]:
        """Wait for forks that still read the session, and keep new ones from beginning. For whoever has the run lock."""
        async with self._copies.held(session_id):
            yield
