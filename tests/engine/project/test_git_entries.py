"""What git must not meet in its folder is found wherever it is, and what users have there is left alone."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.engine.project.git_entries import GitEntries
from tests.support.world.repo import Repo, make_repo

PLACES = (
    "HEAD", "index", "packed-refs", "shallow", "COMMIT_EDITMSG", "MERGE_MSG", "ORIG_HEAD", "FETCH_HEAD", "AUTO_MERGE", "gc.pid",
    "description", "config", "config.worktree", "opencode", "info", "info/exclude", "info/grafts", "info/sparse-checkout",
    "logs", "logs/HEAD", "logs/refs/heads/main", "refs/heads", "refs/heads/main", "refs/heads/opencode-tui", "refs/stash",
    "objects/00", "objects/info", "objects/pack", "objects/pack/pack-0.idx", "objects/ab/cdef", "objects/info/packs",
    "rebase-merge/git-rebase-todo", "rebase-apply", "sequencer/todo", "rr-cache", "lost-found/other", "lfs/objects/ab",
    "annex/objects/x", "modules/sub/HEAD", "modules/a/b/refs/heads", "worktrees/w/HEAD", "worktrees/w/logs",
    "fsmonitor--daemon/cookies", "reftable/tables.list", "svn", "branches/origin", "remotes/origin", "bundle", "HEAD.lock",
)  # fmt: skip


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = make_repo(tmp_path_factory.mktemp("entries") / "r")
    repo.commit("first", a="1\n")
    return repo


@pytest.fixture
def folder(original: Repo, tmp_path: Path) -> Path:
    """Return a copy of a git folder, some time after it was made."""
    copy = tmp_path / ".git"
    for top, _, files in os.walk(original.path / ".git"):
        inner = copy / Path(top).relative_to(original.path / ".git")
        inner.mkdir(exist_ok=True)
        for name in files:
            (inner / name).write_bytes(Path(top, name).read_bytes())
    return copy


def _link(path: Path) -> None:
    path.symlink_to("/etc")


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)  # the path may be too long
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


KINDS: dict[str, Callable[[Path], None]] = {
    "a link": _link,
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": _socket,
}


def put(folder: Path, place: str, make: Callable[[Path], None]) -> Path:
    path = folder / place
    if path.is_dir():
        os.rename(path, folder.parent / "away")
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    return path


@pytest.mark.parametrize("place", PLACES)
def test_what_git_must_not_meet_is_found_in_each_place(folder: Path, place: str) -> None:
    entries = GitEntries(folder)
    assert entries.refresh() == ()
    for what, make in KINDS.items():
        path = put(folder, place, make)
        assert [(one.path, one.what) for one in entries.refresh()] == [(str(path), what)]
        path.unlink()
    assert entries.refresh() == ()


@pytest.mark.parametrize(
    "place", ["COMMIT_EDITMSG", "logs/HEAD", "FETCH_HEAD", "worktrees/w/COMMIT_EDITMSG", "modules/sub/logs/HEAD"]
)
def test_a_new_second_name_of_a_file_is_found(folder: Path, place: str) -> None:
    entries = GitEntries(folder)
    entries.refresh()
    path = put(folder, place, lambda path: path.hardlink_to(folder / "config"))
    assert [(one.path, one.what) for one in entries.refresh()] == [(str(path), "a second name of a file")]
    (path.parent / "other").write_text("")  # so that the folder is listed again
    assert [one.path for one in entries.refresh()] == [str(path)]


def test_a_file_that_gets_a_name_elsewhere_stays_what_it_was(folder: Path) -> None:
    entries = GitEntries(folder)
    entries.refresh()
    (folder.parent / "copy").hardlink_to(folder / "HEAD")
    (folder / "new").write_text("")
    assert entries.refresh() == ()


def test_what_users_have_is_left_alone(folder: Path) -> None:
    (folder / "hooks").mkdir(exist_ok=True)
    (folder / "hooks/pre-commit").symlink_to("../../scripts/check")
    for name in ("HEAD", "objects/", "refs/", "hooks/"):
        path = folder / "modules/lib/sub" / name
        path.mkdir(parents=True) if name.endswith("/") else (path.parent.mkdir(parents=True), path.write_text(""))
    (folder / "modules/lib/sub/hooks/commit-msg").symlink_to("/usr/bin/true")
    shared = next(path for path in folder.rglob("objects/??/*"))
    (folder.parent / "clone").hardlink_to(shared)
    _socket(folder / "fsmonitor--daemon.ipc")
    assert GitEntries(folder).refresh() == ()


@pytest.mark.parametrize(
    "place", ["refs/heads/hooks", "modules/hooks/HEAD", "objects/hooks", "logs/refs/heads/hooks/x"]
)
def test_a_name_as_of_hooks_hides_nothing(folder: Path, place: str) -> None:
    path = put(folder, place, _link)
    assert [one.path for one in GitEntries(folder).refresh()] == [str(path)]


def test_a_git_folder_that_is_a_link_is_one(folder: Path) -> None:
    other = folder.parent / "link"
    other.symlink_to(folder)
    assert [one.what for one in GitEntries(other).refresh()] == ["a link"]


def test_more_folders_than_are_looked_at_are_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opencode_tui.engine.project.git_entries.FOLDER_LIMIT", 5)
    assert [one.path for one in GitEntries(folder).refresh()] == [str(folder)]
