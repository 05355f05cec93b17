"""Sixels that are read back are the pixels that were written."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.tui.pictures.sixel import encode

_COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]


def decoded(text: str, width: int, height: int) -> bytes:
    """Return the colors of the pixels of a sixel image, as a terminal draws them."""
    head = re.match(r'\x1bP0;1;0q"1;1;(\d+);(\d+)((?:#\d+;2;\d+;\d+;\d+)*)', text)
    assert head is not None and (int(head[1]), int(head[2])) == (width, height)
    pixels = bytearray(b"\xff" * width * height)
    x = band = color = 0
    for sign, number, count, repeated, sixel in re.findall(
        r"([$-])|#(\d+)|!(\d+)([?-~])|([?-~])", text[head.end() :].removesuffix("\x1b\\")
    ):
        if sign:
            x, band = 0, band + (sign == "-")
        elif number:
            color = int(number)
        else:
            bits, columns = ord(repeated or sixel) - 63, range(x, x + int(count or 1))
            for bit in range(6):
                for column in columns if bits >> bit & 1 else ():
                    pixels[(6 * band + bit) * width + column] = color
            x = columns.stop
    return bytes(pixels)


@pytest.mark.slow
@given(st.integers(1, 30), st.integers(1, 15), st.randoms())
def test_each_pixel_has_its_color(width: int, height: int, random: Random) -> None:
    pixels = bytes(random.randrange(len(_COLORS)) for _ in range(width * height))
    assert decoded(encode(pixels, width, _COLORS), width, height) == pixels


def test_equal_columns_are_counted() -> None:
    assert len(encode(b"\0" * 6000, 1000, _COLORS)) < 60
