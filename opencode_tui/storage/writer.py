"""The writer thread: file work of one store in the order in which it was asked for, off the event loop.

Work that was handed over is done even if its caller is cancelled meanwhile, and the caller ends only then: whatever lock it holds
outlasts the work. No state belongs to an event loop, so one store serves several loops one after the other.
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
            except BaseException as error:  # noqa: BLE001 - handed to the owner, whatever it is
                done(error)
            else:
                done(None)

        self._put(job)

    async def run(self, work: Callable[[], _Result]) -> _Result:
        """Return the result of `work`, done after everything queued before it; raises what it raises.

        A cancelled caller gets its CancelledError when the work is done.
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
            except RuntimeError:  # the loop has ended: nobody waits any more
                _log_unheard(error)

        self.submit(lambda: results.append(work()), done)
        try:
            return await run_to_completion(future)
        except asyncio.CancelledError as cancelled:
            _log_unheard(cancelled.__cause__)
            raise

    def stop(self) -> None:
        """End the thread after what is queued; blocks for that long. A later job starts a new one."""
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


def _log_unheard(error: BaseException | None) -> None:
    if error is not None:
        _logger.warning("a write failed after its caller was cancelled", exc_info=error)
