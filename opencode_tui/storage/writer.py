"""The writer thread, which does the file work of one store in the order of submission, and write-behind for growing records.

Submitted work is done even if its caller is canceled meanwhile. The caller then waits for its end only for a moment: a disk may
never end it. What must not be released before (the lock of a run) asks `WriteBehind.is_behind`. No state belongs to an event
loop, so one store can serve several loops one after the other.
"""

import asyncio
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from opencode_tui.cancellation import run_on
from opencode_tui.schema.error import StorageError
from opencode_tui.storage.keys import Key

_Result = TypeVar("_Result")
_Job = Callable[[], None]
_logger = logging.getLogger(__name__)


LET_GO_S = 0.05
"""Seconds that a canceled caller waits for the end of its work, which a working disk needs less for."""


class WriterThread:
    """Runs jobs one after the other on a daemon thread that starts with the first job."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left: set[asyncio.Future[Any]] = set()
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

        A canceled caller gets its CancelledError when the work is done, or after `LET_GO_S`; the work is done all the same.
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
            return await run_on(future, patience_s=LET_GO_S, left=self._leave)
        except asyncio.CancelledError as canceled:
            _log_lost(canceled.__cause__)
            raise

    @property
    def has_left_work(self) -> bool:
        """Return whether there is work that is not done, and that its caller has left."""
        return bool(self._left)

    def stop(self, *, waits: bool = True) -> None:
        """End the thread after all queued work; blocks until then if it `waits`. A later job starts a new one."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            if waits:
                thread.join()

    def _leave(self, future: "asyncio.Future[Any]") -> None:
        self._left.add(future)
        future.add_done_callback(self._end_left)

    def _end_left(self, future: "asyncio.Future[Any]") -> None:
        self._left.discard(future)
        if not future.cancelled():
            _log_lost(future.exception())

    def _put(self, job: _Job) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise StorageError(f"nothing can be stored: {error}; raise the limit of processes") from error
            self._thread = thread
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _log_lost(error: BaseException | None) -> None:
    if error is not None:
        _logger.warning("a write failed after its caller was canceled", exc_info=error)


# Write-behind: a growing record is written a few times a second, not once per token. At most one write per key in
# `INTERVAL_MS`, always of the latest state, rendered on the event loop when it is written. A failed write stays pending, is
# reported to its owner, and is tried again.

INTERVAL_MS = 250
"""A kill loses the growth of this time at most. Source: docs/internals/session.md#storage."""

FIRST_DELAY_MS = 20
_REMEMBERED_KEYS = 256

Render = Callable[[], bytes]
Failed = Callable[[Key, StorageError], None]


@dataclass(slots=True, eq=False)
class _Growing:
    """A record that is waiting to be written, or is being written."""

    key: Key
    render: Render
    failed: Failed | None
    due: float
    is_wanted: bool = True
    error: StorageError | None = None
    has_failed: bool = False


class WriteBehind:
    """The pending growth of one store; used on the event loop's thread."""

    def __init__(self, *, write: Callable[[Key, bytes], None]) -> None:
        """`write` is called on `thread`, the one thread that writes the store."""
        self.thread = WriterThread("storage-writer")
        self._write = write
        self._pending: dict[Key, _Growing] = {}
        self._in_flight: dict[Key, _Growing] = {}
        self._last_writes: OrderedDict[Key, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_behind(self) -> bool:
        """Return whether a write has failed and is not repeated yet, or continues although its caller has left."""
        if self.thread.has_left_work:
            return True
        return any(one.has_failed for one in (*self._pending.values(), *self._in_flight.values()))

    def keys(self) -> frozenset[Key]:
        """Return the keys of what is not written yet."""
        return frozenset((*self._pending, *self._in_flight))

    def put(self, key: Key, render: Render, failed: Failed | None) -> None:
        """Schedule a write of the latest state of a record; replaces an earlier call for the same key."""
        waiting = self._pending.get(key)
        if waiting is None:
            self._pending[key] = _Growing(key, render, failed, self._due(key))
        else:
            waiting.render, waiting.failed = render, failed
        if waiting is None or self._timer_loop is not asyncio.get_running_loop():
            self._arm()

    def cancel(self, key: Key) -> None:
        """Drop the pending write of a key, because a newer state is written or the record is removed."""
        self._pending.pop(key, None)
        in_flight = self._in_flight.get(key)
        if in_flight is not None:
            in_flight.is_wanted = False

    def cancel_prefix(self, prefix: Key) -> None:
        """Drop the pending writes of every key with a prefix."""
        for key in [*self._pending, *self._in_flight]:
            if key[: len(prefix)] == prefix:
                self.cancel(key)

    def record_write(self, key: Key) -> None:
        """Record that a record was written now, so that its growth waits a full interval."""
        self._last_writes[key] = now = time.monotonic()
        self._last_writes.move_to_end(key)
        while len(self._last_writes) > _REMEMBERED_KEYS:
            oldest = next(iter(self._last_writes))
            if self._last_writes[oldest] > now - INTERVAL_MS / 1000:
                return
            del self._last_writes[oldest]

    async def flush(self, key: Key | None = None) -> None:
        """Write pending growth (of one key, or all) now; raises the first StorageError after trying everything."""
        await self.thread.run(_no_work)
        tried = [
            growing
            for growing in [*self._in_flight.values(), *self._pending.values()]
            if key is None or growing.key == key
        ]
        for growing in tried:
            if self._pending.get(growing.key) is growing:
                self._submit(growing)
        if tried:
            await self.thread.run(_no_work)
        for growing in tried:
            if growing.error is not None and growing.is_wanted:
                raise growing.error

    def _due(self, key: Key) -> float:
        now = time.monotonic()
        last = self._last_writes.get(key)
        return now + FIRST_DELAY_MS / 1000 if last is None else max(now, last + INTERVAL_MS / 1000)

    def _arm(self) -> None:
        """Set the timer to the next due record."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        dues = [growing.due for key, growing in self._pending.items() if key not in self._in_flight]
        loop = asyncio.get_running_loop()
        self._timer_loop = loop
        if dues:
            self._timer = loop.call_later(max(0.0, min(dues) - time.monotonic()), self._write_due)

    def _write_due(self) -> None:
        now = time.monotonic()
        try:
            for key, growing in list(self._pending.items()):
                if growing.due <= now and key not in self._in_flight:
                    self._submit(growing)
        finally:
            self._arm()

    def _submit(self, growing: _Growing) -> None:
        """Render on this thread, write on the other."""
        key = growing.key
        del self._pending[key]
        growing.error = None
        try:
            data = growing.render()
        except Exception as error:  # noqa: BLE001 - one owner's error must not stop the writes of all others
            self._report(growing, StorageError(f"cannot render the record {'/'.join(key)}: {error!r}"))
            return
        self._in_flight[key] = growing
        self.record_write(key)
        loop = asyncio.get_running_loop()

        def done(error: BaseException | None) -> None:
            for one in (
                loop,
                self._timer_loop,
            ):  # when the first has ended, another may have growth that waits for this write
                if one is not None:
                    with suppress(RuntimeError):
                        one.call_soon_threadsafe(self._finish_write, growing, error)
                        return
            self._end_write(growing, error)  # all have ended; the next one sees the result

        self.thread.submit(lambda: self._write(key, data), done)

    def _finish_write(self, growing: _Growing, error: BaseException | None) -> None:
        self._end_write(growing, error)
        if self._pending:
            self._arm()

    def _end_write(self, growing: _Growing, error: BaseException | None) -> None:
        key = growing.key
        if self._in_flight.get(key) is growing:
            del self._in_flight[key]
        if error is not None and growing.is_wanted and key not in self._pending and key not in self._in_flight:
            growing.due = time.monotonic() + INTERVAL_MS / 1000
            self._pending[key] = growing
        if isinstance(error, StorageError):
            self._report(growing, error)
        elif error is not None:
            self._report(growing, StorageError(f"cannot write the record {'/'.join(key)}: {error!r}"))

    def _report(self, growing: _Growing, error: StorageError) -> None:
        growing.error, growing.has_failed = error, True
        if growing.failed is not None and growing.is_wanted:
            growing.failed(growing.key, error)


def _no_work() -> None:
    """Do nothing; running it waits for everything queued before."""
