"""Tasks on the workers of a Dask scheduler. The only module that imports `distributed`, which costs half a second and 35 MB.

Dask schedules, moves bundles, notices lost workers and runs their tasks elsewhere. The task itself is the same child process as in
the pool of this machine. A worker has the resource `RESOURCE`, whose name contains our version, and every task needs it: other
workers, and those of another version, get none. A worker reports every start of a task, so that the starts are counted here,
whatever the scheduler is set to.

Addresses and TLS: `address`.
"""

# Without the extra its names are unknown.
# pyright: reportMissingImports=none, reportUnknownVariableType=none, reportUnknownArgumentType=none, reportUntypedBaseClass=none

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from distributed import (
    Client,
    KilledWorker,
    Security,
    Worker,
    WorkerPlugin,
    get_worker,
)
from distributed.client import FutureCancelledError

from opencode_tui import __version__
from opencode_tui.batch.pool import OnCost, TlsFiles, Workers
from opencode_tui.batch.task import TaskOrder, TaskResult, failed_result
from opencode_tui.extras.dask.address import check_address
from opencode_tui.extras.dask.bundle import create_bundle, find_worktree, has_commit
from opencode_tui.extras.dask.repository import ClonedRepositories
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.text.quantity import plural

MAX_LOST_WORKERS = 3
"""A task that was running on this many lost workers fails."""

CONNECT_S = 10.0
RECONNECT_S = 300.0
"""How long a scheduler may be gone before its tasks fail."""

RESOURCE = f"opencode-tui {__version__}"
_PACKAGE = "opencode-tui"
_RETRY_S = 0.5
_DASHBOARD_S = 2.0
"""How long the dashboard may take to accept a connection."""

_CANCEL_S = 1.0

_logger = logging.getLogger(__name__)


class _Future(Protocol):
    """What is used of a future of Dask, whose own types are those of its blocking client."""

    client: object
    status: str

    def __await__(self) -> Generator[Any, None, bytes]: ...

    def release(self) -> None: ...


class _Client(Protocol):
    """What is used of an asynchronous client of Dask."""

    status: str
    scheduler: Any

    def submit(self, function: object, *arguments: object, **options: object) -> _Future: ...

    def subscribe_topic(self, topic: str, handler: object) -> None: ...

    async def scatter(self, data: bytes, **options: object) -> _Future: ...

    async def cancel(self, futures: Sequence[_Future], **options: object) -> None: ...

    async def get_versions(self, *, packages: Sequence[str]) -> Mapping[str, Any]: ...

    async def close(self, *, timeout: float) -> None: ...


class _Progress:
    """The starts of one task, and what it cost so far."""

    def __init__(self, on_cost: OnCost | None, *, priority: int) -> None:
        self.on_cost = on_cost
        self.priority = priority
        self.attempts = 0
        self.lost = 0
        self.worker: str | None = None
        self.is_running = False
        self.is_over = asyncio.Event()

    def start(self, worker: str) -> None:
        """Count a start; a second one in one submission means that the worker before it was lost."""
        if self.is_running:
            self.lose()
        if not self.is_over.is_set():
            self.attempts += 1
            self.worker = worker
            self.is_running = True

    def lose(self) -> None:
        """Count a lost worker."""
        self.is_running = False
        self.lost += 1
        if self.lost >= MAX_LOST_WORKERS:
            self.is_over.set()


class SchedulerLostError(OpencodeError):
    """The scheduler did not come back."""


class _LostWorkersError(Exception):
    """A task lost too many workers."""


class DaskWorkers:
    """The workers of a scheduler as `Workers`; `connect` returns one.

    Raises ConfigError for the address. `store` gets each result with its exported sessions. `report` gets lines for the user.
    """

    def __init__(
        self,
        address: str,
        *,
        tls: TlsFiles | None,
        environ: Mapping[str, str],
        store: Callable[[TaskResult], Awaitable[None]],
        report: Callable[[str], None],
    ) -> None:
        self._address = address
        self._security = _security(address, tls)
        self._environ = environ
        self._store = store
        self._report = report
        self._topic = f"opencode-tui-{uuid.uuid4().hex}"
        self._client: _Client | None = None
        self._guard = asyncio.Lock()
        self._bundling = asyncio.Lock()
        self._running: dict[str, _Progress] = {}
        self._bundles: dict[tuple[Path, str], _Bundle] = {}
        self._description = ""
        self._count = 0

    async def connect(self) -> None:
        """Connect to the scheduler, and compare versions. Raises ConfigError."""
        try:
            self._client = await self._open(CONNECT_S)
        except OSError as error:
            raise ConfigError(
                f"cannot connect to the scheduler {self._address} ({_first_line(error)}); check the address and that it runs"
            ) from error
        self._description = await self._describe(self._client)

    def describe(self) -> str:
        """Return the number of workers when the batch connected, the address and the dashboard in one line."""
        return self._description

    async def run(self, order: TaskOrder, on_cost: OnCost | None = None) -> TaskResult:
        """Return the result of a task; after a lost worker or a lost scheduler it is started again.

        Cancellation ends the task's processes there too. Raises SchedulerLostError.
        """
        self._count += 1
        progress = _Progress(on_cost, priority=-self._count)
        worktree = await asyncio.to_thread(find_worktree, Path(order.directory))
        repository = (worktree or Path(order.directory), order.commit)
        sent = order.changed(export_session=True)
        try:
            while True:
                answer = await self._submit(sent, repository, progress)
                if answer == _MISSING:
                    await self._bundle(repository)
                elif answer is not None:
                    result = TaskResult.model_validate_json(answer).changed(id=order.task.id, directory=order.directory)
                    return await self._stored(result, progress)
        except _LostWorkersError:
            result = failed_result(
                order, f"its worker was lost {progress.lost} times; the last one was {progress.worker}"
            )
        except SchedulerLostError:
            raise
        except OpencodeError as error:
            result = failed_result(order, str(error))
        except Exception as error:  # what Dask raises must not end the other tasks
            _logger.exception("task %s", order.task.id)
            result = failed_result(order, f"Dask could not run it: {_first_line(error)} ({type(error).__name__})")
        return result.changed(attempts=progress.attempts, worker=progress.worker)

    async def _stored(self, result: TaskResult, progress: _Progress) -> TaskResult:
        """Return a result without its sessions after they were stored here."""
        try:
            await self._store(result)
        except OpencodeError as error:
            self._report(f"the session of task {result.id} cannot be stored here ({error}); it is on {progress.worker}")
        return result.changed(attempts=max(1, progress.attempts), worker=progress.worker, export=None)

    async def close(self) -> None:
        """Disconnect; the scheduler cancels what still runs."""
        client, self._client = self._client, None
        if client is not None:
            await _close(client)

    async def _submit(self, order: TaskOrder, repository: tuple[Path, str], progress: _Progress) -> bytes | None:
        """Return the answer of a worker, None when it must be submitted again. Raises _LostWorkersError, OpencodeError."""
        client = await self._connected()
        bundle = self._bundles.get(repository)
        key = f"task-{uuid.uuid4().hex}"
        progress.is_running = False
        self._running[key] = progress
        try:
            arguments = (key, order.to_json(), str(repository[0]), self._topic)
            sent = () if bundle is None else (bundle.sha256, await bundle.scatter(client))
            options = {"key": key, "resources": {RESOURCE: 1}, "priority": progress.priority, "pure": False}
            future = client.submit(run_order, *arguments, *sent, **options)
            return await _wait_for(client, future, progress)
        except KilledWorker:
            progress.lose()
        except (FutureCancelledError, OSError):  # the scheduler is gone, or the last worker with the bundle
            _logger.info("the scheduler or a bundle was lost; submit %s again", order.task.id)
        finally:
            del self._running[key]
        if progress.is_over.is_set():
            raise _LostWorkersError
        await asyncio.sleep(_RETRY_S)
        return None

    async def _bundle(self, repository: tuple[Path, str]) -> None:
        """Make the bundle of a commit unless there is one."""
        async with self._bundling:
            if repository not in self._bundles:
                directory, commit = repository
                self._bundles[repository] = _Bundle(await create_bundle(directory, commit, environ=self._environ))

    async def _connected(self) -> _Client:
        """Return the client when it is connected; raises SchedulerLostError."""
        async with self._guard:
            client = self._client
            if client is not None and client.status == "running":
                self._subscribe(client)
                return client
            self._report(f"the scheduler {self._address} is gone; waiting for it")
            deadline = asyncio.get_running_loop().time() + RECONNECT_S
            while client is None or client.status != "running":
                if client is not None:
                    await _close(client)
                self._client = client = None
                try:
                    self._client = client = await self._open(CONNECT_S)
                except OSError as error:
                    if asyncio.get_running_loop().time() > deadline:
                        raise SchedulerLostError(
                            f"the scheduler {self._address} was gone for {RECONNECT_S:g} s; start it, then use --resume"
                        ) from error
                    await asyncio.sleep(_RETRY_S)
            self._report(f"connected to {self._address} again")
            self._subscribe(client)
            return client

    def _subscribe(self, client: _Client) -> None:
        client.subscribe_topic(self._topic, self._on_event)

    def _on_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Count a start, or pass on what a task cost so far."""
        _, message = event
        progress = self._running.get(message["key"])
        if progress is None:
            return
        if "cost" not in message:
            progress.start(message["worker"])
        if progress.on_cost is not None:
            progress.on_cost(message.get("cost", 0.0))

    async def _open(self, timeout_s: float) -> _Client:
        """Return a client. Raises OSError."""
        client: Any = Client(
            self._address,
            asynchronous=True,
            security=self._security,
            timeout=timeout_s,
            set_as_default=False,
            name="opencode-tui",
        )
        return cast(_Client, await client)

    async def _describe(self, client: _Client) -> str:
        """Return the line about the cluster. Raises ConfigError when its parts have other versions."""
        versions = await client.get_versions(packages=[_PACKAGE])
        self._check(f"the scheduler {self._address}", versions["scheduler"])
        for address in await _find_workers(client, any_version=True):
            if address in versions["workers"]:
                self._check(f"the worker {address}", versions["workers"][address])
        workers = await _find_workers(client)
        dashboard = await _dashboard(await client.scheduler.identity(n_workers=0), self._address)
        waiting = (
            "" if workers else f"; waiting for workers: start one with `opencode-tui batch worker {self._address}`"
        )
        return (
            f"{plural(sum(workers.values()), 'slot')} on {plural(len(workers), 'worker')} of {self._address}, "
            f"{dashboard}{waiting}"
        )

    def _check(self, name: str, versions: Mapping[str, Any]) -> None:
        found = versions["packages"].get(_PACKAGE)
        if found != __version__:
            has = f"opencode-tui {found}" if found else "no opencode-tui"
            raise ConfigError(
                f"{name} has {has}, this is {__version__}; install opencode-tui[cluster]=={__version__} there and restart it"
            )


class _Bundle:
    """A bundle, and where it was scattered."""

    def __init__(self, data: bytes) -> None:
        self.sha256 = hashlib.sha256(data).hexdigest()
        self._data = data
        self._future: _Future | None = None
        self._guard = asyncio.Lock()

    async def scatter(self, client: _Client) -> _Future:
        """Return the bundle on the cluster; it is sent again when it was lost there."""
        async with self._guard:
            if self._future is None or self._future.client is not client or self._future.status != "finished":
                self._future = await client.scatter(self._data, broadcast=True, hash=False)
            return self._future


async def _wait_for(client: _Client, future: _Future, progress: _Progress) -> bytes:
    """Return the result of a future, which is canceled when it is not wanted any more."""
    answer = asyncio.ensure_future(_result(future))
    over = asyncio.ensure_future(progress.is_over.wait())
    try:
        await asyncio.wait({answer, over}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise _LostWorkersError
        return answer.result()
    finally:
        over.cancel()
        if not answer.done():
            answer.cancel()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(client.cancel([future], force=True), _CANCEL_S)
        future.release()


async def _result(future: _Future) -> bytes:
    return await future


async def _close(client: _Client) -> None:
    with suppress(OSError, TimeoutError):
        await client.close(timeout=_CANCEL_S)


async def _find_workers(client: _Client, *, any_version: bool = False) -> Mapping[str, int]:
    """Return the addresses of our workers with how many tasks each can run at once. Raises OSError."""
    workers: Mapping[str, Any] = (await client.scheduler.identity(n_workers=-1))["workers"]
    found: dict[str, int] = {}
    for address, worker in workers.items():
        resources: Mapping[str, float] = worker["resources"]
        ours = [name for name in resources if name == RESOURCE or (any_version and name.startswith(f"{_PACKAGE} "))]
        if ours:
            found[address] = int(resources[ours[0]])
    return found


async def _dashboard(identity: Mapping[str, Any], address: str) -> str:
    """Return where the dashboard is, if it answers there: most listen on the scheduler's machine alone."""
    port = identity.get("services", {}).get("dashboard")
    host = urlsplit(address).hostname or ""
    if not port:
        return "no dashboard"
    try:
        async with asyncio.timeout(_DASHBOARD_S):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:  # TimeoutError is one
        return "its dashboard cannot be reached from here"
    writer.close()
    shown = f"[{host}]" if ":" in host else host
    return f"dashboard http://{shown}:{port}/status"


def _security(address: str, tls: TlsFiles | None) -> Any:
    """Return the certificates; None for a connection on this machine. Raises ConfigError."""
    check_address(address, tls)
    if tls is None:
        return None
    authority, certificate, key = (str(path) for path in (tls.authority, tls.certificate, tls.key))
    return Security(
        require_encryption=True,
        tls_ca_file=authority,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


_MISSING = b""
"""The answer of a worker that has neither the repository nor its bundle."""


async def run_order(
    key: str, order: bytes, worktree: str, topic: str, sha256: str = "", bundle: bytes | None = None
) -> bytes:
    """Run a task on this worker; Dask calls it there. Return the result as JSON, `_MISSING` without its repository."""
    worker: Any = get_worker()
    runner: TaskRunner = worker.plugins[TaskRunner.name]
    return await runner.run(key, TaskOrder.model_validate_json(order), Path(worktree), topic, (sha256, bundle or b""))


class TaskRunner(WorkerPlugin):
    """The tasks of one worker. Dask calls it on the worker's event loop."""

    name = "opencode-tui"

    def __init__(self, workers: Workers, *, environ: Mapping[str, str]) -> None:
        self._workers = workers
        self._environ = environ
        self._tasks: dict[str, asyncio.Task[TaskResult]] = {}

    def setup(self, worker: Any) -> None:
        """Use the folder of the worker, which Dask deletes with the worker, or after it was killed."""
        self._worker: Any = worker
        self._clones = ClonedRepositories(Path(worker.local_directory) / "repositories", environ=self._environ)

    def transition(self, key: Any, start: Any, finish: Any, **kwargs: Any) -> None:
        """End the processes of a task that the scheduler does not want any more: canceled, or its client is gone."""
        task = self._tasks.get(key)
        if task is not None and finish in ("released", "forgotten"):
            task.cancel()

    async def teardown(self, worker: Any) -> None:
        """End all tasks."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def run(self, key: str, order: TaskOrder, worktree: Path, topic: str, bundle: tuple[str, bytes]) -> bytes:
        """Return the result of a task as JSON, `_MISSING` without its repository."""
        try:
            return await self._run(key, order, worktree, topic, bundle)
        except (OpencodeError, OSError) as error:
            return failed_result(order, f"the worker {self._worker.address} failed: {error}").to_json()

    async def _run(self, key: str, order: TaskOrder, worktree: Path, topic: str, bundle: tuple[str, bytes]) -> bytes:
        async with self._directory(order, worktree, *bundle) as directory:
            if directory is None:
                return _MISSING
            self._worker.log_event(topic, {"key": key, "worker": self._worker.address})

            def on_cost(usd: float) -> None:
                self._worker.log_event(topic, {"key": key, "cost": usd})

            task = asyncio.ensure_future(self._workers.run(order.changed(directory=str(directory)), on_cost))
            self._tasks[key] = task
            try:
                await asyncio.wait({task})
            finally:
                del self._tasks[key]
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task})
            return _MISSING if task.cancelled() else task.result().to_json()

    @asynccontextmanager
    async def _directory(
        self, order: TaskOrder, worktree: Path, sha256: str, bundle: bytes
    ) -> AsyncGenerator[Path | None]:
        """Return the task's folder in its repository on this machine; None without one."""
        directory = Path(order.directory)
        if await has_commit(directory, order.commit, environ=self._environ):
            yield directory
        elif bundle:
            async with self._clones.open(bundle, sha256, order.commit) as clone:
                yield clone / directory.relative_to(worktree)
        else:
            yield None


async def serve_worker(
    address: str,
    workers: Workers,
    *,
    jobs: int,
    tls: TlsFiles | None,
    folder: Path,
    environ: Mapping[str, str],
    report: Callable[[str], None],
) -> None:
    """Run tasks of a scheduler until canceled; a scheduler that goes away is waited for. Raises ConfigError."""
    security = _security(address, tls)
    while True:
        worker: Any = Worker(
            address,
            nthreads=jobs,
            resources={RESOURCE: jobs},
            host="127.0.0.1" if security is None else None,
            security=security,
            local_directory=str(folder),
            memory_limit=0,  # the tasks are processes of their own
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            plugins=(TaskRunner(workers, environ=environ),),
        )
        report(f"connecting to {address}")
        try:
            await worker
            report(f"connected to {address}: {plural(jobs, 'task')} at once")
            await worker.finished()
        finally:
            await worker.close(executor_wait=False)
        report(f"the scheduler {address} is gone; waiting for it")
        await asyncio.sleep(_RETRY_S)
