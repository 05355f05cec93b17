"""Move sessions to the trash and back, with their locks held and their events published."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.temp import delete_temp
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.runs import RunRegistry
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.schema.api.project import GLOBAL_PROJECT, ProjectInfo
from opencode_tui.schema.error import BusyError, OpencodeError, SessionError, StorageError
from opencode_tui.schema.event.event import SessionCreated, SessionDeleted, SessionUpdated
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from opencode_tui.storage.trash import Trash

if TYPE_CHECKING:
    from opencode_tui.engine.tool.process.background import BackgroundCommands
    from opencode_tui.schema.api.trash import TrashedSession

_DAY_S = 24 * 3600

logger = logging.getLogger(__name__)


class SessionTrash(Struct, frozen=True):
    """Deletes sessions into the trash, restores them, and empties it."""

    trash: Trash
    sessions: Sessions
    store: SessionStore
    storage: Storage
    runs: RunRegistry
    locks: Locks
    publisher: Publisher
    paths: Paths
    background: "Lazy[BackgroundCommands]"

    async def put(self, session_id: str) -> None:
        """Move a session and its subagent sessions with all their records to the trash, after copying their forks completely.

        Their background commands end first.
        Raises NotFoundError, BusyError while one of them is running, StorageError: then nothing is deleted.
        """
        family = await self.sessions.family(await self.sessions.get(session_id))
        for info in family:
            await self.runs.ensure_idle(info.id)
        if self.background.made is not None:
            await self.background.made.end([info.id for info in family])
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._run_locks([info.id for info in family]))
            for info in family:
                await held.enter_async_context(self.locks.unforked(info.id))
            for info in family:
                await held.enter_async_context(self.locks.session_write(info.id))
            now = await self.sessions.family(await self.sessions.get(session_id))
            if [info.id for info in now] != [info.id for info in family]:
                raise BusyError(f"the subagent sessions of {session_id} have changed in the meantime; try again")
            await self.storage.flush()
            await run_to_completion(asyncio.to_thread(self.trash.put, now))
            for info in reversed(now):
                self.store.drop(info.id)
                self.publisher.publish(SessionDeleted(info=info))
            for info in now:
                await asyncio.to_thread(delete_temp, self.paths, info.id)
        for info in now:
            await asyncio.to_thread(self.locks.delete, info.id)

    async def list(self) -> Sequence["TrashedSession"]:
        """Return the deleted sessions of all projects, the last deleted first."""
        return await asyncio.to_thread(self.trash.entries)

    async def restore(self, trash_id: str) -> SessionInfo:
        """Restore a deleted session by its ID, or by its name in the trash; return it.

        Raises NotFoundError, SessionError when its folder is gone or it exists again, BusyError, StorageError: then it stays.
        """
        entry = await asyncio.to_thread(self.trash.find, trash_id)
        await asyncio.to_thread(self._check_folder, entry)
        async with AsyncExitStack() as held:
            await held.enter_async_context(self._run_locks(entry.session_ids))
            for session_id in entry.session_ids:
                await held.enter_async_context(self.locks.session_write(session_id))
            await run_to_completion(asyncio.to_thread(self.trash.restore, entry.name))
            restored = [await self.store.get(session_id) for session_id in entry.session_ids]
        for info in restored:
            self.store.drop(info.id)
            self.publisher.publish(SessionCreated(info=info))
            self.publisher.publish(SessionUpdated(info=info))
        return restored[0]

    async def empty(self, names: Sequence[str]) -> Sequence["TrashedSession"]:
        """Delete these sessions permanently, by their names; return those that were still there. Raises StorageError."""
        return await run_to_completion(asyncio.to_thread(self.trash.empty, list(names)))

    async def empty_daily(self, days: int) -> None:
        """Delete sessions that have been in the trash for `days`, once a day until canceled."""
        while True:
            try:
                if old := await asyncio.to_thread(self.trash.expired, days):
                    await self.empty(old)
            except OpencodeError as error:
                logger.warning("the trash is not emptied, the next attempt is in a day: %s", error)
            await asyncio.sleep(_DAY_S)

    @asynccontextmanager
    async def _run_locks(self, session_ids: Sequence[str]) -> AsyncGenerator[None]:
        async with AsyncExitStack() as held:
            for session_id in session_ids:
                await self.runs.ensure_idle(session_id)
                await self.runs.wait_released(session_id)
                await held.enter_async_context(self.store.locked(session_id))
            yield

    def _check_folder(self, entry: "TrashedSession") -> None:
        """Raise SessionError when neither the folder of a session nor that of its project exists any more."""
        folders = [entry.directory]
        if entry.project_id != GLOBAL_PROJECT:
            folders.append(self._worktree(entry.project_id))
        if entry.directory and not any(folder and os.path.isdir(folder) for folder in folders):
            raise SessionError(
                f"{entry.directory} does not exist any more; create the folder, then restore {entry.session_id}"
            )

    def _worktree(self, project_id: str) -> str:
        try:
            found = ProjectInfo.model_validate_json(self.storage.read_sync(("project", project_id)))
        except (StorageError, ValidationError):
            return ""
        return found.worktree
