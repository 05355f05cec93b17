import itertools
import os
import shutil
from pathlib import Path

import pytest

from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import Paths
from tests.support.world.repo import Repo, make_repo

ROOT_ID = "0123456789abcdef0123456789abcdef01234567"


def expected(repo: Repo, name: str) -> Project:
    return Project(id=name, directory=repo.path, worktree=repo.path, vcs="git", repository=find_repository(repo.path))


def test_folder_without_git_is_its_own_worktree(tmp_path: Path, paths: Paths) -> None:
    found = discover(tmp_path, paths=paths, environ=os.environ)
    assert found == Project(id="global", directory=tmp_path, worktree=tmp_path)
    assert not paths.cache.exists()


def test_missing_folder_is_named(tmp_path: Path, paths: Paths) -> None:
    with pytest.raises(ConfigError, match="nowhere is not a directory"):
        discover(tmp_path / "nowhere", paths=paths, environ=os.environ)


def test_id_is_the_smallest_root_commit_of_all_refs(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    roots = [repo.commit(), *(repo.orphan(f"orphan{number}") for number in range(4))]
    repo.commit(more="text")
    assert discover(repo.path, paths=paths, environ=os.environ) == expected(repo, min(roots))


def test_known_id_needs_no_git(tmp_path: Path, paths: Paths, no_git: dict[str, str]) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    discover(repo.path, paths=paths, environ=os.environ)
    repo.commit("second")
    repo.git("checkout", "-q", "-b", "other")
    assert discover(repo.path, paths=paths, environ=no_git) == expected(repo, root)


def test_linked_worktree_and_sub_folder_share_the_id(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    linked = repo.link(tmp_path / "l", branch="side")
    below = linked.write("a/b.txt", "").parent
    found = discover(below, paths=paths, environ=os.environ)
    assert (found.id, found.directory, found.worktree, found.branch) == (root, below, linked.path, "side")


def test_smaller_root_that_appears_later_changes_nothing(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    for number in itertools.count():
        if root > "8":  # every second root is smaller then
            break
        repo.git("commit", "-q", "--amend", "--allow-empty", "-m", str(number))
        root = repo.git("rev-parse", "HEAD")
    discover(repo.path, paths=paths, environ=os.environ)
    while min(root, repo.orphan(f"branch{len(repo.git('branch'))}")) == root:
        pass
    os.utime(repo.path / ".git" / "description", (1, 1))
    assert discover(repo.path, paths=paths, environ=os.environ).id == root


def test_another_repository_at_the_same_path_has_its_own_id(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit("one")
    discover(repo.path, paths=paths, environ=os.environ)
    shutil.rmtree(repo.path)
    second = make_repo(tmp_path / "r").commit("two")
    assert discover(repo.path, paths=paths, environ=os.environ).id == second


def test_repository_without_commit_is_global_and_runs_no_git(
    tmp_path: Path, paths: Paths, no_git: dict[str, str]
) -> None:
    repo = make_repo(tmp_path / "r")
    assert discover(repo.path, paths=paths, environ=no_git) == expected(repo, "global")
    root = repo.commit()
    assert discover(repo.path, paths=paths, environ=os.environ).id == root


def test_detached_head_without_any_branch_has_an_id(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    repo.git("checkout", "-q", "--detach")
    repo.git("branch", "-D", "main")
    assert discover(repo.path, paths=paths, environ=os.environ).id == root


def test_id_that_opencode_left_is_taken_and_never_written(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    (repo.path / ".git" / "opencode").write_text(ROOT_ID)
    before = (repo.path / ".git" / "opencode").stat()
    assert discover(repo.path, paths=paths, environ=os.environ).id == ROOT_ID
    assert (repo.path / ".git" / "opencode").stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("hostile", ["../../etc", "a" * 39, "A" * 40, ROOT_ID + "/x", "", "global/..", "\0"])
def test_hostile_id_is_ignored(tmp_path: Path, paths: Paths, hostile: str) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    (repo.path / ".git" / "opencode").write_text(hostile)
    assert discover(repo.path, paths=paths, environ=os.environ).id == root


@pytest.mark.parametrize("content", ["", "{", "[]", '{"id": "../x", "stamp": ""}', '{"id": 5}'])
def test_damaged_cache_entry_is_made_again(tmp_path: Path, paths: Paths, content: str) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    discover(repo.path, paths=paths, environ=os.environ)
    (entry,) = (paths.cache / "project").iterdir()
    good = entry.read_text()
    entry.write_text(content)
    assert discover(repo.path, paths=paths, environ=os.environ).id == root
    assert entry.read_text() == good


def test_missing_git_is_reported_and_the_folder_still_works(
    tmp_path: Path, paths: Paths, no_git: dict[str, str]
) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    found = discover(repo.path, paths=paths, environ=no_git)
    assert (found.id, found.worktree, found.vcs, found.branch) == ("global", repo.path, None, None)
    assert ["install git" in warning for warning in found.warnings] == [True]


def test_unwritable_cache_is_reported(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    paths.cache.mkdir(parents=True)
    (paths.cache / "project").write_text("in the way")
    found = discover(repo.path, paths=paths, environ=os.environ)
    assert found.id == root
    assert ["cannot cache the project ID" in warning for warning in found.warnings] == [True]


def test_variables_of_the_shell_do_not_mislead_git(
    tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, other = make_repo(tmp_path / "r"), make_repo(tmp_path / "other")
    root, _ = repo.commit("mine"), other.commit("other")
    for name, value in {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_OBJECT_DIRECTORY": str(other.path / ".git" / "objects"),
        "GIT_COMMON_DIR": str(other.path / ".git"),
        "GIT_CONFIG_PARAMETERS": "nonsense",
    }.items():
        monkeypatch.setenv(name, value)
    assert discover(repo.path, paths=paths, environ=os.environ).id == root


def test_settings_of_the_repository_start_nothing(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    root = repo.commit()
    trap = f"touch {tmp_path / 'PWNED'}"
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "alias.rev-list", "pager.rev-list"):
        repo.git("config", key, trap)
    repo.git("config", "remote.origin.url", f"ext::sh -c {trap}")
    repo.git("config", "protocol.ext.allow", "always")
    assert discover(repo.path, paths=paths, environ=os.environ).id == root
    assert not (tmp_path / "PWNED").exists()


def test_missing_commit_of_a_partial_clone_is_not_fetched(tmp_path: Path, paths: Paths) -> None:
    repo = make_repo(tmp_path / "r")
    repo.commit("first")
    head = repo.commit("second")
    parent = repo.git("rev-parse", "HEAD~")
    (repo.path / ".git" / "objects" / parent[:2] / parent[2:]).unlink()
    for key, value in {
        "remote.origin.url": f"ext::sh -c touch% {tmp_path / 'PWNED'}",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
    }.items():
        repo.git("config", key, value)
    found = discover(repo.path, paths=paths, environ=os.environ)
    assert (found.id, found.vcs, len(found.warnings)) == ("global", None, 1)
    assert not (tmp_path / "PWNED").exists()
    assert head
