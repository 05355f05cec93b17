"""The repository of batch tasks and of agents: a worktree or a clone for each, its changes, and what killed processes left.

An agent gets a clone of the files as they are now, uncommitted changes included. Its result is a branch of the repository.
"""

import asyncio
import os
import re
import secrets
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.project.branch_files import BranchFile
from opencode_tui.engine.project.changes import WorktreeChanges
from opencode_tui.engine.project.git_reach import refuse_other_repository
from opencode_tui.engine.project.isolated_clone import IsolatedClones
from opencode_tui.engine.project.linked_worktree import BRANCHES, DetachedWorktrees
from opencode_tui.engine.project.repository import Repository, find_repository
from opencode_tui.engine.sandbox.temp import delete_caches
from opencode_tui.schema.error import ConfigError, OpencodeError, StorageError
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths, ensure, find_paths
from opencode_tui.storage.task_folders import (
    TaskFolder,
    delete_folder,
    delete_record,
    list_left_agents,
    list_tasks,
    record_base,
    record_task,
)

Fill = Callable[[Path], Awaitable[object]]
"""Writes the files of a new clone into the folder."""

_LEFTOVERS = "leftovers"
_LOCK_MS = 60_000
"""Milliseconds to wait for other tasks that add or remove worktrees."""


class TaskWorktree(Struct, frozen=True):
    """A worktree of one task: its top, and the folder in it that corresponds to the task's folder.

    With `is_isolated` it is a clone, which shares nothing with the repository.
    """

    top: Path
    directory: Path
    commit: str
    is_isolated: bool = False


class TaskRepository(Struct, frozen=True):
    """The repository of a folder; opened by `open_repository`. Methods raise GitUnavailableError with git's reason."""

    directory: Path
    repository: Repository
    paths: Paths
    worktrees: DetachedWorktrees
    clones: IsolatedClones

    async def find_commit(self, name: str) -> str:
        """Return the full ID of a commit. Raises ConfigError when there is none of this name."""
        return await self.worktrees.find_commit(name)

    async def count_uncommitted(self) -> int:
        """Return the number of files of the work tree that differ from HEAD or are new."""
        return await self.worktrees.count_uncommitted()

    @asynccontextmanager
    async def worktree(
        self, commit: str, name: str, *, is_isolated: bool = False
    ) -> AsyncGenerator[TaskWorktree, None]:
        """Create a worktree or a clone for a task in our cache folder; on leaving it is removed, whatever happens inside."""
        async with self._place(name) as path:
            if is_isolated:
                await self.clones.add(path, commit)
            else:
                async with self._lock():
                    await self.worktrees.add(path, commit)
            yield TaskWorktree(path, await self._folder_in(path, commit), commit, is_isolated)

    @asynccontextmanager
    async def copy(
        self, name: str, start: str, fill: Fill | None = None, *, session_id: str
    ) -> AsyncGenerator[TaskWorktree, None]:
        """Create a clone for the agent of a session at a commit; `fill` writes its files, those of the commit without it.

        Its `commit` has these files, as an additional one where they differ from those of `start`. On leaving it is removed.
        """
        async with self._place(name, session_id) as path:
            await self.clones.add(path, start, has_files=fill is None)
            commit = start
            if fill is not None:
                await fill(path)
                commit = await self.clones.record(path, start, "Changes that were not committed")
            yield TaskWorktree(path, await self._folder_in(path, commit), commit, is_isolated=True)

    async def _folder_in(self, top: Path, commit: str) -> Path:
        """Return the folder in a worktree that corresponds to the task's. Raises ConfigError."""
        directory = top / self.directory.relative_to(self.repository.worktree)
        if not await asyncio.to_thread(directory.is_dir):
            raise ConfigError(f"{self.directory} does not exist in the commit {commit[:12]}; commit it first")
        return directory

    @asynccontextmanager
    async def _place(self, name: str, session_id: str = "") -> AsyncGenerator[Path, None]:
        """Record the path of a new worktree and yield it; on leaving the worktree is removed."""
        unique = f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)[:40]}-{secrets.token_hex(4)}"
        try:
            path = await asyncio.to_thread(
                record_task,
                self.paths,
                unique,
                origin=self.repository.worktree,
                common_dir=self.repository.common_dir,
                session_id=session_id,
            )
        except OSError as error:
            raise StorageError(f"{self.paths.tasks} cannot be written ({error.strerror}); make it writable") from error
        path = await asyncio.to_thread(path.resolve)
        try:
            yield path
        finally:
            await run_to_completion(self.remove(unique))

    async def record_base(self, tree: TaskWorktree, base: str) -> None:
        """Record the commit with which an agent's changes are compared, for when its process is killed. Raises StorageError."""
        try:
            await asyncio.to_thread(record_base, self.paths, tree.top.name, base)
        except OSError as error:
            raise StorageError(f"{self.paths.tasks} cannot be written ({error.strerror}); make it writable") from error

    async def remove(self, name: str) -> None:
        """Remove the worktree or the clone of this name, and its record."""
        path = await asyncio.to_thread((self.paths.tasks / name).resolve)
        async with self._lock():
            await self.worktrees.remove(path)
        await asyncio.to_thread(delete_caches, self.paths, path)
        await asyncio.to_thread(delete_record, self.paths, name)

    async def changes(self, tree: TaskWorktree) -> WorktreeChanges:
        """Return what the task changed in its worktree."""
        return await (self.clones if tree.is_isolated else self.worktrees).changes(tree.top, tree.commit)

    async def make_branch(self, name: str, *, base: str, diff: str, message: str) -> tuple[str, bool]:
        """Commit a task's changes on a branch of their own; return the branch, and whether it is new.

        The work tree stays as it is. One that has the same changes is kept, another one of the name gets a number.
        """
        branch = re.sub(r"\.(?=\.|$)|\.lock$", "-", name)
        with self._patch(diff) as patch:
            return await self.worktrees.make_branch(f"{BRANCHES}{branch}", base=base, patch=patch, message=message)

    async def read_files(self, base: str, commit: str) -> tuple[BranchFile, ...]:
        """Return the files in which two commits differ."""
        with tempfile.TemporaryDirectory(dir=ensure(self.paths.cache), prefix="files-") as folder:
            return await self.worktrees.read_files(base, commit, Path(folder))

    async def find_conflict(self, diff: str, files: Sequence[str]) -> str:
        """Return why a task's changes cannot be applied to the work tree; empty when they can."""
        with self._patch(diff) as patch:
            return await self.worktrees.find_conflict(patch, files)

    async def apply(self, diff: str) -> None:
        """Apply a task's changes to the files of the work tree; all of them or none."""
        with self._patch(diff) as patch:
            await self.worktrees.apply(patch)

    @contextmanager
    def _patch(self, diff: str) -> Generator[Path, None, None]:
        """Write a diff to a temporary file."""
        with tempfile.TemporaryDirectory(dir=ensure(self.paths.cache), prefix="patch-") as folder:
            path = Path(folder, "patch")
            path.write_bytes(diff.encode("utf-8", "surrogateescape"))
            yield path

    @asynccontextmanager
    async def _lock(self) -> AsyncGenerator[None, None]:
        name = sha256(os.fsencode(self.repository.common_dir)).hexdigest()[:40]
        lock = Locks(self.paths).task_worktrees(name)
        await lock.acquire(_LOCK_MS)
        try:
            yield
        finally:
            lock.release()


class LeftAgent(Struct, frozen=True):
    """The clone of a killed agent; its commit is empty when the kill came before the agent began."""

    name: str
    session_id: str
    tree: TaskWorktree
    repository: TaskRepository


def open_repository(environ: Mapping[str, str], directory: Path) -> TaskRepository:
    """Return the repository of a folder; blocks for a moment. Raises ConfigError when there is none, or no such folder.

    Raises GitUnavailableError where it is another than before commands ran there.
    """
    real = Path(os.path.realpath(directory))
    if not real.is_dir():
        raise ConfigError(f"{directory} is not a directory")
    repository = find_repository(real)
    if repository is None or repository.worktree == repository.common_dir:
        raise ConfigError(
            f"{directory} is not in a git repository; a task needs one for its worktree (`git init`, then commit)"
        )
    refuse_other_repository(repository)
    return _make_repository(real, repository, find_paths(environ), environ)


def _make_repository(
    directory: Path, repository: Repository, paths: Paths, environ: Mapping[str, str]
) -> TaskRepository:
    worktrees = DetachedWorktrees(repository, environ=environ)
    return TaskRepository(directory, repository, paths, worktrees, IsolatedClones(repository, environ=environ))


async def remove_leftovers(environ: Mapping[str, str]) -> int:
    """Remove the worktrees of tasks whose process was killed, after the processes that still work in them; return how many.

    A task of a batch can be repeated. What an agent had changed is nowhere else, so its clone stays for the user.
    """
    paths = find_paths(environ)
    found = await asyncio.to_thread(lambda: list(list_tasks(paths)))
    left = [one for one in found if one.is_left and not one.is_agent]
    if not left:
        return 0
    lock = Locks(paths).task_worktrees(_LEFTOVERS)
    await lock.acquire(_LOCK_MS)
    try:
        for one in left:
            await _remove_left(environ, paths, one)
    finally:
        lock.release()
    return len(left)


@asynccontextmanager
async def left_agents(environ: Mapping[str, str], session_ids: Container[str]) -> AsyncGenerator[Sequence[LeftAgent]]:
    """Yield the clones that killed agents of these sessions left, after the processes that still work in them.

    No other process has them in the meantime. One whose repository is gone, or that an older version made, is left out.
    """
    paths = find_paths(environ)
    lock = Locks(paths).task_worktrees(_LEFTOVERS)
    await lock.acquire(_LOCK_MS)
    try:
        found: list[LeftAgent] = []
        for one in await asyncio.to_thread(list_left_agents, paths):
            opened = await _open_origin(environ, paths, one) if one.session_id in session_ids else None
            if opened is not None:
                path = await asyncio.to_thread((paths.tasks / one.name).resolve)
                await asyncio.to_thread(_end_processes_in, path)
                found.append(LeftAgent(one.name, one.session_id, TaskWorktree(path, path, one.base, True), opened))
        yield found
    finally:
        lock.release()


async def _remove_left(environ: Mapping[str, str], paths: Paths, left: TaskFolder) -> None:
    path = await asyncio.to_thread((paths.tasks / left.name).resolve)
    await asyncio.to_thread(_end_processes_in, path)
    opened = await _open_origin(environ, paths, left)
    if opened is not None:
        with suppress(OpencodeError):
            await opened.remove(left.name)
            return
    await asyncio.to_thread(delete_folder, path)
    await asyncio.to_thread(delete_record, paths, left.name)


async def _open_origin(environ: Mapping[str, str], paths: Paths, left: TaskFolder) -> TaskRepository | None:
    """Return the repository that a worktree came from; None when it is gone or another one."""
    repository = await asyncio.to_thread(find_repository, Path(left.origin))
    if repository is None or str(repository.common_dir) != left.common_dir:
        return None
    return _make_repository(Path(left.origin), repository, paths, environ)


def _end_processes_in(folder: Path) -> None:
    """Kill the processes of this user that work in a folder: commands that a killed task left. Blocks."""
    import psutil  # only after a kill

    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if Path(process.cwd()).is_relative_to(folder):
                process.kill()
