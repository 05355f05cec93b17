"""Pictures for tests, written without a library."""

import struct
import zlib


def png(width: int, height: int, *, pixel: bytes = b"\xff\x00\x00", said: tuple[int, int] | None = None) -> bytes:
    """Return a PNG in one color; its header says the size `said`, if that is given."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", *(said or (width, height)), 8, 2, 0, 0, 0)
    body = zlib.compress((b"\0" + pixel * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
