"""The record of a session's requests (`schema/session/requests.py`), which changes under the session's write lock.

So a process that does not have the session can withdraw a request in it: who has it looks here, under the same lock, before it lets
the request go on.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Set
from contextlib import asynccontextmanager

from msgspec import Struct

from opencode_tui.engine.session.records.loading import Loaded
from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.message import MESSAGE, is_waiting
from opencode_tui.schema.session.part import parse_part
from opencode_tui.schema.session.requests import SessionRequests
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage

KIND = "session_requests"


class LockedRequests(Struct, frozen=True):
    """The record of one session while its write lock is held."""

    record: SessionRequests
    write: Callable[[SessionRequests], Awaitable[None]]


class RequestRecords(Struct, frozen=True):
    """Reads and changes these records."""

    storage: Storage
    locks: Locks

    async def read(self, session_id: str) -> SessionRequests:
        """Return a session's record, an empty one where there is none. Raises StorageError."""
        return await asyncio.to_thread(self.read_sync, session_id)

    def read_sync(self, session_id: str) -> SessionRequests:
        """Do the same as `read`, blocking."""
        try:
            return SessionRequests.model_validate_json(self.storage.read_sync((KIND, session_id)))
        except NotFoundError:
            return SessionRequests()
        except ValidationError as error:
            path = self.storage.path_of((KIND, session_id))
            raise StorageError(f"{path} is not a valid record ({error}); move it away") from error

    @asynccontextmanager
    async def locked(self, session_id: str) -> AsyncGenerator[LockedRequests]:
        """Hold the write lock of a session; yield its record, and what writes another in its place."""
        async with self.locks.session_write(session_id):

            async def write(record: SessionRequests) -> None:
                await self._write((KIND, session_id), record)

            yield LockedRequests(await self.read(session_id), write)

    async def change(self, session_id: str, change: Callable[[SessionRequests], SessionRequests]) -> None:
        """Change a session's record under its write lock."""
        async with self.locked(session_id) as kept:
            await kept.write(change(kept.record))

    async def name(self, session_id: str, given: str, stored: str) -> None:
        """Record under which id the request is stored that a client gave this one."""
        await self.change(session_id, lambda kept: kept.changed(names={**kept.names, given: stored}))

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Let no run of any process answer a request that waits; return False when it does not wait any more."""
        async with self.locked(session_id) as kept:
            try:
                info = MESSAGE.validate_json(await self.storage.read(("message", session_id, message_id)))
            except (NotFoundError, ValidationError):
                return False
            if not is_waiting(info):
                return False
            withdrawn = [*dict.fromkeys([*kept.record.withdrawn, message_id])]
            await kept.write(kept.record.changed(withdrawn=withdrawn))
        return True

    async def owner_of_parts(self, message_id: str) -> str | None:
        """Return the session whose message with this id has parts; None where there are none."""
        return await asyncio.to_thread(self._owner_of_parts, message_id)

    def withdraws(self, session_id: str, unread: Set[str]) -> bool:
        """Return whether one of these requests is withdrawn; reads nothing without any. Blocks. Raises StorageError."""
        return bool(unread) and not unread.isdisjoint(self.read_sync(session_id).withdrawn)

    def hide(self, session_id: str, loaded: Loaded) -> Loaded:
        """Leave out what is withdrawn, and a request that waited and is stored under its new id too. Blocks."""
        kept = self.read_sync(session_id)
        if kept.withdrawn or kept.releasing:
            names = {one.info.id for one in loaded.messages}
            gone = {*kept.withdrawn, *(old for old, new in kept.releasing.items() if new in names)}
            loaded.messages = [one for one in loaded.messages if one.info.id not in gone]
        return loaded

    def _owner_of_parts(self, message_id: str) -> str | None:
        found = self.storage.read_folder(("part", message_id))
        for _, data in found.records:
            try:
                return parse_part(data).session_id
            except ValidationError:
                continue
        return "that cannot be read" if found.failures or found.records else None

    async def _write(self, key: Key, record: SessionRequests) -> None:
        if record.is_empty:
            await self.storage.remove(key)
        else:
            await self.storage.write(key, record.to_json())
