"""Reads a stretch of a file's lines without holding the file: memory stays bounded however long the file or a line is.

Blocks: call it in a thread; it looks at the stop event at least every 64 KiB.
"""

import os
import stat
import threading
from io import TextIOWrapper
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.tool.folder import open_folder
from opencode_tui.engine.tool.stage import explain
from opencode_tui.engine.tool.stamps import Stamp, stamp_of
from opencode_tui.engine.tool.text_format import detect, is_binary, presentable
from opencode_tui.engine.tool.truncate import MAX_BYTES
from opencode_tui.schema.error import ToolError

LINE_LIMIT_CHARACTERS = 2_000
MEDIA_LIMIT_BYTES = 20 * 1024 * 1024
_SAMPLE_BYTES = 256 * 1024
_PIECE_CHARACTERS = 64 * 1024
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
)


class Window(Struct, frozen=True):
    """Lines of a file without their ends. `total` counts all lines when the end was reached; `full` tells that bytes ran out."""

    lines: list[str]
    stamp: Stamp
    total: int | None
    full: bool = False


class Media(Struct, frozen=True):
    """An image or document, whole."""

    mime: str
    data: bytes
    stamp: Stamp


class Listing(Struct, frozen=True):
    """A folder's entries in order; sub-folders end in `/`."""

    entries: list[str]


def open_window(path: Path, offset: int, limit: int, stop: threading.Event) -> Window | Media | Listing | None:
    """Return what is at a real path, lines from number `offset` (1-based) on, or None when nothing is there.

    Raises ToolError for what cannot be shown: other binary files, pipes, too large media.
    """
    try:
        with open_folder(path.parent) as folder:
            status = folder.status(path.name) if path.name else os.stat(path)
            if status is None:
                return None
            if not stat.S_ISDIR(status.st_mode):
                return _read_file(folder.open_to_read(path.name), path, (offset, limit), stop)
        with open_folder(path) as folder:
            return Listing(sorted(presentable(name) for name in folder.entries()))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error


def _read_file(descriptor: int, path: Path, lines: tuple[int, int], stop: threading.Event) -> Window | Media:
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{path} is a pipe, socket or device, not a file; it cannot be read")
        sample = file.read(_SAMPLE_BYTES)
        mime = media_type(sample)
        if mime is not None:
            if status.st_size > MEDIA_LIMIT_BYTES:
                raise ToolError(
                    f"{path} is a {mime} of {status.st_size} bytes, more than the {MEDIA_LIMIT_BYTES} that can be attached"
                )
            return Media(mime, sample + file.read(MEDIA_LIMIT_BYTES), stamp_of(status))
        if is_binary(sample):
            raise ToolError(
                f"{path} is a binary file of {status.st_size} bytes; look at it with a fitting program through bash"
            )
        found = detect(sample, is_whole=len(sample) < _SAMPLE_BYTES)
        file.seek(len(found.mark))
        errors = found.errors if found.errors != "strict" else "replace"
        text = TextIOWrapper(file, encoding=found.encoding, errors=errors, newline="\n")
        return _collect(text, lines, stamp_of(status), stop)


def media_type(sample: bytes) -> str | None:
    """Return the type of an image or PDF by its first bytes, or None for anything else."""
    if sample[:4] == b"RIFF" and sample[8:12] == b"WEBP":
        return "image/webp"
    if sample[:2] == b"BM" and not is_binary(sample):
        return None
    return next((mime for magic, mime in _MAGIC if sample.startswith(magic)), None)


def _collect(text: TextIOWrapper, lines: tuple[int, int], stamp: Stamp, stop: threading.Event) -> Window:
    offset, limit = lines
    kept: list[str] = []
    number, used = 0, 0
    while not stop.is_set():
        line = _next_line(text, stop)
        if line is None:
            return Window(kept, stamp, total=number)
        number += 1
        if number < offset:
            continue
        if len(kept) == limit:
            return Window(kept, stamp, total=None)
        used += len(line.encode()) + (1 if kept else 0)
        if used > MAX_BYTES:
            return Window(kept, stamp, total=None, full=True)
        kept.append(line)
    return Window(kept, stamp, total=None)


def _next_line(text: TextIOWrapper, stop: threading.Event) -> str | None:
    """Return the next line, cut when it is over-long, or None at the end."""
    piece = text.readline(_PIECE_CHARACTERS)
    if not piece:
        return None
    line = piece
    while not piece.endswith("\n") and not stop.is_set():
        piece = text.readline(_PIECE_CHARACTERS)
        if not piece:
            break
    line = presentable(line.removesuffix("\n").removesuffix("\r"))
    return line if len(line) <= LINE_LIMIT_CHARACTERS else line[:LINE_LIMIT_CHARACTERS] + "..."
