"""Clones of one commit with its history and nothing else, for tasks that must not see what came after it.

A worktree shares all refs and objects with the user's repository: its task can read later commits, such as the fix that an
evaluation asks for, and add objects. A clone has the commit as a detached HEAD, what the commit reaches, and no other ref, object,
reflog or remote. It does not know where it came from, and the user's repository is only read.

The history before the commit stays, as in the containers of SWE-bench, because agents use `git log` and `git blame`. Measured with
20,000 commits and 50,000 files (git 2.39): the clone takes 0.9 s of CPU time and 34 MB with its history, 0.45 s and 22 MB
without (`git fetch`: 2.3 s and 1.0 s), the files of the commit 1.6 s and 200 MB in any case. Where older objects are missing, as
in a partial clone, the history is cut.

Git copies the objects from the object folder of the user's repository itself (`git pack-objects` with a borrowed folder), so
neither a transport nor a setting of the user's repository takes part. `git repack` would add all that a partial clone has.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.project.changes import (
    TIMEOUT_S,
    WorktreeChanges,
    copy_regular_file,
    find_identity,
    read_changes,
)
from opencode_tui.engine.project.git import SafeGit, with_settings
from opencode_tui.engine.project.git_reach import name_alternates
from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.error import GitUnavailableError

_NO_REFLOG = with_settings({"GIT_DEFAULT_REF_FORMAT": "files"}, {"core.logAllRefUpdates": "false"})
_SETTINGS = r"^(core\.(autocrlf|eol)|user\.(name|email))$"
"""The settings of the repository that a clone has too: line endings, and the author of commits."""

_WHOLE_INDEX = "[core]\n\tsplitIndex = false\n"
"""The changes are read from a copy of the index, which has to be one file."""

_INFO = ("exclude", "attributes")


class IsolatedClones:
    """The clones of one repository. Every method raises GitUnavailableError with git's reason."""

    def __init__(self, repository: Repository, *, environ: Mapping[str, str]) -> None:
        self._repository = repository
        self._objects = repository.common_dir / "objects"
        self._git = SafeGit(repository.worktree, environ=environ, repository=repository)

    async def add(self, path: Path, commit: str, *, has_files: bool = True) -> None:
        """Create a clone at `path` of a commit, a full ID, with its files as they are in the repository, without filters.

        Without `has_files` it has only the index of the commit.
        """
        form = "sha256" if len(commit) > 40 else "sha1"
        options = ("--quiet", "--template=", f"--object-format={form}")
        await asyncio.to_thread(path.mkdir, exist_ok=True)
        await self._git.run("init", *options, str(path), more=_NO_REFLOG, write=[path])
        git_dir = path / ".git"
        borrowing = {"GIT_DIR": str(git_dir), "GIT_ALTERNATE_OBJECT_DIRECTORIES": name_alternates([self._objects])}
        await self._git.run("update-ref", "--no-deref", "HEAD", commit, more={**borrowing, **_NO_REFLOG})
        await self._copy_objects(git_dir, commit, borrowing)
        await self._copy_settings(git_dir)
        variables = {
            **await self._git.without_filters(self._repository),
            "GIT_WORK_TREE": str(path),
            "GIT_INDEX_FILE": str(git_dir / "index"),
            "GIT_OBJECT_DIRECTORY": str(git_dir / "objects"),
        }
        await self._git.run("read-tree", commit, folder=path, more=variables)
        if has_files:
            words = ("checkout-index", "--all", "--index", "--quiet")
            await self._git.run(*words, folder=path, more=variables, timeout_s=TIMEOUT_S)

    async def record(self, path: Path, commit: str, message: str) -> str:
        """Return a commit of the repository with the files of a clone, on top of `commit`, or this one if they are the same.

        No branch names it. To be called before anything else works in the clone.
        """
        filters = await self._git.without_filters(self._repository)
        variables = {**filters, "GIT_WORK_TREE": str(path)}
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="index-") as folder:
            variables["GIT_INDEX_FILE"] = str(Path(folder, "index"))
            await self._git.run("read-tree", commit, folder=path, more=variables)
            await self._git.run("add", "--all", "--", ".", folder=path, more=variables, timeout_s=TIMEOUT_S)
            tree = (await self._git.run("write-tree", folder=path, more=variables)).strip()
        if tree == (await self._git.run("rev-parse", f"{commit}^{{tree}}")).strip():
            return commit
        author = await find_identity(self._git)
        return (await self._git.run("commit-tree", tree, "-p", commit, "-m", message, more=author)).strip()

    async def _copy_objects(self, git_dir: Path, commit: str, borrowing: Mapping[str, str]) -> None:
        """Copy the commit with its history, without it where the repository lacks older objects."""
        shallow = git_dir / "shallow"
        if await asyncio.to_thread(copy_regular_file, self._repository.common_dir / "shallow", shallow):
            ends = (await self._git.run("rev-list", "--max-parents=0", commit, more=borrowing)).split()
            await asyncio.to_thread(_keep_lines, shallow, ends)
        packs = git_dir / "objects" / "pack"
        words = ("pack-objects", "--quiet", "--delta-base-offset", "--all", str(packs / "pack"))
        try:
            await self._git.run(*words, more=borrowing, timeout_s=TIMEOUT_S)
        except GitUnavailableError:
            await asyncio.to_thread(_delete_files, packs)
            await asyncio.to_thread(shallow.write_text, f"{commit}\n")
            await self._git.run(*words, more=borrowing, timeout_s=TIMEOUT_S)

    async def _copy_settings(self, git_dir: Path) -> None:
        """Copy what decides about line endings and ignored files, so that git in the clone sees the files as in a worktree."""
        origin = {"GIT_DIR": str(self._repository.git_dir)}
        try:
            listing = await self._git.run("config", "--local", "--null", "--get-regexp", _SETTINGS, more=origin)
        except GitUnavailableError:  # none is set
            listing = ""
        for entry in filter(None, listing.split("\0")):
            name, _, value = entry.partition("\n")
            await self._git.run("config", "--local", "--", name, value, more={"GIT_DIR": str(git_dir)})
        await asyncio.to_thread(_append, git_dir / "config", _WHOLE_INDEX)
        info = git_dir / "info"
        await asyncio.to_thread(info.mkdir, exist_ok=True)
        for name in _INFO:
            await asyncio.to_thread(copy_regular_file, self._repository.common_dir / "info" / name, info / name)

    async def changes(self, path: Path, base: str) -> WorktreeChanges:
        """Return what differs between a commit and the files of a clone, new files included, ignored ones not.

        The clone's git folder is the task's: nothing of it counts but the index and the objects that the index names.
        """
        variables = {**await self._git.without_filters(self._repository), "GIT_WORK_TREE": str(path)}
        own = await asyncio.to_thread(_own_objects, path)
        git_dir = path / ".git"
        index = git_dir / "index" if own else Path(os.devnull)
        objects = (self._objects, *own)
        return await read_changes(self._git, path, base, variables, index=index, objects=objects)


def _keep_lines(file: Path, wanted: Sequence[str]) -> None:
    """Remove all other lines of a file, and the file when none is left. Blocks."""
    kept = [line for line in file.read_text().split() if line in wanted]
    file.write_text("".join(f"{line}\n" for line in kept))
    if not kept:
        file.unlink()


def _append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def _delete_files(folder: Path) -> None:
    """Delete the files in a folder, such as half a pack. Blocks."""
    for file in folder.iterdir():
        file.unlink()


def _own_objects(path: Path) -> tuple[Path, ...]:
    """Return the folder with the objects of a clone, if it has one and borrows none: a task could name another's. Blocks."""
    objects = path / ".git" / "objects"
    is_own = os.path.realpath(objects) == str(objects) and objects.is_dir()
    return (objects,) if is_own and not os.path.lexists(objects / "info" / "alternates") else ()
