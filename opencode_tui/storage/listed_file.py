"""The listed sessions of a project in a file beside its index, `cache/index/{projectID}.listed`, for those who show all of them.

It is derived from the index and names it by its mark; a file of another index, or a damaged one, is not used.
"""

import binascii
import logging
import os
import sys
from collections.abc import Iterator, Sequence

from opencode_tui.schema.session.session_table import SessionTable
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.record_file import storage_error

_FORMAT = f"opencode-tui listed sessions 1 {sys.byteorder}".encode()

_HEAD_BYTES = 1 << 16
"""Bytes that are read at first; the first line has fewer."""

_logger = logging.getLogger(__name__)


class ListedFile:
    """Loads and saves the listed sessions of projects. All methods block."""

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store; files of another store are not used."""
        self._files = files
        self._folder = folder
        self._root = root.encode("utf-8", "surrogateescape")

    def load(self, project_id: str, index: str) -> SessionTable | None:
        """Return the sessions of the index with this mark, the newest first by (creation, ID); None without them."""
        try:
            descriptor = self._files.open(self._path(project_id), os.O_RDONLY)
        except OSError:
            return None  # most projects need none; what cannot be read is made again
        try:
            head, _, rest = self._files.read(descriptor, _HEAD_BYTES).partition(b"\n")
            begin, _, numbers = head.rpartition(b"\t")
            if begin != self._head(index):
                return None
            checksum, *sizes = map(int, numbers.split())
            pieces = _Pieces(self._files, descriptor, rest, sizes)
            table = SessionTable.load(iter(pieces))
            return table if pieces.checksum == checksum else None
        except (OSError, ValueError) as error:
            _logger.info("listing sessions by their index: %s", error)
            return None
        finally:
            self._files.close(descriptor)

    def save(self, project_id: str, index: str, sessions: SessionTable) -> None:
        """Replace the file. A failure is logged."""
        path, pieces = self._path(project_id), sessions.dump()
        body = b"".join(pieces)
        numbers = " ".join(map(str, [binascii.crc32(body), *map(len, pieces)])).encode()
        try:
            AtomicWriter(self._files).write(path, self._head(index) + b"\t" + numbers + b"\n" + body)
        except OSError as error:
            _logger.warning("the listed sessions were not saved: %s", storage_error(error, "write", path))

    def _head(self, index: str) -> bytes:
        """Return the first line up to the numbers: the checksum, and the sizes of the pieces in bytes."""
        return b"\t".join([_FORMAT, self._root, index.encode()])

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.listed"


class _Pieces:
    """The pieces of an open file, each read when it is asked for: all may have 20 MB."""

    def __init__(self, files: FileSystem, descriptor: int, rest: bytes, sizes: Sequence[int]) -> None:
        """`rest` is what was read already."""
        self.checksum = 0
        """That of the pieces so far."""
        self._files = files
        self._descriptor = descriptor
        self._rest = rest
        self._sizes = sizes

    def __iter__(self) -> Iterator[bytes]:
        for size in self._sizes:
            piece = self._read(size)
            self.checksum = binascii.crc32(piece, self.checksum)
            yield piece

    def _read(self, size: int) -> bytes:
        found, self._rest = self._rest[:size], self._rest[size:]
        while len(found) < size:
            more = self._files.read(self._descriptor, size - len(found))
            if not more:
                raise ValueError("the file is shorter than it says")
            found = found + more if found else more
        return found
