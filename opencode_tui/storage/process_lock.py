"""A lock between processes, tasks and threads, on one file that filelock locks.

It is not reentrant. The system releases the locks of a process that dies. Waiting polls, so that it can be canceled at once.
`acquire` opens the file on a thread: a disk that hangs does not hold the event loop.
"""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from opencode_tui.cancellation import acquired_on_thread
from opencode_tui.lean_libraries import lock_descriptor, unlock_descriptor
from opencode_tui.schema.error import LockTimeoutError
from opencode_tui.storage.files import FILE_MODE
from opencode_tui.storage.process_identity import holder_of
from opencode_tui.storage.record_file import storage_error

DEFAULT_TIMEOUT_MS = 10_000
_SHORTEST_POLL_S = 0.001
_LONGEST_POLL_S = 0.02


class ProcessLock:
    """One lock; a context manager, `with` or `async with`, that waits up to `timeout_ms`."""

    def __init__(self, path: str, *, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> None:
        self.path = path
        self._timeout_ms = timeout_ms
        self._in_process = threading.Lock()
        self._descriptor: int | None = None

    def is_held(self) -> bool:
        """Return whether this process holds the lock, or is just trying to acquire it."""
        return self._in_process.locked()

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free and return whether it was; raises StorageError when the lock folder cannot be used.

        Blocks while the disk does not open the file.
        """
        if not self._in_process.acquire(blocking=False):
            return False
        is_acquired = False
        try:
            is_acquired = self._try_file()
        except OSError as error:
            raise storage_error(error, "lock", self.path) from error
        finally:
            if not is_acquired:
                self._in_process.release()
        return is_acquired

    async def try_acquire_on_thread(self) -> bool:
        """Do the same as `try_acquire`; what the thread of a canceled caller acquires is released."""
        return not self.is_held() and await acquired_on_thread(self.try_acquire, self._release_acquired)

    async def acquire(self, timeout_ms: int | None = None) -> None:
        """Wait for the lock and acquire it; raises LockTimeoutError with the holder, and the error of `try_acquire`."""
        for pause in self._pauses(timeout_ms):
            if await self.try_acquire_on_thread():
                return
            await asyncio.sleep(pause)
        if not await self.try_acquire_on_thread():
            raise self._timeout(timeout_ms)

    def acquire_sync(self, timeout_ms: int | None = None) -> None:
        """Do the same as `acquire`, blocking the thread."""
        for pause in self._pauses(timeout_ms):
            if self.try_acquire():
                return
            time.sleep(pause)
        if not self.try_acquire():
            raise self._timeout(timeout_ms)

    def release(self) -> None:
        """Release the lock; only its holder may call this."""
        descriptor, self._descriptor = self._descriptor, None
        try:
            if descriptor is not None:
                _unlock(descriptor)
        finally:
            self._in_process.release()

    async def __aenter__(self) -> Self:
        await self.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __enter__(self) -> Self:
        self.acquire_sync()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _release_acquired(self, is_acquired: bool) -> None:
        if is_acquired:
            self.release()

    def _try_file(self) -> bool:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        is_locked = False
        try:
            is_locked = lock_descriptor(descriptor)
        finally:
            if is_locked:
                self._descriptor = descriptor
            else:
                os.close(descriptor)
        return is_locked

    def _pauses(self, timeout_ms: int | None) -> Iterator[float]:
        """Yield the seconds to sleep between attempts, a tenth of the time waited so far, until the timeout."""
        started = time.monotonic()
        wait_s = (self._timeout_ms if timeout_ms is None else timeout_ms) / 1000
        while (waited := time.monotonic() - started) < wait_s:
            yield min(max(_SHORTEST_POLL_S, waited / 10), _LONGEST_POLL_S, wait_s - waited)

    def _timeout(self, timeout_ms: int | None) -> LockTimeoutError:
        wait_ms = self._timeout_ms if timeout_ms is None else timeout_ms
        return LockTimeoutError(
            f"{self.path} has been held by {holder_of(self.path)} for more than {wait_ms} ms; wait for it or end that process"
        )


def _unlock(descriptor: int) -> None:
    try:  # a child that was just forked may still have the descriptor open
        unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)
