from opencode_tui.cli.style import PLAIN
from opencode_tui.cli.table import render_table
from opencode_tui.text.cells import width
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.rows import each

ROWS = [["ses_1", "Dark mode", "4 m"], ["ses_22", "CHANGELOG 自動生成", "12 h"]]


def test_numbers_are_right_aligned_and_wide_characters_keep_the_columns():
    assert render_table(["ID", "TITLE", "USED"], ROWS, PLAIN, numbers={"USED"}).splitlines() == [
        "ID      TITLE               USED",
        "ses_1   Dark mode            4 m",
        "ses_22  CHANGELOG 自動生成  12 h",
    ]


def test_the_widest_column_is_cut_to_the_terminal_but_never_a_whole_one(terminal):
    rows = [["ses_e08a876b2ffehf383fcd30gAqr", "A title that is far too long for this", "20 m"]]
    lines = render_table(["ID", "TITLE", "USED"], rows, terminal(60), whole={"ID"}).splitlines()
    assert "ses_e08a876b2ffehf383fcd30gAqr  A title that is far" in lines[1] and "…" in lines[1]
    assert all(width(line) <= 59 for line in lines)


SPARE_HEADS = ["ID", "TITLE", "FOLDER", "COST", "USED"]
SPARE_ROWS = [["ses_e08a876b2ffehf383fcd30gAqr", "A title that is long", "~/src/project", "$0.0013", "20 m"]]


@each(
    ("columns", "heads"),
    [
        (100, ["ID", "TITLE", "FOLDER", "COST", "USED"]),
        (72, ["ID", "TITLE", "FOLDER", "USED"]),
        (60, ["ID", "TITLE", "FOLDER"]),
        (46, ["ID", "TITLE"]),
    ],
)
def test_spare_columns_give_way_in_their_order_to_what_is_read(terminal, columns: int, heads: list[str]):
    whole, spare = {"ID", "COST", "USED"}, ["COST", "USED", "FOLDER"]
    lines = render_table(SPARE_HEADS, SPARE_ROWS, terminal(columns), whole=whole, spare=spare).splitlines()
    assert lines[0].split() == heads
    assert len(lines[1].split("  ")) >= len(heads) and all(width(line) < columns for line in lines)


def test_without_a_terminal_every_column_is_there():
    shown = render_table(SPARE_HEADS, SPARE_ROWS, PLAIN, spare=["COST", "USED", "FOLDER"])
    assert shown.splitlines()[0].split() == SPARE_HEADS


def test_no_cell_steers_the_terminal(terminal):
    assert steering(render_table(["NAME"], [[text] for text in HOSTILE], terminal(80, is_live=True))) == []
    assert len(render_table(["NAME"], [["two\nlines"]], PLAIN).splitlines()) == 2


def test_no_column_is_narrower_than_eight_cells_however_small_the_terminal_is(terminal):
    rows = [["A title that is too long", "Other words that are too long", "A third column of many words"]]
    lines = render_table(["TITLE", "WORDS", "MORE"], rows, terminal(12)).splitlines()
    assert width(lines[1]) == 3 * 8 + 2 * 2
