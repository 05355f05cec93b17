"""Encodes pixels with a palette as sixels: columns of six pixels, a color at a time."""

import re
from collections.abc import Sequence

_BAND = 6
_REPEATED = re.compile(rb"(.)\1{3,}", re.DOTALL)
_PLUS_63 = bytes((value + 63) % 256 for value in range(256))


def encode(pixels: bytes, width: int, palette: Sequence[tuple[int, int, int]]) -> str:
    """Return rows of pixels as one sixel image; each byte is the number of a color, and the rows are `width` wide."""
    height = len(pixels) // width
    used = sorted(set(pixels))
    colors = "".join(f"#{one};2;" + ";".join(str(part * 100 // 255) for part in palette[one]) for one in used)
    bands = [_band(pixels[at * width : (at + _BAND) * width], width) for at in range(0, height, _BAND)]
    return f'\x1bP0;1;0q"1;1;{width};{height}{colors}{"-".join(bands)}\x1b\\'


def _band(pixels: bytes, width: int) -> str:
    rows = [pixels[at : at + width] for at in range(0, len(pixels), width)]
    drawn: list[str] = []
    for color in sorted(set(pixels)):
        bits = 0
        for number, row in enumerate(rows):
            table = bytearray(256)
            table[color] = 1 << number
            bits |= int.from_bytes(row.translate(table), "big")
        sixels = bits.to_bytes(width, "big").translate(_PLUS_63)
        drawn.append(f"#{color}" + _REPEATED.sub(_repeat, sixels).decode("ascii"))
    return "$".join(drawn)


def _repeat(found: re.Match[bytes]) -> bytes:
    return b"!%d%s" % (len(found[0]), found[1])
