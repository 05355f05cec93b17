"""A drawn screen: every cell where it stood, whatever font draws it."""

import re

from rich.segment import Segment
from rich.style import Style

from tests.support.terminal.screen_svg import CELL, draw


def test_letters_stand_at_their_cells_and_their_width_is_told() -> None:
    drawn = draw([[Segment("ab   日本 c")]], columns=10, text="#ffffff", back_color="#000000")
    assert re.findall(r'x="(\d+)" y="[^"]*" textLength="(\d+)"[^>]*>([^<]*)<', drawn) == [
        ("0", str(2 * CELL), "ab"),
        (str(5 * CELL), str(6 * CELL), "日本\u00a0c"),
    ]


def test_a_tone_fills_its_cells_and_a_bar_the_height_of_the_row() -> None:
    drawn = draw(
        [[Segment("▎ <", Style(color="#ff0000", bgcolor="#00ff00"))]], columns=3, text="#fff", back_color="#000"
    )
    assert f'width="{3 * CELL}" height="20" fill="#00ff00"' in drawn
    assert f'width="{CELL / 4:g}" height="20" fill="#ff0000"' in drawn
    assert "&lt;" in drawn
