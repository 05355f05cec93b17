"""Copy the records of forks in the background, and let changes of a session wait for the forks that still read it.

A copy can be interrupted at any time and resumed, in another process too: it skips records that exist. Opening an
incomplete fork resumes its copy. Prune, revert, edit and delete await `wait_until_copied`.
A compaction only adds messages, as a prompt does.
Source: docs/internals/session.md#forks.
"""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property

from msgspec import Struct

from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.stored_history import ForkHistory, find_session, open_fork, unfinished
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, OpencodeError, StorageError
from opencode_tui.schema.event.event import SessionUpdated
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.session import SessionInfo, fork_origin, with_origin
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key, check_key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.storage import Storage
from opencode_tui.tasks import Tasks

GIVE_UP_WAIT_MS = 600_000
"""Milliseconds that the deletion of a fork waits for another process that copies it."""

_logger = logging.getLogger(__name__)


_STARTED, _DONE = "+", "-"


class PendingCopies:
    """The list of forks that are not fully copied: `lock/forks`, a line for each copy that starts and for each that ends.

    Without it, a change of a session would have to read the records of all other sessions. Lines are appended to one file, because
    creating a file would double the cost of a fork. It is emptied when no copy is left. Every method blocks, for well under 1 ms
    unless the disk hangs, and raises StorageError when the folder of locks cannot be used.
    """

    def __init__(self, paths: Paths, *, locks: Locks, files: FileSystem | None = None) -> None:
        self._path = f"{paths.lock}/forks"
        self._lock = locks.forks()
        self._files = files or FileSystem()

    def add(self, source_id: str, fork_id: str) -> None:
        """Record that a fork starts to copy from a source."""
        with self._lock:
            self._append(_STARTED, source_id, fork_id)

    def remove(self, source_id: str, fork_id: str) -> None:
        """Record that a fork no longer needs its source."""
        with self._lock:
            left = self._read()
            if (source_id, fork_id) not in left:
                return
            if len(left) > 1:
                self._append(_DONE, source_id, fork_id)
            else:
                self._empty()

    def of(self, source_id: str) -> list[str]:
        """Return the forks that may still need a source, sorted."""
        return sorted(fork for source, fork in self._read() if source == source_id)

    def _read(self) -> dict[tuple[str, str], None]:
        """Return pairs of source and fork, in order; an incomplete line is ignored."""
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        pending: dict[tuple[str, str], None] = {}
        for line in data.decode(errors="replace").splitlines():
            match line.split(" "):
                case [str(sign), source, fork] if sign == _STARTED:
                    pending[source, fork] = None
                case [str(sign), source, fork] if sign == _DONE:
                    pending.pop((source, fork), None)
                case _:
                    continue
        return pending

    def _append(self, sign: str, source_id: str, fork_id: str) -> None:
        source, fork = check_key((source_id, fork_id))
        # The first line end terminates a line that a full disk left incomplete.
        line = memoryview(f"\n{sign} {source} {fork}\n".encode())
        self._change(os.O_APPEND, line)

    def _empty(self) -> None:
        self._change(os.O_TRUNC, memoryview(b""))

    def _change(self, flag: int, line: memoryview) -> None:
        try:
            # The held lock is in the same folder, so it exists.
            descriptor = self._files.open(self._path, os.O_WRONLY | os.O_CREAT | flag)
            try:
                while line:
                    line = line[self._files.write(descriptor, line) :]
            finally:
                self._files.close(descriptor)
        except OSError as error:
            raise storage_error(error, "write", self._path) from error


class ForkQueue:
    """All copies of the process; its tasks are children of the engine's group and end with `close`."""

    def __init__(self, *, tasks: Tasks, storage: Storage, locks: Locks, publisher: Publisher) -> None:
        self._starter = tasks
        self._storage = storage
        self._locks = locks
        self._pending = PendingCopies(storage.paths, locks=locks, files=storage.files)
        self._publisher = publisher
        self._tasks: dict[str, asyncio.Task[OpencodeError | None]] = {}
        self._is_closed = False

    @cached_property
    def _copying(self) -> "ForkCopying":
        return ForkCopying(storage=self._storage, locks=self._locks, pending=self._pending, publisher=self._publisher)

    def resume(self, fork_id: str) -> None:
        """Copy in the background, unless this process already does; a failure is logged and retried when it is opened again."""
        if not self._is_closed:
            self._task(fork_id)

    async def register(self, source_id: str, fork_id: str) -> None:
        """Register a fork that will read a source; needs the source's fork lock, before the fork's record is written."""
        await asyncio.to_thread(self._pending.add, source_id, fork_id)

    async def wait_until_copied(self, session_id: str) -> None:
        """Return when no fork reads the session's records any more and its own are complete.

        Await it directly before the records are changed, under the run lock. Copies what is missing. Raises
        StorageError when that fails: then nothing may be changed.
        """
        if await self._source_of(session_id) is not None:
            await self._finish(session_id)
        async with self._held(session_id):
            pass

    async def store_ends(self, session_id: str) -> None:
        """Store the last message of forks that copy everything; a run does this before it adds the first message.

        Raises StorageError. Usually it only reads one small file.
        """
        forks = self._pending.of(session_id)
        if forks:
            async with self._locks.session_fork(session_id):
                for fork_id in forks:
                    await self._copying.fix_end(fork_id)

    @asynccontextmanager
    async def no_new_forks(self, info: SessionInfo) -> AsyncGenerator[None]:
        """Wait as `wait_until_copied` does; no fork of the session starts inside the context. It cannot be nested."""
        await self.finish_own(info)
        async with self._held(info.id):
            yield

    async def finish_own(self, info: SessionInfo) -> None:
        """Return when the session's own copy is complete, at once for one that is no fork; raises StorageError."""
        origin = fork_origin(info)
        if origin is not None and origin.copying is not None:
            await self._finish(info.id)

    async def finish_forks(self, session_id: str) -> None:
        """Return when no fork reads the session's records any more; needs its fork lock. Raises StorageError."""
        for fork_id in self._pending.of(session_id):
            await self._finish(fork_id)
            await asyncio.to_thread(self._pending.remove, session_id, fork_id)

    @asynccontextmanager
    async def abandoning_copy(self, session_id: str) -> AsyncGenerator[None]:
        """Wait as `no_new_forks` does, except that the session's own copy stops: the session will be deleted."""
        async with self._held(session_id):
            source_id = await self._source_of(session_id)
            if source_id is None:
                yield
                return
            task = self._tasks.get(session_id)
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
            copying = self._locks.session_copy(session_id)
            await copying.acquire(GIVE_UP_WAIT_MS)
            try:
                yield
            finally:
                copying.release()
            await asyncio.to_thread(self._pending.remove, source_id, session_id)

    async def close(self) -> None:
        """Cancel all copies; returns when they have stopped."""
        self._is_closed = True
        tasks = set(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    @asynccontextmanager
    async def _held(self, session_id: str) -> AsyncGenerator[None]:
        async with self._locks.session_fork(session_id):
            await self.finish_forks(session_id)
            yield

    async def _finish(self, fork_id: str) -> None:
        """Return when a fork is complete; raises StorageError."""
        task = self._task(fork_id)
        await asyncio.wait({task})
        if task.cancelled():
            raise StorageError(
                f"fork {fork_id} could not be copied completely, because the program is exiting; try again"
            )
        error = task.result()
        if error is not None:
            raise error

    def _task(self, fork_id: str) -> "asyncio.Task[OpencodeError | None]":
        task = self._tasks.get(fork_id)
        if task is None:
            task = self._tasks[fork_id] = self._starter.start(
                self._work(fork_id), name=f"copy {fork_id}", failed=lambda error: _uncopied(fork_id, error)
            )
            task.add_done_callback(lambda _: self._tasks.pop(fork_id, None))
        return task

    async def _work(self, fork_id: str) -> OpencodeError | None:
        """Copy, and return the error instead of raising it."""
        try:
            await self._copying.copy(fork_id)
        except OpencodeError as error:
            _logger.warning("fork %s is not copied completely yet: %s", fork_id, error)
            return error
        return None

    async def _source_of(self, session_id: str) -> str | None:
        return await asyncio.to_thread(self._copying.source_of, session_id)


def _uncopied(fork_id: str, error: Exception) -> OpencodeError:
    return StorageError(f"fork {fork_id} cannot be copied ({error!r}); see the log")


_BATCH = 8
"""Messages copied between two checks for cancellation; the writes of a run wait for at most one batch."""

COPY_WAIT_MS = 600_000
"""Milliseconds to wait for another process that copies the same fork."""


class ForkCopying(Struct, frozen=True):
    """Copies forks of one store. Raises StorageError; completed batches stay, and the next attempt skips them."""

    storage: Storage
    locks: Locks
    pending: PendingCopies
    publisher: Publisher

    async def copy(self, fork_id: str) -> None:
        """Complete a fork, unless another process has done so meanwhile."""
        lock = self.locks.session_copy(fork_id)
        await lock.acquire(COPY_WAIT_MS)
        try:
            await self.fix_end(fork_id)
            key = await asyncio.to_thread(find_session, self.storage, fork_id)
            history = await asyncio.to_thread(_open_unfinished, self.storage, key) if key else None
            if key is None or history is None:
                return
            if not history.inherited:
                _logger.warning("fork %s has nothing to copy: its source is empty or deleted", fork_id)
            for start in range(0, len(history.inherited), _BATCH):
                names = history.inherited[start : start + _BATCH]
                await self.storage.write_missing(await asyncio.to_thread(_records, history, fork_id, names))
            await self._mark_whole(key)
        finally:
            lock.release()

    async def fix_end(self, fork_id: str) -> None:
        """Store the last message of a fork that copies everything."""
        key = await asyncio.to_thread(find_session, self.storage, fork_id)
        origin = await asyncio.to_thread(unfinished, self.storage, key) if key else None
        if key is None or origin is None or origin.copying is None or not origin.copying.whole:
            return
        history = await asyncio.to_thread(_open_unfinished, self.storage, key)
        last = await asyncio.to_thread(history.last_origin) if history else None

        def change(data: JsonObject) -> JsonObject:
            info = SessionInfo.model_validate(data)
            now = fork_origin(info)
            if now is None or now.copying is None or not now.copying.whole:
                return data
            return with_origin(info, now.changed(copying=now.copying.changed(whole=None, last=last))).to_dict()

        await self.storage.update(key, change, self.locks.session_write(fork_id))

    async def _mark_whole(self, key: Key) -> None:
        source_id = ""

        def change(data: JsonObject) -> JsonObject:
            nonlocal source_id
            info = SessionInfo.model_validate(data)
            origin = fork_origin(info)
            if origin is None:
                return data
            source_id = origin.session_id
            return with_origin(info, origin.changed(copying=None)).to_dict()

        data = await self.storage.update(key, change, self.locks.session_write(key[-1]))
        if source_id:
            await asyncio.to_thread(self.pending.remove, source_id, key[-1])
        self.publisher.publish(SessionUpdated(info=SessionInfo.model_validate(data)))

    def source_of(self, session_id: str) -> str | None:
        """Return the source of an incomplete fork, None for any other session. Blocks."""
        key = find_session(self.storage, session_id)
        origin = unfinished(self.storage, key) if key else None
        return origin.session_id if origin else None


def _open_unfinished(storage: Storage, key: Key) -> ForkHistory | None:
    history = open_fork(storage, key)
    return history if isinstance(history, ForkHistory) else None


def _records(history: ForkHistory, fork_id: str, names: Sequence[str]) -> list[tuple[Key, bytes]]:
    """Return the records of these messages and their parts, without damaged ones. Raises StorageError. Blocks."""
    records: list[tuple[Key, bytes]] = []
    for name in names:
        try:
            message = history.message(name)
        except (CorruptRecordError, NotFoundError) as error:
            _logger.warning("fork %s is without a message: %s", fork_id, error)
            continue
        parts = history.inherited_parts(name)
        for failure in parts.failures:
            if not isinstance(failure, CorruptRecordError):
                raise failure
            _logger.warning("fork %s is without a part: %s", fork_id, failure)
        # The message comes last: one that exists has all its parts.
        records += [*parts.records, (("message", fork_id, name), message)]
    return records
