"""Paths of files in records, also those that are not UTF-8.

In memory each byte that is no UTF-8 is a lone surrogate, as `os.fsdecode` gives it. JSON cannot hold that; there it is a NUL and two
hexadecimal digits (`"bad\\u0000ff.txt"`). No path has a NUL of its own, so nothing else is ever written like that.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, PlainSerializer

_BYTE = re.compile("[\udc80-\udcff]")
_WRITTEN = re.compile("\0([89a-f][0-9a-f])")


def write_path(path: str) -> str:
    """Return a path as JSON holds it; any other text comes back as it is."""
    return path if path.isascii() else _BYTE.sub(lambda match: f"\0{ord(match[0]) - 0xDC00:02x}", path)


def read_path(text: str) -> str:
    """Return the path that `write_path` wrote."""
    return text if "\0" not in text else _WRITTEN.sub(lambda match: chr(0xDC00 + int(match[1], 16)), text)


FilePath = Annotated[str, AfterValidator(read_path), PlainSerializer(write_path, return_type=str)]
"""A path in a record."""
