"""The listed sessions of a project in a file beside its index, `cache/index/{projectID}.listed`, for those who show all of them.

It is derived from the index and names it by its columns; a file of another index, or a damaged one, is not used.
"""

import binascii
import logging

import msgspec

from opencode_tui.schema.session.session_table import SessionTable
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.record_file import storage_error

_FORMAT = b"opencode-tui listed sessions 1"

_logger = logging.getLogger(__name__)


class ListedFile:
    """Loads and saves the listed sessions of projects. All methods block."""

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store; files of another store are not used."""
        self._files = files
        self._folder = folder
        self._root = root.encode("utf-8", "surrogateescape")

    def load(self, project_id: str, index: bytes) -> SessionTable | None:
        """Return the sessions of the index with these columns, the newest first by (creation, ID); None without them."""
        try:
            head, _, body = self._files.read_whole(self._path(project_id)).partition(b"\n")
            return SessionTable.load(body) if head == self._head(index, body) else None
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            _logger.info("listing sessions by their index: %s", error)
            return None

    def save(self, project_id: str, index: bytes, sessions: SessionTable) -> None:
        """Replace the file. A failure is logged."""
        path, body = self._path(project_id), sessions.dump()
        try:
            AtomicWriter(self._files).write(path, self._head(index, body) + b"\n" + body)
        except OSError as error:
            _logger.warning("the listed sessions were not saved: %s", storage_error(error, "write", path))

    def _head(self, index: bytes, body: bytes) -> bytes:
        checksums = b"%08x %08x" % (binascii.crc32(index), binascii.crc32(body))
        return b"\t".join([_FORMAT, self._root, b"%d" % len(index), checksums])

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.listed"
