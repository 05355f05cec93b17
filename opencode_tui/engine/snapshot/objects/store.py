"""The objects of one worktree's snapshots: a bare git folder of our own, which plain git can read.

Every object is compared with its id when it is read. A damaged pack counts as missing: the next scan stores its objects again
where the files still exist, and a snapshot that needs it is refused. Writers hold the worktree's lock; readers need none.
"""

import concurrent.futures
import logging
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.cancellation import Threads
from opencode_tui.engine.snapshot.objects.kept_files import KeptFiles
from opencode_tui.engine.snapshot.objects.pack import (
    FLUSH_BYTES,
    DamagedPackError,
    Kind,
    Pack,
    PackBuilder,
    object_id,
    unpack,
)
from opencode_tui.engine.snapshot.objects.tree import EMPTY_TREE, Tree, decode
from opencode_tui.schema.error import SnapshotError, SnapshotUnreadableError
from opencode_tui.storage.files import AtomicWriter, FileSystem, temporary_owner
from opencode_tui.storage.record_file import storage_error

_log = logging.getLogger(__name__)
_SKELETON = {
    "HEAD": b"ref: refs/heads/none\n",
    "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n[gc]\n\tauto = 0\n",
}
MAX_TREE_ENTRIES = 20_000
"""Entries of decoded trees in memory, about 4 MB."""

_INDEX_SHARE = 28
"""Bytes of an index for one object: id, sum, offset."""


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of reading every object; `damaged` are one-line texts."""

    objects: int
    bytes: int
    damaged: tuple[str, ...]


class ObjectStore:
    """Reads and writes objects; ids are 40 hexadecimal digits. Blocks; used by one thread at a time.

    An object that is missing or damaged raises SnapshotError, one that the system cannot read now SnapshotUnreadableError.
    """

    def __init__(self, folder: Path, *, files: FileSystem | None = None) -> None:
        self._files = files or FileSystem()
        self._writer = AtomicWriter(self._files)
        self.folder = folder
        self._pack_folder = f"{folder}/objects/pack"
        self.kept = KeptFiles(f"{folder}/kept", self._files)
        self._packs: dict[str, Pack] = {}
        self._damaged: dict[str, str] = {}
        self._trees: OrderedDict[str, Tree] = OrderedDict()
        self._tree_entries = 0

    def prepare(self) -> None:
        """Make the folder, and remove what a killed process left; raises StorageError. Needs the lock."""
        try:
            for name, content in _SKELETON.items():
                path = f"{self.folder}/{name}"
                if not self._files.exists(path) or self._files.read_whole(path) != content:
                    self._writer.write(path, content)
            for name in ("objects/pack", "refs/heads"):
                self._writer.make_folders(f"{self.folder}/{name}")
            for name in os.listdir(self._pack_folder):
                if temporary_owner(name) is not None:
                    self._files.unlink(f"{self._pack_folder}/{name}")
            self.kept.refresh(cleans=True)
        except OSError as error:
            raise storage_error(error, "prepare", str(self.folder)) from error

    def refresh(self) -> None:
        """Reread the list of packs; a damaged one is logged once. Raises SnapshotUnreadableError when one cannot be read now."""
        try:
            found = {name for name in self._files.names(self._pack_folder) if name.endswith(".idx")}
        except FileNotFoundError:
            found = set[str]()
        except OSError as error:
            raise self._unreadable(self._pack_folder, error) from error
        for name in set(self._packs) - found:
            del self._packs[name]
        for name in sorted(found - set(self._packs) - set(self._damaged)):
            try:
                self._packs[name] = Pack(f"{self._pack_folder}/{name}", self._files)
            except (DamagedPackError, FileNotFoundError) as error:
                self._damaged[name] = str(error)
                _log.warning("snapshot pack left out: %s", error)
            except OSError as error:
                raise self._unreadable(f"{self._pack_folder}/{name}", error) from error

    def pack_sizes(self) -> dict[str, int]:
        """Return the sizes of the undamaged packs in bytes, by name."""
        return {name: pack.size for name, pack in self._packs.items()}

    def holdings(self) -> dict[str, int]:
        """Return the sizes of the undamaged packs and of the kept files in bytes, by name."""
        return self.pack_sizes() | self.kept.sizes()

    def contains(self, name: bytes) -> bool:
        """Return whether an object is stored."""
        return any(pack.find(name) is not None for pack in self._packs.values()) or self.kept.has(name.hex())

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file in pieces; raises SnapshotError, also after the last one if they are damaged."""
        if self.kept.has(name):
            yield from self.kept.chunks(name)
        else:
            yield self.read(name, "blob")

    def check(self, name: str) -> None:
        """Raise SnapshotError when the content of a file is missing or damaged."""
        for _ in self.chunks(name):
            pass

    def read(self, name: str, kind: Kind) -> bytes:
        """Return an object's bytes; raises SnapshotError when it is missing or damaged."""
        if kind == "blob" and self.kept.has(name):
            return b"".join(self.kept.chunks(name))
        found, data = self._find(bytes.fromhex(name), name)
        if found != kind:
            raise SnapshotError(f"snapshot store {self.folder}: object {name} is a {found}, not a {kind}")
        return data

    def tree(self, name: str) -> Tree:
        """Return a stored tree; raises SnapshotError. Those read last are kept in memory."""
        if name == EMPTY_TREE:
            return {}
        tree = self._trees.get(name)
        if tree is not None:
            self._trees.move_to_end(name)
            return tree
        try:
            tree = self._trees[name] = decode(self.read(name, "tree"))
        except ValueError as error:
            raise SnapshotError(f"snapshot store {self.folder}: tree {name} cannot be read; {error}") from error
        self._tree_entries += len(tree)
        while self._tree_entries > MAX_TREE_ENTRIES and len(self._trees) > 1:
            self._tree_entries -= len(self._trees.popitem(last=False)[1])
        return tree

    def read_packed(self, name: bytes) -> bytes:
        """Return an object in its packed form."""
        for pack in self._packs.values():
            offset = pack.find(name)
            if offset is not None:
                try:
                    return pack.read_packed(offset)
                except (DamagedPackError, FileNotFoundError) as error:
                    raise SnapshotError(f"snapshot store {self.folder} is damaged: {error}") from error
                except OSError as error:
                    raise self._unreadable(pack.path, error) from error
        raise self._missing(name.hex())

    def packs(self) -> dict[str, Pack]:
        """Return the undamaged packs by the name of their index."""
        return dict(self._packs)

    def write_pack(self, builder: PackBuilder) -> str:
        """Store a pack, durably, index last, and return the name of its index; raises StorageError."""
        name = self.write_files(builder)
        self.admit(name)
        return name

    def write_files(self, builder: PackBuilder) -> str:
        """Write a pack's files as `write_pack` does; `admit` makes it readable. May be called in another thread."""
        name, pack, index = builder.finish()
        path = f"{self._pack_folder}/pack-{name}"
        try:
            self._writer.write(f"{path}.pack", pack, durable=True)
            self._writer.write(f"{path}.idx", index, durable=True)
        except OSError as error:
            raise storage_error(error, "write", f"{path}.pack") from error
        return f"pack-{name}.idx"

    def admit(self, name: str) -> None:
        """Open a pack that was written, by the name of its index."""
        self._damaged.pop(name, None)
        self._packs.pop(name, None)
        self.refresh()

    def remove_packs(self, names: set[str]) -> None:
        """Remove packs by the name of their index; raises StorageError. Needs the lock."""
        for name in names:
            for path in (f"{self._pack_folder}/{name}", f"{self._pack_folder}/{name.removesuffix('.idx')}.pack"):
                try:
                    self._writer.remove(path)
                except OSError as error:
                    raise storage_error(error, "remove", path) from error
        self.refresh()

    def size(self) -> int:
        """Return the size of all packs and their indexes in bytes, damaged ones included."""
        total = 0
        with suppress(FileNotFoundError), os.scandir(self._pack_folder) as entries:
            for entry in entries:
                total += entry.stat(follow_symlinks=False).st_size
        return total

    def size_of(self, names: Iterable[bytes]) -> int:
        """Return the estimated size of these objects in bytes, each counted once, with their share of an index."""
        total = 0
        for name in names:
            found = ((pack, pack.find(name)) for pack in self._packs.values())
            total += next((pack.packed_size(offset) + _INDEX_SHARE for pack, offset in found if offset is not None), 0)
        return total

    def verify(self) -> VerifyResult:
        """Read every object of every pack and compare it with its id."""
        self._damaged.clear()
        self.refresh()
        damaged = list(self._damaged.values())
        count = size = 0
        for pack in self._packs.values():
            for problem in _problems(pack):
                damaged.append(problem)
            count += len(pack)
            size += pack.size
        for name, kept in self.kept.sizes().items():
            try:
                self.check(name)
            except SnapshotError as error:
                damaged.append(str(error))
            count += 1
            size += kept
        return VerifyResult(count, size, tuple(damaged))

    def _find(self, name: bytes, text: str) -> tuple[Kind, bytes]:
        for pack in self._packs.values():
            offset = pack.find(name)
            if offset is None:
                continue
            try:
                return pack.read(name, offset)
            except (DamagedPackError, FileNotFoundError) as error:
                raise SnapshotError(
                    f"snapshot store {self.folder} is damaged: {error}; nothing was changed, "
                    "`opencode-tui debug snapshot verify` lists what is lost"
                ) from error
            except OSError as error:
                raise self._unreadable(pack.path, error) from error
        raise self._missing(text)

    @staticmethod
    def _unreadable(path: str, error: OSError) -> SnapshotUnreadableError:
        return SnapshotUnreadableError(f"{storage_error(error, 'read', path)}; nothing was changed")

    def _missing(self, name: str) -> SnapshotError:
        return SnapshotError(
            f"snapshot store {self.folder} has no object {name}: it was cleaned, removed or damaged; nothing was changed, "
            "`opencode-tui debug snapshot verify` lists what is lost"
        )


def _problems(pack: Pack) -> Iterator[str]:
    try:
        pack.check()
        for name in pack.names():
            offset = pack.find(name)
            assert offset is not None
            kind, data = unpack(pack.read_packed(offset))
            if object_id(kind, data) != name:
                yield f"{pack.path}: object {name.hex()} has changed"
    except (DamagedPackError, OSError) as error:
        message = str(error)
        yield message if pack.path in message else f"{pack.path}: {message}"


class StoreFullError(Exception):
    """The objects of a scan do not fit into the quota."""


class ObjectWriter:
    """Stores new objects as packs of 32 MiB; objects that are stored already are skipped. Used under the lock.

    A full pack is written in a thread while more objects are added, one pack at a time. A caller that does not reach `flush`
    calls `wait`.
    """

    def __init__(self, store: ObjectStore, *, level: int = 1, limit: int | None = None) -> None:
        self._store = store
        self._level = level
        self._room = limit
        self._builder = PackBuilder(level)
        self._written: set[str] = set()
        self._added: set[bytes] = set()
        self._is_first = not store.pack_sizes()
        self._pool: Threads | None = None
        self._pending: Future[str] | None = None

    def add(self, kind: Kind, data: bytes) -> str:
        """Add an object and return its id; raises StoreFullError when it would exceed the limit, StorageError."""
        name = object_id(kind, data)
        # Objects of this writer are known without a lookup in its packs.
        if name not in self._added and (self._is_first or not self._store.contains(name)):
            if self._room is not None:
                self._room -= len(data)
                if self._room < 0:
                    raise StoreFullError
            self._added.add(name)
            self._builder.add(name, kind, data)
            if self._builder.size > FLUSH_BYTES:
                self._write_in_thread()
        return name.hex()

    def flush(self) -> None:
        """Store the added objects; raises StorageError."""
        self._finish_thread()
        self.wait()
        if self._builder:
            self._written.add(self._store.write_pack(self._builder))
            self._builder = PackBuilder(self._level)

    def discard(self) -> None:
        """Discard the added objects and remove the packs already written; raises StorageError."""
        self._builder = PackBuilder(self._level)
        self._added.clear()
        self._finish_thread()
        self._store.remove_packs(self._written)

    def wait(self) -> None:
        """Wait for the thread that writes a pack, however long the disk needs: the lock of the worktree is held for it."""
        if self._pending is not None:
            concurrent.futures.wait({self._pending})
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None

    def _write_in_thread(self) -> None:
        self._finish_thread()
        self._pool = self._pool or Threads(1, name="snapshot pack")
        self._pending = self._pool.submit(self._store.write_files, self._builder)
        self._builder = PackBuilder(self._level)

    def _finish_thread(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            name = pending.result()
            self._store.admit(name)
            self._written.add(name)
