"""Reading one record: its bytes, or an error that says what is wrong with it."""

import errno
import json

from pydantic_core import from_json

from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.storage.files import FileSystem

_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "your disk quota is used up; free some space",
    errno.EACCES: "access is refused; make it yours and accessible (chmod u+rwX)",
    errno.EPERM: "it is not permitted; make it yours and accessible (chmod u+rwX)",
    errno.EROFS: "the file system is read-only; set XDG_DATA_HOME to a folder that can be written",
    errno.EIO: "the disk reports an error; check the disk and keep a copy of the folder",
    errno.EMFILE: "too many files are open; raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; end some programs",
    errno.ENOSYS: "this file system has no locks; set XDG_DATA_HOME to a folder on a local disk",
    errno.ENOLCK: "this file system has no locks; set XDG_DATA_HOME to a folder on a local disk",
    errno.ENOTDIR: "a file stands where a folder should be; move it away",
}


def storage_error(error: OSError, act: str, path: str) -> StorageError:
    """Return our error for a failed file call: `act` is what could not be done, such as "write"."""
    known = _REMEDIES.get(error.errno or 0)
    reason = known or f"{error.strerror or error}; run `opencode-tui doctor`"
    return StorageError(f"cannot {act} {path}: {reason}")


def read_record(files: FileSystem, path: str) -> bytes:
    """Return the bytes of a record, which are UTF-8 JSON.

    Raises NotFoundError, CorruptRecordError (empty, no JSON, a folder in its place), or StorageError when the disk refuses.
    """
    try:
        data = files.read_whole(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no record {path}; it was removed, or its id is wrong") from error
    except IsADirectoryError as error:
        raise CorruptRecordError(path, "a folder stands in its place") from error
    except OSError as error:
        raise storage_error(error, "read", path) from error
    return checked(data, path)


def checked(data: bytes, path: str) -> bytes:
    """Return bytes that hold JSON which every parser of ours takes; raises CorruptRecordError naming `path`."""
    try:
        from_json(data)
    except ValueError:
        return _without_lone_surrogates(data, path)
    return data


def _without_lone_surrogates(data: bytes, path: str) -> bytes:
    """Return JSON with halves of surrogate pairs replaced: OpenCode writes them, strict parsers refuse them."""
    if not data.strip(b"\0 \t\r\n"):
        raise CorruptRecordError(path, "it is empty")
    try:
        value = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise CorruptRecordError(path, f"it is not JSON: {error}") from error
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
