"""The import of sessions for the client: one at a time, in a thread, with progress that can be asked for."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.imports import SessionImports
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.extras.importing.export_file import ExportFile
from opencode_tui.extras.importing.importer import FolderMap, Importer, Selection
from opencode_tui.extras.importing.places import marker
from opencode_tui.extras.importing.snapshots import MAX_AGE_MS, StateReader, with_states
from opencode_tui.extras.importing.sources import Sources
from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
from opencode_tui.schema.api.project import GLOBAL_PROJECT, ProjectInfo, ProjectTime
from opencode_tui.schema.error import BusyError, ConfigError, SnapshotError, StorageError
from opencode_tui.schema.event.event import SessionUpdated
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import PatchPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.files import AtomicWriter
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage

if TYPE_CHECKING:
    from opencode_tui.extras.importing.importer import KeepStates
    from opencode_tui.extras.importing.source import ImportedSession, SessionSource

_logger = logging.getLogger(__name__)


class Imports:
    """Finds stores of other programs and imports from them. Call all methods on the event loop's thread."""

    def __init__(
        self,
        *,
        paths: Paths,
        environ: Mapping[str, str],
        storage: Storage,
        locks: Locks,
        store: SessionStore,
        publisher: Publisher,
        clock: Clock,
    ) -> None:
        self._paths = paths
        self._environ = environ
        self._storage = storage
        self._locks = locks
        self._lock = locks.importing()
        self._store = store
        self._publisher = publisher
        self._clock = clock
        self._sources = Sources(paths, environ)
        self._marker = marker(paths)
        self._progress: ImportProgress | None = None
        self._cancel = threading.Event()

    async def stores(self, request: ImportRequest | None = None, *, here: str) -> list[ImportStore]:
        """Return the stores with what is not here yet; with a request those that it names.

        Raises ConfigError for a path without a store. A store that cannot be read has its error in `problems`.
        """
        return await asyncio.to_thread(self._describe, request or ImportRequest(), here)

    async def run(self, request: ImportRequest, *, here: str) -> ImportReport:
        """Import, and return what was done; a single file is imported into the folder `here` unless its own folder exists.

        Raises ConfigError, StorageError, and BusyError while another import runs."""
        if not await self._lock.try_acquire_on_thread():
            raise BusyError("another import is running; wait for it, or end that process")
        self._cancel.clear()
        self._progress = ImportProgress(done=0, total=0)
        try:
            return await self._run(request, here)
        finally:
            self._progress = None
            self._lock.release()

    async def progress(self) -> ImportProgress | None:
        """Return how far the import of this process is; None when none runs."""
        return self._progress

    async def cancel(self) -> bool:
        """End the running import after the session that it works on; return whether there is one."""
        self._cancel.set()
        return self._progress is not None

    async def _run(self, request: ImportRequest, here: str) -> ImportReport:
        loop = asyncio.get_running_loop()

        def stored(sessions: Sequence[SessionInfo]) -> None:
            loop.call_soon_threadsafe(self._publish, sessions)

        work = asyncio.ensure_future(asyncio.to_thread(self._import, request, here, stored, loop))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            self._cancel.set()
            await asyncio.wait({work})  # it ends after one session; the lock is held until then
            raise

    def _import(
        self,
        request: ImportRequest,
        here: str,
        stored: Callable[[Sequence[SessionInfo]], None],
        loop: asyncio.AbstractEventLoop,
    ) -> ImportReport:
        with ExitStack() as stack:
            sources = self._open(request, here, stack)
            importer = Importer(
                self._storage,
                clock=self._clock,
                find_project=cache(self._find_project),
                progress=self._set_progress,
                stored=stored,
                is_cancelled=self._cancel.is_set,
                keep_states=self._state_keeper(loop),
            )
            directory = request.directory
            selection = Selection(request.since, frozenset(request.sessions or ()), directory)
            report = importer.run(sources, selection, FolderMap(request.map or {}), dry_run=request.dry_run)
        if not request.dry_run and request.source is None:  # an exported session says nothing about other programs
            self._mark()
        return report

    def _mark(self) -> None:
        """Record that the user knows the import, so that the welcome page does not suggest it any more."""
        try:
            AtomicWriter(self._storage.files).write(str(self._marker), b"")
        except OSError as error:
            _logger.warning("%s", storage_error(error, "write", str(self._marker)))

    def _describe(self, request: ImportRequest, here: str) -> list[ImportStore]:
        with ExitStack() as stack:
            importer = Importer(self._storage, clock=self._clock, find_project=self._find_project)
            return [_description(importer, source) for source in self._open(request, here, stack)]

    def _open(self, request: ImportRequest, here: str, stack: ExitStack) -> "list[SessionSource]":
        """Return the stores that a request names; they are closed with the stack. Raises ConfigError."""
        if request.source is not None:
            found: list[SessionSource] = [ExportFile(request.source, here=here)]
        elif request.path is not None:
            found = self._sources.open(request.tool, Path(request.path))
        else:
            found = self._sources.find()
        for source in found:
            stack.callback(source.close)
        if request.tool is not None:
            found = [source for source in found if source.tool == request.tool]
        if request.stores is not None:
            found = [source for source in found if str(source.path) in request.stores]
            missing = set(request.stores) - {str(source.path) for source in found}
            if missing:
                raise ConfigError(f"{min(missing)} is not a store that was found; see `opencode-tui import`")
        return found

    def _find_project(self, directory: str) -> ProjectInfo:
        """Return the project of a folder; blocks."""
        now = self._clock()
        try:
            project = discover(Path(directory), paths=self._paths, environ=self._environ)
        except (ConfigError, OSError, ValueError):  # the folder is gone: its sessions stay readable
            return ProjectInfo(id=GLOBAL_PROJECT, worktree="/", time=ProjectTime(created=now, updated=now))
        if project.id == GLOBAL_PROJECT or project.repository is None:
            return ProjectInfo(id=GLOBAL_PROJECT, worktree="/", time=ProjectTime(created=now, updated=now))
        worktree = str(project.repository.main_worktree)
        return ProjectInfo(id=project.id, worktree=worktree, vcs="git", time=ProjectTime(created=now, updated=now))

    def _state_keeper(self, loop: asyncio.AbstractEventLoop) -> "KeepStates":
        """Return the function that copies recorded states of files; it is called in a thread."""
        worktrees = cache(self._snapshots_of)

        def keep(session: "ImportedSession", directory: str, message: MessageWithParts) -> MessageWithParts:
            filled = with_states(message)
            patches = [part for part in filled.parts if isinstance(part, PatchPart) and part.after]
            is_old = self._clock() - message.info.time.created > MAX_AGE_MS
            snapshots = worktrees(directory) if patches and session.snapshots and not is_old else None
            if snapshots is None or snapshots.unavailable is not None:
                return message
            reader = StateReader(session.snapshots, snapshots.worktree, self._environ)
            try:
                for patch in patches:
                    states = [patch.hash, patch.after or ""]
                    if not asyncio.run_coroutine_threadsafe(snapshots.missing(states), loop).result():
                        continue
                    objects = reader.objects(states, patch.files)
                    if objects is None:
                        return message
                    if not asyncio.run_coroutine_threadsafe(snapshots.add_foreign(states, objects), loop).result():
                        return message
            except (SnapshotError, StorageError) as error:
                _logger.warning("states of files in %s were not copied: %s", directory, error)
                return message
            return filled

        return keep

    def _snapshots_of(self, directory: str) -> "Snapshots | None":
        try:
            project = discover(Path(directory), paths=self._paths, environ=self._environ)
        except (ConfigError, OSError, ValueError):
            return None
        return Snapshots(
            WorktreeLock(
                worktree=project.worktree,
                project_id=project.id,
                paths=self._paths,
                locks=self._locks,
                clock=self._clock,
            )
        )

    def _set_progress(self, done: int, total: int, title: str) -> None:
        self._progress = ImportProgress(done=done, total=total, title=title)

    def _publish(self, sessions: Sequence[SessionInfo]) -> None:
        for info in sessions:
            self._store.drop(info.id)
            self._publisher.publish(SessionUpdated.trusted(info=info))


def make_imports(core: Core) -> SessionImports:
    """Return what imports sessions into the store of this process."""
    return Imports(
        paths=core.paths,
        environ=core.environ,
        storage=core.storage,
        locks=core.locks,
        store=core.store,
        publisher=core.publisher,
        clock=core.clock,
    )


def _description(importer: "Importer", source: "SessionSource") -> ImportStore:
    try:
        return importer.describe(source)
    except StorageError as error:
        return ImportStore(
            tool=source.tool, label=source.label, path=str(source.path), sessions=0, new=0, problems=[str(error)]
        )
