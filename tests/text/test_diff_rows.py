"""What of a diff is shown, and which words of a line changed."""

import pytest

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.diff_rows import DiffRow, changed_words, read_diff, unified

HEAD = "--- a/x.py\n+++ b/x.py\n"


def test_rows_carry_old_numbers_for_removed_and_new_ones_for_all_others() -> None:
    rows = read_diff(HEAD + "@@ -5,3 +7,3 @@\n a\n-b\n+c\n d\n")
    assert [(row.kind, row.number, row.text) for row in rows] == [
        (" ", 7, "a"),
        ("-", 6, "b"),
        ("+", 8, "c"),
        (" ", 9, "d"),
    ]


def test_what_looks_like_a_header_inside_a_hunk_is_a_line() -> None:
    rows = read_diff(HEAD + "@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n")
    assert [(row.kind, row.text) for row in rows] == [("-", "-- old"), ("+", "++ new"), (" ", "same")]


def test_lines_far_from_a_change_become_a_gap_that_counts_them() -> None:
    body = "".join(f" {number}\n" for number in range(10))
    rows = read_diff(HEAD + f"@@ -1,12 +1,12 @@\n-a\n+b\n{body}-c\n+d\n")
    assert [(row.kind, row.number) for row in rows if row.kind == "gap"] == [("gap", 6)]


def test_names_of_files_are_shown_only_when_there_are_several() -> None:
    one = HEAD + "@@ -1 +1 @@\n-a\n+b\n"
    assert [row.kind for row in read_diff(one)] == ["-", "+"]
    assert [row.text for row in read_diff(one + one) if row.kind == "file"] == ["x.py", "x.py"]


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("range(len(lines) - 1):", "range(len(lines)):", ((16, 20), None)),
        ("abc", "xyz", (None, None)),
        ("same", "same", (None, None)),
        ("value = one", "value = two", ((8, 11), (8, 11))),
    ],
)
def test_a_changed_word_is_marked_unless_it_is_most_of_the_line(before: str, after: str, words: object) -> None:
    assert changed_words(before, after) == words


def test_lines_that_do_not_replace_each_other_one_by_one_have_no_marked_words() -> None:
    rows = read_diff(HEAD + "@@ -1,2 +1 @@\n-value = one\n-b\n+value = two\n")
    assert [row.word for row in rows] == [None, None, None]
    assert rows[0] == DiffRow("-", 1, "value = one")


def test_the_lines_of_a_diff_are_those_of_git_whatever_else_breaks_a_line_on_paper():
    diff = FileDiff(file="a", before="1\f1\n2\r\n3\n", after="1\f1\n2\r\nthree\n")
    shown = [(row.kind, row.number, row.text) for row in read_diff(unified(diff)) if row.kind in "+-"]
    assert shown == [("-", 3, "3"), ("+", 3, "three")]
