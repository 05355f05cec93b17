"""Clones of one commit: what they have, and what a task cannot make of them."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.project.isolated_clone import IsolatedClones
from opencode_tui.engine.project.repository import find_repository
from tests.support.world.repo import Repo, content, make_repo, run_git


def clones_of(repo: Repo) -> IsolatedClones:
    repository = find_repository(repo.path.resolve())
    assert repository is not None
    return IsolatedClones(repository, environ=os.environ)


def list_objects(path: Path) -> set[str]:
    return set(run_git(path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


async def test_a_clone_has_a_commit_with_its_history_and_the_settings_that_decide_about_files(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / 'a:"b')
    first = repo.commit(**{"a.txt": "one\n"})
    base = repo.commit(**{"a.txt": "two\n"})
    reachable = repo.git("rev-list", "--objects", "--no-object-names", "HEAD").split()
    repo.git("tag", "-am", "annotated", "v1")
    repo.commit(**{"a.txt": "three\n"})
    repo.git("config", "core.autocrlf", "true")
    repo.git("config", "filter.x.smudge", "false")
    (repo.path / ".git/info/attributes").write_text("*.txt filter=x\n")
    before = content(repo.path)
    path = tmp_path / "clone"
    clones = clones_of(repo)
    await clones.add(path, base)
    assert list_objects(path) == set(reachable)
    assert run_git(path, "log", "--all", "--format=%H").split() == [base, first]
    assert [run_git(path, *words) for words in (["for-each-ref"], ["reflog"], ["remote"], ["fsck"])] == [""] * 4
    texts = [one.read_bytes() for one in (path / ".git").rglob("*") if one.is_file()]
    assert len(texts) > 5 and not any(os.fsencode(repo.path) in text for text in texts)
    assert (path / "a.txt").read_bytes() == b"two\r\n"
    assert run_git(path, "status", "--porcelain") == ""
    assert content(repo.path) == before


@pytest.mark.parametrize("option", ["--depth=3", "--filter=blob:none"])
async def test_a_history_that_the_repository_lacks_is_cut(tmp_path: Path, option: str) -> None:
    source = make_repo(tmp_path / "source")
    commits = [source.commit(**{"a.txt": f"{number}\n"}) for number in range(4)]
    source.git("config", "uploadpack.allowFilter", "true")
    run_git(tmp_path, "clone", "-q", option, f"file://{source.path}", "origin")
    run_git(tmp_path / "origin", "checkout", "-q", commits[2])  # gets its files in a partial clone
    path = tmp_path / "clone"
    await clones_of(Repo(tmp_path / "origin")).add(path, commits[2])
    kept = {"--depth=3": [commits[2], commits[1]], "--filter=blob:none": [commits[2]]}[option]
    assert run_git(path, "log", "--all", "--format=%H").split() == kept
    assert len(list_objects(path)) == 3 * len(kept)
    assert run_git(path, "fsck") == ""
    assert (path / "a.txt").read_text() == "2\n"
    assert len(list((path / ".git/objects/pack").iterdir())) == 2


async def test_what_a_task_makes_of_its_git_folder_reaches_no_other_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    base = repo.commit(**{"a.txt": "one\n"})
    repo.commit(**{"a.txt": "two\n"})
    clones, path = clones_of(repo), tmp_path / "clone"
    await clones.add(path, base)
    (path / "b.txt").write_text("new\n")
    before = content(repo.path)
    own, origin = path / ".git", repo.path / ".git"
    (own / "index").unlink()
    (own / "index").symlink_to(origin / "index")
    first = await clones.changes(path, base)
    assert first.files == ("b.txt",) and first.diff.endswith("+new\n")
    (own / "objects").rename(own / "before")
    (own / "objects").symlink_to(origin / "objects")
    assert await clones.changes(path, base) == first
    own.rename(path.with_name("gone"))
    assert await clones.changes(path, base) == first
    own.symlink_to(origin)
    assert await clones.changes(path, base) == first
    assert content(repo.path) == before
