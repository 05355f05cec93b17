"""Runs work to its end although the caller is canceled, and blocking work that stops soon after its caller is canceled.

`run_to_completion` keeps the caller until the end; `run_on`, `on_thread_for` and `acquired_on_thread` keep it only for a moment.
The one way to let work outlive its caller. `limit_threads` keeps blocking work from outliving the program.
"""

import asyncio
import concurrent.futures
import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

THREADS_S = 3.0
"""Seconds that a loop which ends waits for blocking work in its threads."""

RELEASE_S = 0.2
"""Seconds that a caller waits for a thread that acquires or releases a lock, so that the next caller finds it free."""

MOST_THREADS = 32


async def run_to_completion(work: Awaitable[T], *, stop: threading.Event | None = None) -> T:
    """Return the result of `work`. Every cancellation sets `stop`; it is raised only after the work has ended.

    The cause of the CancelledError is the error of the work, if it failed. Cancellation waits for work without `stop`, so such work
    must take only milliseconds or must not be abandoned.
    """
    return await _run(asyncio.ensure_future(work), stop=stop, patience_s=None, left=None)


async def run_on(
    work: Awaitable[T], *, patience_s: float, left: "Callable[[asyncio.Future[T]], object] | None" = None
) -> T:
    """Return the result of `work`. A canceled caller waits for its end too, at most `patience_s` seconds; then the work continues.

    `left` gets work that continues; what it raises is for `left` to log.
    """
    return await _run(asyncio.ensure_future(work), stop=None, patience_s=patience_s, left=left)


async def on_thread_for(work: Callable[[], object], patience_s: float, *, threads: "Threads | None" = None) -> None:
    """Do blocking work on a thread, and wait at most `patience_s` seconds for it; then it continues. Raises its error before that.

    `threads` has the thread, by default those of the loop.
    """
    working = asyncio.get_running_loop().run_in_executor(threads, work)
    try:
        await asyncio.wait({working}, timeout=patience_s)
    finally:
        if not working.done():
            _leave(working)
    if working.done():
        working.result()


async def acquired_on_thread(acquire: Callable[[], T], release: Callable[[T], object]) -> T:
    """Return what `acquire` returns on a thread; raises its errors.

    A canceled caller waits at most `RELEASE_S` seconds for the thread, which may block forever. `release` is then called with the
    result, as soon as there is one.
    """
    acquiring = asyncio.ensure_future(asyncio.to_thread(acquire))
    try:
        return await run_on(acquiring, patience_s=RELEASE_S)
    except asyncio.CancelledError:
        release_acquired(acquiring, release)
        raise


def release_acquired(acquiring: "asyncio.Future[T]", release: Callable[[T], object]) -> None:
    """Call `release` with the result of `acquiring`, now or when it is done; not if it fails."""

    def end(acquired: "asyncio.Future[T]") -> None:
        if not acquired.cancelled() and acquired.exception() is None:
            release(acquired.result())

    if acquiring.done():
        end(acquiring)
    else:
        _leave(acquiring)
        acquiring.add_done_callback(end)


_going_on: "set[asyncio.Future[Any]]" = set()
"""Work whose caller has left: a loop keeps no reference to its tasks."""


async def _run(
    task: "asyncio.Future[T]",
    *,
    stop: threading.Event | None,
    patience_s: float | None,
    left: "Callable[[asyncio.Future[T]], object] | None",
) -> T:
    canceled: asyncio.CancelledError | None = None
    limit_s: float | None = None  # there is one after a cancellation
    while not task.done():
        try:
            await asyncio.wait({task}, timeout=limit_s)
        except asyncio.CancelledError as error:
            canceled, limit_s = canceled or error, patience_s
            if stop is not None:
                stop.set()
        else:
            if limit_s is not None:
                break
    if canceled is None:
        return task.result()
    if task.done():
        raise canceled from task.exception()
    _leave(task)
    if left is not None:
        left(task)
    raise canceled


def _leave(task: "asyncio.Future[Any]") -> None:
    _going_on.add(task)
    task.add_done_callback(_going_on.discard)
    task.add_done_callback(consume_error)


def consume_error(work: "asyncio.Future[Any]") -> None:
    """Read the error of work that nothing may wait for, which asyncio would log otherwise; a callback for the end of a future."""
    if not work.cancelled():
        work.exception()


async def to_cancellable_thread(work: Callable[[threading.Event], T]) -> T:
    """Return the result of `work` in a thread. Cancellation sets the event, which the work checks every few milliseconds.

    Cancellation does not wait for the thread, which may block forever.
    """
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


def limit_threads() -> None:
    """Let the running loop, and the process, wait `THREADS_S` at most for blocking work (`asyncio.to_thread`) when they end.

    Call it before the first such work. Python waits for its own threads without a limit: a disk that hangs would keep the process.
    """
    asyncio.get_running_loop().set_default_executor(Threads())


class Threads(ThreadPoolExecutor):
    """Runs calls in daemon threads, `most` at once, which a process that ends does not wait for.

    A subclass only because asyncio accepts no other executor: it starts none of its threads.
    """

    def __init__(self, most: int = MOST_THREADS, *, name: str = "blocking") -> None:
        super().__init__()
        self._most = most
        self._name = name
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._started = 0
        self._is_closed = False
        self._unfinished: set[Future[Any]] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the future of a call; raises RuntimeError, and does not call it, after `shutdown` or where no thread can start."""
        future = Future[T]()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                future.set_exception(error)

        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if not self._idle.acquire(blocking=False) and self._started < self._most:
                self._start_thread()
            self._unfinished.add(future)
            future.add_done_callback(self._unfinished.discard)
            self._calls.put(call)
        return future

    def _start_thread(self) -> None:
        """Start one more thread. Where the system has none, calls wait for those there are; raises RuntimeError without any."""
        thread = threading.Thread(target=self._work, name=f"{self._name} {self._started + 1}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if self._started == 0:
                raise RuntimeError(f"no thread can be started ({error}); raise the limit of processes") from error
        else:
            self._started += 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; with `wait`, return when all have ended, at the latest after `THREADS_S`."""
        with self._lock:
            self._is_closed = True
            unfinished = set(self._unfinished)
            for _ in range(self._started):
                self._calls.put(None)
        if cancel_futures:
            for future in unfinished:
                future.cancel()
        if wait:
            concurrent.futures.wait(unfinished, timeout=THREADS_S)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
            del call  # what it refers to ends with it
            self._idle.release()
