"""Paths of files in records, also those that are not UTF-8.

In memory each byte that is not UTF-8 is an unpaired surrogate, as `os.fsdecode` returns it. In JSON, which cannot contain one, it
is a NUL and two hexadecimal digits (`"bad\\u0000ff.txt"`). No path contains a NUL, so this form is unambiguous.
"""

from typing import Annotated

from opencode_tui.schema.field import After, Written

_DIGITS = frozenset("0123456789abcdef")


def write_path(path: str) -> str:
    """Return the JSON form of a path; a path that is UTF-8 is unchanged."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "".join(
            f"\0{ord(character) - 0xDC00:02x}" if "\udc80" <= character <= "\udcff" else character for character in path
        )
    return path


def read_path(text: str) -> str:
    """Return the path that `write_path` wrote."""
    if "\0" not in text:
        return text
    head, *rest = text.split("\0")
    return head + "".join(_byte(piece) for piece in rest)


def _byte(piece: str) -> str:
    """Return the text for a NUL followed by this piece."""
    digits = piece[:2]
    if len(digits) < 2 or not _DIGITS.issuperset(digits) or digits < "80":
        return f"\0{piece}"
    return chr(0xDC00 + int(digits, 16)) + piece[2:]


FilePath = Annotated[str, After(read_path), Written(write_path)]
"""A path in a record."""
