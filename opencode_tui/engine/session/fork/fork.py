"""Fork a session: the new one starts with the messages before a boundary. Source: docs/internals/session.md#forks.

The fork can be used once its record is written: reads go to the source until `fork_copy` has copied everything. No events
of the copied messages are sent. What an active revert hides is not copied: the files are as
if it had never happened, so it would mislead the model. The sessions of agents are not copied.
"""

import asyncio
import re
import time
from pathlib import Path

from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import works_elsewhere
from opencode_tui.engine.session.fork.source import ForkRange
from opencode_tui.engine.session.fork.worktree import ForkWorktrees
from opencode_tui.engine.session.records.fork_copy import ForkQueue
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.prefix_breaks import without_last
from opencode_tui.engine.session.sessions import Sessions, new_slug
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.schema.session.session import (
    FORKED_FROM,
    CopyRange,
    ForkOrigin,
    ForkPreview,
    SessionInfo,
    SessionTime,
)
from opencode_tui.storage.locks import Locks

PATIENCE_MS = 3_000
"""Milliseconds that a fork waits for an ended run that still records what its last step changed."""

_NUMBERED = re.compile(r"(.*) \(fork #(\d{1,9})\)", re.DOTALL)


class SessionForks(Struct, frozen=True):
    """Forks the sessions of one folder."""

    store: SessionStore
    sessions: Sessions
    source: ForkRange
    copies: ForkQueue
    todos: SessionTodos
    locks: Locks
    worktrees: ForkWorktrees
    identifier: Identifier
    clock: Clock
    project: Project

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Return the new session; it can be used at once, its records are copied in the background.

        Raises NotFoundError, NoSuchMessageError for a boundary that does not exist, BusyError while messages to copy are
        still being written; for a worktree also ConfigError, GitUnavailableError, SnapshotError. A failure leaves no files.
        """
        # A switch to a thread and back would take half of the time budget of a fork.
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
            async with self.locks.session_fork(session_id):
                if self.source.is_free(session_id):
                    return await self._begin(source, request, folder)
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

    async def _begin(self, source: SessionInfo, request: ForkSession, folder: Path | None) -> SessionInfo:
        """Write the fork's record, with the source's fork lock held."""
        taken = await self.source.range(source, request.message_id)
        info = self._describe(source, taken, request.message_id, folder or self.project.directory)
        if not _is_empty(taken):
            self.copies.register(source.id, info.id)
        await self.todos.copy(source.id, info.id)
        await self._copy_prefix(source.id, info.id)
        await self.store.create(info)
        # The fork has messages already: the next reader finds them.
        self.store.drop(info.id)
        if not _is_empty(taken):
            # Start copying last, so that the caller does not wait for it.
            asyncio.get_running_loop().call_soon(self.copies.resume, info.id)
        return info

    async def _copy_prefix(self, source_id: str, fork_id: str) -> None:
        """Let the fork's requests start as those of its source do; in another folder its first request makes that anew."""
        found = await self.store.prefix(source_id)
        if found is not None:
            await self.store.write_prefix(fork_id, without_last(found))

    def _describe(self, source: SessionInfo, taken: CopyRange, boundary: str | None, folder: Path) -> SessionInfo:
        now = self.clock()
        if self._is_elsewhere(source, folder):
            taken = taken.changed(elsewhere=True)
        copying = None if _is_empty(taken) else taken
        origin = ForkOrigin(session_id=source.id, message_id=taken.before or boundary, copying=copying)
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


def _is_empty(taken: CopyRange) -> bool:
    return taken.before is None and taken.last is None and not taken.whole
