"""The type and size of a picture by its first bytes, before anything of it is decoded."""

import struct
from typing import NamedTuple


class Header(NamedTuple):
    """What a picture says of itself; `kind` is Pillow's name of the format."""

    kind: str
    width: int
    height: int


_START_OF_FRAME = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def read_header(data: bytes) -> Header | None:
    """Return the header of a PNG, JPEG, GIF, WebP or BMP; None for anything else, and where it is cut off."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return Header("PNG", *struct.unpack_from(">II", data, 16))
        if data[:6] in (b"GIF87a", b"GIF89a"):
            return Header("GIF", *struct.unpack_from("<HH", data, 6))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data[:2] == b"BM":
            width, height = struct.unpack_from("<ii", data, 18)
            return Header("BMP", abs(width), abs(height))
    except (struct.error, IndexError):
        return None
    return None


def _jpeg(data: bytes) -> Header | None:
    at = 2
    while data[at] == 0xFF:
        mark = data[at + 1]
        if mark in _START_OF_FRAME:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Header("JPEG", width, height)
        if mark == 0xFF:
            at += 1
            continue
        (size,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + size
    return None


def _webp(data: bytes) -> Header | None:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", data, 21)
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = (size & 0x3FFF for size in struct.unpack_from("<HH", data, 26))
        case _:
            return None
    return Header("WEBP", width, height)
