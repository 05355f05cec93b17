"""A picture's rows are written where its cells are, and are gone where these are not."""

import re

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from textual.strip import Strip

from opencode_tui.tui.output.painter import Abilities, Frame, Painter, Row, cells_of
from opencode_tui.tui.output.pictures import CLEAR_ALL, KittyStrips, Shown, SixelStrips, clear_row, token_row

COLUMNS, ROWS = 20, 8


class Screen:
    """A painter and what it wrote."""

    def __init__(self, *, is_kitty: bool) -> None:
        self.shown = Shown()
        self.shown.is_kitty = is_kitty
        kitty = KittyStrips(3, b"png", (40, 60), (4, 3))
        self.shown.put(3, kitty if is_kitty else SixelStrips(["\x1bPq0\x1b\\", "\x1bPq1\x1b\\", "\x1bPq2\x1b\\"], 4))
        self.painter = Painter(Abilities(), self.shown)

    def paint(self, *lines: str) -> str:
        sent: list[str] = []
        rows = [self.row(line) for line in [*lines, *[""] * (ROWS - len(lines))]]

        def send(text: str) -> bool:
            sent.append(text)
            return True

        self.painter.paint(Frame(rows, (0, 7)), send)
        return "".join(sent)

    @staticmethod
    def row(line: str) -> Row:
        return cells_of(Strip([Segment(line)]).adjust_cell_length(COLUMNS), ColorSystem.TRUECOLOR)


def placed(text: str) -> list[tuple[int, str]]:
    """Return the row and the source rectangle of each placement."""
    found = re.findall(r"\x1b\[(\d+);\d+H\x1b_Ga=p,[^,]*,q=2,C=1,c=(\d+),r=1,(x=\d+,y=\d+)", text)
    return [(int(row), f"{cells} {part}") for row, cells, part in found]


PICTURE = [token_row(3, row, 4) for row in range(3)]


def test_kitty_gets_the_data_once_and_a_placement_per_row() -> None:
    screen = Screen(is_kitty=True)
    first = screen.paint("a", *PICTURE)
    assert first.count("a=t,") == 1
    assert sorted(placed(first)) == [(2, "4 x=0,y=0"), (3, "4 x=0,y=20"), (4, "4 x=0,y=40")]
    assert "\U0010eeee" not in first
    moved = screen.paint(*PICTURE)
    assert "a=t," not in moved
    assert sorted(placed(moved)) == [(1, "4 x=0,y=0"), (2, "4 x=0,y=20"), (3, "4 x=0,y=40")]
    assert all(clear_row(y) in moved for y in (1, 2, 3))
    assert screen.paint(*PICTURE, "more") == "\x1b[4Hmore\x1b[8;1H"


def test_a_picture_that_is_covered_in_part_shows_the_rest() -> None:
    screen = Screen(is_kitty=True)
    screen.paint(*PICTURE)
    covered = screen.paint(PICTURE[0][:4] + "│x" + PICTURE[0][12:], *PICTURE[1:])
    assert placed(covered) == [(1, "1 x=0,y=0"), (1, "1 x=30,y=0")]
    assert clear_row(0) in covered
    gone = screen.paint("", "", "")
    assert all(clear_row(y) in gone for y in range(3)) and not placed(gone)


def test_after_another_program_wrote_the_data_is_sent_again() -> None:
    screen = Screen(is_kitty=True)
    screen.paint(*PICTURE)
    screen.painter.reset()
    again = screen.paint(*PICTURE)
    assert again.count("a=t,") == 1 and CLEAR_ALL in again


@pytest.mark.parametrize("last", [0, 7])
def test_sixels_are_written_below_each_other_but_not_in_the_last_row(last: int) -> None:
    screen = Screen(is_kitty=False)
    lines = ["", *PICTURE] if not last else [*[""] * 5, *PICTURE]
    written = screen.paint(*lines)
    rows = [int(number) for number in re.findall(r"\x1bPq(\d)\x1b", written)]
    assert sorted(rows) == ([0, 1, 2] if not last else [0, 1])
    assert "_G" not in written


def test_a_sixel_row_that_is_covered_in_part_is_left_out() -> None:
    screen = Screen(is_kitty=False)
    screen.paint(*PICTURE)
    covered = screen.paint("", PICTURE[1][4:], PICTURE[2])
    assert "\x1bPq" not in covered.replace("\x1bPq2", "")


def test_a_number_of_no_picture_is_blank() -> None:
    screen = Screen(is_kitty=True)
    assert "_Ga=p" not in screen.paint(token_row(9, 0, 4))


def test_rows_without_pictures_still_scroll() -> None:
    screen = Screen(is_kitty=True)
    lines = [f"line {number} of the text" for number in range(ROWS)]
    screen.paint(*lines)
    assert "\x1b[r" in screen.paint(*lines[1:], "the last one")
