"""The text tables: comments, columns and sections."""

from pathlib import Path

import pytest

from opencode_tui.schema.table import read_rows, read_sections, split_columns


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "table.txt"
    file.write_text("# comment\n\n[one] a b=c\nx | y\n\n# comment\n[two]\nz # no comment\n[one]\n")
    return file


def test_comments_and_empty_lines_are_no_rows(table: Path) -> None:
    assert read_rows(table) == ["[one] a b=c", "x | y", "[two]", "z # no comment", "[one]"]


def test_sections_keep_their_order_and_may_repeat(table: Path) -> None:
    found = [(section.title, section.words, section.rows) for section in read_sections(table)]
    assert found == [("one", "a b=c", ["x | y"]), ("two", "", ["z # no comment"]), ("one", "", [])]


def test_a_row_before_the_first_title_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "table.txt").write_text("x\n[one]\n")
    with pytest.raises(ValueError, match="no section before 'x'"):
        read_sections(tmp_path / "table.txt")


def test_the_last_column_keeps_its_bars() -> None:
    assert split_columns("text | | a|b | c", 3) == ["text", "", "a|b | c"]
    with pytest.raises(ValueError, match="2 columns in place of 3"):
        split_columns("a | b", 3)
