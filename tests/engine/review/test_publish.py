"""Branch, push and pull request, each a step of its own, with a bare remote and a scripted `gh`."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository, find_repository
from opencode_tui.engine.review.publish import create_branch, open_request, plan_push, push
from opencode_tui.schema.api.review import PullRequest
from opencode_tui.schema.error import ConfigError, OpencodeError
from tests.support.world.repo import Repo, make_repo


def _desk(folder: Path) -> tuple[Repo, SafeGit, Repository]:
    repo = make_repo(folder / "r")
    repo.commit("first", **{"a.txt": "one\n"})
    found = find_repository(repo.path)
    assert found is not None
    return repo, SafeGit(repo.path, environ=os.environ), found


def _remote(folder: Path, repo: Repo, *, says: str = "") -> Path:
    bare = folder / "remote.git"
    repo.git("init", "-q", "--bare", str(bare))
    if says:
        hook = bare / "hooks/post-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho '{says}'\n")
        hook.chmod(0o755)
    repo.git("remote", "add", "origin", str(bare))
    return bare


async def test_a_branch_is_made_with_the_changes_as_they_are(tmp_path: Path) -> None:
    repo, git, found = _desk(tmp_path)
    repo.write("a.txt", "two\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "three\n")
    before = repo.git("status", "--porcelain")
    assert await create_branch(git, "fix/last-row") == "fix/last-row"
    assert found.branch == "fix/last-row" and repo.git("status", "--porcelain") == before == "MM a.txt"
    for wrong in ("main", "a..b", "-d", "@{-1}", "fix", "a\0b", "\ud800", "a\nb"):
        with pytest.raises(OpencodeError):
            await create_branch(git, wrong)
    assert found.branch == "fix/last-row"


@pytest.mark.slow
async def test_a_push_says_what_it_does_and_returns_what_the_remote_printed(tmp_path: Path) -> None:
    repo, git, found = _desk(tmp_path)
    with pytest.raises(ConfigError, match="no remote"):
        await plan_push(git, found, os.environ)
    bare = _remote(tmp_path, repo, says="Create a pull request: https://git.example/r/compare/main")
    plan = await plan_push(git, found, {"PATH": str(tmp_path)})
    assert (plan.branch, plan.remote, plan.commits, plan.is_new, plan.tool) == ("main", "origin", ["first"], True, "")
    report = await push(git, found, os.environ)
    assert report.is_done and report.url == "https://git.example/r/compare/main"
    assert Repo(bare).git("log", "--format=%s", "main") == "first"
    repo.commit("second")
    assert (await plan_push(git, found, os.environ)).commits == ["second"]
    Repo(bare).git("update-ref", "-d", "refs/heads/main")
    (bare / "hooks/pre-receive").write_text("#!/bin/sh\necho not today\nexit 1\n")
    (bare / "hooks/pre-receive").chmod(0o755)
    report = await push(git, found, os.environ)
    assert not report.is_done and "not today" in report.output


async def test_a_pull_request_is_opened_by_the_installed_program(tmp_path: Path) -> None:
    repo, git, found = _desk(tmp_path)
    _remote(tmp_path, repo)
    programs = tmp_path / "bin"
    programs.mkdir()
    environ = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    wanted = PullRequest(title="Fix; touch evil", body="$(touch evil)")
    without = await plan_push(git, found, {"PATH": str(programs)})
    with pytest.raises(ConfigError, match="neither gh nor glab"):
        await open_request(found, environ, without, wanted)
    gh = programs / "gh"
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > ../arguments\necho https://git.example/r/pull/7\n')
    gh.chmod(0o755)
    plan = await plan_push(git, found, environ)
    assert plan.tool == "gh"
    report = await open_request(found, environ, plan, wanted)
    assert report.is_done and report.url == "https://git.example/r/pull/7"
    words = (tmp_path / "arguments").read_text().splitlines()
    assert words == ["pr", "create", "--title", wanted.title, "--body", wanted.body, "--head", "main"]
    gh.write_text("#!/bin/sh\necho a pull request exists already >&2\nexit 1\n")
    report = await open_request(found, environ, plan, wanted)
    assert not report.is_done and report.output == "a pull request exists already"
