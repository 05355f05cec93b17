"""A program in the work tree never runs in place of the system's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.programs import OutputLimitError, find_program, run_program, safe_path
from opencode_tui.engine.tool.process.process import find_shell
from tests.support.world.repo import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


@pytest.fixture
def environ(repo: Repo) -> dict[str, str]:
    """An environment whose PATH begins with the project's own programs, each of which leaves a file behind."""
    folder = repo.path / ".venv/bin"
    folder.mkdir(parents=True)
    for name in ("git", "env", "bash", "rg"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {repo.path}/ran-{name}\n")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def ran(repo: Repo) -> list[str]:
    return sorted(path.name for path in repo.path.glob("ran-*"))


async def test_git_is_not_that_of_the_project(repo: Repo, environ: dict[str, str]) -> None:
    (repo.path / "sub").mkdir()
    for folder in (repo.path, repo.path / "sub"):
        assert "git version" in await SafeGit(folder, environ=environ).run("--version")
    assert ran(repo) == []


def test_importing_gitpython_starts_no_git_of_the_project(repo: Repo, environ: dict[str, str]) -> None:
    code = (
        "import os; from pathlib import Path; from opencode_tui.engine.project.git import SafeGit; "
        "print(SafeGit(Path.cwd(), environ=os.environ).run_blocking('--version'))"
    )
    root = str(Path(__file__).parents[3])
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=repo.path, env={**environ, "PYTHONPATH": root}, capture_output=True, text=True)
    assert done.stdout.startswith("git version"), done.stderr
    assert ran(repo) == []


def test_the_shell_is_not_that_of_the_project(repo: Repo, environ: dict[str, str]) -> None:
    assert not Path(find_shell(environ, repo.path)).is_relative_to(repo.path)


def test_relative_folders_and_links_in_the_work_tree_do_not_count(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tool").write_text("#!/bin/sh\n")
    (outside / "tool").chmod(0o755)
    (repo.path / "link").symlink_to(outside)
    (tmp_path / "back").symlink_to(repo.path)
    path = os.pathsep.join((".", "", "bin", str(repo.path / "link"), str(tmp_path / "back"), str(outside)))
    assert safe_path(path, repo.path) == str(outside)
    assert find_program("tool", {"PATH": path}, repo.path) == str(outside / "tool")
    assert find_program("tool", {"PATH": str(repo.path / "link")}, repo.path) is None


async def test_a_program_that_writes_too_much_is_killed(tmp_path: Path) -> None:
    for command in ("yes", "yes >&2", "echo 12345678901"):
        with pytest.raises(OutputLimitError, match=r"^sh wrote more than 10 bytes$"):
            await run_program(["sh", "-c", command], b"", folder=tmp_path, environ=os.environ, limit_s=30, max_bytes=10)
    ran = await run_program(["cat"], b"x" * 200_000, folder=tmp_path, environ=os.environ, limit_s=30)
    assert (ran.code, len(ran.output), ran.errors) == (0, 200_000, b"")
