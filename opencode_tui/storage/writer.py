"""The writer thread: file work of one store in the order of submission, off the event loop.

Submitted work is done even if its caller is canceled meanwhile, and the caller ends only then, so it holds its locks until the
work is done. No state belongs to an event loop, so one store can serve several loops one after the other.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from opencode_tui.cancellation import run_to_completion

_Result = TypeVar("_Result")
_Job = Callable[[], None]
_logger = logging.getLogger(__name__)


class WriterThread:
    """Runs jobs one after the other on a daemon thread that starts with the first job."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, work: Callable[[], None], done: Callable[[BaseException | None], None]) -> None:
        """Queue `work`; `done` is called on the writer thread with its error or None."""

        def job() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - passed to the owner
                done(error)
            else:
                done(None)

        self._put(job)

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Run `work` after everything queued before it and return its result; raises its errors.

        A canceled caller gets its CancelledError when the work is done.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        results: list[_Result] = []

        def resolve(error: BaseException | None) -> None:
            if error is None:
                future.set_result(results[0])
            else:
                future.set_exception(error)

        def done(error: BaseException | None) -> None:
            try:
                loop.call_soon_threadsafe(resolve, error)
            except RuntimeError:  # the loop has ended, there is no waiter
                _log_lost(error)

        self.submit(lambda: results.append(work()), done)
        try:
            return await run_to_completion(future)
        except asyncio.CancelledError as canceled:
            _log_lost(canceled.__cause__)
            raise

    def stop(self) -> None:
        """End the thread after all queued work; blocks until then. A later job starts a new one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            thread.join()

    def _put(self, job: _Job) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _log_lost(error: BaseException | None) -> None:
    if error is not None:
        _logger.warning("a write failed after its caller was canceled", exc_info=error)
