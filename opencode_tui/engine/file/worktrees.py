"""Worktrees that clients of the server make for a project, remove and reset; no uncommitted work and no commit is lost.

A worktree is listed when the call returns; its files are checked out after that, then the start commands run, inside the sandbox of
the new folder. `worktree.ready` and `worktree.failed` report it, as events of the new folder. Source: OpenCode's API, 1.1.65.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.trust.inspection import inspect_folder
from opencode_tui.engine.file.git_status import changed_files, staged_files, unwatched_files
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.linked_worktree import BRANCHES, LinkedWorktree, LinkedWorktrees, shorten_names
from opencode_tui.engine.project.projects import Projects
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeInfo
from opencode_tui.schema.error import ConfigError, NotFoundError, OpencodeError
from opencode_tui.schema.event.folder_event import WorktreeFailed, WorktreeReady
from opencode_tui.storage.paths import Paths

_NAME_LENGTH = 60

Run = Callable[[Path, str], Awaitable[str | None]]
"""Runs a shell command in a folder, inside its sandbox; returns one line about a failure, None for success."""


class Worktrees(Struct, frozen=True):
    """The worktrees of one folder's project."""

    project: Project
    projects: Projects
    paths: Paths
    environ: Mapping[str, str]
    publish: Callable[[WorktreeReady | WorktreeFailed, Path], None]
    new_name: Callable[[], str]

    async def list(self) -> list[str]:
        """Return the folders of the project's existing worktrees but the main one, in the order of discovery."""
        return (await self.projects.open(self.project)).info.sandboxes

    async def create(self, request: CreateWorktree) -> tuple[WorktreeInfo, LinkedWorktree]:
        """Create a worktree without files, next to the project's folder; `fill` does the rest.

        Raises ConfigError, GitUnavailableError.
        """
        linked = self._linked()
        chosen = await linked.choose(_slug(request.name or "") or self.new_name())
        await linked.add(chosen)
        await self.projects.change_sandboxes(self.project, added=str(chosen.path))
        return _info(chosen), chosen

    async def fill(self, made: LinkedWorktree, command: str | None, run: Run) -> None:
        """Check out the files, run the start commands, and publish the result."""
        info = _info(made)
        try:
            await self._linked().check_out(made)
            await self._start(made.path, command, run)
        except OpencodeError as error:
            self.publish(WorktreeFailed(message=str(error)), made.path)
        else:
            self.publish(WorktreeReady(name=info.name, branch=info.branch), made.path)

    async def remove(self, directory: str) -> None:
        """Remove a worktree, with ignored files; its branch stays while it has commits that exist nowhere else.

        Raises NotFoundError, and ConfigError when it has uncommitted changes or new files.
        """
        found = await self._find(directory)
        await self._refuse_changes(found.path, "remove")
        await self._linked().remove_clean(found)
        await self.projects.change_sandboxes(self.project, removed=str(found.path))

    async def reset(self, directory: str) -> None:
        """Move a worktree's branch to the default branch, and run the project's start command.

        Commits that would exist nowhere else keep a branch of their own; ignored files stay. Nothing is fetched.

        Raises as `remove`, and ConfigError when ignored files are where the default branch has files.
        """
        found = await self._find(directory)
        await self._refuse_changes(found.path, "reset")
        await self._linked().reset(found)

    async def restart(self, directory: str, run: Run) -> None:
        """Run the project's start command after a reset, and publish the result."""
        path = Path(directory)
        try:
            await self._start(path, None, run)
        except OpencodeError as error:
            self.publish(WorktreeFailed(message=str(error)), path)

    async def _start(self, path: Path, command: str | None, run: Run) -> None:
        """Run the project's start command and the given one. Raises ConfigError when one must not run or fails."""
        info = (await self.projects.open(self.project)).info
        commands = [one.strip() for one in ((info.commands or {}).get("start"), command) if one and one.strip()]
        if not commands:
            return
        inspection = await asyncio.to_thread(inspect_folder, self.project.worktree, paths=self.paths)
        if any(item.effects and verdict != "trusted" for item, verdict in inspection.items):
            raise ConfigError(
                f"the start command did not run: {self.project.worktree} is not trusted; review it with `opencode-tui trust`"
            )
        for one in commands:
            failure = await run(path, one)
            if failure is not None:
                raise ConfigError(f"the start command `{one[:80]}` failed: {failure}")

    async def _find(self, directory: str) -> LinkedWorktree:
        wanted = Path(await asyncio.to_thread(os.path.realpath, directory))
        for found in await self._linked().list():
            if found.path == wanted:
                return found
        raise NotFoundError(
            f"{directory} is not a linked worktree of {self.project.worktree}; list them with `git worktree list`"
        )

    async def _refuse_changes(self, path: Path, verb: str) -> None:
        repository = await asyncio.to_thread(find_repository, path)
        if repository is None:
            raise NotFoundError(f"{path} is not a worktree any more")
        git = SafeGit(path, environ=self.environ)
        changed = [one.path for one in await changed_files(git, repository, directory=path)]
        others = (*await staged_files(git, repository), *await unwatched_files(git, repository))
        names = sorted({*changed, *others})
        if names:
            raise ConfigError(
                f"{path} has uncommitted work ({shorten_names(names)}); "
                f"commit or move it, then {verb} the worktree again"
            )

    def _linked(self) -> LinkedWorktrees:
        if self.project.repository is None or self.project.vcs is None:
            raise ConfigError(f"{self.project.directory} is not in a git repository with a commit; worktrees need one")
        return LinkedWorktrees(self.project.repository, environ=self.environ)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_NAME_LENGTH].strip("-")


def _info(made: LinkedWorktree) -> WorktreeInfo:
    return WorktreeInfo(name=made.branch.removeprefix(BRANCHES), branch=made.branch, directory=str(made.path))
