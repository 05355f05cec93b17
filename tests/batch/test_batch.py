"""`opencode-tui batch` as a user runs it: real processes, real worktrees, a scripted model."""

import asyncio
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.batch.journal import open_journal
from opencode_tui.batch.pool import BatchLimits, OnCost, Progress, run_batch
from opencode_tui.batch.task import BatchTask, TaskOrder, TaskResult
from opencode_tui.client.task_repository import remove_leftovers
from opencode_tui.config.flags import read_flags
from opencode_tui.config.load import load_config
from opencode_tui.config.trust.inspection import grant_seen, report_trust
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
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.write("latin.txt", "one\n")
    repo.commit("begin")
    return repo


def tool(name: str, **arguments: Any) -> str:
    return f"<<tool {name} {json.dumps(arguments)}>>"


_OWN_INDEX = "git rm -q --cached a.py && git reset -q && grep hello new.txt"
_DAMAGE = """(
    git branch stolen; git update-ref -d refs/heads/main; cd "$(git rev-parse --git-common-dir)"; rm -r HEAD index refs objects/info
) 2>/dev/null"""


def test_a_batch_changes_worktrees_only_and_its_results_become_branches(
    line: CommandLine, commands: Commands, repo: Repo, tmp_path: Path, paths: Paths
) -> None:
    repo.write("a.py", "x = 2  # not committed\n")
    before = content(repo.path)
    tasks = write_tasks(
        tmp_path,
        {"id": "new", "prompt": tool("write", filePath="new.txt", content="hello\n"), "check": _OWN_INDEX},
        {
            "id": "wrong",
            "prompt": tool("write", filePath="b/c.txt", content="no\n"),
            "check": f"cat b/c.txt; {_DAMAGE}; exit 3",
        },
        {"id": "refused", "prompt": tool("bash", command="echo x > /usr/zz", description="d")},
        {"id": "repeated", "prompt": 3 * tool("read", filePath="a.py")},
    )
    done = line.run("batch", str(tasks), "--jobs", "3")
    assert done.code == 1, done.stderr
    assert content(repo.path) == before
    assert list(paths.tasks.iterdir()) == []
    assert line.survivors(grace_s=PATIENCE_S) == []
    found = read_results(tasks)
    assert {name: one["status"] for name, one in found.items()} == {
        "new": "done",
        "wrong": "failed",
        "refused": "rejected",
        "repeated": "rejected",
    }
    assert found["new"]["diff"].endswith("+hello\n")
    assert found["new"]["cost"] > 0
    assert (found["wrong"]["check"], found["wrong"]["files"]) == ({"exit": 3, "output": "no\n"}, ["b/c.txt"])
    assert found["wrong"]["error"] == "check exited with 3: no"
    assert "would leave the sandbox" in found["refused"]["error"]
    assert "needs approval, but no terminal is attached" in found["repeated"]["error"]
    assert "1 uncommitted file" in done.stderr

    again = line.run("batch", str(tasks), "--resume", "--branch", "--apply")
    assert "applied new: new.txt" in again.stdout
    assert again.code == 1, again.stderr
    assert repo.git("show", "opencode-tui/batch-new:new.txt") == "hello"
    assert (repo.path / "new.txt").read_text() == "hello\n"
    assert (repo.path / "a.py").read_text() == "x = 2  # not committed\n"
    assert "not applied (not done): wrong, refused, repeated" in again.stderr
    sessions = json.loads(commands.run("session", "list", "--format", "json").stdout)
    assert {one["directory"] for one in sessions} == {str(repo.path)}
    assert {one["id"] for one in sessions} == {one["session"] for one in found.values()}


async def test_a_killed_batch_leaves_no_process_and_the_next_one_no_worktree(
    line: CommandLine, repo: Repo, tmp_path: Path, paths: Paths, server: ModelServer
) -> None:
    tasks = write_tasks(tmp_path, {"id": "slow", "prompt": tool("bash", command="sleep 60", description="d")})
    running = line.start("batch", str(tasks))
    try:
        wait_until(lambda: len(server.answered) > 0)
    finally:
        os.kill(running.pid, signal.SIGKILL)
        kill_session(running)
    assert line.survivors(grace_s=PATIENCE_S) == []
    left = record_task(paths, "left", origin=repo.path, common_dir=repo.path / ".git")
    record = left.with_name("left.json")
    record.write_text(record.read_text().replace(f'"pid":{os.getpid()}', '"pid":999999999'))
    repo.git("worktree", "add", "--detach", str(left))
    assert await remove_leftovers(line.environ) >= 1
    assert list(paths.tasks.iterdir()) == []
    assert len(repo.git("worktree", "list").splitlines()) == 1


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"id": "a", "prompt": "x", "base": "v9"}, "task a: {repo} has no commit 'v9'"),
        ({"id": "a", "prompt": "x", "dir": "nowhere"}, "task a: {tmp}/nowhere is not a directory"),
        ({"id": "a", "prompt": "x", "dir": "plain"}, "task a: {tmp}/plain is not in a git repository"),
        ({"id": "a", "prompt": "x", "model": "fake/other"}, "task a: no model fake/other"),
    ],
)
def test_what_cannot_run_is_one_line_before_anything_runs(
    commands: Commands, environ: dict[str, str], tmp_path: Path, server: ModelServer, task: dict[str, Any], said: str
) -> None:
    (tmp_path / "plain").mkdir()
    environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": server.config()})
    tasks = write_tasks(tmp_path, {"id": "first", "prompt": "x"}, task)
    done = commands.run("batch", str(tasks))
    assert done.code == 2
    assert said.format(repo=commands.folder, tmp=tmp_path) in done.stderr.splitlines()[-1]
    assert not tasks.with_suffix(".results.jsonl").exists()
    assert server.requests == []


class CountingWorkers:
    """Ends each task at once with a cost of a dollar; counts those that run at the same time."""

    def __init__(self) -> None:
        self.most = 0
        self._now = 0

    async def run(self, order: TaskOrder, on_cost: OnCost | None = None) -> TaskResult:
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return TaskResult(id=order.task.id, status="done", cost=1)

    async def close(self) -> None:
        pass

    def describe(self) -> str:
        return "nowhere"


async def test_a_batch_runs_so_many_at_once_and_stops_at_its_cost(tmp_path: Path) -> None:
    orders = [TaskOrder(task=BatchTask(id=f"t{number}", prompt="x"), directory="/", commit="0") for number in range(20)]
    workers = CountingWorkers()
    with open_journal(tmp_path / "out.jsonl", is_resumed=False) as journal:
        end = await run_batch(orders, workers, journal, jobs=3, limits=BatchLimits(cost=5), progress=Progress())
        assert workers.most == 3
        assert "cost limit" in end.stopped
        assert 5 <= len(end.results) <= 7
        assert end.missing == 20 - len(journal.results) == 20 - len(end.results)
    with open_journal(tmp_path / "out.jsonl", is_resumed=True) as journal:
        rest = [order for order in orders if order.task.id not in journal.results]
        end = await run_batch(rest, workers, journal, jobs=3, progress=Progress())
        assert (end.stopped, end.missing, len(journal.results)) == ("", 0, 20)


def test_a_worktree_has_the_trust_of_its_origin_by_content(repo: Repo, environ: dict[str, str], paths: Paths) -> None:
    repo.write("opencode.json", json.dumps({"permission": {"bash": {"make *": "allow"}}}))
    repo.commit("settings")
    top = record_task(paths, "task-1", origin=repo.path, common_dir=repo.path / ".git")
    repo.git("worktree", "add", "--detach", str(top))

    def ignored() -> int:
        return len(load_config(paths=paths, flags=read_flags(environ), directory=top, environ=environ).ignored)

    assert ignored() == 1
    report = report_trust(repo.path, paths=paths, flags=read_flags(environ), environ=environ)
    grant_seen(repo.path, report.seen, paths=paths)
    assert ignored() == 0
    (top / "opencode.json").write_text(json.dumps({"permission": {"bash": {"rm *": "allow"}}}))
    assert ignored() == 1
    (paths.tasks / "task-1.json").unlink()
    subprocess.run(["git", "checkout", "-q", "."], cwd=top, check=True)
    assert ignored() == 1


def test_files_of_a_sparse_checkout_and_of_new_repositories_are_changes_and_a_broken_index_is_a_result(
    line: CommandLine, repo: Repo, tmp_path: Path
) -> None:
    repo.write("out/o.txt", "one\n")
    repo.commit("folders")
    repo.git("sparse-checkout", "set", "in")
    broken = "mkdir -p new; touch new/file; echo x | tee $(git rev-parse --git-dir)/index"
    nested = "mkdir -p new; echo x | tee new/file; git init -q new; git init -q new/inner; touch new/inner/other"
    tasks = write_tasks(
        tmp_path,
        {"id": "sparse", "prompt": tool("bash", command=nested, description="d"), "check": "test -d new/inner/.git"},
        {"id": "broken", "prompt": tool("bash", command=broken, description="d")},
    )
    assert line.run("batch", str(tasks), "--jobs", "2").code == 1
    found = read_results(tasks)
    assert (found["sparse"]["status"], found["sparse"]["files"]) == ("done", ["new/file", "new/inner/other"])
    assert "index is damaged" in found["broken"]["error"]
    assert found["broken"]["cost"] > 0
    assert found["broken"]["session"]


async def test_what_other_tasks_change_in_the_repository_is_no_change_of_a_command(
    repo: Repo, environ: dict[str, str], paths: Paths
) -> None:
    top = record_task(paths, "task-1", origin=repo.path, common_dir=repo.path / ".git")
    repo.git("worktree", "add", "--detach", str(top))
    other = repo.path / ".git/worktrees/other"
    other.mkdir()
    (other / "config.worktree").touch()
    project = discover(top, paths=paths, environ=environ)
    sandbox = Sandbox(settings=None, project=project, paths=paths, environ=environ, secrets=Secrets(environ))
    confined = await sandbox.confine(["true"], session_id="ses_1", folder=top, environ=environ, read_only=False)
    assert confined is not None
    assert str(other) not in str(confined.policy.read_only)
    other.rename(other.with_name("new"))
    (top / ".envrc").touch()
    assert [one.path for one in await sandbox.changes(confined)] == [top / ".envrc"]


def test_the_help_of_a_batch_shows_what_is_typed(commands: Commands) -> None:
    assert commands.run("batch", "--help").stdout.startswith("Usage: opencode-tui batch [OPTIONS] [TASKS]\n")
