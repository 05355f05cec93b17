"""Files that a text names, with line and column."""

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolTime
from opencode_tui.text.file_references import FileReference, first_changed_line, references_in, references_of_call
from tests.support.rows import each


@each(
    ("text", "path", "line", "column"),
    [
        ("see src/a.py:12 there", "src/a.py", 12, 0),
        ("`src/a.py:12:5`: error", "src/a.py", 12, 5),
        ('  File "/x/y z.py", line 3, in f', "/x/y z.py", 3, 0),
        ("  --> src/main.rs:7:9", "src/main.rs", 7, 9),
        ("    at run (/srv/app/index.js:10:15)", "/srv/app/index.js", 10, 15),
        ("web/a.ts(4,2): error TS2304", "web/a.ts", 4, 2),
        ("[the loop](src/a.py#L40-L44).", "src/a.py", 40, 0),
        ("tests/test_a.py:8: AssertionError", "tests/test_a.py", 8, 0),
        ("a.py, line 9", "a.py", 9, 0),
        ("./run.sh: line 3: x: not found", "./run.sh", 0, 0),
        ("~/notes/todo.md", "~/notes/todo.md", 0, 0),
        ("app/[id]/page.tsx:2", "app/[id]/page.tsx", 2, 0),
        ("Look into Makefile.", "Makefile", 0, 0),
    ],
)
def test_a_reference_is_found(text: str, path: str, line: int, column: int) -> None:
    assert FileReference(path, line, column) in references_in(text)


def test_addresses_are_no_files() -> None:
    assert references_in("https://docs.example.com/a/b.html:3") == []


def test_matches_of_a_search_belong_to_the_file_above_them() -> None:
    text = "Found 3 matches\n/p/src/a.py:\n  Line 3: import b\n  Line 9: b.x\n\n/p/b.py:\n  Line 1: x"
    assert [one.label for one in references_in(text)] == ["/p/src/a.py:3", "/p/src/a.py:9", "/p/b.py:1"]


def test_a_file_named_with_a_line_is_not_named_without_it_too() -> None:
    assert references_in("src/a.py is wrong: src/a.py:3 and src/a.py:3") == [FileReference("src/a.py", 3)]


DIFF = "--- a.py\n+++ a.py\n@@ -10,4 +10,5 @@\n a\n b\n-c\n+d\n e\n"


def call(tool: str, given: dict[str, object], metadata: dict[str, object]) -> ToolPart:
    state = ToolStateCompleted(input=given, output="", title="", metadata=metadata, time=ToolTime(start=0, end=1))
    return ToolPart(id="prt_1", session_id="ses_1", message_id="msg_1", call_id="c", tool=tool, state=state)


def test_a_call_names_its_file_with_the_line_that_it_read_or_changed() -> None:
    assert first_changed_line(DIFF) == 12
    edit = call("edit", {"filePath": "/p/a.py"}, {"diff": DIFF})
    assert references_of_call(edit, "b.py:3") == [FileReference("/p/a.py", 12)]
    read = call("read", {"filePath": "/p/a.py", "offset": 40}, {})
    assert references_of_call(read, "1: import c.py") == [FileReference("/p/a.py", 40)]
    patch = call("apply_patch", {}, {"files": [{"filePath": "/p/a.py", "movePath": "/p/b.py", "diff": DIFF}]})
    assert references_of_call(patch, "") == [FileReference("/p/b.py", 12)]
    bash = call("bash", {"command": "pytest tests/test_a.py"}, {})
    assert references_of_call(bash, "tests/test_a.py:4: in f") == [
        FileReference("tests/test_a.py"),
        FileReference("tests/test_a.py", 4),
    ]
