"""Clones of one commit: what they have, and what a task cannot make of them."""

import os
import subprocess
from pathlib import Path

import pytest

from opencode_tui.engine.project.changes import WorktreeChanges
from opencode_tui.engine.project.isolated_clone import IsolatedClones
from opencode_tui.engine.project.linked_worktree import DetachedWorktrees
from opencode_tui.engine.project.repository import find_repository
from tests.support.world.repo import Repo, content, make_repo, run_git


def clones_of(repo: Repo, **variables: str) -> IsolatedClones:
    repository = find_repository(repo.path.resolve())
    assert repository is not None
    return IsolatedClones(repository, environ={**os.environ, **variables})


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


@pytest.mark.slow
async def test_a_clone_has_the_files_and_the_changes_of_a_worktree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    for name in ("a.txt", "b.crlf", "in/c.txt", "out/d.txt", "run"):
        repo.write(name, "one\ntwo\n")
    (repo.path / "run").chmod(0o755)
    (repo.path / "link").symlink_to("in/c.txt")
    repo.write(".gitattributes", "*.txt filter=broken\n*.crlf text eol=crlf\n")
    repo.git("add", "-A")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    repo.git("commit", "-qm", "base")
    base = repo.git("rev-parse", "HEAD")
    repo.git("sparse-checkout", "set", "in")
    repo.git("config", "filter.broken.clean", "false")
    repo.git("config", "filter.broken.smudge", "false")
    repo.git("config", "filter.broken.required", "true")
    repository = find_repository(repo.path)
    assert repository is not None
    found: list[tuple[dict[str, tuple[int, bytes]], WorktreeChanges]] = []
    for kind in (IsolatedClones, DetachedWorktrees):
        path = tmp_path / kind.__name__
        made = kind(repository, environ=os.environ)
        await made.add(path, base)
        files = {
            name: ((path / name).stat().st_mode, data)
            for name, data in content(path).items()
            if not name.startswith(".git/")
        }
        (path / "module/inside").mkdir(parents=True)
        (path / "out/d.txt").write_text("three\n")
        (path / "link").unlink()
        (path / "b.crlf").write_bytes(b"one\r\ntwo\r\n")
        (path / "run").chmod(0o644)
        found.append(({name: one for name, one in files.items() if name != ".git"}, await made.changes(path, base)))
    assert found[0] == found[1]
    assert found[0][1].files == ("link", "out/d.txt", "run")
    assert len(found[0][0]) == 7


@pytest.mark.slow
async def test_a_split_index_is_of_the_clone_and_borrowed_objects_are_copied(tmp_path: Path) -> None:
    lender = make_repo(tmp_path / "lender")
    base = lender.commit(**{f"{number}.txt": f"{number}\n" for number in range(30)})
    run_git(tmp_path, "clone", "-q", "--shared", "lender", "borrower")
    repo = Repo(tmp_path / "borrower").link(tmp_path / "linked")
    (tmp_path / ".gitconfig").write_text("[core]\n\tsplitIndex = true\n")
    before = content(tmp_path / "borrower")
    clones, path = clones_of(repo, HOME=str(tmp_path)), tmp_path / "clone"
    await clones.add(path, base)
    assert run_git(path, "fsck") == "" and not (path / ".git/objects/info/alternates").exists()
    (path / "new.txt").write_text("new\n")
    environ = {**os.environ, "HOME": str(tmp_path)}
    subprocess.run(["git", "add", "new.txt"], cwd=path, env=environ, check=True)
    assert (await clones.changes(path, base)).files == ("new.txt",)
    assert content(tmp_path / "borrower") == before


async def test_a_file_that_changes_in_the_moment_in_which_git_reads_it_is_a_change(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    base = repo.commit(**{"a.txt": "one\n"})
    repo.git("config", "core.trustctime", "false")
    clones, path = clones_of(repo), tmp_path / "clone"
    await clones.add(path, base)
    moment = (1_700_000_000, 1_700_000_000)
    os.utime(path / "a.txt", moment)
    run_git(path, "update-index", "--refresh")
    os.utime(path / ".git/index", moment)
    (path / "a.txt").write_text("six\n")
    os.utime(path / "a.txt", moment)
    assert (await clones.changes(path, base)).diff.endswith("-one\n+six\n")


@pytest.mark.fast_cases("--depth=3")
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


@pytest.mark.slow
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
