"""Differences written to a terminal leave exactly the cells of a full repaint."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyte.modes import DECAWM
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text.cells import width
from opencode_tui.tui.output.painter import Abilities, Frame, Painter, Row, cells_of
from tests.support.rows import each

COLUMNS, ROWS = 24, 10
_STYLES = [
    Style.parse(words)
    for words in ("", "bold red", "on blue", "green on #102030", "underline", "reverse", "bold underline reverse red")
]
_TEXTS = st.sampled_from(["a", "word ", "  ", " " * 14, "日本", "é", "e\u0301x", "─" * 6, "✓ ok", "ｶ", "한글", "· … │"])
_PIECES = st.lists(st.tuples(_TEXTS, st.sampled_from(_STYLES)), max_size=6)
_LINES = _PIECES.map(lambda pieces: Strip([Segment(text, style) for text, style in pieces]))


def row(strip: Strip, columns: int) -> Row:
    """Return a line's cells, as wide as the screen."""
    return cells_of(strip.adjust_cell_length(columns), ColorSystem.TRUECOLOR)


@dataclass
class Emulator:
    """A terminal that is painted; `stops_after` pieces a frame is interrupted."""

    columns: int
    rows: int
    abilities: Abilities = field(default_factory=Abilities)
    stops_after: int = 1000

    def __post_init__(self) -> None:
        self.painter = Painter(self.abilities)
        self.screen = pyte.Screen(self.columns, self.rows)
        self.screen.reset_mode(DECAWM)
        self.sent: list[str] = []
        self._stream = pyte.Stream(self.screen)

    def send(self, text: str) -> bool:
        self.sent.append(text)
        self._stream.feed(text.replace("\n", "\r\n"))
        return len(self.sent) < self.stops_after

    def paint(self, rows: Sequence[Row], cursor: tuple[int, int] = (0, 0)) -> str:
        self.sent.clear()
        self.painter.paint(Frame(rows, cursor), self.send)
        return "".join(self.sent)

    def cells(self) -> list[list[tuple[object, ...]]]:
        """Return what is seen: the foreground of a blank is not."""
        return [
            [
                (
                    one.data,
                    "" if one.data == " " and not one.reverse else one.fg,
                    one.bg,
                    one.bold,
                    one.underscore,
                    one.reverse,
                )
                for one in (self.screen.buffer[y][x] for x in range(self.columns))
            ]
            for y in range(self.rows)
        ]


def repainted(rows: Sequence[Row]) -> Emulator:
    """Return a new terminal with this screen."""
    emulator = Emulator(len(rows[0].text), len(rows), Abilities(scrolls=False, erases=False, turns_off=False))
    emulator.paint(rows)
    return emulator


def scrolled(rows: list[Strip], top: int, lines: int, new: list[Strip]) -> list[Strip]:
    """Return the rows from `top` on moved up, and new ones below them."""
    return [*rows[:top], *rows[top + lines : -2], *new[: min(lines, len(rows) - 2 - top)], *rows[-2:]][: len(rows)]


@st.composite
def _screens(draw: st.DrawFn) -> list[list[Strip]]:
    rows = [draw(_LINES) for _ in range(ROWS)]
    found = [rows]
    for _ in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["edit", "up", "down"]))
        if kind == "edit":
            for y in draw(st.sets(st.integers(0, ROWS - 1), max_size=4)):
                rows = [*rows[:y], draw(_LINES), *rows[y + 1 :]]
        else:
            lines, top = draw(st.integers(1, 4)), draw(st.integers(0, 2))
            new = [draw(_LINES) for _ in range(lines)]
            rows = scrolled(rows, top, lines, new) if kind == "up" else scrolled(rows[::-1], top, lines, new)[::-1]
        found.append(rows)
    return found


ANY_ABILITIES = st.builds(
    Abilities, scrolls=st.booleans(), erases=st.booleans(), turns_off=st.booleans(), columns=st.booleans()
)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(
    screens=_screens(), abilities=ANY_ABILITIES, widths=st.lists(st.sampled_from([COLUMNS, 17]), min_size=6, max_size=6)
)
def test_any_sequence_of_screens_ends_as_a_full_repaint(
    screens: list[list[Strip]], abilities: Abilities, widths: list[int]
) -> None:
    emulator = Emulator(COLUMNS, ROWS, abilities)
    for number, (lines, columns) in enumerate(zip(screens, widths, strict=False)):
        rows = [row(line, columns) for line in lines]
        if columns != emulator.columns:
            emulator.screen.resize(ROWS, columns)
            emulator.columns = columns
        emulator.paint(rows, (number % columns, number % ROWS))
        assert emulator.cells() == repainted(rows).cells()
        assert (emulator.screen.cursor.x, emulator.screen.cursor.y) == (number % columns, number % ROWS)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(screens=_screens(), stops=st.lists(st.integers(1, 3), min_size=6, max_size=6))
def test_what_an_interrupted_frame_left_out_is_part_of_the_next(screens: list[list[Strip]], stops: list[int]) -> None:
    emulator = Emulator(COLUMNS * 8, ROWS)
    rows: list[Row] = []
    for lines, stop in zip(screens, stops, strict=False):
        emulator.stops_after = stop
        wide = [Strip.join([line] * 7) for line in lines]
        rows = [row(line, COLUMNS * 8) for line in wide]
        emulator.paint(rows)
    emulator.stops_after = 1000
    emulator.paint(rows)
    assert emulator.cells() == repainted(rows).cells()


def lines_of(*texts: str, columns: int = 60) -> list[Row]:
    return [row(Strip([Segment(text)]), columns) for text in texts]


def test_an_unchanged_screen_costs_nothing_until_something_else_is_written() -> None:
    emulator = Emulator(COLUMNS, ROWS)
    rows = [row(Strip([Segment("text")]), COLUMNS)] * ROWS
    emulator.paint(rows, cursor=(4, 2))
    assert emulator.paint([*rows], cursor=(4, 2)) == ""
    assert emulator.paint(rows, cursor=(5, 2)) == "\x1b[3;6H"
    emulator.send(emulator.painter.plain() + "\x1b[H")
    assert emulator.paint(rows, cursor=(5, 2)) == "\x1b[3;6H"
    assert (emulator.screen.cursor.x, emulator.screen.cursor.y) == (5, 2)


def test_a_screen_of_another_width_is_written_whole() -> None:
    emulator = Emulator(30, 2)
    for columns in (24, 30, 24):
        written = emulator.paint([row(Strip([Segment(text)]), columns) for text in ("one", "two")])
        assert "one" in written
        assert "two" in written


def test_only_changed_cells_are_written() -> None:
    emulator = Emulator(60, 2)
    emulator.paint(lines_of("The parser reads each line", "below"))
    written = emulator.paint(lines_of("The parser reads every line", "below"))
    assert written == "\x1b[1;19Hvery line\x1b[1;1H"


def test_scrolled_lines_are_moved_and_not_written_again() -> None:
    emulator = Emulator(60, 12)
    texts = [f"line number {number} of a conversation" for number in range(20)]
    emulator.paint(lines_of(*texts[:11], "status"))
    written = emulator.paint(lines_of(*texts[3:14], "status"))
    assert "number 12" in written and "number 13" in written
    assert "number 5 " not in written and "status" not in written
    assert emulator.cells() == repainted(lines_of(*texts[3:14], "status")).cells()


def test_a_terminal_without_scroll_regions_gets_none() -> None:
    emulator = Emulator(60, 12, Abilities(scrolls=False, erases=False))
    texts = [f"line number {number}" for number in range(20)]
    emulator.paint(lines_of(*texts[:12]))
    written = emulator.paint(lines_of(*texts[1:13]))
    assert re.findall(r"\x1b\[[0-9;]*([A-Za-z])", written)
    assert set(re.findall(r"\x1b\[[0-9;]*([A-Za-z])", written)) == {"H"}
    assert "\n" not in written


def test_the_rows_next_to_the_cursor_come_first() -> None:
    emulator = Emulator(60, 8)
    written = emulator.paint(lines_of(*(f"row {number}" for number in range(8))), (3, 6))
    order = sorted(range(8), key=lambda number: written.index(f"row {number}"))
    assert order[:3] == [6, 5, 7] or order[:3] == [6, 7, 5]
    assert order[-1] == 0


@pytest.mark.parametrize(
    ("changed", "written"),
    [
        ({2: (4, 5), 3: (4, 5)}, "\x1b[4;5Hx\x1b[3;5Hx"),  # the column before is another one
        ({2: (0, 30), 3: (0, 30)}, "\x1b[4H{}\x1b[3H{}"),
        ({2: (30, 31), 3: (0, 30)}, "\x1b[4H{}\x1b[Ax"),
        ({0: (30, 31), 3: (0, 30)}, "\x1b[4H{}\x1b[3Ax"),
        ({3: (30, 31, 38, 39)}, "\x1b[4;31Hx\x1b[7Cx"),
    ],
)
def test_the_shortest_move_leads_to_the_next_cells(changed: dict[int, tuple[int, ...]], written: str) -> None:
    emulator = Emulator(60, 6)
    emulator.paint(lines_of(*["." * 50] * 6))
    texts = ["." * 50] * 6
    for y, spans in changed.items():
        for first, end in zip(spans[::2], spans[1::2], strict=True):
            texts[y] = texts[y][:first] + "x" * (end - first) + texts[y][end:]
    assert emulator.paint(lines_of(*texts), (0, 5)) == written.replace("{}", "x" * 30) + "\x1b[6;1H"
    assert emulator.cells() == repainted(lines_of(*texts)).cells()


@dataclass
class Narrow(Emulator):
    """A terminal that draws symbols in fewer cells than we count."""

    def send(self, text: str) -> bool:
        return super().send(text.replace("日", "x"))


def test_text_after_a_character_of_another_width_keeps_its_column() -> None:
    emulator = Narrow(60, 1)
    emulator.paint(lines_of("日 after"))
    assert emulator.screen.display[0][3:8] == "after"


class Spacing(Emulator):
    """A terminal that draws spacing vowel signs, and what follows a joiner, in cells of their own."""

    def send(self, text: str) -> bool:
        return super().send(re.sub("[\u093e\u093f\u0940\u09be\u0bbe]", "+", text).replace("\u200d", ""))


class Joining(Emulator):
    """A terminal that draws them with the character before them."""

    def send(self, text: str) -> bool:
        return super().send(re.sub("[\u093e\u093f\u0940\u09be\u0bbe]|\u200d[^\x1b]?", "", text))


_INDIC = st.lists(
    st.sampled_from(
        ["हि", "की", "ना", "বা", "க\u0bbe", "लख", "ن\u200d ", " ", "  ", "word", "日", " " * 9, "│", "\u200d", "e\u0301"]
    ),
    max_size=7,
).map(lambda pieces: Strip([Segment("".join(pieces))]))


@each("text", ["हिन्दी में लिखा", "বাংলা ভাষা", "தமிழ் நாடு", "ខ្មែរ", "ශ්‍රී ලංකා", "می\u200dخواهم نوشت"])
def test_no_letter_of_a_word_with_spacing_signs_is_drawn_over(text: str) -> None:
    drawn: list[str] = []
    emulator = Emulator(60, 1)
    emulator.send = lambda text: drawn.append(text) or True
    emulator.paint(lines_of(f"a {text} end"))
    written = re.sub(r"\x1b\[[\d;]*[A-Za-z]| ", "", "".join(drawn))
    assert written == f"a {text} end".replace(" ", "")


@pytest.mark.parametrize("kind", [Spacing, Joining])
@settings(max_examples=60, deadline=None)
@given(screens=st.lists(st.lists(_INDIC, min_size=3, max_size=3), min_size=2, max_size=5), abilities=ANY_ABILITIES)
def test_rows_with_spacing_signs_change_as_a_full_repaint_would(
    kind: type[Emulator], screens: list[list[Strip]], abilities: Abilities
) -> None:
    emulator = kind(COLUMNS, 3, abilities)
    for lines in screens:
        rows = [row(line, COLUMNS) for line in lines]
        emulator.paint(rows)
        fresh = kind(COLUMNS, 3, Abilities(scrolls=False, erases=False, turns_off=False))
        fresh.paint(rows)
        assert emulator.screen.display == fresh.screen.display


def test_what_is_behind_the_gap_after_such_a_word_keeps_its_column() -> None:
    emulator = Spacing(60, 1)
    words = "हिन्दी में          "
    emulator.paint(lines_of(f"{words}after"))
    assert emulator.screen.buffer[0][width(words)].data == "a"


_COLORED = Style(color="#dcdfe6", bgcolor="#15161b")


def test_a_style_stays_for_the_next_frame_until_something_else_is_written() -> None:
    emulator = Emulator(3, 1)
    first, second = (row(Strip([Segment(words, _COLORED)]), 3) for words in ("one", "two"))
    emulator.paint([first])
    assert emulator.paint([second]) == "\x1b[1Htwo\x1b[1;1H"
    assert (emulator.painter.plain(), emulator.painter.plain()) == ("\x1b[m", "")
    assert emulator.paint([first]).startswith("\x1b[1H\x1b[38;2;220;223;230;48;2;21;22;27mone")
    emulator.painter.reset()
    assert emulator.paint([first]).startswith("\x1b[m\x1b[1H\x1b[38;2;220;223;230;48;2;21;22;27mone")


def test_a_second_change_of_a_row_addresses_its_column_where_the_terminal_can() -> None:
    for abilities, move in ((Abilities(), "\x1b[9G"), (Abilities(columns=False), "\x1b[1;9H")):
        emulator = Emulator(9, 1, abilities)
        emulator.paint([row(Strip([Segment("a       b")]), 9)])
        assert emulator.paint([row(Strip([Segment("x       y")]), 9)]) == f"\x1b[1Hx{move}y\x1b[1;1H"


@pytest.mark.parametrize(
    ("abilities", "back"),
    [(Abilities(), "22"), (Abilities(turns_off=False), "0;38;2;220;223;230;48;2;21;22;27")],
)
def test_an_attribute_is_turned_on_and_off_without_the_colors(abilities: Abilities, back: str) -> None:
    emulator = Emulator(9, 1, abilities)
    line = Strip([Segment("one", _COLORED), Segment("two", _COLORED + Style(bold=True)), Segment("now", _COLORED)])
    written = emulator.paint([row(line, 9)])
    assert written == f"\x1b[1H\x1b[38;2;220;223;230;48;2;21;22;27mone\x1b[1mtwo\x1b[{back}mnow\x1b[1;1H"


def test_a_growing_line_costs_about_its_new_characters() -> None:
    emulator = Emulator(120, 40)
    texts = ["x" * 100] * 38
    emulator.paint(lines_of(*texts, "some words", "status", columns=120))
    written = emulator.paint(lines_of(*texts, "some words and more", "status", columns=120))
    assert written == "\x1b[39;12Hand more\x1b[1;1H"


def test_the_blank_ends_of_rows_in_another_background_are_erased_together() -> None:
    emulator = Emulator(60, 4)
    side = Style.parse("on #102030")
    emulator.paint(lines_of("one", "two", "three", "status"))
    rows = [row(Strip([Segment(f"line {number}".ljust(30)), Segment(" " * 30, side)]), 60) for number in range(3)]
    written = emulator.paint([*rows, *lines_of("status")])
    assert written.count("48;2;16;32;48") == 1 and written.count("\x1b[K") == 3
    assert emulator.cells() == repainted([*rows, *lines_of("status")]).cells()
