"""Where the lines of a diff stand: cut or wrapped, in one column or two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.diff_rows import DiffRow, read_diff, unified
from opencode_tui.tui.diff.cells import HEAD, CodeRow, code_rows
from opencode_tui.tui.diff.headings import name_gaps
from opencode_tui.tui.diff.layout import DiffForm, DiffLayout
from tests.support.terminal.screen import look

LOOK = look()
FORMS = [(is_split, is_wrapped) for is_split in (False, True) for is_wrapped in (False, True)]


def rows_of(before: str, after: str, path: str = "a.py") -> list[CodeRow]:
    return code_rows(unified(FileDiff(file=path, before=before, after=after)), path, after=after)


def drawn(rows: list[CodeRow], width: int, *, is_split: bool, is_wrapped: bool) -> list[str]:
    layout = DiffLayout(DiffForm(rows, is_split=is_split), is_wrapped=is_wrapped, width=width)
    strips = layout.strips(0, layout.height, LOOK)
    assert [strip.cell_length for strip in strips] == [width] * layout.height
    return ["".join(segment.text for segment in strip) for strip in strips]


LETTERS = st.text(st.sampled_from("ab c  日本語한👍é(,"), max_size=90)


@pytest.mark.slow
@given(LETTERS, LETTERS, st.integers(24, 60), st.sampled_from(FORMS))
def test_each_row_has_the_width_and_none_is_lost(old: str, new: str, width: int, form: tuple[bool, bool]) -> None:
    rows = rows_of(f"x\n{old}\ny\n", f"x\n{new}\ny\n")
    assert len(drawn(rows, width, is_split=form[0], is_wrapped=form[1])) >= (3 if rows else 0)


@pytest.mark.slow
@given(LETTERS, st.integers(24, 60))
def test_a_wrapped_line_shows_every_letter(new: str, width: int) -> None:
    rows = rows_of("", f"{new}|\n")
    texts = drawn(rows, width, is_split=False, is_wrapped=True)
    assert texts and all(cell_len(text) == width for text in texts)
    assert "".join(text[HEAD:] for text in texts).replace(" ", "") == f"{new}|".replace(" ", "")


def test_a_line_that_is_cut_says_so_and_one_that_is_wrapped_does_not() -> None:
    rows = rows_of("a\n", "a" * 50 + "\n")
    assert drawn(rows, 40, is_split=False, is_wrapped=False)[1].endswith("›")
    wrapped = drawn(rows, 40, is_split=False, is_wrapped=True)
    assert wrapped and not any("›" in text for text in wrapped)


def test_a_line_longer_than_what_is_looked_at_says_so_wrapped_as_well() -> None:
    texts = drawn(rows_of("", "a" * 5000 + "\n"), 40, is_split=False, is_wrapped=True)
    assert "".join(texts).count("a") == 2000
    assert texts[-1].rstrip().endswith("›")


def test_side_by_side_the_shorter_line_waits_for_the_longer_one() -> None:
    texts = drawn(rows_of("one\n\nend\n", "o" + "n" * 60 + "e\n\nend\n"), 62, is_split=True, is_wrapped=True)
    assert [text[:30].strip() for text in texts] == ["1 − one", "", "", "2", "3   end"]
    assert texts[-1][32:].strip() == "3   end"


@pytest.mark.parametrize(("is_split", "is_wrapped"), FORMS)
def test_a_change_begins_where_its_first_line_stands(is_split: bool, is_wrapped: bool) -> None:
    body = "".join(f"line {number} {'x' * 80}\n" for number in range(40))
    rows = rows_of(body, body.replace("line 5 ", "LINE 5 ").replace("line 30 ", "LINE 30 "))
    layout = DiffLayout(DiffForm(rows, is_split=is_split), is_wrapped=is_wrapped, width=70)
    texts = drawn(rows, 70, is_split=is_split, is_wrapped=is_wrapped)
    assert [texts[top].split()[0] for top in layout.change_tops()] == ["6", "31"]
    assert layout.line_at(layout.top_of(31)) == 31


def test_gaps_tell_what_the_lines_behind_them_stand_in() -> None:
    before = "import os\n\ndef one():\n" + "    pass\n" * 20 + "\ndef two():\n" + "    pass\n" * 20
    lines = before.splitlines()
    lines[15], lines[40] = "    here()", "    there()"
    rows = name_gaps(
        read_diff(unified(FileDiff(file="a.py", before=before, after="\n".join(lines)))), "\n".join(lines), "a.py"
    )
    assert [row for row in rows if row.kind == "gap"] == [
        DiffRow("gap", 13, "def one"),
        DiffRow("gap", 20, "def two"),
    ]
    assert (
        drawn(rows_of(before, "\n".join(lines)), 40, is_split=True, is_wrapped=False)[0].rstrip()
        == "… 13 lines, def one"
    )


def test_lines_before_the_first_change_are_no_gap_when_nothing_begins_there() -> None:
    rows = rows_of("a = 1\n" * 30, "a = 1\n" * 29 + "a = 2\n")
    assert [one.row.kind for one in rows] == [" ", " ", "-", "+"]


def test_a_heading_steers_no_terminal() -> None:
    rows = rows_of("def \x1b[2J():\n" + "  a\n" * 30, "def \x1b[2J():\n" + "  a\n" * 29 + "  b\n")
    assert drawn(rows, 60, is_split=False, is_wrapped=False)[0].rstrip() == "… 28 lines, def \\x1b[2J"
