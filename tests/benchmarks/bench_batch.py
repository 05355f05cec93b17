"""60 tasks on a pool of two: cost of the pool, memory of a task, Ctrl-C, and the death of the parent.

Every task edits a file in a worktree of one repository, with a scripted model that takes its time. The floor of the duration is
the sum of the tasks' times in their results, divided by the jobs.
"""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.repo import Repo, make_repo

TASKS = 20 if os.environ.get("BENCHMARK_QUICK") else 60
JOBS = 2
POOL_GOAL = 1.15
MEMORY_GOAL_MB = 80
END_GOAL_MS = 1_000


def main() -> int:
    """Run all three stories and print the figures."""
    with tempfile.TemporaryDirectory() as folder, ModelServer() as server:
        root = Path(folder)
        repo = make_repo(root / "project")
        for number in range(TASKS):
            repo.write(f"file{number}.txt", f"{number}\n")
        repo.commit("begin")
        environ = isolated_environment(root / "home")
        line = CommandLine(repo.path, environ, provider=server.config(), settings={"model": "fake/fake-model"})
        figures = _measure_pool(line, repo, root)
        for number, goal in ((signal.SIGINT, END_GOAL_MS), (signal.SIGKILL, 2 * END_GOAL_MS)):
            figures.append(_measure_end(line, repo, root, number, goal))
        _resume(line, repo, root)
    return report(figures)


def _measure_pool(line: CommandLine, repo: Repo, root: Path) -> list[Figure]:
    tasks = root / "tasks.jsonl"
    prompts = [
        f'<<slow 30>> <<tool read {{"filePath": "file{n}.txt"}}>> <<tool edit {{"filePath": "file{n}.txt", "oldString": "{n}", '
        f'"newString": "{n}!"}}>>'
        for n in range(TASKS)
    ]
    _write(tasks, prompts)
    before = _content(repo.path)
    begin = time.monotonic()
    running = line.start("batch", str(tasks), "--jobs", str(JOBS))
    memory = _Memory(running.pid)
    memory.start()
    _, errors = running.communicate()
    seconds = time.monotonic() - begin
    memory.is_over.set()
    memory.join()
    found = [json.loads(one) for one in tasks.with_suffix(".results.jsonl").read_text().splitlines()]
    assert running.returncode == 0, errors.decode()
    assert sorted(one["id"] for one in found) == sorted(f"t{n}" for n in range(TASKS))
    for one in found:
        number = one["id"].removeprefix("t")
        assert (one["status"], one["files"]) == ("done", [f"file{number}.txt"])
        assert f"+{number}!" in one["diff"]
    assert _content(repo.path) == before
    _check_nothing_is_left(line, repo, root)
    own = sum(one["seconds"] for one in found)
    return [
        Figure(f"{TASKS} tasks, {JOBS} jobs, against the tasks' own time", seconds, POOL_GOAL, "s", floor=own / JOBS),
        Figure("memory of a task process (PSS)", memory.peak_kb / 1024, MEMORY_GOAL_MB, "MB"),
    ]


class _Memory(threading.Thread):
    """Looks at the children of a process until `is_over`."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.peak_kb = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(0.1):
            for child in _read(Path(f"/proc/{self._pid}/task/{self._pid}/children")).split():
                for row in _read(Path(f"/proc/{child}/smaps_rollup")).splitlines():
                    if row.startswith("Pss:"):
                        self.peak_kb = max(self.peak_kb, int(row.split()[1]))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _measure_end(line: CommandLine, repo: Repo, root: Path, number: signal.Signals, goal: float) -> Figure:
    """End a batch in the middle; return how long its children live."""
    tasks = root / f"{number.name}.jsonl"
    sleep = json.dumps({"command": "sleep 60", "description": "d"})
    _write(tasks, ["hello", "hello", *[f"<<tool bash {sleep}>>"] * 4])
    running = line.start("batch", str(tasks), "--jobs", str(JOBS))
    results = tasks.with_suffix(".results.jsonl")
    while len(_read(results).splitlines()) < 2 or not any("sleep" in one for one in line.survivors()):
        time.sleep(0.05)
    begin = time.monotonic()
    os.kill(running.pid, number)
    left = line.survivors(grace_s=10)
    took = (time.monotonic() - begin) * 1000
    kill_session(running)
    assert left == [], left
    assert running.returncode == (130 if number == signal.SIGINT else -number)
    assert [json.loads(one)["status"] for one in _read(results).splitlines()] == ["done", "done"]
    return Figure(f"{number.name} of the parent until all processes are gone", took, goal)


def _resume(line: CommandLine, repo: Repo, root: Path) -> None:
    """Run what the killed batch left, with other prompts for it."""
    tasks = root / f"{signal.SIGKILL.name}.jsonl"
    _write(tasks, ["hello"] * 6)
    done = line.run("batch", str(tasks), "--resume", timeout=300)
    assert done.code == 0, done.stderr
    found = [json.loads(one)["id"] for one in tasks.with_suffix(".results.jsonl").read_text().splitlines()]
    assert sorted(found) == [f"t{n}" for n in range(6)]
    _check_nothing_is_left(line, repo, root)


def _check_nothing_is_left(line: CommandLine, repo: Repo, root: Path) -> None:
    assert line.survivors(grace_s=1) == []
    assert os.listdir(root / "home/.cache/opencode-tui/batch") == []
    assert len(repo.git("worktree", "list").splitlines()) == 1


def _write(path: Path, prompts: list[str]) -> None:
    path.write_text("".join(f"{json.dumps({'id': f't{n}', 'prompt': prompt})}\n" for n, prompt in enumerate(prompts)))


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


if __name__ == "__main__":
    sys.exit(main())
