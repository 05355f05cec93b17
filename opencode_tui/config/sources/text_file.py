"""Reading of small text files with a size limit, without blocking on a pipe, a device or a folder."""

import codecs
import os
import stat

MAX_BYTES = 1 << 20
"""Most bytes of a settings file, or of a file in `{file:…}`."""

_CHUNK = 1 << 20
_PEEKED = 64
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class UnreadableFileError(Exception):
    """The file cannot be used; the message has the reason and the remedy, without its name."""


def read_text(path: str) -> str:
    """Return the text of a regular UTF-8 file, without a byte order mark, line ends unchanged. Blocks.

    Raises FileNotFoundError for a missing file, UnreadableFileError for any other problem.
    """
    data = read_bytes(path)
    if data.startswith(_UTF16) or data[1:_PEEKED:2].count(0) >= max(2, len(data[:_PEEKED]) // 4):
        raise UnreadableFileError("the encoding is UTF-16, save the file as UTF-8")
    if b"\0" in data:
        raise UnreadableFileError(f"a NUL byte (byte {data.index(0)}); save the file as text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"the encoding is not UTF-8 (byte {error.start}), save the file as UTF-8") from None


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes. Raises the same errors as `read_text`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except FileNotFoundError:
        if os.path.islink(path):
            raise UnreadableFileError("broken symlink; remove or repair it") from None
        raise
    except (OSError, ValueError) as error:
        raise UnreadableFileError(_explain(error)) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFileError(f"{_kind(status.st_mode)}, not a regular file; move it away")
        data = b"" if status.st_size > limit else _read(descriptor, limit + 1)
    except OSError as error:
        raise UnreadableFileError(_explain(error)) from None
    finally:
        os.close(descriptor)
    if max(status.st_size, len(data)) > limit:  # some files of /proc report size 0
        raise UnreadableFileError(f"too large, at most {limit // 1024} KiB are read; make it smaller")
    return data


def _read(descriptor: int, size: int) -> bytes:
    pieces: list[bytes] = []
    while size > 0 and (piece := os.read(descriptor, min(size, _CHUNK))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _explain(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"cannot be read ({reason}); check the name, the kind of file and its mode"


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for test, name in kinds if test(mode)), "a device")
