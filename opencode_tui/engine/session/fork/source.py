"""The range of messages that a fork copies: those before the boundary that are visible and complete."""

import asyncio
import time
from collections.abc import KeysView

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.stored_history import copied_messages, open_history, ordered
from opencode_tui.engine.session.runs import RunRegistry, SessionStatuses, is_unfinished, repair
from opencode_tui.schema.error import BusyError, NoSuchMessageError
from opencode_tui.schema.ids import Clock, is_identifier
from opencode_tui.schema.session.session import CopyRange, RevertState, SessionInfo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.process_identity import is_alive
from opencode_tui.storage.storage import Storage

_POLL_S = 0.01


class ForkRange(Struct, frozen=True):
    """Computes the range of sessions to fork."""

    store: SessionStore
    storage: Storage
    runs: RunRegistry
    statuses: SessionStatuses
    locks: Locks
    clock: Clock

    def is_free(self, session_id: str) -> bool:
        """Return whether a fork may start: the session is not locked, or only by a run of this process that is still running."""
        if self.runs.get(session_id) is not None and session_id in self.statuses.all():
            return True
        return not self.locks.is_running(session_id)

    async def wait(self, session_id: str, *, deadline: float) -> None:
        """Return when `is_free`; raises BusyError at the deadline (monotonic seconds)."""
        await self.runs.wait_released(session_id)
        while not self.is_free(session_id):
            if time.monotonic() > deadline:
                raise BusyError(f"session {session_id} is in use by another process; fork it when that process is done")
            await asyncio.sleep(_POLL_S)

    async def range(self, source: SessionInfo, message_id: str | None) -> CopyRange:
        """Return the range that a fork with this boundary copies, everything without one.

        Raises NoSuchMessageError, BusyError when a message of the range is still being written.
        """
        is_busy = self.runs.get(source.id) is not None
        if not is_busy:
            await self._repair(source.id)
        taken = await self._copied_range(source, message_id, is_busy=is_busy)
        if is_busy:
            await self._check_written(source, taken)
        return taken

    def names(self, source: SessionInfo, taken: CopyRange | None) -> list[str]:
        """Return the ids of the messages to copy, or all, in the session's order. Blocks."""
        history = open_history(self.storage, ("session", source.project_id, source.id), source.id)
        return ordered(history) if taken is None else copied_messages(history, taken)

    async def _repair(self, session_id: str) -> None:
        """Close what a killed run left open: a fork of it would never be repaired."""
        owner = self.locks.read_owner(session_id)
        if owner is None or not owner.is_set or is_alive(owner.process):
            return
        lock = self.locks.session_run(session_id)
        if lock.try_acquire().was_elsewhere:
            self.store.drop(session_id)
        try:
            await repair(self.store, session_id, clock=self.clock)
        finally:
            lock.release()

    async def _copied_range(self, source: SessionInfo, message_id: str | None, *, is_busy: bool) -> CopyRange:
        if message_id is not None and not is_identifier(message_id, "msg"):
            raise _unknown(source, message_id)
        known = self.store.message_ids(source.id)
        if known is None or not (is_busy or self.locks.session_run(source.id).is_current()):
            if source.revert is None and message_id is None:
                return CopyRange(whole=True)
            if source.revert is None and self._is_stored(source, str(message_id)):
                return CopyRange(before=message_id)
            known = dict.fromkeys(await asyncio.to_thread(self.names, source, None)).keys()
        if message_id is not None and message_id not in known:
            raise _unknown(source, message_id)
        return visible_range(known, message_id, source.revert)

    def _is_stored(self, source: SessionInfo, message_id: str) -> bool:
        return self.storage.files.exists(self.storage.path_of(("message", source.id, message_id)))

    async def _check_written(self, source: SessionInfo, taken: CopyRange) -> None:
        for message in await self.store.messages(source.id):
            if message.info.id == taken.before:
                return
            if is_unfinished(message):
                raise BusyError(
                    f"session {source.id} is running; fork it at a message before the current turn, or interrupt it first"
                )
            if message.info.id == taken.last:
                return


def visible_range(known: KeysView[str], boundary: str | None, revert: RevertState | None) -> CopyRange:
    """Return the range that a fork copies of these ordered messages: those before the boundary that no active revert hides."""
    order = list(known)
    if revert is None or revert.message_id not in known:
        return CopyRange(before=boundary, last=order[-1] if order and boundary is None else None)
    if boundary is not None and order.index(boundary) <= order.index(revert.message_id):
        return CopyRange(before=boundary)
    if revert.part_id is not None:
        return CopyRange(last=revert.message_id, part_id=revert.part_id)
    return CopyRange(before=revert.message_id)


def _unknown(source: SessionInfo, message_id: str) -> NoSuchMessageError:
    return NoSuchMessageError(
        f"session {source.id} has no message {message_id}; `opencode-tui export {source.id}` shows its messages"
    )
