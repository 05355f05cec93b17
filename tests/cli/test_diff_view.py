from opencode_tui.cli.diff_view import render_diff
from opencode_tui.cli.style import PLAIN
from opencode_tui.engine.tool.edit.diff import compare
from opencode_tui.text.cells import width
from tests.support.hostile.strings import HOSTILE, steering

BEFORE = [f"line {number}" for number in range(1, 41)]


def diff_of(*changes: tuple[int, str], path: str = "a.txt") -> str:
    after = list(BEFORE)
    for number, text in changes:
        after[number - 1] = text
    return compare(path, "\n".join(BEFORE), "\n".join(after)).text


def test_a_change_is_shown_with_two_lines_of_context_and_line_numbers():
    assert render_diff(diff_of((10, "new")), PLAIN, limit=12) == [
        "     8   line 8",
        "     9   line 9",
        "    10 − line 10",
        "    10 + new",
        "    11   line 11",
        "    12   line 12",
    ]


def test_what_lies_between_two_changes_is_left_out_with_a_mark():
    lines = render_diff(diff_of((10, "new"), (30, "newer")), PLAIN, limit=20)
    assert lines[5:8] == ["    12   line 12", "     …", "    28   line 28"]


def test_a_long_diff_ends_with_a_count():
    lines = render_diff(diff_of(*[(number, "new") for number in range(1, 20)]), PLAIN, limit=12)
    assert (len(lines), lines[-1]) == (13, "         … 28 lines")
    assert len(render_diff(diff_of(*[(number, "n") for number in (20, 21, 22)]), PLAIN, limit=9)) == 10


def test_lines_that_look_like_headers_are_content():
    text = compare("a.sql", "-- old\n++ x\n", "-- new\n++ x\n").text
    assert render_diff(text, PLAIN, limit=12) == ["     1 − -- old", "     1 + -- new", "     2   ++ x"]


def test_of_several_files_each_is_named():
    text = diff_of((1, "x"), path="a.txt") + diff_of((1, "x"), path="b.txt")
    assert [line.strip() for line in render_diff(text, PLAIN, limit=40) if ".txt" in line] == ["a.txt", "b.txt"]


def test_no_line_is_wider_than_the_terminal_or_steers_it(terminal):
    style = terminal(40, is_live=True)
    text = "\n".join(
        ["@@ -1,1 +1,30 @@", "-old", *[f"+\t漢字 {hostile.splitlines()[0]} {'x' * 80}" for hostile in HOSTILE]]
    )
    plain = render_diff(text, terminal(40), limit=50)
    assert any(line.endswith("›") for line in plain) and all(width(line) <= 39 for line in plain)
    assert steering("".join(render_diff(text, style, limit=50))) == []


def test_what_is_no_diff_shows_nothing():
    assert render_diff("", PLAIN, limit=12) == render_diff("Binary files differ", PLAIN, limit=12) == []
