"""Type and size of a picture are read from its first bytes; nothing that is cut off or made up raises."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.tui.pictures.header import Header, read_header
from tests.support.rows import each
from tests.support.terminal.pictures import png

_JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc0\x00\x11\x08" + struct.pack(">HH", 200, 320) + b"\x03" * 12


@each(
    ("data", "header"),
    [
        (png(3, 2), Header("PNG", 3, 2)),
        (b"GIF89a" + struct.pack("<HH", 7, 5), Header("GIF", 7, 5)),
        (_JPEG, Header("JPEG", 320, 200)),
        (b"BM" + b"\0" * 16 + struct.pack("<ii", 4, -9), Header("BMP", 4, 9)),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x09\0\0\x04\0\0", Header("WEBP", 10, 5)),
        (b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + struct.pack("<I", 9 | 4 << 14), Header("WEBP", 10, 5)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 10, 5), Header("WEBP", 10, 5)),
        (b"<svg>", None),
        (b"", None),
    ],
)
def test_the_header_names_type_and_size(data: bytes, header: Header | None) -> None:
    assert read_header(data) == header


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"BM", b"RIFF\0\0\0\0WEBPVP8L"]), st.binary())
def test_no_bytes_raise(head: bytes, rest: bytes) -> None:
    read_header(head + rest)
