"""Git packs without deltas: written in one pass, read back and checked one object at a time.

Creating many files is what makes storing slow, so the objects of a scan share packs of up to 32 MiB. No deltas. An id is the
20-byte SHA-1 of an object. Source: git's pack format, version 2; index format, version 2.
"""

import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha1
from typing import Literal

from opencode_tui.storage.files import FileSystem

Kind = Literal["blob", "tree"]

FLUSH_BYTES = 32 * 1024 * 1024
_NUMBERS: dict[Kind, int] = {"tree": 2, "blob": 3}
_KINDS: dict[int, Kind] = {number: kind for kind, number in _NUMBERS.items()}
_ID_HEADS: dict[Kind, bytes] = {"tree": b"tree %d\0", "blob": b"blob %d\0"}
_PACK_HEAD = struct.Struct(">4sII")
_INDEX_HEAD = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256I")
_ID_BYTES = 20
_TABLE_START = len(_INDEX_HEAD) + _FANOUT.size


class DamagedPackError(Exception):
    """A pack does not match its index or its checksums."""


def id_head(kind: Kind, size: int) -> bytes:
    """Return what is hashed before the bytes of an object."""
    return _ID_HEADS[kind] % size


def object_id(kind: Kind, data: bytes) -> bytes:
    """Return the id of an object."""
    return sha1(id_head(kind, len(data)) + data, usedforsecurity=False).digest()


@dataclass(slots=True)
class PackBuilder:
    """Collects the objects of one pack in memory. `level` is zlib's; 0 stores them uncompressed."""

    level: int = 1
    size: int = _PACK_HEAD.size
    _pieces: list[bytes] = field(default_factory=list[bytes])
    _entries: dict[bytes, tuple[int, int]] = field(default_factory=dict[bytes, tuple[int, int]])

    def __contains__(self, name: bytes) -> bool:
        return name in self._entries

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, name: bytes, kind: Kind, data: bytes) -> None:
        """Add an object."""
        self.add_packed(name, _object_head(kind, len(data)) + zlib.compress(data, self.level))

    def add_packed(self, name: bytes, packed: bytes) -> None:
        """Add an object in its packed form."""
        self._entries[name] = (zlib.crc32(packed), self.size)
        self._pieces.append(packed)
        self.size += len(packed)

    def finish(self) -> tuple[str, bytes, bytes]:
        """Return the pack's name, the pack and its index."""
        body = b"".join([_PACK_HEAD.pack(b"PACK", 2, len(self._entries)), *self._pieces])
        sum_ = sha1(body, usedforsecurity=False).digest()
        return sum_.hex(), body + sum_, self._index(sum_)

    def _index(self, pack_sum: bytes) -> bytes:
        names = sorted(self._entries)
        counts = [0] * 256
        for name in names:
            counts[name[0]] += 1
        fanout: list[int] = []
        total = 0
        for count in counts:
            total += count
            fanout.append(total)
        sums, offsets = zip(*(self._entries[name] for name in names), strict=True)
        table = struct.Struct(f">{len(names)}I")
        content = b"".join(
            [_INDEX_HEAD, _FANOUT.pack(*fanout), *names, table.pack(*sums), table.pack(*offsets), pack_sum]
        )
        return content + sha1(content, usedforsecurity=False).digest()


@lru_cache(maxsize=4096)
def _object_head(kind: Kind, size: int) -> bytes:
    byte = _NUMBERS[kind] << 4 | size & 15
    size >>= 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    head.append(byte)
    return bytes(head)


class Pack:
    """One pack and its index; raises DamagedPackError if they are incomplete, and OSError."""

    def __init__(self, index_path: str, files: FileSystem) -> None:
        self._files = files
        self.path = index_path.removesuffix(".idx") + ".pack"
        self._index = files.read_whole(index_path)
        self._check_index(index_path)
        self._fanout = _FANOUT.unpack_from(self._index, len(_INDEX_HEAD))
        self._count = self._fanout[255]
        self._offset_start = _TABLE_START + self._count * (_ID_BYTES + 4)
        self._check_length(index_path)
        self.size = self._check_pack()
        self._ends: list[int] = []
        self._sorted_names: list[bytes] = []

    def __len__(self) -> int:
        return self._count

    def names(self) -> Iterator[bytes]:
        """Yield the ids of all objects, in order."""
        for start in range(_TABLE_START, _TABLE_START + _ID_BYTES * self._count, _ID_BYTES):
            yield self._index[start : start + _ID_BYTES]

    def find(self, name: bytes) -> int | None:
        """Return the offset of an object, None when the pack has no such object."""
        if not self._sorted_names:
            self._sorted_names = list(self.names())
        first = name[0]
        low = self._fanout[first - 1] if first else 0
        high = self._fanout[first]
        at = bisect_left(self._sorted_names, name, low, high)
        if at == high or self._sorted_names[at] != name:
            return None
        (offset,) = struct.unpack_from(">I", self._index, self._offset_start + 4 * at)
        return int(offset)

    def packed_size(self, offset: int) -> int:
        """Return the packed size of an object in bytes."""
        return self._end_of(offset) - offset

    def read_packed(self, offset: int) -> bytes:
        """Return an object in its packed form."""
        descriptor = self._files.open(self.path, os.O_RDONLY)
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            return self._read_exactly(descriptor, self.packed_size(offset))
        finally:
            self._files.close(descriptor)

    def read(self, name: bytes, offset: int) -> tuple[Kind, bytes]:
        """Return an object's kind and bytes, after comparing them with its id."""
        kind, data = unpack(self.read_packed(offset))
        if object_id(kind, data) != name:
            raise DamagedPackError(f"object {name.hex()} has changed")
        return kind, data

    def check(self) -> None:
        """Read the whole pack and compare it with its checksum."""
        data = self._files.read_whole(self.path)
        if sha1(data[:-_ID_BYTES], usedforsecurity=False).digest() != data[-_ID_BYTES:]:
            raise DamagedPackError(f"{self.path} does not have its sum")

    def _end_of(self, offset: int) -> int:
        if not self._ends:
            table = struct.unpack_from(f">{self._count}I", self._index, self._offset_start)
            self._ends = [*sorted(table), self.size - _ID_BYTES]
        return self._ends[bisect_left(self._ends, offset) + 1]

    def _read_exactly(self, descriptor: int, size: int) -> bytes:
        pieces: list[bytes] = []
        while size > 0:
            data = self._files.read(descriptor, size)
            if not data:
                raise DamagedPackError(f"{self.path} ends too early")
            pieces.append(data)
            size -= len(data)
        return b"".join(pieces)

    def _check_index(self, path: str) -> None:
        content, sum_ = self._index[:-_ID_BYTES], self._index[-_ID_BYTES:]
        is_whole = len(content) > _TABLE_START and content.startswith(_INDEX_HEAD)
        if not is_whole or sha1(content, usedforsecurity=False).digest() != sum_:
            raise DamagedPackError(f"{path} is damaged")

    def _check_length(self, path: str) -> None:
        if len(self._index) != self._offset_start + 4 * self._count + 2 * _ID_BYTES:
            raise DamagedPackError(f"{path} has a wrong length")

    def _check_pack(self) -> int:
        """Return the pack's size, after checking its header and trailer."""
        descriptor = self._files.open(self.path, os.O_RDONLY)
        try:
            head = self._read_exactly(descriptor, _PACK_HEAD.size)
            size = os.lseek(descriptor, -_ID_BYTES, os.SEEK_END) + _ID_BYTES
            tail = self._read_exactly(descriptor, _ID_BYTES)
        finally:
            self._files.close(descriptor)
        if head != _PACK_HEAD.pack(b"PACK", 2, self._count) or tail != self._index[-2 * _ID_BYTES : -_ID_BYTES]:
            raise DamagedPackError(f"{self.path} is not the pack of its index")
        return size


def unpack(packed: bytes) -> tuple[Kind, bytes]:
    """Return kind and bytes of a packed object; raises DamagedPackError."""
    at = 0
    while packed[at] & 0x80:
        at += 1
        if at == len(packed):
            raise DamagedPackError("an object has no length")
    kind = _KINDS.get(packed[0] >> 4 & 7)
    if kind is None:
        raise DamagedPackError("an object is of a kind that is never written")
    try:
        return kind, zlib.decompress(memoryview(packed)[at + 1 :])
    except zlib.error as error:
        raise DamagedPackError(f"an object cannot be unpacked: {error}") from error
