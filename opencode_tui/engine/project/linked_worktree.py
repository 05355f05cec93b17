"""Creates, removes and resets git worktrees when the user requests it; a new one gets a new branch and a new folder.

This is the only module that writes to the user's repository. No filter and no hook runs, and no upstream tracking is set up, so the
repository's settings do not change. Nothing is fetched. No commit is lost: a branch is deleted only when others have its commits.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.branch_files import BranchFile, read_branch_files
from opencode_tui.engine.project.changes import TIMEOUT_S, WorktreeChanges, find_identity, read_changes, split_names
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository, find_repository, read_small
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.task_folders import delete_folder

BRANCHES = "opencode-tui/"
_SHOWN = 5


class LinkedWorktree(Struct, frozen=True):
    """An existing or planned worktree at `path` with `branch` checked out, which starts at the commit `start`."""

    path: Path
    branch: str
    start: str


class LinkedWorktrees:
    """The worktrees of one repository. Every method raises GitUnavailableError with git's reason."""

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._git = SafeGit(repository.worktree, environ=environ, repository=repository)

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
        await asyncio.to_thread(_make_empty, wanted.path)
        try:
            await self._git.run("worktree", "add", "--quiet", "--no-checkout", *options, write=[wanted.path])
        except BaseException:
            await asyncio.to_thread(delete_folder, wanted.path)
            raise
        try:
            await self._git.run("read-tree", wanted.start, folder=wanted.path)
        except BaseException:
            await self.remove(wanted)
            raise

    async def check_out(self, made: LinkedWorktree) -> None:
        """Write the files of the worktree's index into it, without filters."""
        await self._git.run(
            "checkout-index", "--all", "--index", "--quiet", folder=made.path, more=await self._plain(made.path)
        )

    async def list(self) -> list[LinkedWorktree]:
        """Return the existing worktrees with a branch, but the main one; `start` is the present commit."""
        listing = await self._git.run("worktree", "list", "--porcelain")
        return await asyncio.to_thread(lambda: list(self._read(listing)))

    def _read(self, listing: str) -> Iterator[LinkedWorktree]:
        for entry in listing.split("\n\n")[1:]:  # the first is the main one, or its git folder when that is elsewhere
            facts = dict(line.split(" ", 1) for line in entry.splitlines() if " " in line)
            path = Path(os.path.realpath(facts.get("worktree", "")))
            found = find_repository(path) if "branch" in facts else None
            if found and found.worktree == path and found.common_dir == self._repository.common_dir:
                yield LinkedWorktree(path, facts["branch"].removeprefix("refs/heads/"), facts.get("HEAD", ""))

    async def remove_clean(self, made: LinkedWorktree) -> None:
        """Remove a worktree with its ignored files, and its branch if that is ours and merged.

        Git refuses while there are changed or new files.
        """
        variables = await self._plain(made.path)
        settings = {name: value for name, value in variables.items() if name.startswith("GIT_CONFIG_")}
        settings["GIT_DIR"] = str(self._repository.common_dir)  # git enters no bare repository that is not named
        top = self._repository.main_worktree
        await self._refuse_removal(made.path, variables)
        await asyncio.to_thread(delete_folder, made.path)
        await self._git.run("worktree", "remove", str(made.path), folder=top, more=settings)
        if made.branch.startswith(BRANCHES):
            with suppress(GitUnavailableError):  # it has commits that are in no other branch
                await self._git.run("branch", "--quiet", "-d", made.branch, folder=top, more=settings)

    async def reset(self, made: LinkedWorktree) -> None:
        """Move a worktree without changes to the default branch; commits that are nowhere else get a branch of their own.

        Raises ConfigError without a default branch, and when ignored files are where the default branch has files.
        """
        target = await self._default_branch()
        variables = await self._plain(made.path)
        await self._refuse_overwriting(made.path, target, variables)
        others = await self._git.run(
            "for-each-ref", "--format=%(refname:short)", "--contains", made.start, "refs/heads", "refs/remotes"
        )
        if not set(others.split()) - {made.branch}:
            await self._git.run(
                "branch", "--no-track", await self._free_branch(f"{made.branch}-before-reset"), made.start
            )
        await self._git.run("reset", "--hard", "--quiet", target, folder=made.path, more=variables)

    async def _refuse_removal(self, path: Path, variables: Mapping[str, str]) -> None:
        """Raise GitUnavailableError for what git does not remove: changed or new files, submodules, a worktree that is locked."""
        if await asyncio.to_thread(Path(variables["GIT_DIR"], "locked").exists):
            raise GitUnavailableError(f"{path} was not removed: it is locked (`git worktree unlock` unlocks it)")
        listed = await self._git.run("ls-files", "-z", "--stage", folder=path, more=variables)
        if any(entry.startswith("160000 ") for entry in listed.split("\0")):
            raise GitUnavailableError(f"{path} was not removed: it has submodules")
        if await self._git.run("status", "--porcelain", "-z", "--no-renames", folder=path, more=variables):
            raise GitUnavailableError(f"{path} was not removed: it has modified or untracked files")

    async def _refuse_overwriting(self, path: Path, target: str, variables: Mapping[str, str]) -> None:
        """Raise ConfigError when files of a commit would replace others, ignored ones too, which git does without asking."""
        others = split_names(await self._git.run("ls-files", "-z", "--others", folder=path, more=variables))
        if not others:
            return
        listed = await self._git.run("ls-tree", "-r", "-z", "--name-only", target, folder=path, more=variables)
        files = set(split_names(listed))
        occupied = files.union(*map(_folders, files))
        lost = [name for name in others if name in occupied or files.intersection(_folders(name))]
        if lost:
            raise ConfigError(
                f"{path} has files outside git that a reset would replace ({shorten_names(lost)}); "
                "move them, then reset the worktree again"
            )

    async def _free_branch(self, wanted: str) -> str:
        existing = set((await self._git.run("for-each-ref", "--format=%(refname:short)", "refs/heads")).split())
        numbers = (wanted if number == 1 else f"{wanted}-{number}" for number in itertools.count(1))
        return next(name for name in numbers if name not in existing)

    async def _default_branch(self) -> str:
        """Return the commit of the remote's default branch as it was fetched last, else of `main` or `master`."""
        for name in ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"):
            with suppress(GitUnavailableError):
                return (await self._git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).strip()
        raise ConfigError(
            f"{self._repository.main_worktree} has no default branch (origin/HEAD, main or master); name one so"
        )

    async def _plain(self, path: Path) -> Mapping[str, str]:
        """Return the variables for commands that read or write files in a worktree."""
        repository = await asyncio.to_thread(find_repository, path)
        if repository is None:
            raise GitUnavailableError(f"{path} is not a worktree any more")
        return await self._git.without_filters(repository)

    async def remove(self, made: LinkedWorktree) -> None:
        """Remove a worktree that `add` just created, with its files and its branch."""
        await asyncio.to_thread(delete_folder, made.path)
        await self._git.run("worktree", "remove", "--force", str(made.path))
        await self._git.run("branch", "--quiet", "-D", made.branch)

    async def _start(self) -> str:
        try:
            return (await self._git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).strip()
        except GitUnavailableError as error:
            raise ConfigError(f"{self._repository.worktree} has no commits; commit something first") from error


class DetachedWorktrees:
    """Worktrees without a branch for batch tasks, and what their results become. Raises GitUnavailableError with git's reason."""

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._git = SafeGit(repository.worktree, environ=environ, repository=repository)

    async def find_commit(self, name: str) -> str:
        """Return the full ID of a commit. Raises ConfigError when the repository has none of this name."""
        try:
            return (
                await self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            ).strip()
        except GitUnavailableError as error:
            top = self._repository.worktree
            if name == "HEAD":
                raise ConfigError(f"{top} has no commits; commit something first") from error
            raise ConfigError(f"{top} has no commit {name!r}; name a commit, a branch or a tag of it") from error

    async def count_uncommitted(self) -> int:
        """Return the number of files that differ from HEAD or are new."""
        variables = await self._git.without_filters(self._repository)
        status = await self._git.run("status", "--porcelain", "-z", "--no-renames", more=variables)
        return len(split_names(status))

    async def add(self, path: Path, commit: str) -> None:
        """Create a worktree with the files of a commit, without filters."""
        await asyncio.to_thread(_make_empty, path)
        options = ("--quiet", "--detach", "--no-checkout")
        await self._git.run("worktree", "add", *options, str(path), commit, write=[path])
        await self._git.run("read-tree", commit, folder=path)
        words, variables = ("checkout-index", "--all", "--index", "--quiet"), await self._plain(path)
        await self._git.run(*words, folder=path, more=variables, timeout_s=TIMEOUT_S)

    async def remove(self, path: Path) -> None:
        """Remove a worktree or a clone with all its files, also a damaged or incomplete one."""
        await asyncio.to_thread(delete_folder, path)
        if not await asyncio.to_thread(self._is_listed, path):
            return
        more = {"GIT_DIR": str(self._repository.common_dir)}  # git enters no bare repository that is not named
        await self._git.run("worktree", "remove", "--force", "--force", str(path), folder=path.parent, more=more)

    def _is_listed(self, path: Path) -> bool:
        """Return whether the repository has a worktree at this path; blocks."""
        try:
            entries = list(os.scandir(self._repository.common_dir / "worktrees"))
        except OSError:
            return False
        return any((read_small(Path(entry.path, "gitdir")) or "").strip() == str(path / ".git") for entry in entries)

    async def changes(self, path: Path, base: str) -> WorktreeChanges:
        """Return what differs between a commit and a worktree, new files included, ignored ones not."""
        variables = await self._plain(path)
        index = Path(variables["GIT_DIR"], "index")
        objects = (self._repository.common_dir / "objects",)
        return await read_changes(self._git, path, base, variables, index=index, objects=objects)

    async def make_branch(self, name: str, *, base: str, patch: Path, message: str) -> tuple[str, bool]:
        """Create a branch with one commit, a patch on top of `base`, without the work tree; return it, and whether it is new.

        An existing branch with the same files is returned; if it has others, the new one gets a number.
        """
        more = {"GIT_INDEX_FILE": str(patch.parent / "index"), **await find_identity(self._git)}
        await self._git.run("read-tree", base, more=more)
        await self._git.run("apply", "--cached", "--binary", str(patch), more=more)
        tree = (await self._git.run("write-tree", more=more)).strip()
        branch, number = name, 1
        while found := await self._tree_of(branch):
            if found == tree:
                return branch, False
            number += 1
            branch = f"{name}-{number}"
        commit = (await self._git.run("commit-tree", tree, "-p", base, "-m", message, more=more)).strip()
        await self._git.run("branch", "--no-track", branch, commit)
        return branch, True

    async def _tree_of(self, branch: str) -> str:
        """Return the ID of a branch's files; empty when there is no such branch."""
        try:
            return (await self._git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{tree}}")).strip()
        except GitUnavailableError:
            return ""

    async def read_files(self, base: str, commit: str, folder: Path) -> tuple[BranchFile, ...]:
        """Return the files in which two commits differ; `folder` is an empty one."""
        variables = await self._git.without_filters(self._repository)
        return await read_branch_files(self._git, base, commit, variables, folder=folder)

    async def find_conflict(self, patch: Path, files: Sequence[str]) -> str:
        """Return why a patch to these files cannot be applied to the work tree; empty when it can."""
        variables = {**await self._git.without_filters(self._repository), "GIT_LITERAL_PATHSPECS": "1"}
        options = ("--porcelain", "-z", "--no-renames", "--untracked-files=all")
        status = await self._git.run("status", *options, "--", *files, more=variables)
        changed = [entry[3:] for entry in status.split("\0") if entry]
        if changed:
            return f"uncommitted changes in {shorten_names(changed)}"
        try:
            await self._git.run("apply", "--check", "--binary", str(patch), more=variables, read=[patch.parent])
        except GitUnavailableError as error:
            return f"the files differ from the task's base ({str(error).partition(': ')[2]})"
        return ""

    async def apply(self, patch: Path) -> None:
        """Apply a patch to the files of the work tree; all of it or nothing."""
        variables = await self._git.without_filters(self._repository)
        await self._git.run("apply", "--binary", str(patch), more=variables, read=[patch.parent])

    def _is_linked(self, path: Path, found: Repository) -> bool:
        """Return whether a worktree and our repository name each other; a task could name another index to write. Blocks."""
        if found.common_dir != self._repository.common_dir or found.git_dir.parent != found.common_dir / "worktrees":
            return False
        return found.worktree == path and (read_small(found.git_dir / "gitdir") or "").strip() == str(path / ".git")

    async def _plain(self, path: Path) -> Mapping[str, str]:
        """Return the variables for commands that read or write files in a worktree."""
        repository = await asyncio.to_thread(find_repository, path)
        if repository is None or not await asyncio.to_thread(self._is_linked, path, repository):
            raise GitUnavailableError(f"{path} is not a worktree any more")
        return await self._git.without_filters(repository)


def _make_empty(path: Path) -> None:
    """Make an empty folder for a worktree, so that git sees nothing else of the folder around it. Blocks."""
    try:
        path.mkdir()
    except OSError as error:
        raise GitUnavailableError(f"{path} cannot be made: {cause_of(error)}") from error


def shorten_names(names: Sequence[str]) -> str:
    """Return the first names, and how many there are beyond them."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _folders(name: str) -> Iterator[str]:
    """Yield the folders above a file, from the innermost."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
