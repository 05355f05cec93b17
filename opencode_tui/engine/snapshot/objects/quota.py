"""The limits on size and age of a worktree's snapshots, and their removal.

A log next to the store records every snapshot with its time; cleaning the store deletes the objects that no kept snapshot needs.
"""

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from opencode_tui.engine.snapshot.objects.pack import FLUSH_BYTES, PackBuilder
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.objects.tree import FOLDER
from opencode_tui.engine.snapshot.worktree_paths import StorePaths
from opencode_tui.schema.error import SnapshotError, SnapshotUnreadableError
from opencode_tui.storage.files import AtomicWriter, FileSystem, append_line
from opencode_tui.storage.record_file import storage_error

_MANY_PACKS = 64
_LARGE_PACK_BYTES = 8 * 1024 * 1024


def merge_small(store: ObjectStore) -> None:
    """Merge the small packs when there are many, because every lookup searches each of them; raises StorageError."""
    small = [pack for pack in store.packs().values() if pack.size < _LARGE_PACK_BYTES]
    if len(small) > _MANY_PACKS:
        repack(store, None)


def repack(store: ObjectStore, needed: Container[bytes] | None) -> None:
    """Copy what is needed (None: everything) into packs of 32 MiB, and remove each old one as soon as it is copied.

    A large pack stays while everything in it is needed. Raises SnapshotError, StorageError.
    """
    builder = PackBuilder()
    emptied: set[str] = set()
    for name, pack in store.packs().items():
        names = list(pack.names())
        if pack.size >= _LARGE_PACK_BYTES and (needed is None or all(inner in needed for inner in names)):
            continue
        emptied.add(name)
        for inner in names:
            if (needed is None or inner in needed) and inner not in builder:
                builder.add_packed(inner, store.read_packed(inner))
        if builder.size > FLUSH_BYTES:
            _replace(store, builder, emptied)
            builder, emptied = PackBuilder(), set[str]()
    _replace(store, builder, emptied)


def _replace(store: ObjectStore, builder: PackBuilder, emptied: set[str]) -> None:
    written = {store.write_pack(builder)} if builder else set[str]()
    store.remove_packs(emptied - written)


_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """The settings of snapshots: the most bytes of a store, the age in ms from which snapshots may be deleted.

    `ignored_bytes` is the size of the largest ignored file that is recorded; 0: none is. `keep_bytes` is the most that is kept of
    other files before a command discards them.

    Source: docs/internals/snapshots.md#quota.
    """

    is_on: bool = True
    bytes: int = 1024 * 1024 * 1024
    age_ms: int = 30 * _DAY_MS
    ignored_bytes: int = 1024 * 1024
    keep_bytes: int = 2 * 1024 * 1024 * 1024

    def limited(self, limits: tuple[int, int] | None) -> "SnapshotSettings":
        """Return these settings with the bytes of the largest ignored file and of what is kept; None: as they are."""
        return self if limits is None else replace(self, ignored_bytes=limits[0], keep_bytes=limits[1])


@dataclass(frozen=True, slots=True)
class Usage:
    """The size of a store and its limit in bytes; `oldest` is the time in ms of its first snapshot, None without any.

    `kept` is the size of the files that were kept before a command that discards them, `kept_limit` its limit, `kept_files` their
    number; `bytes` does not contain them.
    """

    folder: str
    bytes: int
    limit: int
    snapshots: int
    oldest: int | None
    kept: int = 0
    kept_limit: int = 0
    kept_files: int = 0


class SnapshotLog:
    """The ids and times of all snapshots; used under the worktree's lock, blocks, raises StorageError."""

    def __init__(self, path: str, *, files: FileSystem | None = None) -> None:
        self._path = path
        self._files = files or FileSystem()

    def add(self, name: str, time: int) -> None:
        """Add a snapshot that was made, or made again with the same id, at this time (ms)."""
        try:
            append_line(self._files, self._path, f'["{name}",{time}]\n'.encode())
        except OSError as error:
            raise storage_error(error, "write", self._path) from error

    def read(self) -> dict[str, int]:
        """Return the last time of each snapshot; unreadable lines are skipped."""
        try:
            data = self._files.read_whole(self._path)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise storage_error(error, "read", self._path) from error
        times: dict[str, int] = {}
        for line in data.split(b"\n"):
            try:
                name, time = json.loads(line)
                times[str(name)] = int(time)
            except (ValueError, TypeError):  # damaged, or the end of an unfinished write
                continue
        return times

    def keep_only(self, names: Iterable[str]) -> None:
        """Delete all other snapshots from the log."""
        times = self.read()
        content = "".join(f'["{name}",{times[name]}]\n' for name in names if name in times)
        try:
            AtomicWriter(self._files).write(self._path, content.encode())
        except OSError as error:
            raise storage_error(error, "write", self._path) from error


def usage_of(store: ObjectStore, paths: StorePaths, settings: SnapshotSettings) -> Usage:
    """Return the disk usage of a store; raises StorageError."""
    times = SnapshotLog(paths.log).read()
    oldest, kept = min(times.values(), default=None), store.kept.sizes()
    return Usage(
        str(paths.folder),
        store.size(),
        settings.bytes,
        len(times),
        oldest,
        kept=sum(kept.values()),
        kept_limit=settings.keep_bytes,
        kept_files=len(kept),
    )


def clean(store: ObjectStore, paths: StorePaths, *, before: int, keep: Iterable[str]) -> None:
    """Delete the snapshots last logged before a time (ms), except those in `keep`, and merge small packs.

    Needs the lock. A snapshot that is damaged is dropped; nothing is deleted when one cannot be read now. Raises SnapshotError
    without a log, SnapshotUnreadableError, StorageError.
    """
    wanted, needed = _choose(store, paths, before, keep)
    repack(store, needed)
    store.kept.keep_only({name.hex() for name in needed})
    SnapshotLog(paths.log).keep_only(sorted(wanted))


def left_by_clean(
    store: ObjectStore, paths: StorePaths, settings: SnapshotSettings, *, before: int, keep: Iterable[str]
) -> Usage:
    """Return the usage that `clean` would leave, the bytes estimated; arguments and errors as for `clean`."""
    wanted, needed = _choose(store, paths, before, keep)
    oldest = min((time for name, time in SnapshotLog(paths.log).read().items() if name in wanted), default=None)
    size = min(store.size(), store.size_of(needed))
    kept = [size for name, size in store.kept.sizes().items() if bytes.fromhex(name) in needed]
    return Usage(
        str(paths.folder),
        size,
        settings.bytes,
        len(wanted),
        oldest,
        kept=sum(kept),
        kept_limit=settings.keep_bytes,
        kept_files=len(kept),
    )


def _choose(store: ObjectStore, paths: StorePaths, before: int, keep: Iterable[str]) -> tuple[set[str], set[bytes]]:
    """Return the snapshots to keep, and the objects that they need."""
    times = SnapshotLog(paths.log).read()
    if not times and store.pack_sizes():
        raise SnapshotError(
            f"{paths.log} is lost, so the age of the snapshots is unknown; remove {paths.folder} to delete them all"
        )
    wanted = {name for name, time in times.items() if time >= before} | set(keep)
    needed: set[bytes] = set()
    for name in sorted(wanted):
        try:
            _mark(store, name, needed)
        except SnapshotUnreadableError:  # it may be whole
            raise
        except (SnapshotError, ValueError):
            wanted.discard(name)
    return wanted, needed


def _mark(store: ObjectStore, tree: str, needed: set[bytes]) -> None:
    """Add the objects of a tree to `needed`; raises SnapshotError, with nothing added, when one of its trees is damaged."""
    found: set[bytes] = set()
    pending = [tree]
    while pending:
        tree = pending.pop()
        name = bytes.fromhex(tree)
        if name in needed or name in found:
            continue
        found.add(name)
        for mode, inner in store.tree(tree).values():
            if mode == FOLDER:
                pending.append(inner)
            else:
                found.add(bytes.fromhex(inner))
    needed |= found
