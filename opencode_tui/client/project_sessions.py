"""The sessions of one folder's project without an engine, for the commands that list and count them."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import service
from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.project.opening import open_records, store_migrations
from opencode_tui.engine.project.projects import Projects
from opencode_tui.engine.snapshot.worktree_paths import find_store
from opencode_tui.schema.error import OpencodeError, StorageError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage

if TYPE_CHECKING:
    from opencode_tui.schema.api.usage import ProjectUsage

logger = logging.getLogger(__name__)


class ProjectSessions:
    """The sessions of a project. Damaged records are logged and skipped. Each method raises StorageError."""

    def __init__(self, storage: Storage, locks: Locks, project: Project) -> None:
        self._storage = storage
        self._locks = locks
        self._project = project
        self._index = SessionIndex(storage)

    @service
    def _trash(self):
        from opencode_tui.storage.trash import Trash  # most processes find none

        return Trash(self._storage.paths, locks=self._locks, clock=system_clock)

    async def open(self, environ: Mapping[str, str]) -> None:
        """Do to the records what an engine does before it lists them; what fails is logged."""
        opened = await open_records(
            self._project,
            paths=self._storage.paths,
            migrations=store_migrations(self._storage.paths, locks=self._locks, clock=system_clock, environ=environ),
            trash=self._trash,
            projects=Projects(
                self._storage,
                self._locks,
                system_clock,
                publish=lambda _event: None,
                hold=lambda session_id: self._locks.session_run(session_id).hold(),
            ),
        )
        for warning in opened.warnings:
            logger.warning("%s", warning)

    async def all(self) -> list[SessionInfo]:
        """Return all sessions, newest first."""
        listing = await asyncio.to_thread(self._index.list, self._project.id)
        _report(listing.damaged)
        return listing.sessions

    async def listed(self) -> list[ListedSession]:
        """Return all sessions as lists show them, newest first."""
        found, damaged = await asyncio.to_thread(self._index.listed, self._project.id)
        _report(damaged)
        return found

    async def recent(self, limit: int, *, is_archived: bool = False) -> list[SessionInfo]:
        """Return the sessions that were used last, archived or others, the last one first."""
        listing = await asyncio.to_thread(self._index.recent, self._project.id, limit, is_archived=is_archived)
        _report(listing.damaged)
        return listing.sessions

    async def usage(self, since: int = 0) -> "ProjectUsage":
        """Return what the sessions used that were changed since then, in ms since 1970."""
        from opencode_tui.storage.session_sums import SessionSums  # not for a list

        sums = SessionSums(self._storage, self._index, self._project.id)
        found, damaged = await asyncio.to_thread(sums.total, since)
        _report(damaged)
        return found


def _report(damaged: Iterable[StorageError]) -> None:
    for problem in damaged:
        logger.warning("skipped in the list: %s", problem)


def _has_leftovers(paths: Paths, project: Project) -> bool:
    return find_store(paths, project_id=project.id, worktree=project.worktree).has_leftovers


async def _complete_undo(environ: Mapping[str, str], directory: Path) -> None:
    """Start an engine, which completes or rolls back the undos of dead processes; a failure is logged."""
    from opencode_tui.client.local import open_client  # few undos are interrupted

    try:
        async with open_client(environ, directory):
            pass
    except OpencodeError as error:
        logger.warning("an interrupted undo is not completed yet: %s", error)


@asynccontextmanager
async def open_sessions(
    environ: Mapping[str, str], directory: Path, *, paths: Paths
) -> AsyncGenerator[ProjectSessions, None]:
    """Open the sessions of a folder's project, after an undo of its files that was interrupted is completed.

    Raises ConfigError, GitUnavailableError, StorageError.
    """
    project = await asyncio.to_thread(discover, directory, paths=paths, environ=environ)
    if await asyncio.to_thread(_has_leftovers, paths, project):
        await _complete_undo(environ, directory)
    storage = Storage(paths)
    try:
        sessions = ProjectSessions(storage, Locks(paths, keep=storage.keep), project)
        await sessions.open(environ)
        yield sessions
    finally:
        await storage.close()
