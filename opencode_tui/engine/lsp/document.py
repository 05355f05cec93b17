"""Documents as language servers know them: versions, whole texts, positions in UTF-8 or UTF-16 units."""

import os
import stat
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.safe_folder import open_folder

Encoding = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which a server counts characters."""

MAX_BYTES = 2 * 1024 * 1024
"""Files with more bytes are not opened in servers."""


class Document:
    """An open document: its text as the server has it, and the state of the file that it was read from."""

    def __init__(self, path: Path, language: str, text: str, stamp: tuple[int, int] | None) -> None:
        self.path = path
        self.uri = path.as_uri()
        self.language = language
        self.text = text
        self.stamp = stamp
        self.version = 0

    @property
    def item(self) -> JsonObject:
        """The parameter of `textDocument/didOpen`."""
        return {"uri": self.uri, "languageId": self.language, "version": self.version, "text": self.text}

    def change(self, text: str, stamp: tuple[int, int] | None) -> JsonObject:
        """Replace the text; return the parameters of `textDocument/didChange`."""
        self.text, self.stamp = text, stamp
        self.version += 1
        return {"textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": [{"text": text}]}


def read_text(path: Path) -> tuple[str, tuple[int, int]] | None:
    """Return the text of a file at a real path and its stamp (time, size); None when it is gone, large or binary. Blocks."""
    try:
        with open_folder(path.parent) as folder:
            data, status = folder.read(path.name, MAX_BYTES)
    except OSError:
        return None
    if status.st_size > MAX_BYTES or not stat.S_ISREG(status.st_mode) or b"\0" in data[:4096]:
        return None
    return data.decode("utf-8-sig", "replace"), (status.st_mtime_ns, status.st_size)


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Return the stamp of a file, None when it is gone. Blocks."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def sendable(text: str) -> str:
    """Return a text without lone surrogates, which JSON in UTF-8 cannot hold, and without a byte order mark."""
    text = text.removeprefix("\ufeff")
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def path_of(uri: str) -> Path | None:
    """Return the path of a `file:` address, None for any other."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def units(text: str, column: int, encoding: Encoding) -> int:
    """Return how many units the first `column` characters of a line have."""
    head = text[:column]
    if encoding == "utf-32" or head.isascii():
        return len(head)
    return len(head.encode("utf-8" if encoding == "utf-8" else "utf-16-le", "surrogatepass")) // (
        1 if encoding == "utf-8" else 2
    )


def column(text: str, count: int, encoding: Encoding) -> int:
    """Return the character (0-based) of a line at which a server's count of units points; at most the line's length."""
    if encoding == "utf-32" or text.isascii():
        return min(count, len(text))
    used = 0
    for number, character in enumerate(text):
        if used >= count:
            return number
        used += units(character, 1, encoding)
    return len(text)


def position(text: str, line: int, character: int, encoding: Encoding) -> JsonObject:
    """Return the protocol's position for a line and character, both 0-based, in a document's text."""
    lines = text.split("\n")
    content = lines[line] if 0 <= line < len(lines) else ""
    return {"line": max(line, 0), "character": units(content, max(character, 0), encoding)}


def line_of(range_: Any) -> int:
    """Return the first line (0-based) of a range, 0 for another form or a negative one."""
    try:
        line = range_["start"]["line"]
    except (KeyError, TypeError):
        return 0
    return max(line, 0) if isinstance(line, int) else 0
