"""Fork a session: the new one starts with the messages before a boundary. Source: docs/internals/session.md#forks.

Its records are copied before its own record is written (`records/fork_copy.py`). No events of the copied messages are sent. What an
active revert hides is not copied: the files are as if it had never happened, so it would mislead the model. Neither is a request
that waits for the end of a turn. The sessions of agents are not copied.
"""

import asyncio
import re
import time
from collections.abc import KeysView, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import works_elsewhere
from opencode_tui.engine.session.fork.worktree import ForkWorktrees
from opencode_tui.engine.session.records.fork_copy import ForkCopies, ForkSource
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.stored_history import (
    StoredHistory,
    copied_id,
    copied_messages,
    created_at,
    ordered,
)
from opencode_tui.engine.session.repair import is_unfinished, repair
from opencode_tui.engine.session.request.prefix_breaks import without_last
from opencode_tui.engine.session.runs import RunRegistry, SessionStatuses
from opencode_tui.engine.session.sessions import Sessions, new_slug
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import BusyError, NoSuchMessageError
from opencode_tui.schema.ids import Clock, Identifier, is_identifier
from opencode_tui.schema.session.prefix import SessionPrefix
from opencode_tui.schema.session.session import (
    FORKED_FROM,
    CopyRange,
    ForkOrigin,
    ForkPreview,
    RevertState,
    SessionInfo,
    SessionTime,
)
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.process_identity import is_alive
from opencode_tui.storage.storage import Storage

PATIENCE_MS = 3_000
"""Milliseconds that a fork waits for an ended run that still records what its last step changed."""

_NUMBERED = re.compile(r"(.*) \(fork #(\d{1,9})\)", re.DOTALL)

_POLL_S = 0.01


class ForkRange(Struct, frozen=True):
    """Computes the range of messages that forks copy: those before the boundary that are visible and complete."""

    store: SessionStore
    storage: Storage
    runs: RunRegistry
    statuses: SessionStatuses
    locks: Locks
    clock: Clock

    async def is_free(self, session_id: str) -> bool:
        """Return whether a fork may start: the session is not locked, or only by a run of this process that is still running."""
        if self.runs.get(session_id) is not None and session_id in self.statuses.all():
            return True
        return not await asyncio.to_thread(self.locks.is_running, session_id)

    async def wait(self, session_id: str, *, deadline: float) -> None:
        """Return when `is_free`; raises BusyError at the deadline (monotonic seconds)."""
        await self.runs.wait_released(session_id)
        while not await self.is_free(session_id):
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
        history = StoredHistory(self.storage, source.id)
        return ordered(history) if taken is None else copied_messages(history, taken)

    async def _repair(self, session_id: str) -> None:
        """Close what a killed run left open: a fork of it would never be repaired."""
        owner = self.locks.read_owner(session_id)
        if owner is None or not owner.is_set or is_alive(owner.process):
            return
        async with self.store.locked(session_id):
            await repair(self.store, session_id, clock=self.clock)

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


class SessionForks(Struct, frozen=True):
    """Forks the sessions of one folder."""

    store: SessionStore
    sessions: Sessions
    source: ForkRange
    copies: ForkCopies
    todos: SessionTodos
    locks: Locks
    worktrees: ForkWorktrees
    identifier: Identifier
    clock: Clock
    project: Project

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Return the new session, with all of its records: about 0.1 ms for each message.

        Raises NotFoundError, NoSuchMessageError for a boundary that does not exist, BusyError while messages to copy are
        still being written; for a worktree also ConfigError, GitUnavailableError, SnapshotError. A failure leaves no files.
        """
        source = self.store.look(session_id) or await self.sessions.get(session_id)
        if not request.worktree:
            return await self._fork(source, request, None)
        await self.source.range(source, request.message_id)
        async with self.worktrees.made(source) as folder:
            return await self._fork(source, request, folder)

    async def _fork(self, source: SessionInfo, request: ForkSession, folder: Path | None) -> SessionInfo:
        session_id = source.id
        deadline = time.monotonic() + PATIENCE_MS / 1000
        while True:
            async with self.locks.unforked(session_id):
                if await self.source.is_free(session_id):
                    made = await self._make(source, request, folder)
                    if made is not None:
                        return made
            # Lock order: the holder of the run lock may wait for the fork lock, never the reverse.
            await self.source.wait(session_id, deadline=deadline)
            source = await self.sessions.get(session_id)

    async def preview(self, session_id: str, request: ForkSession) -> ForkPreview:
        """Return what `fork` would create, without creating it; raises as it does."""
        source = await self.sessions.get(session_id)
        taken = await self.source.range(source, request.message_id)
        names = await asyncio.to_thread(self.source.names, source, taken)
        preview = ForkPreview(
            title=forked_title(source.title),
            directory=str(self.project.directory),
            messages=len(names),
            last=names[-1] if names else None,
        )
        if not request.worktree:
            return preview
        chosen = await self.worktrees.choose(source)
        notes = await self.worktrees.notes(chosen, message_id=request.message_id)
        return preview.changed(directory=str(chosen.path), branch=chosen.branch, notes=notes)

    async def _make(self, source: SessionInfo, request: ForkSession, folder: Path | None) -> SessionInfo | None:
        """Copy, and write the fork's record; None where a run began in the meantime. Needs the source's fork lock."""
        taken = await self.source.range(source, request.message_id)
        names = await asyncio.to_thread(self.source.names, source, taken)
        if taken.whole and not await self.source.is_free(source.id):
            return None
        if names:
            await asyncio.to_thread(self._observe_last, source.id, names)
        directory = folder or self.project.directory
        info = self._describe(source, taken, request.message_id, directory)
        part = taken.part_id if names and names[-1] == taken.last else None
        copied = ForkSource(source.id, names, part, elsewhere=self._is_elsewhere(source, directory))
        async with self.copies.copied(info.id, copied):
            await self.todos.copy(source.id, info.id)
            await self.store.create(info, prefix=await self._prefix_of(source.id, info.id))
        # The fork has messages already: the next reader finds them.
        self.store.drop(info.id)
        return info

    def _observe_last(self, source_id: str, names: Sequence[str]) -> None:
        """Let the fork's id be made after those of the messages that it copies, whatever the clock said: `own_from` needs that."""
        created = created_at(StoredHistory(self.source.storage, source_id), names[-1])
        self.identifier.observe(names)
        if created is not None:
            self.identifier.observe_made([(names[-1], created)])

    async def _prefix_of(self, source_id: str, fork_id: str) -> SessionPrefix | None:
        """Return the start of the fork's requests, that of its source; in another folder, its first request creates a new one."""
        found = await self.store.prefix(source_id)
        return None if found is None else without_last(found, partial(copied_id, fork_id))

    def _describe(self, source: SessionInfo, taken: CopyRange, boundary: str | None, folder: Path) -> SessionInfo:
        now = self.clock()
        origin = ForkOrigin(session_id=source.id, message_id=taken.before or boundary)
        return SessionInfo(
            id=self.identifier.descending("ses"),
            slug=new_slug(),
            version=__version__,
            project_id=self.project.id,
            directory=str(folder),
            title=forked_title(source.title),
            permission=source.permission,
            time=SessionTime(created=now, updated=now),
            metadata={FORKED_FROM: origin.to_dict()},
        )

    def _is_elsewhere(self, source: SessionInfo, folder: Path) -> bool:
        """Return whether a fork in this folder works on other files than its source."""
        if folder != self.project.directory:
            return True
        return source.directory != str(folder) and works_elsewhere(source.directory, self.project.worktree)


def forked_title(title: str) -> str:
    """Return the title of a fork: `X (fork #1)` for `X`, `X (fork #2)` for `X (fork #1)`."""
    numbered = _NUMBERED.fullmatch(title)
    if numbered is None:
        return f"{title} (fork #1)"
    return f"{numbered[1]} (fork #{int(numbered[2]) + 1})"
