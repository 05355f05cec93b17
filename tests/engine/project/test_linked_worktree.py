"""The worktrees of a repository: which are listed, and what their removal must not take with it."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.project.linked_worktree import DetachedWorktrees, LinkedWorktrees
from opencode_tui.engine.project.repository import Repository, find_repository
from opencode_tui.schema.error import GitUnavailableError
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


@pytest.mark.fast_cases("inner/new-normal", "inner/new-all")
@pytest.mark.parametrize("shown", ["no", "normal", "all"])
@pytest.mark.parametrize("name", ["new", "inner/new", "nested/.git/HEAD", ".env"])
async def test_a_worktree_with_a_new_file_is_not_removed_whatever_status_shows(
    tmp_path: Path, name: str, shown: str
) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    repo.git("config", "status.showUntrackedFiles", shown)
    linked = repo.link(tmp_path / "l")
    if name.startswith("nested"):
        make_repo(linked.path / "nested").commit("work of the user")
    else:
        linked.write(name, "work of the user\n")
    repository = find_repository(repo.path)
    assert repository is not None
    worktrees = LinkedWorktrees(repository, environ=os.environ)
    (found,) = await worktrees.list()
    with pytest.raises(GitUnavailableError, match="untracked files"):
        await worktrees.remove_clean(found)
    assert (linked.path / name).exists()
    assert await DetachedWorktrees(found_in(linked.path), environ=os.environ).count_uncommitted() == 1


@pytest.mark.fast_cases("apply.whitespace-warn")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("apply.whitespace", one) for one in ("error", "error-all", "fix", "warn")),
        ("apply.ignoreWhitespace", "change"),
    ],
)
async def test_a_change_is_applied_byte_by_byte_whatever_the_settings_say_of_blanks(
    tmp_path: Path, setting: str, value: str
) -> None:
    """Source: git-config(1), 2.39, `apply.whitespace`, `apply.ignoreWhitespace`."""
    repo = make_repo(tmp_path / "r")
    base = repo.commit(**{"a.txt": "one\n\ttwo  \nthree\n"})
    worktrees = DetachedWorktrees(found_in(repo.path), environ=os.environ)
    await worktrees.add(tmp_path / "tree", base)
    text = "one \n\ttwo  \n \tthree\t\n\n\n"
    (tmp_path / "tree" / "a.txt").write_text(text)
    patch = tmp_path / "patch"
    patch.write_text((await worktrees.changes(tmp_path / "tree", base)).diff)
    repo.git("config", setting, value)
    assert await worktrees.find_conflict(patch, ["a.txt"]) == ""
    branch, _ = await worktrees.make_branch("b", base=base, patch=patch, message="m")
    await worktrees.apply(patch)
    assert (repo.path / "a.txt").read_text() == text
    assert repo.git("diff", "--stat", branch, "--", "a.txt") == ""


@pytest.mark.parametrize("value", ["no", "change"])
async def test_a_change_conflicts_with_other_blanks_whatever_the_settings_say(tmp_path: Path, value: str) -> None:
    repo = make_repo(tmp_path / "r")
    base = repo.commit(**{"a.txt": "one\ntwo\nthree\n"})
    worktrees = DetachedWorktrees(found_in(repo.path), environ=os.environ)
    await worktrees.add(tmp_path / "tree", base)
    (tmp_path / "tree" / "a.txt").write_text("one\ntwo!\nthree\n")
    patch = tmp_path / "patch"
    patch.write_text((await worktrees.changes(tmp_path / "tree", base)).diff)
    repo.commit("other blanks", **{"a.txt": "one\n  two\nthree\n"})
    repo.git("config", "apply.ignoreWhitespace", value)
    assert "differ from the task's base" in await worktrees.find_conflict(patch, ["a.txt"])


def found_in(path: Path) -> Repository:
    repository = find_repository(path)
    assert repository is not None
    return repository
