"""The lock for a change by the user, while the session is not running."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.runs import CHANGE_WAIT_S, RunRegistry
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.session.part import AnyPart
from opencode_tui.storage.locks import Locks


class SessionLock(Struct, frozen=True):
    """Acquires the run lock of a session for one change, while no fork reads its records."""

    store: SessionStore
    runs: RunRegistry
    locks: Locks

    @asynccontextmanager
    async def hold(self, session_id: str, *, is_awaited: bool = False) -> AsyncGenerator[None]:
        """Hold the session's run lock; waits for the end of an interrupted run, for the cleanup of runs, and for forks that read.

        Changes of this process wait for one another, and a run that starts then waits too: `CHANGE_WAIT_S` at most, for a
        change with `is_awaited` until the end of its context. Raises NotFoundError, StorageError, and BusyError while the session
        is running in this process or another.
        """
        await self.store.get(session_id)
        slot = self.runs.slot(session_id)
        while True:
            await self.runs.ensure_idle(session_id)
            await self.runs.wait_released(session_id)
            if slot.is_free:  # else a run began in the meantime
                break
        async with (
            slot.changing(limit_s=None if is_awaited else CHANGE_WAIT_S),
            self.store.locked(session_id),
            self.locks.unforked(session_id),
        ):
            yield


class PartEdits(Struct, frozen=True):
    """Edits parts; each edit holds the session's lock. Raises BusyError while the session is running."""

    store: SessionStore
    lock: SessionLock

    async def update(self, part: AnyPart) -> AnyPart:
        """Replace the part of the same id, and publish it. Raises NoSuchMessageError."""
        async with self.lock.hold(part.session_id):
            await self._find(part.session_id, part.message_id, part.id)
            await self.store.writer(part.session_id).update_part(part)
            await self.store.sync()
        return part

    async def remove(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part, and publish that. Raises NoSuchMessageError."""
        async with self.lock.hold(session_id):
            await self._find(session_id, message_id, part_id)
            await self.store.writer(session_id).remove_part(message_id, part_id)

    async def _find(self, session_id: str, message_id: str, part_id: str) -> None:
        found = await self.store.named(session_id, [message_id])
        if not any(part.id == part_id for message in found for part in message.parts):
            raise NoSuchMessageError(f"message {message_id} of session {session_id} has no part {part_id}")
