"""A batch on a Dask scheduler with three workers: equal to the local pool, through kills of a worker and of the scheduler.

Run: python -m tests.benchmarks cluster. Needs the extra `cluster`; without it nothing is measured. 60 tasks run in the pool of this
machine and on a scheduler with three worker processes. There a worker is killed with -9 while it runs a task, and later the
scheduler, which starts again on its port. Also: tasks are interrupted by Ctrl-C and resumed; a task loses three workers; tasks run
over TLS on a worker that does not see the repository, which therefore gets a bundle (needs `unshare` and `openssl`). `--quick`: 12
tasks; `python -m tests.benchmarks.bench_cluster PART…`: only tls, interrupt, lost or equal.
"""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.repo import make_repo

TASKS = 12 if os.environ.get("BENCHMARK_QUICK") else 60
WORKERS = 3
_LIMIT_S = 1200.0
_SLOW = '<<tool bash {"command": "sleep 30", "description": "wait"}>>'


class World:
    """A repository, a model, and command lines with homes of their own; all their processes have one marker."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.folder = folder
        self._provider = {"fake": provider_config(model.base_url)["fake"]}
        self.repo = make_repo(folder / "repo")
        self.repo.commit(**{"README.md": "hello\n", "sub/a.txt": "one\n"})
        self._first = self.home("client")

    def home(self, name: str) -> CommandLine:
        """Return the command line of a user of this name."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        environ = {**isolated_environment(home), "PATH": os.environ["PATH"]}
        made = CommandLine(self.repo.path, environ, self._provider, {"model": "fake/fake-model"})
        return replace(made, marker=self._first.marker) if hasattr(self, "_first") else made

    def tasks(self, name: str, count: int, more: str = "") -> Path:
        """Write a file of tasks that each create a file."""
        path = self.folder / f"{name}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                call = {"filePath": f"f{number}.py", "content": f"print({number})\n"}
                prompt = f"<<tool write {json.dumps(call)}>> {more} task {number}"
                where = str(self.repo.path / "sub" if number % 2 else self.repo.path)
                task = {"id": f"t{number}", "dir": where, "prompt": prompt, "check": f"grep {number} f{number}.py"}
                file.write(json.dumps(task) + "\n")
        return path

    def left(self, *, grace_s: float = 5.0) -> int:
        """Return the processes and worktrees that are left of all tasks."""
        deadline = time.monotonic() + grace_s
        while (count := self._left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return count

    def _left(self) -> int:
        processes = [line for line in self._first.survivors() if "batch task" in line]
        worktrees = self.repo.git("worktree", "list").splitlines()[1:]
        folders = [path for path in self.folder.glob("*/.cache/opencode-tui/batch/*") if path.is_dir()]
        return len(processes) + len(worktrees) + len(folders)


def results(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def differing(ours: list[dict[str, Any]], other: list[dict[str, Any]]) -> int:
    """Return how many of the second results are missing in the first or not equal in what the task did."""

    def outcomes(found: list[dict[str, Any]]) -> dict[str, tuple[object, ...]]:
        return {
            one["id"]: tuple(one.get(key) for key in ("status", "diff", "files", "answer", "check")) for one in found
        }

    left, right = outcomes(ours), outcomes(other)
    return sum(left.get(name) != outcome for name, outcome in right.items())


def stored_sessions(line: CommandLine) -> int:
    """Return how many sessions the store of a command line has."""
    return len(list(Path(line.environ["XDG_DATA_HOME"]).glob("opencode-tui/storage/session/*/*.json")))


def wait_until(what: str, is_true: Callable[[], bool], limit_s: float = _LIMIT_S) -> None:
    """Wait for something; raise when it does not happen."""
    deadline = time.monotonic() + limit_s
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not happen in {limit_s:g} s")
        time.sleep(0.1)


class Cluster:
    """A scheduler and its workers, each a process."""

    def __init__(self, world: World, scheme: str = "tcp", options: tuple[str, ...] = ()) -> None:
        self._world = world
        self._scheme = scheme
        self._options = options
        self._scheduler_line = world.home("scheduler")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"{scheme}://127.0.0.1:{self._port}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start_scheduler(self) -> "subprocess.Popen[bytes]":
        """Start the scheduler; return when its port is open."""
        pairs = zip(("--tls-ca-file", "--tls-cert", "--tls-key"), self._options[1::2], strict=False)
        tls = [word for pair in pairs for word in pair]
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", self.address]
        process = subprocess.Popen(
            [*command, "--dashboard-address", "127.0.0.1:0", *tls],
            env=self._scheduler_line.variables(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        wait_until("the start of the scheduler", self._is_open, 60)
        return process

    def _is_open(self) -> bool:
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self._port)) == 0

    def start_worker(self, number: int, prefix: tuple[str, ...] = ()) -> "subprocess.Popen[bytes]":
        """Start a worker with a home of its own."""
        line = self._world.home(f"worker{number}")
        command = [*prefix, sys.executable, "-m", "opencode_tui", "batch", "worker", self.address, "--jobs", "1"]
        process = subprocess.Popen(
            [*command, *self._options],
            cwd=self._world.folder / f"worker{number}",
            env=line.variables(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        """End all, the workers first, in order."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    kill_session(process)


@contextmanager
def running(cluster: Cluster, workers: int = WORKERS) -> Generator[Cluster]:
    """Start the scheduler and the workers; end them."""
    try:
        cluster.start_scheduler()
        for number in range(workers):
            cluster.start_worker(number)
        yield cluster
    finally:
        cluster.close()


def measure_equal(world: World) -> list[Figure]:
    """Run the tasks here and on the cluster, where a worker and the scheduler are killed."""
    tasks = world.tasks("tasks", TASKS)
    here, there = world.folder / "here.jsonl", world.folder / "there.jsonl"
    begin = time.monotonic()
    local = world.home("local").run("batch", str(tasks), "--jobs", "2", "--out", str(here), timeout=_LIMIT_S)
    print(f"local pool: {time.monotonic() - begin:.0f} s, exit {local.code}", flush=True)
    client = world.home("client")
    with running(Cluster(world)) as cluster:
        begin = time.monotonic()
        batch = client.start("batch", str(tasks), "--scheduler", cluster.address, "--out", str(there))
        try:
            wait_until("a result", lambda: len(results(there)) >= TASKS // 6)
            os.kill(cluster.processes[1].pid, signal.SIGKILL)
            print(f"killed a worker after {len(results(there))} results", flush=True)
            wait_until("more results", lambda: len(results(there)) >= TASKS // 2)
            kill_session(cluster.processes[0])
            print(f"killed the scheduler after {len(results(there))} results", flush=True)
            time.sleep(2)
            cluster.start_scheduler()
            _, errors = batch.communicate(timeout=_LIMIT_S)
        finally:
            kill_session(batch)
        print(errors.decode()[:2000], flush=True)
        print(f"cluster: {time.monotonic() - begin:.0f} s, exit {batch.returncode}", flush=True)
    found = results(there)
    counts = Counter(one["id"] for one in found)
    print("attempts:", dict(Counter(one.get("attempts") for one in found)), flush=True)
    return [
        Figure("tasks that are not done", TASKS - sum(one["status"] == "done" for one in found), 0, ""),
        Figure("tasks with two results", sum(count > 1 for count in counts.values()), 0, ""),
        Figure("results that differ from the local pool", differing(found, results(here)), 0, ""),
        Figure("tasks that ran again", sum(one.get("attempts", 1) > 1 for one in found), 2 * WORKERS, ""),
        Figure("sessions here beside one a task", abs(stored_sessions(client) - TASKS), 0, ""),
        Figure("processes and worktrees left", world.left(), 0, ""),
        Figure("changed files of the user", len(world.repo.git("status", "--porcelain").splitlines()), 0, ""),
    ]


def measure_interrupt(world: World) -> list[Figure]:
    """Interrupt a batch with Ctrl-C while tasks run, then resume it."""
    client = world.home("interrupted")
    out = world.folder / "interrupted.results.jsonl"
    with running(Cluster(world)) as cluster:
        tasks = world.tasks("interrupted", WORKERS, _SLOW)
        batch = client.start("batch", str(tasks), "--scheduler", cluster.address, "--out", str(out))
        try:
            wait_until("running commands", lambda: len(_sleeping(client)) >= WORKERS, 120)
            os.kill(batch.pid, signal.SIGINT)
            begin = time.monotonic()
            _, errors = batch.communicate(timeout=60)
            ended = time.monotonic() - begin
            wait_until("the end of the tasks", lambda: not _working(client), 60)
            gone = time.monotonic() - begin
        finally:
            kill_session(batch)
        print(errors.decode()[-300:], flush=True)
        left = world.left()
        world.tasks("interrupted", WORKERS)
        resumed = client.run(
            "batch", str(tasks), "--scheduler", cluster.address, "--out", str(out), "--resume", timeout=_LIMIT_S
        )
    return [
        Figure("exit code after Ctrl-C beside 130", abs(batch.returncode - 130), 0, ""),
        Figure("end of the command after Ctrl-C", ended, 3, "s"),
        Figure("end of all remote processes after Ctrl-C", gone, 3, "s"),
        Figure("left after Ctrl-C", left, 0, ""),
        Figure("tasks without a result after --resume", WORKERS - len(results(out)), 0, ""),
        Figure("exit code of --resume", resumed.code, 0, ""),
    ]


def _sleeping(line: CommandLine) -> list[str]:
    return [one for one in line.survivors() if one.partition(" ")[2].strip() == "sleep 30"]


def _working(line: CommandLine) -> list[str]:
    return [one for one in line.survivors() if "batch task" in one or "sleep 30" in one]


def measure_lost(world: World) -> list[Figure]:
    """Kill each worker that runs a task; the third loss ends it."""
    out = world.folder / "lost.results.jsonl"
    tasks = world.tasks("lost", 1, _SLOW)
    client = world.home("client")
    with running(Cluster(world), 2) as cluster:
        batch = client.start("batch", str(tasks), "--scheduler", cluster.address, "--out", str(out))
        try:
            for number in range(3):
                wait_until("a running command", lambda: len(_sleeping(client)) == 1, 120)
                child = next(one for one in _working(client) if "batch task" in one)
                os.kill(psutil.Process(int(child.split()[0])).ppid(), signal.SIGKILL)
                wait_until("the end of its processes", lambda: not _sleeping(client), 60)
                cluster.start_worker(10 + number)
            batch.communicate(timeout=120)
        finally:
            kill_session(batch)
        found = results(out)
    return [
        Figure(
            "lost: results beside one that failed",
            abs(len(found) - 1) + sum(one["status"] != "failed" for one in found),
            0,
            "",
        ),
        Figure("lost: attempts beside three", abs(sum(one["attempts"] for one in found) - 3), 0, ""),
        Figure("lost: left", world.left(), 0, ""),
    ]


def measure_tls(world: World) -> list[Figure]:
    """Run tasks over TLS on a worker that does not see the repository."""
    hide = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(world.repo.path))
    if not shutil.which("openssl") or subprocess.run([*hide, "true"], check=False, capture_output=True).returncode:
        print("TLS and bundles: skipped, they need openssl and the right to mount (root)", flush=True)
        return []
    options = make_certificates(world.folder)
    count, out = 6, world.folder / "tls.results.jsonl"
    tasks = world.tasks("tls", count)
    with running(Cluster(world, "tls", options), 0) as cluster:
        cluster.start_worker(7, hide)
        done = world.home("secure").run(
            "batch", str(tasks), "--scheduler", cluster.address, *options, "--out", str(out), timeout=_LIMIT_S
        )
        print(done.stderr, flush=True)
        clones = list(world.folder.glob("worker7/.cache/opencode-tui/worker/dask-scratch-space/*/repositories/*"))
        plain = world.home("secure").run(
            "batch", str(tasks), "--scheduler", cluster.address.replace("tls", "tcp"), "--out", str(out) + ".plain"
        )
    print(plain.stderr, flush=True)
    wrong = [one["error"] for one in results(out) if one["status"] != "done"]
    print(*wrong, sep="\n", flush=True)
    return [
        Figure("TLS: tasks that are not done", count - len(results(out)) + len(wrong), 0, ""),
        Figure("TLS: clones of the bundle beside one", abs(len(clones) - 1), 0, ""),
        Figure(
            "TLS: a client without TLS is let in", int("cannot connect" not in plain.stderr and not plain.code), 0, ""
        ),
        Figure("TLS: left", world.left(), 0, ""),
    ]


def make_certificates(folder: Path) -> tuple[str, ...]:
    """Make an authority and a certificate that it signed, for a day; return the options that name them."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1", "-subj", "/CN=test authority")
    openssl("req", *key, "-keyout", "own.key", "-out", "own.csr", "-subj", "/CN=test")
    openssl(
        "x509", "-req", "-in", "own.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "own.pem",
        "-days", "1",
    )  # fmt: skip
    names = {"--tls-ca": "ca.pem", "--tls-cert": "own.pem", "--tls-key": "own.key"}
    return tuple(word for option, name in names.items() for word in (option, str(folder / name)))


def main() -> int:
    """Measure, print the table, and return 1 when a goal is missed."""
    if importlib.util.find_spec("distributed") is None:
        print("skipped: the extra `cluster` is not installed")
        return 0
    parts = {"tls": measure_tls, "interrupt": measure_interrupt, "lost": measure_lost, "equal": measure_equal}
    chosen = sys.argv[1:] or list(parts)
    figures: list[Figure] = []
    with ExitStack() as stack:
        folder = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="cluster-"))))
        model = stack.enter_context(ModelServer())
        for name in chosen:
            (folder / name).mkdir()
            figures += parts[name](World(folder / name, model))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
