"""Checks the hits of a search: ripgrep opens files by their paths, which a command may lead elsewhere during the search.

A hit counts when the searched folder has that line, opened without following a link.
"""

import codecs
import os
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from opencode_tui.storage.safe_folder import Disk

LINE_LENGTH = 2_000
"""Longer lines are cut: at this many bytes by a search, at this many characters by the grep tool.

Source: docs/internals/tools.md#grep.
"""
CUT_MARK = " [... "
"""Begins what ripgrep writes in place of the rest of a long line."""
_CHUNK_BYTES = 1 << 20
_KEPT_BYTES = 1 << 20
"""Bytes of a line that are compared: a record of a search is not longer."""
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

Hit = tuple[str, int, str]
"""The path below the searched folder, the number of the line from 1, the text as it was printed."""


def confirmed(root: Path, hits: Sequence[Hit]) -> list[bool]:
    """Return for each hit whether the file below `root`, a real path, has the line; blocks."""
    wanted: dict[str, dict[int, str]] = {}
    for path, number, text in hits:
        wanted.setdefault(path, {})[number] = text
    there = {path: _lines_there(root, path, lines) for path, lines in wanted.items()}
    return [number in there[path] for path, number, _ in hits]


def _lines_there(root: Path, path: str, wanted: dict[int, str]) -> set[int]:
    """Return the numbers of the wanted lines that a file has; none when it cannot be opened without following a link."""
    found: set[int] = set()
    last = max(wanted)
    try:
        with _opened(root, path) as descriptor:
            for number, line in _numbered(descriptor, wanted):
                if _is_printed(line, wanted[number].removeprefix("\ufeff" if number == 1 else "")):
                    found.add(number)
                if number == last:
                    break
    except OSError:
        # It was replaced or deleted since it was searched.
        return found
    return found


@contextmanager
def _opened(root: Path, path: str) -> Generator[int]:
    folder, _, name = path.rpartition("/")
    with Disk(str(root)).open(folder) as opened:
        descriptor = opened.open_to_read(name)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _numbered(descriptor: int, wanted: dict[int, str]) -> Iterator[tuple[int, str]]:
    """Yield the wanted lines of a regular file, with their numbers."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return
    number = 1
    held = b""
    for chunk in _as_utf8(descriptor):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            if number in wanted:
                yield number, _text(held + line, number)
            held = b""
            number += 1
        held = (held + rest)[:_KEPT_BYTES]
    if number in wanted:
        yield number, _text(held, number)


def _as_utf8(descriptor: int) -> Iterator[bytes]:
    """Yield the content in pieces; UTF-16 with its mark is converted, as ripgrep does."""
    chunk = os.read(descriptor, _CHUNK_BYTES)
    decoder = codecs.getincrementaldecoder("utf-16")("replace") if chunk.startswith(_WIDE) else None
    while chunk:
        yield chunk if decoder is None else decoder.decode(chunk).encode("utf-8", "replace")
        chunk = os.read(descriptor, _CHUNK_BYTES)


def _text(line: bytes, number: int) -> str:
    bare = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
    return bare.decode("utf-8", "replace").rstrip("\r")


def _is_printed(line: str, printed: str) -> bool:
    """Return whether a search prints a line like this; a long line may be cut."""
    if line == printed:
        return True
    if len(line.encode("utf-8", "replace")) <= LINE_LENGTH:
        return False
    shown = printed.rpartition(CUT_MARK)[0] or printed
    return line.startswith(shown.rstrip("\ufffd"))
