"""Creates git worktrees when the user requests one: a new branch and a new folder, nothing checked out.

This is the only module that writes to the user's repository. It checks out no file, so no filter runs, and sets up no upstream
tracking, so the repository's settings do not change.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.error import ConfigError, GitUnavailableError

BRANCHES = "opencode-tui/"


class LinkedWorktree(Struct, frozen=True):
    """An existing or planned worktree at `path` with `branch` checked out, which starts at the commit `start`."""

    path: Path
    branch: str
    start: str


class LinkedWorktrees:
    """The worktrees of one repository. Every method raises GitUnavailableError with git's reason."""

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._git = SafeGit(repository.worktree, environ=environ)

    async def choose(self, name: str) -> LinkedWorktree:
        """Return the first free path and branch for a name: `project-name` in the project's parent folder, else `project-name-2`, …

        Raises ConfigError when the repository has no commit yet.
        """
        start = await self._start()
        branches = set(
            (await self._git.run("for-each-ref", "--format=%(refname:short)", f"refs/heads/{BRANCHES}")).split()
        )
        top = self._repository.main_worktree.name.removesuffix(".git")
        number, numbered = 1, name
        while True:
            path = self._repository.worktree.parent / f"{top}-{numbered}"
            if f"{BRANCHES}{numbered}" not in branches and not await asyncio.to_thread(os.path.lexists, path):
                return LinkedWorktree(path, f"{BRANCHES}{numbered}", start)
            number += 1
            numbered = f"{name}-{number}"

    async def add(self, wanted: LinkedWorktree) -> None:
        """Create the worktree with the index of its commit and no files."""
        options = ("--no-track", "-b", wanted.branch, str(wanted.path), wanted.start)
        await self._git.run("worktree", "add", "--quiet", "--no-checkout", *options)
        try:
            await self._git.run("read-tree", wanted.start, folder=wanted.path)
        except BaseException:
            await self.remove(wanted)
            raise

    async def remove(self, made: LinkedWorktree) -> None:
        """Remove a worktree that `add` just created, with its files and its branch."""
        await self._git.run("worktree", "remove", "--force", str(made.path))
        await self._git.run("branch", "--quiet", "-D", made.branch)

    async def _start(self) -> str:
        try:
            return (await self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip()
        except GitUnavailableError as error:
            raise ConfigError(f"{self._repository.worktree} has no commits; commit something first") from error
