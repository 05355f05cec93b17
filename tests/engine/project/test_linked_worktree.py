"""The worktrees of a repository whose git folder is not in its main work tree."""

import os
from pathlib import Path

from opencode_tui.engine.project.linked_worktree import DetachedWorktrees, LinkedWorktrees
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


async def test_a_worktree_whose_index_is_a_link_changes_no_other_and_is_removed_with_read_only_folders(
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "r")
    base = repo.commit(**{"a.txt": "one\n"})
    repository = find_repository(repo.path)
    assert repository is not None
    worktrees = DetachedWorktrees(repository, environ=os.environ)
    path = tmp_path / "tree"
    await worktrees.add(path, base)
    (path / "b.txt").write_text("new\n")
    before = (repo.path / ".git/index").read_bytes()
    index = repo.path / ".git/worktrees/tree/index"
    index.unlink()
    index.symlink_to(repo.path / ".git/index")
    assert (await worktrees.changes(path, base)).files == ("b.txt",)
    assert (repo.path / ".git/index").read_bytes() == before
    (path / "made").mkdir()
    (path / "made/file").touch()
    (path / "made").chmod(0o500)
    path.chmod(0o500)
    await worktrees.remove(path)
    assert not path.exists() and len(repo.git("worktree", "list").splitlines()) == 1
