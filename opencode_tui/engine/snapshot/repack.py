"""Makes few packs of many, and drops the objects that nobody needs. Needs the worktree's lock.

A new pack is whole on the disk before an old one goes: a process that dies in between leaves objects twice, never none.
"""

from collections.abc import Container

from opencode_tui.engine.snapshot.pack import FLUSH_BYTES, PackBuilder
from opencode_tui.engine.snapshot.store import ObjectStore

_MANY_PACKS = 64
_LARGE_PACK_BYTES = 8 * 1024 * 1024


def merge_small(store: ObjectStore) -> None:
    """Merge the small packs when there are many, for each costs a look at every search; raises StorageError."""
    small = [pack for pack in store.packs().values() if pack.size < _LARGE_PACK_BYTES]
    if len(small) > _MANY_PACKS:
        repack(store, None)


def repack(store: ObjectStore, needed: Container[bytes] | None) -> None:
    """Copy what is needed (None: everything) into packs of 32 MiB, and remove each old one as soon as it is copied.

    A large pack of which everything is needed stays. Raises SnapshotError, StorageError.
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
