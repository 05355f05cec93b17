"""Tasks on a Dask scheduler with workers of ours; needs the extra `cluster`."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from distributed import Scheduler  # pyright: ignore[reportMissingImports] - an extra

from opencode_tui.batch.pool import Cluster, OnCost, OpenCluster
from opencode_tui.batch.task import BatchTask, TaskOrder, TaskResult
from opencode_tui.client.local import open_client
from opencode_tui.entry_points import load
from opencode_tui.extras.dask.pool import DaskWorkers, serve_worker
from tests.extras.dask.test_session_imports import exported
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


class Recorder:
    """Workers that answer with the folder and its files at once, or when they are canceled; `export` is each task's session."""

    def __init__(self, **export: Any) -> None:
        self.export = export
        self.started = asyncio.Event()
        self.canceled: list[str] = []

    async def run(self, order: TaskOrder, on_cost: OnCost | None = None) -> TaskResult:
        assert on_cost is not None
        on_cost(0.5)
        self.started.set()
        try:
            await asyncio.sleep(60 if order.task.prompt == "wait" else 0)
        except asyncio.CancelledError:
            self.canceled.append(order.task.id)
            raise
        files = sorted(path.name for path in Path(order.directory).iterdir() if path.is_file())
        answer = "isolated" if order.isolate else ""
        return TaskResult(id=order.task.id, status="done", answer=answer, files=files, export=[self.export])

    async def close(self) -> None: ...

    def describe(self) -> str:
        return "recorder"


@asynccontextmanager
async def scheduler_of(folder: Path, workers: Recorder, *, jobs: int = 2) -> AsyncGenerator[str]:
    """Return the address of a scheduler with one worker."""
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0") as scheduler:
        lines: list[str] = []
        serving = asyncio.create_task(
            serve_worker(
                scheduler.address,
                workers,
                jobs=jobs,
                tls=None,
                folder=folder / "worker",
                environ=os.environ,
                report=lines.append,
            )
        )
        while not scheduler.workers:
            await asyncio.sleep(0.01)
        try:
            yield scheduler.address
        finally:
            serving.cancel()
            await asyncio.wait({serving})


@asynccontextmanager
async def cluster(folder: Path, workers: Recorder) -> AsyncGenerator[tuple[DaskWorkers, list[TaskResult]]]:
    stored: list[TaskResult] = []

    async def store(result: TaskResult) -> None:
        stored.append(result)

    async with scheduler_of(folder, workers) as address:
        lines: list[str] = []
        pool = DaskWorkers(address, tls=None, environ=os.environ, store=store, report=lines.append)
        await pool.connect()
        try:
            yield pool, stored
        finally:
            await pool.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.commit(**{"sub/a.txt": "one\n"})
    return repo


def order_for(repo: Repo, name: str, *, prompt: str = "go") -> TaskOrder:
    commit = repo.git("rev-parse", "HEAD")
    task = BatchTask(id=name, prompt=prompt)
    return TaskOrder(task=task, directory=str(repo.path / "sub"), commit=commit, isolate=True)


async def test_tasks_run_on_the_workers_and_a_canceled_one_ends_there(repo: Repo, tmp_path: Path) -> None:
    workers = Recorder(title="theirs")
    async with cluster(tmp_path, workers) as (pool, stored):
        assert pool.describe().startswith("2 slots on 1 worker of tcp://127.0.0.1:")
        results = await asyncio.gather(*(pool.run(order_for(repo, f"t{n}")) for n in range(3)))
        assert [(one.id, one.status, one.answer, one.files, one.attempts) for one in results] == [
            (f"t{n}", "done", "isolated", ["a.txt"], 1) for n in range(3)
        ]
        assert all(one.export is None for one in results) and len(results) == 3
        assert sorted(one.id for one in stored) == ["t0", "t1", "t2"] and stored[0].export
        assert {one.directory for one in stored} == {str(repo.path / "sub")}
        workers.started.clear()
        waiting = asyncio.create_task(pool.run(order_for(repo, "long", prompt="wait")))
        await workers.started.wait()
        waiting.cancel()
        await asyncio.wait({waiting})
        while workers.canceled != ["long"]:
            await asyncio.sleep(0.01)


async def test_a_cluster_that_the_entry_point_opens_runs_tasks_and_stores_their_sessions_here(
    repo: Repo, tmp_path: Path, environ: dict[str, str]
) -> None:
    open_cluster = cast(OpenCluster, load("batch.cluster"))
    session, lines = "ses_0000000000010a", list[str]()
    async with scheduler_of(tmp_path, Recorder(**exported(session))) as address:
        async with open_cluster(Cluster(address, None, repo.path, environ, lines.append)) as workers:
            assert workers.describe().startswith(f"2 slots on 1 worker of {address}")
            result = await workers.run(order_for(repo, "t"))
        assert (result.status, result.files, lines) == ("done", ["a.txt"], [])
    async with open_client(environ, repo.path) as client:
        assert (await client.sessions.get(session)).directory == str(repo.path / "sub")
