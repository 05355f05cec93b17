"""Git bundles: a commit with its history as bytes that another machine can clone.

The user's repository is only read: a temporary repository that borrows its objects names the commit, because git bundles no commit
without a branch.
"""

import asyncio
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository, find_repository
from opencode_tui.schema.error import ConfigError, GitUnavailableError

TIMEOUT_S = 600.0
MAX_BYTES = 1024 * 1024 * 1024
"""Larger bundles are refused."""

_BRANCH = "base"
_REF = f"refs/heads/{_BRANCH}"


def find_worktree(directory: Path) -> Path | None:
    """Return the worktree that contains a folder, or None; blocks."""
    repository = _repository_of(directory)
    return None if repository is None else repository.worktree


async def has_commit(directory: Path, commit: str, *, environ: Mapping[str, str]) -> bool:
    """Return whether the folder exists and the repository that contains it has the commit."""
    return await _repository_with(directory, commit, environ) is not None


async def create_bundle(directory: Path, commit: str, *, environ: Mapping[str, str]) -> bytes:
    """Return a bundle of a commit (a full hash) and its history from the repository that contains the folder.

    Raises ConfigError when the repository cannot be bundled, GitUnavailableError with git's reason. It may take minutes.
    """
    repository = await _repository_with(directory, commit, environ)
    if repository is None:
        raise ConfigError(
            f"{directory} is in no git repository that has the commit {commit}; check the folder and `base`"
        )
    if await asyncio.to_thread((repository.common_dir / "shallow").exists):
        raise ConfigError(
            f"{repository.worktree} is a shallow clone, which git cannot bundle; "
            "run `git fetch --unshallow`, or clone it to the same path on the workers"
        )
    with tempfile.TemporaryDirectory(prefix="opencode-tui-bundle-") as name:
        folder = Path(name)
        git_dir, file = folder / "git", folder / "bundle"
        git = SafeGit(folder, environ=environ)
        names = {"GIT_DIR": str(repository.git_dir)}
        form = await git.run("rev-parse", "--show-object-format", folder=repository.worktree, more=names)
        await git.run("init", "--quiet", "--bare", "--template=", f"--object-format={form.strip()}", str(git_dir))
        await asyncio.to_thread(_borrow_objects, git_dir / "objects" / "info", repository.common_dir / "objects")
        own = {"GIT_DIR": str(git_dir)}
        await git.run("update-ref", _REF, commit, more=own)
        words = ("bundle", "create", "--quiet", str(file), _REF)
        await git.run(*words, more=own, timeout_s=TIMEOUT_S, write=[folder])
        if (size := (await asyncio.to_thread(file.stat)).st_size) > MAX_BYTES:
            raise ConfigError(
                f"the history of {repository.worktree} has {size >> 20} MiB, more than the {MAX_BYTES >> 20} MiB that are sent; "
                "clone it to the same path on the workers"
            )
        return await asyncio.to_thread(file.read_bytes)


async def clone_bundle(bundle: bytes, commit: str, target: Path, *, environ: Mapping[str, str]) -> None:
    """Create a repository at `target`, whose parent folder exists, with the commit checked out on a branch.

    It appears when it is whole. Raises GitUnavailableError.
    """
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as name:
        folder = Path(name)
        file, clone = folder / "bundle", folder / "clone"
        await asyncio.to_thread(file.write_bytes, bundle)
        outside = SafeGit(folder, environ=environ)
        form = "sha256" if len(commit) > 40 else "sha1"
        await outside.run("init", "--quiet", "--template=", f"--object-format={form}", str(clone))
        git = SafeGit(clone, environ=environ)
        await git.run("bundle", "unbundle", str(file), timeout_s=TIMEOUT_S, read=[folder])
        await git.run("update-ref", _REF, commit)
        await git.run("symbolic-ref", "HEAD", _REF)
        repository = await asyncio.to_thread(_repository_of, clone)
        assert repository is not None  # git has just made it
        await git.run("read-tree", "HEAD")
        variables = await git.without_filters(repository)
        await git.run("checkout-index", "--all", "--index", "--quiet", more=variables, timeout_s=TIMEOUT_S)
        await asyncio.to_thread(clone.rename, target)


async def _repository_with(directory: Path, commit: str, environ: Mapping[str, str]) -> Repository | None:
    """Return the repository that contains a folder, if it has the commit."""
    repository = await asyncio.to_thread(_repository_of, directory)
    if repository is None:
        return None
    git = SafeGit(repository.worktree, environ=environ, repository=repository)
    try:
        await git.run("cat-file", "-e", f"{commit}^{{commit}}", more={"GIT_DIR": str(repository.git_dir)})
    except GitUnavailableError:
        return None
    return repository


def _repository_of(directory: Path) -> Repository | None:
    """Return the repository that contains a folder; None without one, or when the folder does not exist. Blocks."""
    real = Path(os.path.realpath(directory))
    return find_repository(real) if real.is_dir() else None


def _borrow_objects(info: Path, objects: Path) -> None:
    info.mkdir(exist_ok=True)
    (info / "alternates").write_bytes(os.fsencode(objects) + b"\n")
