"""Reading one record: its bytes, or an error with the reason."""

import errno
import json

from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.json_text import JsonError, decode_json
from opencode_tui.schema.system_error import meaning_of
from opencode_tui.storage.files import FileSystem

_REMEDIES = {
    errno.EROFS: "the file system is read-only; set XDG_DATA_HOME to a folder that can be written",
    errno.ENOSYS: "this file system has no locks; set XDG_DATA_HOME to a folder on a local disk",
    errno.ENOLCK: "this file system has no locks; set XDG_DATA_HOME to a folder on a local disk",
}
"""What helps with a file of the store in particular."""


_OF_THE_FILE = frozenset(
    {
        errno.EACCES,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EPERM,
    }
)
"""Errors that are a state of the file, such as a missing permission; all others may be of the disk or of this process."""


def storage_error(error: OSError, action: str, path: str) -> StorageError:
    """Return our error for a failed system call; `action` is what failed, such as "write"."""
    cause, remedy = meaning_of(error)
    reason = _REMEDIES.get(error.errno or 0) or f"{cause}; {remedy or 'run `opencode-tui doctor`'}"
    failure = StorageError(f"cannot {action} {path}: {reason}")
    failure.__cause__ = error
    return failure


def is_unknown(failure: StorageError) -> bool:
    """Return whether a failed read says nothing about the record: the same read may succeed at the next moment."""
    return isinstance(failure.__cause__, OSError) and failure.__cause__.errno not in _OF_THE_FILE


def read_record(files: FileSystem, path: str) -> bytes:
    """Return the bytes of a record, which are UTF-8 JSON.

    Raises NotFoundError, CorruptRecordError (empty, not JSON, a folder in its place), or StorageError.
    """
    return checked(read_unchecked(files, path), path)


def read_unchecked(files: FileSystem, path: str) -> bytes:
    """Return the bytes of a record, for a reader that calls `checked` with those that it rejects. Raises as `read_record`."""
    try:
        return files.read_whole(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"record {path} not found; it was removed, or its id is wrong") from error
    except IsADirectoryError as error:
        raise CorruptRecordError(path, "a folder is in its place") from error
    except OSError as error:
        raise storage_error(error, "read", path) from error


def checked(data: bytes, path: str) -> bytes:
    """Return bytes of JSON that every parser of ours accepts; raises CorruptRecordError with `path`."""
    try:
        decode_json(data)
    except JsonError:
        return _without_lone_surrogates(data, path)
    return data


def _without_lone_surrogates(data: bytes, path: str) -> bytes:
    """Return JSON with unpaired surrogates replaced: OpenCode writes them, strict parsers reject them."""
    if not data.strip(b"\0 \t\r\n"):
        raise CorruptRecordError(path, "it is empty")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptRecordError(path, f"it is not JSON: {error}") from error
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
