"""Runs the tasks of a batch on workers, within limits, and writes each result as it comes."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from opencode_tui.batch.journal import Journal
from opencode_tui.batch.task import TaskOrder, TaskResult
from opencode_tui.cancellation import run_to_completion
from opencode_tui.tasks import task_group

OnCost = Callable[[float], None]
"""Called with the USD that a running task has cost so far."""


class Workers(Protocol):
    """Runs tasks in processes of their own, here or elsewhere."""

    async def run(self, order: TaskOrder, on_cost: OnCost | None = None) -> TaskResult:
        """Run one task and return its result, also of a failed one; canceling it ends the task's processes.

        Raises OpencodeError when no worker is left that could run anything.
        """
        ...

    async def close(self) -> None:
        """End what is left."""
        ...

    def describe(self) -> str:
        """Return one line for the terminal: where the tasks run."""
        ...


TLS_OPTIONS = "--tls-ca, --tls-cert and --tls-key"
"""The options of the command line for `TlsFiles`."""


class TlsFiles(Struct, frozen=True):
    """Paths of PEM files: the certificate authority of a cluster, a certificate that it signed, and the key of that."""

    authority: Path
    certificate: Path
    key: Path


class Cluster(Struct, frozen=True):
    """Workers on other machines: the address of their scheduler, and how to reach it.

    Sessions of tasks are stored by the engine of `directory`. `report` gets lines about the cluster.
    """

    address: str
    tls: TlsFiles | None
    directory: Path
    environ: Mapping[str, str]
    report: Callable[[str], None]


OpenCluster = Callable[[Cluster], AbstractAsyncContextManager[Workers]]
"""Returns the workers of a scheduler, connected: what an extra for such a scheduler provides. Raises ConfigError."""


class BatchLimits(Struct, frozen=True):
    """Limits of a whole batch, in seconds and USD; None is without one."""

    seconds: float | None = None
    cost: float | None = None


class BatchEnd(Struct, frozen=True):
    """How a batch ended: the results in the order of their ends, the number of tasks without one, and why it stopped early."""

    results: tuple[TaskResult, ...]
    missing: int
    stopped: str = ""


class Progress:
    """Shows a batch; called on the event loop. This one shows nothing."""

    def started(self, order: TaskOrder) -> None:
        """A task starts."""

    def cost(self, order: TaskOrder, usd: float) -> None:
        """A running task has cost `usd` until now."""

    def ended(self, order: TaskOrder, result: TaskResult) -> None:
        """A task ended; its result is on the disk."""


async def run_batch(
    orders: Sequence[TaskOrder],
    workers: Workers,
    journal: Journal,
    *,
    jobs: int,
    limits: BatchLimits = BatchLimits(),  # noqa: B008 - an immutable value
    progress: Progress,
) -> BatchEnd:
    """Run the tasks, at most `jobs` at once, and return when all have ended or a limit is reached.

    Tasks that a limit ends have no result, so that a later batch runs them again. Canceling ends all tasks. Raises StorageError
    when a result cannot be written, and the OpencodeError of workers that are lost.
    """
    return await _Batch(orders, workers, journal, limits, progress).run(jobs)


class _Batch:
    def __init__(
        self, orders: Sequence[TaskOrder], workers: Workers, journal: Journal, limits: BatchLimits, progress: Progress
    ) -> None:
        self._waiting: Iterator[TaskOrder] = iter(orders)
        self._count = len(orders)
        self._workers = workers
        self._journal = journal
        self._limits = limits
        self._progress = progress
        self._results: list[TaskResult] = []
        self._running: dict[str, float] = {}
        self._over_cost = asyncio.Event()

    async def run(self, jobs: int) -> BatchEnd:
        stopped = ""
        working = asyncio.create_task(self._work_all(jobs))
        watching = asyncio.create_task(self._over_cost.wait())
        try:
            await asyncio.wait({working, watching}, timeout=self._limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                is_cost = self._over_cost.is_set()
                stopped = "the cost limit of the batch is reached" if is_cost else "the time limit of the batch is over"
        finally:
            watching.cancel()
            working.cancel()
            await asyncio.wait({working, watching})
        if not stopped:
            _raise_first(working)
        return BatchEnd(tuple(self._results), self._count - len(self._results), stopped)

    async def _work_all(self, jobs: int) -> None:
        async with task_group() as group:
            for _ in range(min(jobs, self._count)):
                group.create_task(self._work())

    async def _work(self) -> None:
        """Run waiting tasks one after the other."""
        for order in self._waiting:
            if self._over_cost.is_set():
                return
            await self._run_one(order)

    async def _run_one(self, order: TaskOrder) -> None:
        spent = self._spent()
        if self._limits.cost is not None:
            left = max(0.0, self._limits.cost - spent)
            order = order.changed(max_cost=left if order.max_cost is None else min(left, order.max_cost))
        self._running[order.task.id] = 0.0
        self._progress.started(order)

        def on_cost(usd: float) -> None:
            self._running[order.task.id] = usd
            self._progress.cost(order, usd)
            self._check_cost()

        try:
            result = await self._workers.run(order, on_cost)
            self._running[order.task.id] = result.cost
            await run_to_completion(self._record(result))
        finally:
            self._running.pop(order.task.id, None)
        self._progress.ended(order, result)
        self._check_cost()

    async def _record(self, result: TaskResult) -> None:
        await self._journal.append(result)
        self._results.append(result)

    def _spent(self) -> float:
        return sum(one.cost for one in self._results) + sum(self._running.values())

    def _check_cost(self) -> None:
        if self._limits.cost is not None and self._spent() >= self._limits.cost:
            self._over_cost.set()


def _raise_first(working: "asyncio.Task[None]") -> None:
    """Raise the first error of the tasks, if there is one."""
    if not working.cancelled():
        working.result()
