"""Bundles of a commit, and the clones that a worker makes of them."""

import asyncio
import os
from hashlib import sha256
from pathlib import Path

import pytest

from opencode_tui.client.task_repository import open_repository
from opencode_tui.extras.dask.bundle import create_bundle, has_commit
from opencode_tui.extras.dask.repository import ClonedRepositories
from opencode_tui.schema.error import ConfigError
from tests.support.world.repo import Repo, content, make_repo, run_git


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.commit(**{"sub/a.txt": "one\n"})
    return repo


@pytest.mark.slow
async def test_a_bundle_becomes_a_clone_with_the_commit_and_its_history(
    repo: Repo, tmp_path: Path, environ: dict[str, str]
) -> None:
    before = repo.git("rev-parse", "HEAD")
    commit = repo.commit(**{"sub/a.txt": "two\n"})
    repo.write("sub/a.txt", "three, not committed\n")
    state = {path: path.read_bytes() for path in repo.path.rglob("*") if path.is_file()}
    bundle = await create_bundle(repo.path / "sub", commit, environ=os.environ)
    assert {path: path.read_bytes() for path in repo.path.rglob("*") if path.is_file()} == state
    clones = ClonedRepositories(tmp_path / "clones", environ=os.environ)
    async with clones.open(bundle, sha256(bundle).hexdigest(), commit) as clone:
        assert (clone / "sub" / "a.txt").read_text() == "two\n"
        assert run_git(clone, "log", "--format=%H").split() == [commit, before]
        assert run_git(clone, "status", "--porcelain") == ""
        assert await has_commit(clone / "sub", before, environ=os.environ)
        same = content(clone)
        async with open_repository(environ, clone / "sub").worktree(before, "t", is_isolated=True) as tree:
            assert run_git(tree.top, "log", "--all", "--format=%H") == before
            (tree.directory / "a.txt").write_text("changed\n")
            run_git(tree.top, "commit", "-qam", "own")
            assert (await open_repository(environ, clone).changes(tree)).files == ("sub/a.txt",)
        assert content(clone) == same and not tree.top.exists()


@pytest.mark.slow
async def test_a_bundle_is_cloned_once_and_unused_clones_are_bounded(repo: Repo, tmp_path: Path) -> None:
    folder = tmp_path / "clones"
    clones = ClonedRepositories(folder, environ=os.environ, max_clones=1)
    first = repo.git("rev-parse", "HEAD")
    bundle = await create_bundle(repo.path, first, environ=os.environ)
    async with clones.open(bundle, "one", first) as clone:
        (clone / "mark").touch()
        async with clones.open(b"not read again", "one", first) as same, clones.open(bundle, "two", first):
            assert (same / "mark").exists()
            assert sorted(os.listdir(folder)) == ["one", "two"]  # both are in use
    assert len(os.listdir(folder)) == 1


async def test_tasks_that_need_a_clone_at_the_same_time_wait_for_it(repo: Repo, tmp_path: Path) -> None:
    clones = ClonedRepositories(tmp_path / "clones", environ=os.environ)
    commit = repo.git("rev-parse", "HEAD")
    bundle = await create_bundle(repo.path, commit, environ=os.environ)

    async def look() -> str:
        async with clones.open(bundle, "one", commit) as clone:
            return (clone / "sub" / "a.txt").read_text()

    assert await asyncio.gather(look(), look(), look()) == ["one\n"] * 3


async def test_a_shallow_clone_and_an_unknown_commit_are_named(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit()
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo.path}", str(shallow))
    with pytest.raises(ConfigError, match=r"is a shallow clone.*git fetch --unshallow"):
        await create_bundle(shallow, commit, environ=os.environ)
    with pytest.raises(ConfigError, match="has the commit 0000"):
        await create_bundle(repo.path, "0" * 40, environ=os.environ)
    assert not await has_commit(tmp_path / "gone", commit, environ=os.environ)
