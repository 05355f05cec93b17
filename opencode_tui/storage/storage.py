"""The store: JSON records by key, each a file that is replaced atomically.

An awaited write survives a kill. After `sync` and a power cut a new record is there; one that was replaced may have the content
from before, whole, unless the write was durable. Writes are done in the order of their calls. Readers need no lock and never see
an incomplete record. The store treats records as bytes.
Source: docs/internals/session.md#storage.
"""

import asyncio
import builtins
import json
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from opencode_tui.cancellation import run_on
from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.index_file import IndexFile
from opencode_tui.storage.keys import Key, folder_path, record_path
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import FolderRecords, RecordReader
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.writer import INTERVAL_MS, LET_GO_S, Failed, Render, WriteBehind

T = TypeVar("T")

CLOSE_S = 3.0
"""Seconds that one file may be written when the store closes; a disk that hangs would keep the process."""

_LOOK_S = 0.1
_logger = logging.getLogger(__name__)

LEFT_S = 0.5
"""Seconds that the end of a lock waits for writes whose callers have left, on a disk that does not hang."""


class Storage:
    """Reads and writes the records in `paths.storage`; nothing is created before the first write."""

    def __init__(self, paths: Paths, *, files: FileSystem | None = None, failed: Failed | None = None) -> None:
        """`failed` is called for each failed `write_behind` that has no listener of its own."""
        self.paths = paths
        self.files = files or FileSystem()
        self._root = str(paths.storage)
        self._failed = failed
        self._reader = RecordReader(self.files, self._root)
        self._behind = WriteBehind(write=self._replace)
        self._writer = self._behind.thread
        self._is_closed = False
        self._work: tuple[str, float] | None = None
        """What the writer thread works on now, and since when."""
        self._file_begun = 0.0
        """When it began with the last file of a sync."""
        self._kept: dict[asyncio.Task[None], Callable[[], None]] = {}
        self._left: set[asyncio.Future[Any]] = set()
        """Work of `to_end` that its callers have left."""

    @cached_property
    def index(self) -> IndexFile:
        """The file with what is derived from the records, for lists and sums."""
        return IndexFile(self.paths, self.files)

    @cached_property
    def _atomic(self) -> AtomicWriter:
        return AtomicWriter(self.files)

    def path_of(self, key: Key) -> str:
        """Return the file of a record, for messages; raises StorageError for an unsafe key."""
        return record_path(self._root, key)

    async def read(self, key: Key) -> bytes:
        """Return a record's JSON, without pending growth.

        Raises NotFoundError, CorruptRecordError, or StorageError.
        """
        return await asyncio.to_thread(self._reader.read, key)

    def read_sync(self, key: Key) -> bytes:
        """Do the same as `read`, blocking."""
        return self._reader.read(key)

    def read_unchecked(self, key: Key) -> bytes:
        """Return what is in a record's file, for a reader that gives what it rejects to `record_file.checked`. Blocks."""
        return self._reader.read_unchecked(key)

    async def list(self, prefix: Key) -> builtins.list[Key]:
        """Return the keys of all records with a prefix, sorted by segments; none when the folder does not exist."""
        return await asyncio.to_thread(self._reader.list, prefix)

    def list_sync(self, prefix: Key) -> builtins.list[Key]:
        """Do the same as `list`, blocking."""
        return self._reader.list(prefix)

    def read_folder(self, prefix: Key) -> FolderRecords:
        """Return all records directly inside a folder, such as the parts of a message, and the errors of damaged ones. Blocks."""
        return self._reader.read_folder(prefix)

    async def write(self, key: Key, data: bytes, *, durable: bool = False) -> None:
        """Create or replace a record, and drop its pending growth; it is on the disk when this returns.

        With `durable` it survives a power cut, otherwise only after `sync`. The write happens even if the caller is canceled, who
        does not wait for a disk that hangs. Raises StorageError; the record is then unchanged.
        """
        self._check_open(key)
        self._behind.cancel(key)
        self._behind.record_write(key)
        await self._writer.run(lambda: self._replace(key, data, durable=durable))

    async def write_missing(self, records: Sequence[tuple[Key, bytes]]) -> None:
        """Create those of the records that do not exist, and sync them to the disk; raises the same errors as `write`."""
        for key, _ in records:
            self._check_open(key)
        await self._writer.run(lambda: self._create_missing(records))

    async def to_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work that writes several records, or a record and what is in memory.

        A canceled caller does not split it: it is done to its end, also when a disk that hangs keeps it for longer than the caller.
        """
        return await run_on(work, patience_s=LET_GO_S, left=self._leave)

    async def wait_left(self) -> None:
        """Wait for the end of work of `to_end` whose callers have left; at most `LEFT_S` seconds, and not for a disk that hangs."""
        end = time.monotonic() + LEFT_S
        while self._left and not self.held_path(LET_GO_S) and time.monotonic() < end:
            await asyncio.wait(set(self._left), timeout=LET_GO_S)

    def _leave(self, work: "asyncio.Future[Any]") -> None:
        self._left.add(work)
        work.add_done_callback(self._end_left)

    def _end_left(self, work: "asyncio.Future[Any]") -> None:
        self._left.discard(work)
        if not work.cancelled() and (error := work.exception()) is not None:
            _logger.warning("a write failed after its caller was canceled", exc_info=error)

    async def update(
        self,
        key: Key,
        change: Callable[[JsonObject], JsonObject],
        lock: AbstractAsyncContextManager[object],
        *,
        default: JsonObject | None = None,
    ) -> JsonObject:
        """Read a record, change it and write it under a lock between processes; return the new state.

        `change` runs on the event loop and may modify its argument. A missing record counts as `default` if that is given.
        Raises the errors of `read` and `write`, and LockTimeoutError.
        """
        self._check_open(key)
        return await run_on(self._update(key, change, lock, default), patience_s=LET_GO_S)  # which keeps the lock

    async def _update(
        self,
        key: Key,
        change: Callable[[JsonObject], JsonObject],
        lock: AbstractAsyncContextManager[object],
        default: JsonObject | None,
    ) -> JsonObject:
        async with lock:
            await self._behind.flush(key)
            try:
                old = await self._writer.run(lambda: self._reader.read_object(key))
            except NotFoundError:
                if default is None:
                    raise
                old = dict(default)
            new = change(old)
            await self.write(key, _written(new))
        return new

    def write_behind(self, key: Key, render: Render, *, failed: Failed | None = None) -> None:
        """Schedule a write of a growing record, at most one every 250 ms; a later call for the key replaces this one.

        `render` returns the latest state and is called on the event loop at the time of the write. A failed write is reported to
        `failed`, stays pending and is tried again.
        """
        self._check_open(key)
        self._behind.put(key, render, failed or self._failed)

    async def remove(self, key: Key) -> None:
        """Remove a record and its pending growth; a missing one is fine. Raises StorageError."""
        self._check_open(key)
        self._behind.cancel(key)
        await self._writer.run(lambda: self._remove(key))

    async def remove_tree(self, prefix: Key) -> None:
        """Remove every record with a prefix, and the folders. Raises StorageError; then call it again to remove the rest."""
        self._check_open(prefix)
        self._behind.cancel_prefix(prefix)
        folder = folder_path(self._root, prefix)
        await self._writer.run(lambda: self._disk("remove", folder, lambda: self._atomic.remove_tree(folder)))

    async def flush(self) -> None:
        """Write all pending growth now; raises StorageError, and failed writes stay pending."""
        if not self._is_closed:
            await self._behind.flush()

    async def sync(self) -> None:
        """Sync all records created and removed so far to the disk, in one batch. Raises StorageError."""
        if not self._is_closed:
            await self._fsync()

    def pending(self) -> frozenset[Key]:
        """Return the keys of the records whose latest growth is not written yet."""
        return self._behind.keys()

    def held_path(self, seconds: float = 0.0) -> str:
        """Return the file or folder that is being written, if that has lasted so long; else an empty text."""
        work = self._work
        return work[0] if work is not None and time.monotonic() - work[1] >= seconds else ""

    def keep(self, release: Callable[[], None]) -> bool:
        """Call `release` when all is on the disk that is not there yet because the disk fails or hangs, or when the store closes.

        It is called on a thread. Returns False, and does nothing, where there is nothing of the kind.
        """
        if self._is_closed or not (self._behind.is_behind or self._left):
            return False
        task = asyncio.create_task(self._when_written(release))
        self._kept[task] = release
        task.add_done_callback(lambda ended: self._kept.pop(ended, None))
        return True

    async def _when_written(self, release: Callable[[], None]) -> None:
        while not self._is_closed:
            if self._left:
                await asyncio.wait(set(self._left))
            try:
                await self._behind.flush()
            except StorageError:
                await asyncio.sleep(INTERVAL_MS / 1000)
            else:
                break
        await asyncio.to_thread(release)

    async def _release_kept(self) -> None:
        """Release what is kept, on threads; those of a disk that hangs end with the process."""
        kept, self._kept = self._kept, {}
        for task in kept:
            task.cancel()
        if kept:
            releasing = [asyncio.ensure_future(asyncio.to_thread(release)) for release in kept.values()]
            await asyncio.wait(releasing, timeout=_LOOK_S if self._hanging() else CLOSE_S)

    async def close(self) -> None:
        """Write pending growth, sync, and end the writer thread; closing twice is fine.

        Raises StorageError, also when the disk does not end a write within `CLOSE_S`.
        """
        if self._is_closed:
            return
        self._is_closed = True
        closing = asyncio.ensure_future(self._write_rest())
        try:
            while not closing.done():
                await asyncio.wait({closing}, timeout=_LOOK_S)
                if held := self._hanging():
                    raise StorageError(f"cannot write {held}: the disk did not end the write within {CLOSE_S:g} s")
            closing.result()
        finally:
            closing.cancel()
            await self._release_kept()
            self._writer.stop(waits=not self._hanging())

    def _hanging(self) -> str:
        """Return what is being written if one file of it lasts longer than `CLOSE_S`; a sync of many files may last longer."""
        return self.held_path(CLOSE_S) if time.monotonic() - self._file_begun >= CLOSE_S else ""

    async def _write_rest(self) -> None:
        await self._behind.flush()
        await self._fsync()

    async def _fsync(self) -> None:
        await self._writer.run(self._sync_all)

    def _sync_all(self) -> None:
        self._disk("sync", self._root, lambda: self._atomic.sync(self._begin_file))

    def _begin_file(self) -> None:
        self._file_begun = time.monotonic()

    def _check_open(self, key: Key) -> None:
        path = record_path(self._root, key)
        if self._is_closed:
            raise StorageError(f"cannot write {path}: the store is closed; open a new one")

    def _replace(self, key: Key, data: bytes, *, durable: bool = False) -> None:
        path = record_path(self._root, key)
        self._disk("write", path, lambda: self._atomic.write(path, data, durable=durable))

    def _remove(self, key: Key) -> None:
        path = record_path(self._root, key)
        self._disk("remove", path, lambda: self._atomic.remove(path))

    def _create_missing(self, records: Sequence[tuple[Key, bytes]]) -> None:
        for key, data in records:
            if not self.files.exists(record_path(self._root, key)):
                self._replace(key, data)
        self._sync_all()

    def _disk(self, action: str, path: str, work: Callable[[], None]) -> None:
        """Do file work on the writer thread; raises StorageError with the action, the path and the remedy."""
        self._work = path, time.monotonic()
        try:
            work()
        except OSError as error:
            raise storage_error(error, action, path) from error
        finally:
            self._work = None


def _written(record: JsonObject) -> bytes:
    """Return a record as it is on disk. Python's own encoder would leave garbage that only a collection finds."""
    try:
        return msgspec.json.format(msgspec.json.encode(record))
    except UnicodeEncodeError:  # text that is not Unicode
        return json.dumps(record, indent=2, ensure_ascii=False).encode("utf-8", "replace")
