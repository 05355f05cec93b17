"""Puts new objects into the store, many to a pack."""

from concurrent.futures import Future, ThreadPoolExecutor

from opencode_tui.engine.snapshot.pack import FLUSH_BYTES, Kind, PackBuilder, object_id
from opencode_tui.engine.snapshot.store import ObjectStore


class StoreFullError(Exception):
    """The objects of a scan do not fit into the quota."""


class ObjectWriter:
    """Takes new objects and stores them as packs, 32 MiB each; what is stored already is passed by. Used under the lock.

    A full pack is written in a thread while more objects come, one at a time. Whoever does not come to `flush` calls `settle`.
    """

    def __init__(self, store: ObjectStore, *, level: int = 1, limit: int | None = None) -> None:
        self._store = store
        self._level = level
        self._room = limit
        self._builder = PackBuilder(level)
        self._written: set[str] = set()
        self._taken: set[bytes] = set()
        self._is_first = not store.pack_sizes()
        self._pool: ThreadPoolExecutor | None = None
        self._aside: Future[str] | None = None

    def add(self, kind: Kind, data: bytes) -> str:
        """Take an object and return its id; raises StoreFullError when it would not fit the limit, StorageError."""
        name = object_id(kind, data)
        # What this writer wrote itself is known without a look into its packs.
        if name not in self._taken and (self._is_first or not self._store.contains(name)):
            if self._room is not None:
                self._room -= len(data)
                if self._room < 0:
                    raise StoreFullError
            self._taken.add(name)
            self._builder.add(name, kind, data)
            if self._builder.size > FLUSH_BYTES:
                self._write_aside()
        return name.hex()

    def flush(self) -> None:
        """Store what was taken; raises StorageError."""
        self._finish_aside()
        self.settle()
        if self._builder:
            self._written.add(self._store.write_pack(self._builder))
            self._builder = PackBuilder(self._level)

    def discard(self) -> None:
        """Forget what was taken, and remove the packs that were written of it; raises StorageError."""
        self._builder = PackBuilder(self._level)
        self._taken.clear()
        self._finish_aside()
        self._store.remove_packs(self._written)

    def settle(self) -> None:
        """Wait until nothing is being written any more."""
        if self._pool is not None:
            self._pool.shutdown(wait=True)
            self._pool = None

    def _write_aside(self) -> None:
        self._finish_aside()
        self._pool = self._pool or ThreadPoolExecutor(1, "snapshot pack")
        self._aside = self._pool.submit(self._store.write_files, self._builder)
        self._builder = PackBuilder(self._level)

    def _finish_aside(self) -> None:
        aside, self._aside = self._aside, None
        if aside is not None:
            name = aside.result()
            self._store.admit(name)
            self._written.add(name)
