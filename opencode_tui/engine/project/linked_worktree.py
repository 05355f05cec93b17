"""Git worktrees of a repository, made at the person's word: a new branch, a new folder beside theirs, nothing checked out.

This is the one place that writes into the person's repository. None of its hooks run, no file-system monitor, no transport; as no
file is checked out, no filter either. What the branch tracks is not set up, so that its settings stay as they are.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.project.safe_git import SafeGit
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.value import immutable

BRANCHES = "opencode-tui/"


@immutable
class LinkedWorktree:
    """A worktree that is, or is to be, at `path` with `branch` checked out, which begins at the commit `start`."""

    path: Path
    branch: str
    start: str


class LinkedWorktrees:
    """Those of one repository. Every method raises GitUnavailableError with git's reason."""

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._git = SafeGit(repository.worktree, environ=environ)

    async def choose(self, name: str) -> LinkedWorktree:
        """Return the first free place and branch for a name: `project-name` beside the project, else `project-name-2`, …

        Raises ConfigError when the repository has no commit yet.
        """
        start = await self._start()
        taken = set(
            (await self._git.run("for-each-ref", "--format=%(refname:short)", f"refs/heads/{BRANCHES}")).split()
        )
        top = self._repository.main_worktree.name.removesuffix(".git")
        number, numbered = 1, name
        while True:
            path = self._repository.worktree.parent / f"{top}-{numbered}"
            if f"{BRANCHES}{numbered}" not in taken and not await asyncio.to_thread(os.path.lexists, path):
                return LinkedWorktree(path, f"{BRANCHES}{numbered}", start)
            number += 1
            numbered = f"{name}-{number}"

    async def add(self, wanted: LinkedWorktree) -> None:
        """Make the worktree: an index like its commit, and no files yet."""
        place = ("--no-track", "-b", wanted.branch, str(wanted.path), wanted.start)
        await self._git.run("worktree", "add", "--quiet", "--no-checkout", *place)
        try:
            await self._git.run("read-tree", wanted.start, folder=wanted.path)
        except BaseException:
            await self.remove(wanted)
            raise

    async def remove(self, made: LinkedWorktree) -> None:
        """Remove a worktree that `add` made in this very act, with what was put there and with its branch."""
        await self._git.run("worktree", "remove", "--force", str(made.path))
        await self._git.run("branch", "--quiet", "-D", made.branch)

    async def _start(self) -> str:
        try:
            return (await self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip()
        except GitUnavailableError as error:
            raise ConfigError(
                f"{self._repository.worktree} has no commit yet, from which a worktree could begin; commit something first"
            ) from error
