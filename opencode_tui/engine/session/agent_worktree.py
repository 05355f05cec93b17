"""Worktrees of agents: a clone with the files as they are now, whose changes become a branch of the repository.

An agent sees nothing of the repository but its history, and writes nothing into it. No worktree outlives the agent's work: what it
changed is on the branch, from which a later task continues. Source: docs/internals/loop.md#agents-in-worktrees.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.file.task_repository import Fill, TaskRepository, TaskWorktree, open_repository
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.branch_files import BranchFile
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.session.agent_branch import AgentBranch

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots


class AgentWorktree(Struct, frozen=True):
    """A worktree in which an agent works; `base` is the commit with the files that its changes are compared with."""

    tree: TaskWorktree
    base: str
    project: Project
    _repository: TaskRepository

    async def collect(self, name: str, message: str) -> tuple[AgentBranch, str]:
        """Return the branch with what was changed, which is made now, and the diff. Raises GitUnavailableError."""
        started = TaskWorktree(self.tree.top, self.tree.directory, self.base, is_isolated=True)
        changes = await self._repository.changes(started)
        if not changes.files:
            return AgentBranch(base=self.base), ""
        branch, _ = await self._repository.make_branch(name, base=self.base, diff=changes.diff, message=message)
        commit = await self._repository.find_commit(branch)
        return AgentBranch(base=self.base, commit=commit, branch=branch, files=len(changes.files)), changes.diff


class AgentWorktrees(Struct, frozen=True):
    """Makes the worktrees of one folder's agents. Methods raise OpencodeError where there is no repository, or git fails."""

    project: Project
    snapshots: "Lazy[Snapshots]"
    environ: Mapping[str, str]

    @asynccontextmanager
    async def made(self, name: str, former: AgentBranch | None) -> AsyncGenerator[AgentWorktree]:
        """Create a worktree and yield it: with the files of the folder, or with those of a branch that was not applied yet."""
        opened = await self._open()
        start, fill = await opened.find_commit("HEAD"), None
        if former is not None and former.commit and not former.is_applied:
            start = former.commit
        elif await opened.count_uncommitted():
            fill = await self._fill()
        else:
            former = None
        async with opened.copy(name, start, fill) as tree:
            base = former.base if former is not None and start == former.commit else tree.commit
            repository = await asyncio.to_thread(find_repository, tree.top)
            project = Project(self.project.id, tree.directory, tree.top, "git", repository)
            yield AgentWorktree(tree, base, project, opened)

    async def files(self, branch: AgentBranch) -> tuple[BranchFile, ...]:
        """Return the files that an agent changed."""
        return await (await self._open()).read_files(branch.base, branch.commit)

    async def _open(self) -> TaskRepository:
        return await asyncio.to_thread(open_repository, self.environ, self.project.directory)

    async def _fill(self) -> Fill:
        """Return what writes the files as they are now, recorded at once. Raises SnapshotError."""
        snapshots = self.snapshots.get()
        state = await snapshots.track_all()
        return partial(_unpack, snapshots, state.id)


async def _unpack(snapshots: "Snapshots", state: str, folder: Path) -> None:
    await snapshots.unpack(state, folder)
