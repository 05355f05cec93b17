"""The order and the rows of changed files: folders of generated files are one row each, at the end."""

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.tui.diff.folding import change_rows, in_order


def added(*files: str) -> list[FileDiff]:
    return [FileDiff(file=one, additions=2, status="added") for one in files]


EDITED = FileDiff(file="src/parser.py", additions=4, deletions=1, status="modified")


def test_generated_files_are_a_row_behind_those_that_someone_wrote() -> None:
    diffs = [*added("node_modules/.package-lock.json", "node_modules/a/x.js", "node_modules/b/y.js"), EDITED]
    ordered = in_order(diffs)
    assert ordered[0] is EDITED
    assert [(one.path, one.files, one.additions, one.deletions) for one in change_rows(ordered)] == [
        ("src/parser.py", 1, 4, 1),
        ("node_modules/", 3, 6, 0),
    ]


def test_a_folder_of_many_new_files_is_a_row_and_one_with_an_edited_file_is_not() -> None:
    many = added(*(f"fixtures/{n}.txt" for n in range(21)))
    assert [one.path for one in change_rows(in_order([*many, EDITED]))] == ["src/parser.py", "fixtures/"]
    edited = FileDiff(file="fixtures/a.txt", additions=1, status="modified")
    assert len(change_rows(in_order([*many, edited]))) == 22


def test_each_file_is_in_exactly_one_row() -> None:
    diffs = [*added("a/dist/1", "b.py", "a/dist/2", "c/target/1", "a/dist/3", "c/target/2", "d/new.py"), EDITED]
    ordered = in_order(diffs)
    rows = change_rows(ordered)
    assert sorted(one.file for one in ordered) == sorted(one.file for one in diffs)
    assert [sum(row.has(at) for row in rows) for at in range(len(ordered))] == [1] * len(ordered)
    assert [one.path for one in rows] == ["b.py", "c/target/1", "c/target/2", "d/new.py", "src/parser.py", "a/dist/"]
