"""The worktrees of a repository whose git folder is not in its main work tree."""

import os
from pathlib import Path

from opencode_tui.engine.project.linked_worktree import LinkedWorktrees
from opencode_tui.engine.project.repository import find_repository
from tests.support.world.repo import make_repo, run_git


async def test_the_main_work_tree_is_never_listed_and_a_linked_one_is_removed(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    run_git(repo.path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"))
    linked = repo.link(tmp_path / "l")
    for path in (repo.path, linked.path):
        repository = find_repository(path)
        assert repository is not None
        worktrees = LinkedWorktrees(repository, environ=os.environ)
        assert [one.path for one in await worktrees.list()] == [linked.path]
    await worktrees.remove_clean((await worktrees.list())[0])
    assert not linked.path.exists() and repo.path.exists()
