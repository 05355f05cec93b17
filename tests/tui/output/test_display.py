"""What is drawn of a screen: every cell as Textual draws it, and no row that is covered."""

import random

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from opencode_tui.tui.output.display import LineScreen

COLUMNS, ROWS = 30, 12
LETTERS = "abcdef"


class Letters(Widget):
    """Its own letter in each cell; counts the rows that were drawn."""

    def __init__(self, letter: str, place: Region) -> None:
        super().__init__()
        self.letter = letter
        self.styles.position = "absolute"
        self.styles.offset, self.styles.width, self.styles.height = place.offset, place.width, place.height
        self.styles.layer = letter
        self.drawn = 0

    def render(self) -> str:
        return "\n".join([self.letter * self.size.width] * self.size.height)

    def render_lines(self, crop: Region) -> list[Strip]:
        self.drawn += crop.height
        return super().render_lines(crop)


class Layers(LineScreen[None]):
    """Widgets one above the other; the last is in front."""

    CSS = f"Layers {{ layers: {' '.join(LETTERS)}; overflow: hidden; }}"

    def __init__(self, *places: Region) -> None:
        super().__init__()
        self.widgets = [Letters(letter, place) for letter, place in zip(LETTERS, places, strict=False)]

    def compose(self) -> list[Widget]:
        return [*self.widgets]


def drawn_by_textual(screen: Layers) -> list[Strip]:
    """Return the rows as Textual's own compositor draws this layout."""
    compositor = Compositor()
    vars(compositor).update(vars(screen._compositor))
    return compositor.render_strips()


@pytest.mark.fast_cases("1", "2")
@pytest.mark.parametrize("seed", range(30))
async def test_every_cell_is_as_textual_draws_it(seed: int) -> None:
    dice = random.Random(seed)
    places = [
        Region(dice.randint(-4, COLUMNS), dice.randint(-3, ROWS), dice.randint(1, COLUMNS), dice.randint(1, ROWS))
        for _ in range(dice.randint(1, len(LETTERS)))
    ]
    async with App[None]().run_test(size=(COLUMNS, ROWS)) as pilot:
        screen = Layers(*places)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        rows = screen._compositor.render_strips()
        assert [row.text for row in rows] == [row.text for row in drawn_by_textual(screen)]
        assert len(rows) == ROWS


@pytest.mark.parametrize(
    ("front", "rows"),
    [
        (Region(0, 0, COLUMNS, ROWS), 0),
        (Region(0, 0, COLUMNS, ROWS - 5), 5),
        (Region(0, 3, COLUMNS, 2), ROWS - 2),
        (Region(1, 0, COLUMNS - 1, ROWS), ROWS),
    ],
    ids=["all", "top", "middle", "not the first column"],
)
async def test_a_row_behind_other_widgets_is_not_drawn(front: Region, rows: int) -> None:
    async with App[None]().run_test(size=(COLUMNS, ROWS)) as pilot:
        screen = Layers(Region(0, 0, COLUMNS, ROWS), front)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        behind = screen.widgets[0]
        behind.drawn = 0
        screen._compositor.render_strips()
        assert behind.drawn == rows


class Short(Letters):
    """Draws four rows, and so many columns of them, as a widget that was made larger and is not yet arranged."""

    columns = COLUMNS

    def render_lines(self, crop: Region) -> list[Strip]:
        return [row.crop(0, self.columns) for row in super().render_lines(crop)[:4]]


@pytest.mark.parametrize(("columns", "letter"), [(COLUMNS, "b"), (10, "a")])
async def test_what_a_widget_leaves_out_is_that_of_the_widget_behind_it(columns: int, letter: str) -> None:
    async with App[None]().run_test(size=(COLUMNS, ROWS)) as pilot:
        screen, short = Layers(Region(0, 0, COLUMNS, ROWS)), Short("b", Region(0, 0, COLUMNS, ROWS))
        short.columns = columns
        screen.widgets.append(short)
        await pilot.app.push_screen(screen)
        await pilot.pause()
        rows = [row.text for row in screen._compositor.render_strips()]
        assert rows == [letter * COLUMNS] * 4 + ["a" * COLUMNS] * (ROWS - 4)
        assert rows == [row.text for row in drawn_by_textual(screen)]


async def test_rows_are_drawn_once_nothing_covers_them() -> None:
    async with App[None]().run_test(size=(COLUMNS, ROWS)) as pilot:
        screen = Layers(Region(0, 0, COLUMNS, ROWS), Region(0, 0, COLUMNS, ROWS))
        await pilot.app.push_screen(screen)
        await pilot.pause()
        assert {row.text for row in screen._compositor.render_strips()} == {"b" * COLUMNS}
        screen.widgets[1].display = False
        await pilot.pause()
        assert {row.text for row in screen._compositor.render_strips()} == {"a" * COLUMNS}
