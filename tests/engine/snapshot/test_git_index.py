"""What a repository tracks is read from its index in every form that git writes."""

from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.scan.git_index import Tracked, read_tracked
from opencode_tui.storage.safe_folder import open_folder
from tests.support.world.repo import Repo, make_repo

NAMES = {
    "a": "1",
    "d/b": "2",
    "d/e/long_name_that_shares_nothing": "3",
    "d/e/long_name_that_shares_all": "4",
    "ä ": "5",
}


def tracked(repo: Repo, base: str = "") -> Tracked:
    with open_folder(repo.path) as folder:
        return read_tracked(folder, base)


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_the_index_is_read(tmp_path: Path, version: str):
    repo = make_repo(tmp_path)
    repo.commit(**NAMES)
    repo.write("later", "x")
    repo.git("add", "-N", "later")
    repo.git("update-index", "--index-version", version)
    assert tracked(repo) == Tracked(frozenset([*NAMES, "later"]), frozenset({"d", "d/e"}))


def test_a_split_index_is_read_with_the_one_it_builds_on(tmp_path: Path):
    repo = make_repo(tmp_path)
    repo.commit(**NAMES)
    repo.git("update-index", "--split-index")
    repo.write("later", "x")
    repo.git("add", "later")
    assert tracked(repo).paths == frozenset([*NAMES, "later"])


def test_a_linked_worktree_has_an_index_of_its_own(tmp_path: Path):
    repo = make_repo(tmp_path / "main")
    repo.commit(a="1")
    linked = repo.link(tmp_path / "linked")
    linked.commit(b="2")
    assert tracked(linked, "sub").paths == {"sub/a", "sub/b"}


def test_a_damaged_index_tracks_nothing(tmp_path: Path):
    repo = make_repo(tmp_path)
    repo.commit(**NAMES)
    index = tmp_path / ".git" / "index"
    index.write_bytes(index.read_bytes()[:100])
    assert tracked(repo) == Tracked()


def test_a_repository_with_long_hashes_is_read(tmp_path: Path):
    Repo(tmp_path).git("init", "-q", "--object-format=sha256")
    repo = Repo(tmp_path)
    repo.commit(**NAMES)
    assert tracked(repo).paths == frozenset(NAMES)
