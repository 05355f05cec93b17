"""The file of a session index, `cache/index/{projectID}.index`, outside the store.

First line: format, the store's folder and a checksum of the rest; then blocks of two lines, a JSON array of file states and one of
the session records that belong to them, by position.
"""

import binascii
import json
import logging

from pydantic import TypeAdapter, ValidationError

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.record_file import storage_error

_FORMAT = "opencode-tui session index 1"
_BLOCK = 500
"""Sessions parsed in a go; in between other threads get their turn."""

_logger = logging.getLogger(__name__)


class IndexFile:
    """Loads and saves the indexes of one store; both block."""

    def __init__(self, files: FileSystem, *, folder: str, root: str) -> None:
        """`root` is the folder of the store: indexes of another one are not used."""
        self._files = files
        self._folder = folder
        self._root = root

    def load(self, project_id: str) -> dict[str, SessionInfo]:
        """Return the sessions by file state; none when the index is missing, damaged, or of another store or version."""
        path = self._path(project_id)
        try:
            head, _, body = self._files.read_whole(path).partition(b"\n")
            return _parse(body) if head == self._head(body) else {}
        except FileNotFoundError:
            return {}
        except OSError as error:
            _logger.warning("the sessions are listed without an index: %s", storage_error(error, "read", path))
            return {}
        except ValidationError:
            _logger.info("the index %s is of another version and is made anew", path)
            return {}

    def save(self, project_id: str, sessions: dict[str, SessionInfo]) -> None:
        """Replace the index; a disk that refuses is told in the log."""
        path = self._path(project_id)
        body = _render(sessions)
        try:
            AtomicWriter(self._files).write(path, self._head(body) + b"\n" + body)
        except OSError as error:
            _logger.warning("the next list of sessions takes longer: %s", storage_error(error, "write", path))

    def _head(self, body: bytes) -> bytes:
        return f"{_FORMAT}\t{self._root}\t{binascii.crc32(body):08x}".encode("utf-8", "surrogateescape")

    def _path(self, project_id: str) -> str:
        return f"{self._folder}/{project_id}.index"


def _parse(body: bytes) -> dict[str, SessionInfo]:
    adapter = TypeAdapter(list[SessionInfo])
    sessions: dict[str, SessionInfo] = {}
    lines = body.split(b"\n") if body else []
    for states, records in zip(lines[::2], lines[1::2], strict=True):
        sessions.update(zip(json.loads(states), adapter.validate_json(records), strict=True))
    return sessions


def _render(sessions: dict[str, SessionInfo]) -> bytes:
    lines: list[str] = []
    states = list(sessions)
    for start in range(0, len(states), _BLOCK):
        block = states[start : start + _BLOCK]
        lines.append(json.dumps(block))
        lines.append(f"[{','.join(sessions[state].model_dump_json(by_alias=True) for state in block)}]")
    return "\n".join(lines).encode()
