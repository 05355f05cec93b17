"""Single parts changed or deleted by the person, while nothing works on the session."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from opencode_tui.engine.session.fork_copy import ForkCopies
from opencode_tui.engine.session.runs import RunRegistry
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.schema.error import BusyError, NoSuchMessageError
from opencode_tui.schema.part import AnyPart
from opencode_tui.storage.locks import Locks


class PartEdits:
    """Holds the session's run lock for each edit and waits for forks that read it. Raises BusyError while a run holds the lock."""

    def __init__(self, *, store: SessionStore, runs: RunRegistry, locks: Locks, copies: ForkCopies) -> None:
        self._store = store
        self._runs = runs
        self._locks = locks
        self._copies = copies

    async def update(self, part: AnyPart) -> AnyPart:
        """Store a part in the place of the one with its id and tell. Raises NoSuchMessageError."""
        async with self._held(part.session_id):
            await self._find(part.session_id, part.message_id, part.id)
            await self._store.update_part(part)
            await self._store.sync()
        return part

    async def remove(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part and tell. Raises NoSuchMessageError."""
        async with self._held(session_id):
            await self._find(session_id, message_id, part_id)
            await self._store.remove_part(session_id, message_id, part_id)

    @asynccontextmanager
    async def _held(self, session_id: str) -> AsyncGenerator[None]:
        if self._runs.get(session_id) is not None:
            raise BusyError(f"session {session_id} is being worked on; interrupt it first")
        await self._runs.settled(session_id)
        lock = self._locks.session_run(session_id)
        if lock.try_acquire().was_elsewhere:
            self._store.drop(session_id)
        try:
            async with self._copies.held(session_id):
                yield
        finally:
            lock.release()

    async def _find(self, session_id: str, message_id: str, part_id: str) -> None:
        await self._store.open(session_id)
        if not any(part.id == part_id for part in self._store.parts(session_id, message_id)):
            raise NoSuchMessageError(f"message {message_id} of session {session_id} has no part {part_id}")
