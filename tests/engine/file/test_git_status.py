"""What differs from the last commit, in repositories of every kind, hostile ones included."""

import os

import pytest

from opencode_tui.engine.file.git_status import changed_files, unwatched_files
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import find_repository
from tests.support.world.repo import make_repo


async def told(repo, inner="."):
    repository = find_repository(repo.path.resolve())
    assert repository is not None
    git = SafeGit(repository.worktree, environ=os.environ)
    files = await changed_files(git, repository, directory=repository.worktree / inner)
    return {one.path: (one.added, one.removed, one.status) for one in files}


@pytest.mark.slow
async def test_before_the_first_commit_everything_is_new(tmp_path):
    repo = make_repo(tmp_path / "p")
    repo.write("staged", "1\n2\n")
    repo.git("add", "staged")
    repo.write("other", "1")
    repo.write("empty", "")
    assert await told(repo) == {"staged": (2, 0, "added"), "other": (1, 0, "added"), "empty": (0, 0, "added")}


async def test_paths_are_relative_to_the_folder_that_is_worked_in(tmp_path):
    repo = make_repo(tmp_path / "p")
    repo.write("inner/a", "1\n")
    repo.write("b", "1\n")
    repo.commit()
    repo.write("inner/a", "2\n")
    repo.write("b", "2\n")
    assert await told(repo, "inner") == {"a": (1, 1, "modified"), "../b": (1, 1, "modified")}


async def test_what_is_no_text_counts_no_lines_and_is_never_waited_for(tmp_path):
    repo = make_repo(tmp_path / "p")
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    repo.write("hidden.log", "x")
    (repo.path / "binary").write_bytes(b"a\n\0b\n")
    (repo.path / "link").symlink_to("/etc/passwd")
    os.mkfifo(repo.path / "pipe")
    assert await told(repo) == {"binary": (0, 0, "added"), "link": (0, 0, "added")}


async def test_nothing_that_a_repository_names_is_started(tmp_path):
    repo = make_repo(tmp_path / "p")
    repo.write("a", "1\n")
    repo.write(".gitattributes", "* filter=evil diff=evil\n")
    repo.commit()
    mark = tmp_path / "started"
    program = f"touch {mark}; cat"
    for name in (
        "filter.evil.clean",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "diff.external",
    ):
        repo.git("config", name, program)
    repo.git("config", "filter.evil.required", "true")
    repo.git("config", "core.fsmonitor", program)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (hooks / "post-index-change").chmod(0o755)
    repo.git("config", "core.hooksPath", str(hooks))
    repo.git("config", "core.worktree", str(tmp_path))
    (repo.path / "a").write_text("2\n3\n")
    assert (await told(repo), mark.exists()) == ({"a": (2, 1, "modified")}, False)


@pytest.mark.fast_cases("None-False-skip-worktree", "None-False-assume-unchanged")
@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
@pytest.mark.parametrize(
    ("content", "is_found"), [("changed\n", True), ("1\n", False), (None, False), ("1\r\n", True), ("", True)]
)
async def test_a_file_at_which_git_does_not_look_is_found_when_it_differs(tmp_path, flag, content, is_found):
    repo = make_repo(tmp_path / "p")
    repo.commit(**{"inner/a [b].txt": "1\n", "other": "1\n"})
    repo.git("update-index", f"--{flag}", "inner/a [b].txt")
    file = repo.path / "inner/a [b].txt"
    file.unlink()
    if content is not None:
        file.write_bytes(content.encode())
    repo.write("other", "2\n")
    before = (repo.path / ".git/index").read_bytes()
    repository = find_repository(repo.path.resolve())
    assert repository is not None
    git = SafeGit(repository.worktree, environ=os.environ)
    assert await unwatched_files(git, repository) == (["inner/a [b].txt"] if is_found else [])
    make_repo(repo.path / "inner/nested")
    assert (await unwatched_files(git, repository))[0] == "inner/nested"
    assert (repo.path / ".git/index").read_bytes() == before
