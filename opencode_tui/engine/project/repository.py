"""Finds the repository of a folder by reading files; starts no git process.

Follows git's rules: the first usable `.git` in a parent folder decides; a `.git` file points to the folder of a linked worktree or
submodule. The repository may be hostile: reads only the first bytes of regular files.
"""

import os
import re
import stat
from pathlib import Path

from msgspec import Struct

_HEAD_PREFIX = "ref: refs/heads/"
_SMALL_FILE = 4096
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_REFTABLE_PLACEHOLDER = ".invalid"
_WORKTREE = re.compile(r"^\s*worktree\s*=\s*\"?(.+?)\"?\s*$", re.M)


class Repository(Struct, frozen=True):
    """A work tree and its git folders; `common_dir` differs from `git_dir` in a linked worktree. All are real paths."""

    worktree: Path
    git_dir: Path
    common_dir: Path

    @property
    def main_worktree(self) -> Path:
        """The main work tree; the bare repository itself when there is none."""
        if self.common_dir == self.git_dir:
            return self.worktree
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir

    @property
    def branch(self) -> str | None:
        """The current branch, read from disk at each access; None when HEAD is detached."""
        head = read_small(self.git_dir / "HEAD") or ""
        name = head.strip().removeprefix(_HEAD_PREFIX)
        return name if head.startswith(_HEAD_PREFIX) and name != _REFTABLE_PLACEHOLDER else None


def find_repository(directory: Path) -> Repository | None:
    """Return the repository that contains a real path, or None; ignores a `.git` that git itself would not accept."""
    for folder in (directory, *directory.parents):
        mark = folder / ".git"
        if _is_git_dir(mark):
            git_dir = Path(os.path.realpath(mark))
            return Repository(worktree=folder, git_dir=git_dir, common_dir=git_dir)
        pointer = read_small(mark)
        if pointer is not None:
            return _follow(folder, pointer)
    return None


def names_worktree(repository: Repository) -> bool:
    """Return whether a git folder names its work tree in turn, as those of linked work trees and of submodules do. Blocks.

    A `.git` file alone proves nothing, as a command can write it.
    """
    git_dir, common = repository.git_dir, repository.common_dir
    back = (read_small(git_dir / "gitdir") or "").strip()
    if git_dir.parent == common / "worktrees" and back and _is_same(git_dir / back, repository.worktree / ".git"):
        return True
    work = _WORKTREE.search(read_small(git_dir / "config") or "")
    return git_dir == common and work is not None and _is_same(git_dir / work[1], repository.worktree)


def works_elsewhere(directory: str, worktree: Path) -> bool:
    """Return whether a folder exists and belongs to another work tree than the one at the real path `worktree`; blocks."""
    folder = Path(os.path.realpath(directory))
    if folder == worktree or not folder.is_dir():
        return False
    repository = find_repository(folder)
    return repository.worktree != worktree if repository else not folder.is_relative_to(worktree)


def read_small(path: Path) -> str | None:
    """Return the first 4 KiB of a regular file as text, or None when it cannot be read; does not wait for the writer of a pipe.

    As for git, a null character ends the text: no path has one.
    """
    try:
        descriptor = os.open(path, _READ)
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            return os.fsdecode(os.read(descriptor, _SMALL_FILE).partition(b"\0")[0]) if is_file else None
        finally:
            os.close(descriptor)
    except (OSError, ValueError):
        return None


def _is_same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _follow(folder: Path, pointer: str) -> Repository | None:
    if not pointer.startswith("gitdir:"):
        return None
    target = pointer.removeprefix("gitdir:").strip()
    git_dir = _resolve(folder, target)
    if git_dir is None or read_small(git_dir / "HEAD") is None:
        return None
    shared = (read_small(git_dir / "commondir") or "").strip()
    common_dir = _resolve(git_dir, shared) or git_dir
    return Repository(worktree=folder, git_dir=git_dir, common_dir=common_dir) if _is_git_dir(common_dir) else None


def _resolve(base: Path, target: str) -> Path | None:
    if not target or "\0" in target:
        return None
    return Path(os.path.realpath(base / target))


def _is_git_dir(path: Path) -> bool:
    return read_small(path / "HEAD") is not None and (path / "objects").is_dir() and (path / "refs").is_dir()
