import os
from pathlib import Path

import pytest

from opencode_tui.engine.project.repository import Repository, find_repository
from tests.support.world.repo import make_repo, run_git


def test_repository_is_found_from_a_folder_below(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    below = repo.write("a/b/c.txt", "").parent
    git_dir = repo.path / ".git"
    assert find_repository(below) == Repository(worktree=repo.path, git_dir=git_dir, common_dir=git_dir)


def test_linked_worktree_shares_the_common_folder_and_has_its_own_top(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    linked = repo.link(tmp_path / "l")
    found = find_repository(linked.path)
    assert found is not None
    assert found == Repository(linked.path, repo.path / ".git" / "worktrees" / "l", repo.path / ".git")
    assert found.main_worktree == repo.path


def test_linked_worktree_of_a_bare_repository_hangs_on_the_bare_one(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    run_git(tmp_path, "clone", "-q", "--bare", str(repo.path), "bare.git")
    run_git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "w"), "main")
    found = find_repository(tmp_path / "w")
    assert found is not None
    assert found.main_worktree == tmp_path / "bare.git"


def test_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inner, outer = make_repo(tmp_path / "inner"), make_repo(tmp_path / "outer")
    inner.commit()
    outer.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "sub")
    found = find_repository(outer.path / "sub")
    git_dir = outer.path / ".git" / "modules" / "sub"
    assert found is not None
    assert found == Repository(outer.path / "sub", git_dir, git_dir)
    assert found.main_worktree == outer.path / "sub"


@pytest.mark.parametrize(("checkout", "branch"), [(["-b", "feature/x"], "feature/x"), (["--detach"], None)])
def test_branch_is_what_head_names(tmp_path: Path, checkout: list[str], branch: str | None) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    repo.git("checkout", "-q", *checkout)
    found = find_repository(repo.path)
    assert found is not None
    assert found.branch == branch


def test_unborn_branch_has_a_name(tmp_path: Path) -> None:
    found = find_repository(make_repo(tmp_path / "r", branch="trunk").path)
    assert found is not None
    assert found.branch == "trunk"


def test_empty_git_folder_is_passed_by_as_git_does(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    (repo.path / "a" / ".git").mkdir(parents=True)
    found = find_repository(repo.path / "a")
    assert found is not None
    assert found.worktree == repo.path


@pytest.mark.parametrize(
    "pointer", [b"", b"gitdir:", b"gitdir: nowhere", b"gitdir: a\0b", b"\xff\xfe", b"gitdir: .", b"x" * 10_000]
)
def test_unusable_git_file_is_no_repository(tmp_path: Path, pointer: bytes) -> None:
    (tmp_path / ".git").write_bytes(pointer)
    assert find_repository(tmp_path) is None


def test_pipe_in_place_of_the_git_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find_repository(tmp_path) is None


def test_worktree_whose_repository_is_gone_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "g" / "commondir").write_text("../gone\n")
    (tmp_path / ".git").write_text(f"gitdir: {tmp_path / 'g'}\n")
    assert find_repository(tmp_path) is None
