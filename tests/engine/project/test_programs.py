"""A program in the work tree never runs in place of the system's."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.programs import OutputLimitError, Process, Program, run_program, start_program
from opencode_tui.engine.tool.process.process import find_shell
from opencode_tui.programs import find_program, is_below, python_command, python_environ, safe_environ, safe_path
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S, until


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


@pytest.mark.slow
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


def make_tool(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("is_absolute", [True, False])
def test_every_link_on_the_way_to_a_program_counts(repo: Repo, tmp_path: Path, is_absolute: bool) -> None:
    """A command may lead them elsewhere, although both ends are outside of the project."""
    real = make_tool(tmp_path / "real/tool")
    hop = repo.path / "hop"
    hop.symlink_to(real.parent if is_absolute else Path("../real"))
    for name, target in (("by-folder", hop), ("by-file", hop / "tool"), ("by-dots", repo.path / ".." / "real")):
        folder = tmp_path / name
        if name == "by-file":
            folder.mkdir()
            (folder / "tool").symlink_to(target if is_absolute else Path("../r/hop/tool"))
        else:
            folder.symlink_to(target if is_absolute or name == "by-dots" else Path("r/hop"))
        assert (folder / "tool").exists()
        assert find_program("tool", {"PATH": str(folder)}, repo.path) is None, name
        assert find_program(str(folder / "tool"), {"PATH": ""}, repo.path) is None, name
    assert find_program("tool", {"PATH": f"{tmp_path}/by-file:{real.parent}"}, repo.path) == str(real)


def test_a_nested_repository_does_not_open_the_project_around_it(repo: Repo, tmp_path: Path) -> None:
    make_tool(repo.path / ".venv/bin/tool")
    nested = repo.path / "vendor/lib"
    (nested / ".git").mkdir(parents=True)
    environ = {"PATH": str(repo.path / ".venv/bin"), "HOME": str(tmp_path / "home")}
    assert find_program("tool", environ, nested) is None
    assert safe_path(environ["PATH"], nested, environ) == ""


def test_a_home_with_a_repository_keeps_its_programs(repo: Repo, tmp_path: Path) -> None:
    """As people keep their settings files."""
    (tmp_path / ".git").mkdir()
    tool = make_tool(tmp_path / ".local/bin/tool")
    assert find_program("tool", {"PATH": str(tool.parent), "HOME": str(tmp_path)}, repo.path) == str(tool)


def test_our_own_caches_and_shared_memory_hold_no_programs(repo: Repo, tmp_path: Path) -> None:
    tool = make_tool(tmp_path / "cache/opencode-tui/sandbox/temp/one/tool")
    environ = {"PATH": str(tool.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert find_program("tool", environ, repo.path) is None
    assert find_program("tool", environ, Path("/")) is None
    assert is_below("/dev/shm/tool", repo.path)


def test_a_folder_by_another_name_is_the_same(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(repo.path)
    tool = make_tool(repo.path / "bin/tool")
    assert find_program("tool", {"PATH": str(tool.parent)}, tmp_path / "other") is None
    assert find_program("tool", {"PATH": str(tmp_path / "other/bin")}, repo.path) is None


@pytest.mark.parametrize("entry", ["", ".", "shadow"])
def test_our_python_imports_no_module_of_the_project(repo: Repo, entry: str) -> None:
    (repo.path / "shadow").mkdir()
    for folder in (repo.path, repo.path / "shadow"):
        (folder / "json.py").write_text("print('of the project')")
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(["/nowhere", entry, str(repo.path / entry)])}
    command = python_command("-c", "import json, opencode_tui; print(json.__name__)")
    done = subprocess.run(
        command, cwd=repo.path, env=python_environ(given, repo.path), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("json\n", "")


LOADED = {
    "PYTHONPATH": ("sitecustomize.py", "import pathlib; pathlib.Path('ran').touch()", [sys.executable, "-c", ""]),
    "NODE_PATH": (
        "own.js",
        "require('fs').writeFileSync('ran', '')",
        ["node", "-e", "try { require('own') } catch {}"],
    ),
    "PERL5LIB": ("Own.pm", "open(my $file, '>', 'ran'); 1;", ["perl", "-e", "eval { require Own }"]),
    "RUBYLIB": ("own.rb", "File.write('ran', '')", ["ruby", "-e", "begin; require 'own'; rescue LoadError; end"]),
}
"""By variable: a file of the project, which leaves a file behind, and a program that loads it where the variable says so."""


@pytest.mark.fast_cases("PERL5LIB-", "PYTHONPATH-lib")
@pytest.mark.parametrize("entry", ["", ".", "lib", "ABSOLUTE", "LINK"])
@pytest.mark.parametrize("variable", LOADED)
def test_programs_load_no_code_of_the_project_by_inherited_variables(
    repo: Repo, tmp_path: Path, variable: str, entry: str
) -> None:
    name, code, command = LOADED[variable]
    if find_program(command[0], os.environ, repo.path) is None:
        pytest.skip(f"{command[0]} is not installed")
    (repo.path / "lib").mkdir()
    (repo.path / "link").symlink_to(tmp_path / "outside")
    for folder in (repo.path, repo.path / "lib", tmp_path / "outside"):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(code)
    places = {"ABSOLUTE": repo.path / "lib", "LINK": repo.path / "link"}
    given = safe_environ({**os.environ, variable: f"{places.get(entry, entry)}{os.pathsep}/nowhere"}, repo.path)
    subprocess.run(command, cwd=repo.path, env=given, capture_output=True, check=True)
    assert given[variable] == "/nowhere"
    assert not (repo.path / "ran").exists()


def test_other_folders_of_code_stay(repo: Repo, tmp_path: Path) -> None:
    given = {"PATH": "/usr/bin", "PYTHONPATH": f"{tmp_path / 'mine'}{os.pathsep}/opt/x", "NODE_PATH": ".", "LANG": "C"}
    assert safe_environ(given, repo.path) == {
        "PATH": "/usr/bin",
        "PYTHONPATH": f"{tmp_path / 'mine'}{os.pathsep}/opt/x",
        "LANG": "C",
    }


async def test_a_program_that_writes_too_much_is_killed(tmp_path: Path) -> None:
    for command in ("yes", "yes >&2", "echo 12345678901"):
        with pytest.raises(OutputLimitError, match=r"^sh wrote more than 10 bytes$"):
            await run_program(
                Program(["sh", "-c", command], tmp_path, os.environ), b"", limit_s=PATIENCE_S, max_bytes=10
            )
    ran = await run_program(Program(["cat"], tmp_path, os.environ), b"x" * 200_000, limit_s=PATIENCE_S)
    assert (ran.code, len(ran.output), ran.errors) == (0, 200_000, b"")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
async def test_a_killed_program_leaves_no_pipe_open_that_a_process_outside_its_group_holds(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    line = "setsid -f sleep 3 & sleep 60"
    with pytest.raises(TimeoutError):
        await run_program(Program(["sh", "-c", line], tmp_path, os.environ), b"", limit_s=0.5)
    await asyncio.sleep(0)  # the loop closes a pipe at its next turn
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are counted in /proc")
async def test_a_second_cancellation_leaves_no_pipe_open_whenever_it_comes(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for turns in range(8):
        started = asyncio.Event()

        async def start(program: Program, started: asyncio.Event = started) -> Process:
            process = await start_program(program)
            started.set()
            return process

        sleep = Program(["sleep", "60"], tmp_path, os.environ)
        task = asyncio.create_task(run_program(sleep, b"", limit_s=PATIENCE_S, start=start))
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    # the loop closes a pipe at its next turn, and since Python 3.12 the descriptor of a killed process when that has ended
    await until(lambda: len(os.listdir("/proc/self/fd")) == before)
