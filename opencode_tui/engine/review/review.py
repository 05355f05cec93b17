"""The review of one folder's work tree, as clients use it: `client/facets/review.py` documents the methods."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.review.changes import find_head, read_changes
from opencode_tui.engine.review.commit import commit_marked
from opencode_tui.engine.review.publish import create_branch, open_request, plan_push, push
from opencode_tui.engine.review.ranges import read_named
from opencode_tui.schema.api.findings import ReviewedChanges
from opencode_tui.schema.api.review import CommitMarked, GitReport, NewBranch, PublishPlan, PullRequest, TreeChanges
from opencode_tui.schema.error import ConfigError

if TYPE_CHECKING:
    from opencode_tui.engine.lazy import Lazy
    from opencode_tui.engine.review.message import MessageWriter

_SUBJECTS = 10
"""Earlier commits whose subjects show the model how messages are written here."""


class Review:
    """Reads and commits the changes of one work tree. All methods raise ConfigError without a repository, GitUnavailableError."""

    def __init__(
        self,
        repository: Repository | None,
        folder: Path,
        environ: Mapping[str, str],
        writer: "Lazy[MessageWriter]",
        leaving: Leaving,
    ) -> None:
        """`leaving` decides what a model may read of the changes."""
        self._found = repository
        self._folder = folder
        self._environ = environ
        self._writer = writer
        self._leaving = leaving

    @property
    def _repository(self) -> Repository:
        if self._found is None:
            raise ConfigError(f"{self._folder} is in no git repository; `git init` makes one")
        return self._found

    @property
    def _git(self) -> SafeGit:
        return SafeGit(self._repository.worktree, environ=self._environ, repository=self._repository)

    async def changes(self) -> TreeChanges:
        """Return all changes of the work tree."""
        return await read_changes(self._git, self._repository)

    async def named(self, name: str) -> ReviewedChanges:
        """Return the changes that a name stands for, as a model may read them."""
        found = await read_named(self._git, self._repository, name)
        return found.changed(files=await asyncio.to_thread(self._leaving.changed, found.files))

    async def commit(self, request: CommitMarked) -> GitReport:
        """Commit marked pieces."""
        return await commit_marked(self._git, self._repository, request)

    async def propose_message(self, request: CommitMarked, *, session_id: str | None = None) -> str:
        """Return a message for marked pieces by the small model."""
        changes = await self.changes()
        marked = set(request.hunks)
        files = [
            one.changed(hunks=kept)
            for one in changes.files
            if (kept := [hunk for hunk in one.hunks if hunk.id in marked])
        ]
        has_commit = await find_head(self._git)
        earlier = await self._git.run("log", f"--max-count={_SUBJECTS}", "--format=%s") if has_commit else ""
        return await self._writer.get().propose(
            session_id, await asyncio.to_thread(self._leaving.changed, files), earlier
        )

    async def create_branch(self, request: NewBranch) -> str:
        """Create a branch and switch to it."""
        return await create_branch(self._git, request.name)

    async def plan_push(self) -> PublishPlan:
        """Return what a push would do."""
        return await plan_push(self._git, self._repository, self._environ)

    async def push(self) -> GitReport:
        """Push the present branch."""
        return await push(self._git, self._repository, self._environ)

    async def open_request(self, request: PullRequest) -> GitReport:
        """Open a pull request for the present branch."""
        return await open_request(self._repository, self._environ, await self.plan_push(), request)
