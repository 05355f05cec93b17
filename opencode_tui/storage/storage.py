"""The store: JSON records by key, each a file that is replaced as a whole.

A write that was awaited outlives a kill, and after `sync` a power cut. Writes happen in the order of their calls. Readers need no
lock and never see half a record. Records are bytes here; what they mean is their owner's business.
Source: SPEC, sections 1 and 3; reference, section 2.
"""

import asyncio
import builtins
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from opencode_tui.schema.error import NotFoundError, StorageError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import Key, folder_path, record_path
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import FolderRecords, RecordReader
from opencode_tui.storage.record_file import storage_error
from opencode_tui.storage.write_behind import Failed, Render, WriteBehind
from opencode_tui.storage.writer import WriterThread


class Storage:
    """Reads and writes the records below `paths.storage`; nothing is created before the first write."""

    def __init__(self, paths: Paths, *, files: FileSystem | None = None, failed: Failed | None = None) -> None:
        """`failed` hears of each write behind that could not be done and has no listener of its own."""
        self.paths = paths
        self.files = files or FileSystem()
        self._root = str(paths.storage)
        self._failed = failed
        self._reader = RecordReader(self.files, self._root)
        self._atomic = AtomicWriter(self.files)
        self._writer = WriterThread("storage-writer")
        self._behind = WriteBehind(writer=self._writer, write=self._replace)
        self._is_closed = False

    def path_of(self, key: Key) -> str:
        """Return the file of a record, for messages; raises StorageError for an unsafe key."""
        return record_path(self._root, key)

    async def read(self, key: Key) -> bytes:
        """Return a record's JSON; growth that is still pending is not in it.

        Raises NotFoundError, CorruptRecordError, or StorageError when the disk refuses.
        """
        return await asyncio.to_thread(self._reader.read, key)

    def read_sync(self, key: Key) -> bytes:
        """Do what `read` does, blocking."""
        return self._reader.read(key)

    async def list(self, prefix: Key) -> builtins.list[Key]:
        """Return the keys of all records below a prefix, sorted by segments; none when there is no such folder."""
        return await asyncio.to_thread(self._reader.list, prefix)

    def list_sync(self, prefix: Key) -> builtins.list[Key]:
        """Do what `list` does, blocking."""
        return self._reader.list(prefix)

    async def read_folder(self, prefix: Key) -> FolderRecords:
        """Return all records directly inside a folder, such as the parts of a message, and what was damaged."""
        return await asyncio.to_thread(self._reader.read_folder, prefix)

    def read_folder_sync(self, prefix: Key) -> FolderRecords:
        """Do what `read_folder` does, blocking; the fast way to load many records."""
        return self._reader.read_folder(prefix)

    async def write(self, key: Key, data: bytes, *, durable: bool = False) -> None:
        """Create or replace a record, and drop its pending growth; it is on the disk when this returns.

        With `durable` also after a power cut, otherwise after `sync`. The write happens even if the caller is cancelled.
        Raises StorageError; the old state is then intact.
        """
        self._check_open(key)
        self._behind.cancel(key)
        self._behind.record_write(key)
        await self._writer.run(lambda: self._replace(key, data, durable=durable))

    async def write_missing(self, records: Sequence[tuple[Key, bytes]]) -> None:
        """Create those of the records that do not exist, and make them outlive a power cut; raises as `write` does."""
        for key, _ in records:
            self._check_open(key)
        await self._writer.run(lambda: self._create_missing(records))

    async def update(
        self,
        key: Key,
        change: Callable[[JsonObject], JsonObject],
        lock: AbstractAsyncContextManager[object],
        *,
        default: JsonObject | None = None,
    ) -> JsonObject:
        """Read a record, change it and write it under a lock between processes; return the new state.

        `change` runs on the event loop and may alter what it is given. A missing record counts as `default` if there is one.
        Raises what `read` and `write` raise, and LockTimeoutError.
        """
        self._check_open(key)
        async with lock:
            await self._behind.flush(key)
            try:
                old = await self._writer.run(lambda: self._reader.read_object(key))
            except NotFoundError:
                if default is None:
                    raise
                old = dict(default)
            new = change(old)
            await self.write(key, json.dumps(new, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
        return new

    def write_behind(self, key: Key, render: Render, *, failed: Failed | None = None) -> None:
        """Have a growing record written soon, at most every 250 ms; a later call for the key replaces this one.

        `render` returns the newest state and is called on the event loop when the time has come. A failed write is told to
        `failed`, stays pending and is tried again.
        """
        self._check_open(key)
        self._behind.put(key, render, failed or self._failed)

    async def remove(self, key: Key) -> None:
        """Remove a record and its pending growth; a missing one is fine. Raises StorageError."""
        self._check_open(key)
        self._behind.cancel(key)
        path = record_path(self._root, key)
        await self._writer.run(lambda: self._disk("remove", path, lambda: self._atomic.remove(path)))

    async def remove_tree(self, prefix: Key) -> None:
        """Remove every record below a prefix, with the folders. Raises StorageError; what is left can be removed again."""
        self._check_open(prefix)
        self._behind.cancel_below(prefix)
        folder = folder_path(self._root, prefix)
        await self._writer.run(lambda: self._disk("remove", folder, lambda: self._atomic.remove_tree(folder)))

    async def flush(self) -> None:
        """Write all pending growth at once; raises StorageError, and what failed stays pending."""
        if not self._is_closed:
            await self._behind.flush()

    async def sync(self) -> None:
        """Make all records created and removed so far outlive a power cut (fsync, batched). Raises StorageError."""
        if not self._is_closed:
            await self._fsync()

    async def close(self) -> None:
        """Write what is pending, sync, and end the writer thread; closing again is fine. Raises StorageError."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            await self._behind.flush()
            await self._fsync()
        finally:
            self._writer.stop()

    async def _fsync(self) -> None:
        await self._writer.run(lambda: self._disk("secure", self._root, self._atomic.sync))

    def _check_open(self, key: Key) -> None:
        path = record_path(self._root, key)
        if self._is_closed:
            raise StorageError(f"cannot write {path}: the store is closed; open a new one")

    def _replace(self, key: Key, data: bytes, *, durable: bool = False) -> None:
        path = record_path(self._root, key)
        self._disk("write", path, lambda: self._atomic.write(path, data, durable=durable))

    def _create_missing(self, records: Sequence[tuple[Key, bytes]]) -> None:
        for key, data in records:
            if not self.files.exists(record_path(self._root, key)):
                self._replace(key, data)
        self._disk("secure", self._root, self._atomic.sync)

    def _disk(self, act: str, path: str, work: Callable[[], None]) -> None:
        """Do file work on the writer thread; a failure names the act, the place and the remedy."""
        try:
            work()
        except OSError as error:
            raise storage_error(error, act, path) from error
