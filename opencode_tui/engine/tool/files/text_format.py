"""The stored form of a file's text: encoding, byte order mark and line ends, which every edit preserves.

Decoding and encoding are inverse: `encode(decode(data))` gives the same bytes for every file that `decode` accepts.
"""

import codecs
import re
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.schema.error import ToolError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BROKEN_BYTES = range(0xDC80, 0xDD00)
"""The characters by which a text keeps bytes that are not UTF-8."""

_PUNCTUATION = re.compile(rb"[\x80-\x9f]")
_SAMPLE = 4096
_CONTROL_SHARE = 0.3
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b\b")


class TextFormat(Struct, frozen=True):
    """The stored form of a text; `newline` is the line end that most of its lines have, "\\r" where there is no other."""

    encoding: str = "utf-8"
    mark: bytes = b""
    errors: Literal["strict", "surrogateescape"] = "strict"
    newline: Literal["\n", "\r\n", "\r"] = "\n"

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text; raises ToolError when this encoding cannot hold one of its characters."""
        try:
            return self.mark + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            character = text[error.start]
            raise ToolError(
                f"the text holds {character!r}, which {self.encoding} cannot store",
                "use other characters or convert the file to UTF-8 first",
            ) from error

    def end_lines(self, text: str) -> str:
        """Return a text with every line end turned into this format's."""
        plain = text.replace("\r\n", "\n")
        return plain if self.newline == "\n" else plain.replace("\n", self.newline)

    def plain_lines(self, text: str) -> str:
        """Return a text of this format with `\\n` for every line end."""
        return text.replace("\r", "\n") if self.newline == "\r" else text.replace("\r\n", "\n")


def decode(data: bytes) -> tuple[str, TextFormat]:
    """Return a file's text without its mark, line ends as they are, and its format; raises ToolError for binary data."""
    found = detect(data, is_whole=True)
    body = data[len(found.mark) :]
    try:
        text = body.decode(found.encoding, found.errors)
    except UnicodeDecodeError as error:
        raise ToolError(
            f"its bytes are not valid {found.encoding}, as its byte order mark says", "edit it with bash"
        ) from error
    pairs = text.count("\r\n")
    if "\r" in text and "\n" not in text:
        return text, replace(found, newline="\r")
    return text, replace(found, newline="\r\n" if pairs * 2 > text.count("\n") else "\n")


def detect(data: bytes, *, is_whole: bool) -> TextFormat:
    """Return the encoding of a file's beginning, or of all of it; the newline is not detected.

    Bytes that are UTF-8 but for a few keep those through `surrogateescape`. Anything else without a mark is windows-1252 where it
    has punctuation of that, else latin-1, which holds every byte.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return TextFormat(encoding, mark)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, is_whole)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        broken = sum(1 for character in text if "\udc80" <= character <= "\udcff")
        wide = sum(1 for character in text if character > "\x7f") - broken
        return TextFormat("utf-8", errors="surrogateescape") if wide > broken else TextFormat(_single_byte(data))
    return TextFormat()


def _single_byte(data: bytes) -> str:
    """Return windows-1252 for bytes that latin-1 has only control characters for, as for quotation marks; latin-1 without any."""
    if not _PUNCTUATION.search(data):
        return "latin-1"
    try:
        data.decode("windows-1252")
    except UnicodeDecodeError:  # it leaves five bytes open
        return "latin-1"
    return "windows-1252"


def is_binary(sample: bytes) -> bool:
    """Return whether the first bytes of a file are not text: a NUL, or more than 30 % control characters.

    Source: docs/internals/tools.md#read.
    """
    head = sample[:_SAMPLE]
    if not head or any(head.startswith(mark) for mark, _ in _MARKS):
        return False
    if 0 in head:
        return True
    controls = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS)
    return controls > _CONTROL_SHARE * len(head)


def presentable(text: str) -> str:
    """Return a text that can be sent and stored as UTF-8: bytes that were kept through surrogates show as U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
