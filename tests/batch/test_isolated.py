"""Tasks in clones of their own: the results are those of worktrees, and the user's repository shares nothing with them."""

import json
import os
import signal
from pathlib import Path

import pytest

from opencode_tui.client.task_repository import open_repository
from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.task_folders import record_task
from tests.support.provider.model_server import ModelServer
from tests.support.world.batch import read_results, write_tasks
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import Commands
from tests.support.world.repo import Repo, content, make_repo
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose base is the tag `base`, with a later commit."""
    repo = make_repo(tmp_path / "project")
    repo.commit("first", **{"a.py": "x = 1\n", "old.txt": "old\n"})
    repo.commit("begin", **{"a.py": "x = 2\n", "latin.txt": "one\n", ".gitignore": "*.log\n", "sub/b.txt": "b\n"})
    repo.git("tag", "base")
    repo.git("config", "user.name", "Ann")
    repo.git("config", "user.email", "ann@example.org")
    (repo.path / ".git/info/exclude").write_text("excluded\n")
    repo.commit("later", **{"a.py": "x = 3\n", "late/c.txt": "c\n"})
    return repo


def bash(command: str) -> str:
    return f"<<tool bash {json.dumps({'command': command, 'description': 'd'})}>>"


_WORK = """cd ..; rm old.txt; echo excluded | tee excluded new.txt forced.log ignored.log; printf '\\377\\n' | tee -a latin.txt
chmod +x sub/b.txt; git add -f forced.log; git add a.py; git commit -qam committed; echo 'x = 4' | tee a.py
git init -q nested; echo n | tee nested/n.txt"""
_LOOK = """git log --all --format=%s; git for-each-ref; git remote; git config user.name; git reflog | wc -l
git -C ORIGIN log --all --format=%s 2>/dev/null || true"""


def test_a_clone_gives_the_results_of_a_worktree_and_leaves_nothing(
    line: CommandLine, commands: Commands, repo: Repo, tmp_path: Path, paths: Paths, server: ModelServer
) -> None:
    before = content(repo.path)
    base = {"dir": "project/sub", "base": "base"}
    tasks = write_tasks(
        tmp_path,
        {"id": "tree", "prompt": bash(_WORK), "isolate": False, **base},
        {"id": "clone", "prompt": bash(_WORK), "check": _LOOK.replace("ORIGIN", str(repo.path)), **base},
        {"id": "missing", "prompt": "x", "dir": "project/late", "base": "base"},
    )
    assert line.run("batch", str(tasks), "--isolate", "--jobs", "2").code == 1
    found = read_results(tasks)
    tree, clone = found["tree"], found["clone"]
    assert (clone["status"], clone["files"], clone["diff"]) == ("done", tree["files"], tree["diff"])
    assert clone["files"] == ["a.py", "forced.log", "latin.txt", "nested/n.txt", "new.txt", "old.txt", "sub/b.txt"]
    assert clone["check"]["output"].splitlines() == ["committed", "begin", "first", "Ann", "1"]
    assert "late does not exist in the commit" in found["missing"]["error"]
    assert len(server.bodies) > 0 and str(repo.path) not in json.dumps(server.bodies)
    assert list(paths.tasks.iterdir()) == []
    after = content(repo.path)
    written = after.keys() - before.keys()
    assert {name: after[name] for name in before} == before
    assert 0 < len(written) and all(name.startswith(".git/objects/") for name in written)  # the commit in the worktree

    again = commands.run("batch", str(tasks), "--resume", "--branch")
    assert "branch opencode-tui/batch-clone" in again.stdout
    assert repo.git("rev-parse", "opencode-tui/batch-clone^") == repo.git("rev-parse", "base")
    trees = repo.git("rev-parse", "opencode-tui/batch-clone^{tree}", "opencode-tui/batch-tree^{tree}").split()
    assert trees[0] == trees[1]
    repo.git("fsck", "--strict")


def test_killed_in_the_middle_and_resumed_no_clone_is_left(
    line: CommandLine, repo: Repo, tmp_path: Path, paths: Paths, server: ModelServer
) -> None:
    before = content(repo.path)
    task = {"id": "slow", "prompt": bash("sleep 60"), "dir": "project", "base": "base", "isolate": True}
    tasks = write_tasks(tmp_path, task)
    running = line.start("batch", str(tasks))
    try:
        wait_until(lambda: len(server.answered) > 0)
        [record] = paths.tasks.glob("*.json")
        child: int = json.loads(record.read_bytes())["owner"]["pid"]
        os.kill(child, signal.SIGSTOP)  # it must not clean up when its parent ends
        os.kill(running.pid, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
    finally:
        kill_session(running)
    assert (record.with_suffix("") / ".git").is_dir()
    done = line.run("batch", str(tasks), "--resume", "--timeout", "1")
    assert read_results(tasks)["slow"]["status"] == "timeout", done.stderr
    assert list(paths.tasks.iterdir()) == []
    assert line.survivors(grace_s=PATIENCE_S) == []
    assert content(repo.path) == before


async def test_a_clone_has_the_project_of_its_origin_and_cannot_read_it(
    repo: Repo, environ: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    clone = record_task(paths, "task-1", origin=repo.path, common_dir=repo.path / ".git").resolve()
    await open_repository(environ, repo.path).clones.add(clone, repo.git("rev-parse", "base"))
    project = discover(clone, paths=paths, environ=environ)
    assert project.id == discover(repo.path, paths=paths, environ=environ).id
    settings = SandboxSettings(readable=[str(tmp_path)])
    sandbox = Sandbox(settings=settings, project=project, paths=paths, environ=environ, secrets=Secrets(environ))
    confined = await sandbox.confine(["true"], session_id="ses_1", folder=clone, environ=environ, read_only=False)
    assert confined is not None
    assert repo.path in confined.policy.hidden
    assert [path for path in confined.policy.write if path.is_relative_to(tmp_path / "project")] == []
    assert clone in confined.policy.write
