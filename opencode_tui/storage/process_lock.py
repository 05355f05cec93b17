"""Locks between processes, tasks and threads, each on one file that filelock locks, and the lock of a session's run.

They are not reentrant. The system releases the locks of a process that dies. Waiting polls, so that it can be canceled at once.
On an event loop they work on a thread: a disk that hangs does not hold the loop.

The holder of a run lock may change messages and parts. The file `{session}.owner` next to the lock file is JSON with the holder's
pid, start time and host, and a generation number that every holder increases: a process that finds it changed since its own run
drops its cached state of the session. The first holder begins with a random number: a file that was deleted and made again is not
the old one. The pid is 0 while the session is not running; any other pid without a process means that the run was killed.
`running/{session}` is there while the session runs, and after a kill: a list of runs reads only the owners of those.
Source: docs/internals/session.md#locks.
"""

import asyncio
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from filelock import lock_descriptor, unlock_descriptor
from msgspec import Struct

from opencode_tui.cancellation import RELEASE_S, acquired_on_thread, release_acquired
from opencode_tui.schema.error import BusyError, LockTimeoutError
from opencode_tui.storage.files import FILE_MODE, AtomicWriter, FileSystem
from opencode_tui.storage.process_identity import ProcessIdentity, current_process, holder_of, suspension_of
from opencode_tui.storage.record_file import storage_error

DEFAULT_TIMEOUT_MS = 10_000
_SHORTEST_POLL_S = 0.001
_LONGEST_POLL_S = 0.02

_UNOWNED_S = 0.1
"""Seconds for which a run lock is tried again that is held while no process works on the session."""

OWNER_SUFFIX, RUNNING = ".owner", "running"
_GENERATION_BITS = 48
_logger = logging.getLogger(__name__)
_NO_PROCESS = ProcessIdentity(0, "", "")


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
        """Do the same as `try_acquire` on a thread; if the caller is canceled, a lock that the thread acquires is released."""
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
        """Lock the file, if it is free; a file that was deleted in between locks nothing, and the next one is tried."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
            is_locked = is_there = False
            try:
                is_locked = lock_descriptor(descriptor, blocking=False)
                is_there = is_locked and _is_at(descriptor, self.path)
            finally:
                if is_there:
                    self._descriptor = descriptor
                else:
                    os.close(descriptor)
            if is_there or not is_locked:
                return is_there

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


def _is_at(descriptor: int, path: str) -> bool:
    """Return whether a path is that of an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _unlock(descriptor: int) -> None:
    try:  # a child that was just forked may still have the descriptor open
        unlock_descriptor(descriptor)
    finally:
        os.close(descriptor)


class RunOwner(Struct, frozen=True):
    """The content of an owner file: the process that holds or last held the lock, and the number of runs."""

    process: ProcessIdentity
    generation: int

    @property
    def is_set(self) -> bool:
        """Return whether a process holds the lock or died while it held it."""
        return self.process.pid != 0


class RunGrant(Struct, frozen=True):
    """An acquired run lock: its generation, and whether others may have changed the session since our last run."""

    generation: int
    was_elsewhere: bool


Keep = Callable[[Callable[[], None]], bool]
"""Takes what releases a lock, and calls it when all records are on the disk; returns False if they are, and does not call it."""


class RunLock:
    """One session's run lock. Acquiring and releasing it writes one small file, and blocks while the disk hangs.

    On an event loop use `hold`, or `try_acquire_on_thread` and `release_on_thread`; the others block.

    While records wait for a disk that fails or hangs, a released lock stays with this process, which may acquire it again:
    otherwise another process could write the session before them.
    """

    def __init__(
        self, lock: ProcessLock, *, session_id: str, owner_path: str, files: FileSystem, keep: Keep | None = None
    ) -> None:
        self._lock = lock
        self._keep = keep
        self._kept = 0
        """The number of the present time for which a released lock stays here, 0 outside of one."""
        self._times = 0
        self._guard = threading.Lock()
        self._ending = threading.Lock()
        """Held while a lock that was kept is released: it is neither kept nor free until then."""
        self._session_id = session_id
        self._owner_path = owner_path
        self._running_path = f"{os.path.dirname(owner_path)}/{RUNNING}/{session_id}"
        self._files = files
        self._atomic = AtomicWriter(files)
        self.last_generation: int | None = None
        """The generation of this process's last run."""
        self.was_killed = False
        """Whether the holder before the present one died while it held the lock."""

    @property
    def owner_path(self) -> str:
        """The file that is written to acquire the lock."""
        return self._owner_path

    def try_acquire(self) -> RunGrant:
        """Acquire the lock if it is free; raises BusyError with the process that runs the session, or StorageError."""
        if (kept := self._again()) is not None:
            return kept
        end = time.monotonic() + _UNOWNED_S
        while not self._try_lock():
            if self._is_owned() or time.monotonic() > end:
                raise BusyError(
                    f"session {self._session_id} is {self._worker()}; wait until it is done, or end that process"
                )
            time.sleep(_SHORTEST_POLL_S)
        return self._sign()

    def _try_lock(self) -> bool:
        with self._ending:
            return self._lock.try_acquire()

    def _is_owned(self) -> bool:
        """Return whether a process works on the session; else one just acquires or releases the lock."""
        if self._lock.is_held():
            return True
        try:
            owner = read_owner(self._files, self._owner_path)
        except OSError:
            return True
        return owner is not None and owner.is_set

    @asynccontextmanager
    async def hold(self) -> AsyncGenerator[RunGrant]:
        """Hold the lock during the context; raises the errors of `try_acquire`."""
        grant = await self.try_acquire_on_thread()
        try:
            yield grant
        finally:
            await self.release_on_thread()

    async def try_acquire_on_thread(self) -> RunGrant:
        """Do the same as `try_acquire` on a thread; if the caller is canceled, a lock that the thread acquires is released."""
        return await acquired_on_thread(self.try_acquire, lambda _grant: self.begin_release())

    def begin_acquire(self) -> "asyncio.Future[RunGrant]":
        """Start `try_acquire` on a thread."""
        return asyncio.ensure_future(asyncio.to_thread(self.try_acquire))

    def leave(self, acquiring: "asyncio.Future[RunGrant]") -> None:
        """Release the lock when the thread has acquired it."""
        release_acquired(acquiring, lambda _grant: self.begin_release())

    async def release_on_thread(self) -> None:
        """Release the lock on a thread, or keep it while records wait for the disk; only its holder may call this.

        Waits at most `RELEASE_S` seconds for the thread. `try_acquire` in this process waits until the thread has ended.
        """
        releasing = self.begin_release()
        if releasing is not None:
            await asyncio.wait({releasing}, timeout=RELEASE_S)

    def begin_release(self) -> "asyncio.Future[None] | None":
        """Start the release on a thread and return its future; None when the lock is kept until the records are on the disk."""
        number = self._keep_here()
        if self._keep is not None and self._keep(lambda: self._release(number)):
            return None
        return asyncio.ensure_future(asyncio.to_thread(self._release, number))

    async def acquire(self, timeout_ms: int) -> RunGrant:
        """Wait for the lock and acquire it; raises LockTimeoutError with the process that runs the session."""
        if (kept := self._again()) is not None:
            return kept
        try:
            await self._lock.acquire(timeout_ms)
        except LockTimeoutError as error:
            raise LockTimeoutError(
                f"session {self._session_id} has been {self._worker()} for more than {timeout_ms} ms; wait, or end that process"
            ) from error
        return await asyncio.to_thread(self._sign)

    def is_current(self) -> bool:
        """Return whether no other process has run the session since this one; raises StorageError."""
        try:
            found = read_owner(self._files, self._owner_path)
        except OSError as error:
            raise storage_error(error, "read", self._owner_path) from error
        return (found.generation if found else None) == self.last_generation

    def release(self) -> None:
        """Release the lock; only its holder may call this."""
        self._release(self._keep_here())

    def _keep_here(self) -> int:
        """Let this process acquire the lock again, and return the number of this time for `_release`."""
        with self._guard:
            self._times += 1
            self._kept = self._times
            return self._kept

    def _again(self) -> RunGrant | None:
        """Acquire the lock if it is kept here."""
        with self._guard:
            if not self._kept:
                return None
            self._kept = 0
        self.was_killed = False
        return RunGrant(self.last_generation or 0, was_elsewhere=False)

    def _release(self, number: int) -> None:
        """Release a lock that is kept since this time, and was not acquired again."""
        with self._ending:
            with self._guard:
                if self._kept != number:
                    return
                self._kept = 0
            try:
                self._write_owner(RunOwner(_NO_PROCESS, self.last_generation or 0))
                self._files.unlink(self._running_path)
            except FileNotFoundError:  # a list of runs is without this one already
                pass
            except OSError as error:  # the file then reads as a killed run: repair finds nothing to do
                _logger.warning("%s", storage_error(error, "write", self._owner_path))
            finally:
                self._lock.release()

    def _sign(self) -> RunGrant:
        """Record this process as the holder; releases the lock when that fails."""
        try:
            found = read_owner(self._files, self._owner_path)
            generation = found.generation + 1 if found else new_generation()
            self._list()
            self._write_owner(RunOwner(current_process(), generation))
        except OSError as error:
            self._lock.release()
            raise storage_error(error, "write", self._owner_path) from error
        self.was_killed = found is not None and found.is_set
        was_elsewhere = (found.generation if found else None) != self.last_generation
        self.last_generation = generation
        return RunGrant(generation, was_elsewhere)

    def _list(self) -> None:
        """Let lists of what runs have this session."""
        try:
            descriptor = self._files.open(self._running_path, os.O_WRONLY | os.O_CREAT, FILE_MODE)
        except FileNotFoundError:  # it is the first run of this data folder
            self._atomic.make_folders(os.path.dirname(self._running_path))
            descriptor = self._files.open(self._running_path, os.O_WRONLY | os.O_CREAT, FILE_MODE)
        self._files.close(descriptor)

    def _write_owner(self, owner: RunOwner) -> None:
        process = owner.process
        fields = {"pid": process.pid, "started": process.started, "host": process.host, "generation": owner.generation}
        self._atomic.write(self._owner_path, json.dumps(fields).encode())

    def _worker(self) -> str:
        try:
            owner = read_owner(self._files, self._owner_path)
        except OSError as error:
            return f"in use by an unknown process ({error.strerror})"
        if owner is None or not owner.is_set:
            return "in use"
        is_here = owner.process.host == current_process().host
        return f"in use by {owner.process}{suspension_of(owner.process.pid) if is_here else ''}"


def new_generation() -> int:
    """Return a generation that no process has seen."""
    return secrets.randbits(_GENERATION_BITS)


def read_owner(files: FileSystem, path: str) -> RunOwner | None:
    """Return the content of an owner file, None when there is none; raises OSError.

    A damaged file gives no process and a generation that no process has seen.
    """
    try:
        data = files.read_whole(path)
    except FileNotFoundError:
        return None
    try:
        fields = json.loads(data)
        process = ProcessIdentity(int(fields["pid"]), str(fields["started"]), str(fields["host"]))
        return RunOwner(process, int(fields["generation"]))
    except (ValueError, TypeError, KeyError):
        return RunOwner(_NO_PROCESS, new_generation())
