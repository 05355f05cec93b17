"""Worktrees of agents: a clone with the files as they are now, whose changes become a branch of the repository.

An agent sees nothing of the repository but its history, and writes nothing into it. No worktree outlives the agent's work: what it
changed is on the branch, from which a later task continues. What a killed one left comes there with the next turn of its session
(`left_agents.py`). Source: docs/internals/loop.md#agents-in-worktrees.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.file.task_repository import (
    Fill,
    TaskRepository,
    TaskWorktree,
    open_repository,
)
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.branch_files import BranchFile
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.session.agent_branch import AgentBranch, agent_branch
from opencode_tui.schema.session.session import SessionInfo

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots


class AgentWorktree(Struct, frozen=True):
    """A worktree in which an agent works; `base` is the commit with the files that its changes are compared with."""

    tree: TaskWorktree
    base: str
    project: Project
    _repository: TaskRepository

    async def collect(self, child: SessionInfo, message: str) -> tuple[AgentBranch, str]:
        """Return the branch with what was changed, which is made now, and the diff. Raises GitUnavailableError."""
        started = TaskWorktree(self.tree.top, self.tree.directory, self.base, is_isolated=True)
        return await collect_changes(self._repository, started, child, message)


class AgentWorktrees(Struct, frozen=True):
    """Makes the worktrees of one folder's agents. Methods raise OpencodeError where there is no repository, or git fails."""

    project: Project
    snapshots: "Lazy[Snapshots]"
    environ: Mapping[str, str]

    @asynccontextmanager
    async def made(self, child: SessionInfo) -> AsyncGenerator[AgentWorktree]:
        """Create a worktree and yield it: with the files of the folder, or with those of a branch that was not applied yet."""
        opened, former = await self._open(), agent_branch(child)
        start, fill = await opened.find_commit("HEAD"), None
        if former is not None and former.commit and not former.is_applied:
            start = former.commit
        elif await opened.count_uncommitted():
            fill = await self._fill()
        else:
            former = None
        async with opened.copy(_name_of(child), start, fill, session_id=child.id) as tree:
            base = former.base if former is not None and start == former.commit else tree.commit
            await opened.record_base(tree, base)
            repository = await asyncio.to_thread(find_repository, tree.top)
            origins = (self.project.worktree, *self.project.origins)
            project = Project(self.project.id, tree.directory, tree.top, "git", repository, origins=origins)
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


async def collect_changes(
    repository: TaskRepository, started: TaskWorktree, child: SessionInfo, message: str
) -> tuple[AgentBranch, str]:
    """Return the branch with what an agent changed, which is made now, and the diff. Raises GitUnavailableError."""
    changes = await repository.changes(started)
    if not changes.files:
        return AgentBranch(base=started.commit), ""
    branch, _ = await repository.make_branch(_name_of(child), base=started.commit, diff=changes.diff, message=message)
    commit = await repository.find_commit(branch)
    return AgentBranch(base=started.commit, commit=commit, branch=branch, files=len(changes.files)), changes.diff


def _name_of(child: SessionInfo) -> str:
    """Return the name of an agent's worktree, which that of its branch ends with."""
    return f"agent-{child.slug}"


async def _unpack(snapshots: "Snapshots", state: str, folder: Path) -> None:
    await snapshots.unpack(state, folder)
