import pytest

from opencode_tui.cli.style import PLAIN
from opencode_tui.cli.tool_line import activity_of, describe_call, tool_lines
from opencode_tui.schema.session import tool_state
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import (
    ABORTED_TOOL,
    ToolStateCompleted,
    ToolStateError,
    ToolStateRunning,
    ToolTime,
)
from opencode_tui.text.cells import width
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.rows import each
from tests.support.sessions.records import call

DIFF = "@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"


def done(tool: str, given: dict, *, seconds: float = 0, output: str = "", title: str = "", **metadata) -> ToolPart:
    time = ToolTime(start=0, end=int(seconds * 1000))
    metadata |= {"output": output} if tool == "bash" else {}
    state = ToolStateCompleted(input=given, output=output, title=title, metadata=metadata, time=time)
    return call("c", tool).changed(state=state)


def failed(tool: str, given: dict, error: str) -> ToolPart:
    return call("c", tool).changed(state=ToolStateError(input=given, error=error, time=ToolTime(start=0)))


RUNNING = ToolStateRunning(input={"command": "x"}, time=ToolTime(start=0))
DENIED = call("c", "bash").changed(
    state=tool_state.fail(RUNNING, error="bash for 'x' needs --auto=outside", now=1, stop_reason="denied")
)
REFUSED = {"runs": "sandbox", "refused": {"what": "Uses /x.", "reason": "There is no terminal; use --auto=outside."}}

READ = done("read", {"filePath": "/p/a.py"}, title="a.py", output="<content>\n1: x\n2: y\n\n(End)\n</content>")
FOLDER = done("read", {}, title="src", output="<type>directory</type>\n<entries>\na\nb\n\n(2 entries)\n</entries>")
EDIT = done("edit", {}, title="a.py", diff=DIFF, filediff={"additions": 1, "deletions": 1})


@each(
    ("part", "lines"),
    [
        (READ, ["✓ Read   a.py  2 lines"]),
        (FOLDER, ["✓ Read   src  2 entries"]),
        (EDIT, ["✓ Edit   a.py  +1 −1", "     1 − x = 1", "     1 + x = 2"]),
        (done("write", {}, title="n.md", exists=False, filediff={"additions": 17, "deletions": 0}), ["✓ Write  n.md  +17"]),
        (done("write", {}, title="n.md", exists=True, filediff={"additions": 2, "deletions": 1}), ["✓ Write  n.md  +2 −1"]),
        (done("grep", {"pattern": "def", "path": "src"}, matches=1), ['✓ Grep   "def" in src  1 match']),
        (done("glob", {"pattern": "**/*.py"}, count=3), ["✓ Glob   **/*.py  3 files"]),
        (done("list", {}, title=".", count=14), ["✓ List   .  14 entries"]),
        (done("bash", {"command": "pytest -q"}, exit=0, seconds=12.4), ["✓ Bash   pytest -q  12 s"]),
        (done("bash", {"command": "a\nb"}, exit=0, seconds=0.9), ["✓ Bash   a …"]),
        (done("bash", {"command": "x"}, exit=2, output="", seconds=3), ["✗ Bash   x  exit 2  3 s"]),
        (done("bash", {"command": "x"}, exit=None), ["✗ Bash   x  stopped"]),
        (failed("edit", {"filePath": "b.py"}, "none\nlook"), ["✗ Edit   b.py  failed", "       │ None", "       │ look"]),
        (failed("bash", {"command": "sleep 9"}, ABORTED_TOOL), ["■ Bash   sleep 9  interrupted"]),
        (DENIED, ["■ Bash   x  denied", "       │ bash for 'x' needs --auto=outside"]),
        (
            done("bash", {"command": "x"}, exit=1, output="no", sandbox=REFUSED),
            ["✗ Bash   x  blocked by the sandbox", "       │ no", "       │ Uses /x. There is no terminal; use --auto=outside."],
        ),
        (done("task", {"subagent_type": "explore", "description": "find tests"}), ["✓ Task   explore: find tests"]),
        (done("myplugin", {"name": "thing"}), ["✓ myplugin thing"]),
    ],
)  # fmt: skip
def test_a_finished_call_says_what_came_of_it(part, lines):
    assert tool_lines(part, PLAIN) == lines


def test_a_bad_exit_shows_the_last_three_lines_without_colors_and_progress():
    output = "\n".join(f"line {number}" for number in range(8)) + "\n10 %\r\x1b[31m100 %\x1b[0m\n"
    assert tool_lines(done("bash", {"command": "x"}, exit=1, output=output), PLAIN) == [
        "✗ Bash   x  exit 1",
        "       │ … 6 lines",
        "       │ line 6",
        "       │ line 7",
        "       │ 100 %",
    ]


def test_todos_are_a_list_with_one_glyph_a_state():
    todos = [("a", "completed"), ("b", "in_progress"), ("c", "pending"), ("d", "cancelled")]
    part = done("todowrite", {}, todos=[{"content": content, "status": status} for content, status in todos])
    body = ["         ✓ a", "         ● b", "         ○ c", "         ■ d"]
    assert tool_lines(part, PLAIN) == ["✓ Todo   b  2 of 4 done", *body]


def test_a_patch_names_its_files_and_adds_up_their_lines():
    files = [{"relativePath": name, "additions": 2, "deletions": 1} for name in ("a.py", "b.py")]
    assert tool_lines(done("apply_patch", {}, files=files, diff=DIFF), PLAIN)[0] == "✓ Patch  a.py, b.py  +4 −2"


def test_facts_end_at_the_right_edge(terminal):
    [line] = tool_lines(READ, terminal(60))
    assert (width(line), line[-7:]) == (59, "2 lines")
    assert width(tool_lines(READ, terminal(140))[0]) == 120


@pytest.mark.parametrize(("columns", "facts"), [(80, "180 matches  12 s"), (42, "180  12 s"), (34, "  180"), (24, "…")])
def test_when_it_gets_narrow_words_go_first_then_the_time_then_the_count(terminal, columns, facts):
    part = done("grep", {"pattern": "some_long_pattern_name"}, matches=180, seconds=12)
    [line] = tool_lines(part, terminal(columns))
    assert line.endswith(facts) and width(line) < columns


def test_a_path_is_cut_at_its_front_and_a_command_at_its_end(terminal):
    path = done("read", {}, title="src/deep/folder/of/a/package/parser.py")
    command = done("bash", {"command": "pytest -q tests/some/folder/test_parser.py"}, exit=0)
    assert tool_lines(path, terminal(40)) == ["✓ Read   …/of/a/package/parser.py"]
    assert tool_lines(command, terminal(40)) == ["✓ Bash   pytest -q tests/some/folder/t…"]


@pytest.mark.parametrize("columns", [24, 60, 100])
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_call_steers_the_terminal_or_wraps(terminal, columns, text):
    wide = f"{text}漢字{'x ' * 60}"
    calls = [
        done(wide, {"name": wide}),
        done("read", {}, title=wide),
        done("bash", {"command": wide}, exit=1, output=wide),
        failed("edit", {"filePath": wide}, wide),
        done("edit", {}, title=wide, diff=f"@@ -1,0 +1,1 @@\n+{wide}", filediff={"additions": 1, "deletions": 0}),
        done("todowrite", {}, todos=[{"content": wide, "status": wide}]),
    ]
    for part in calls:
        assert steering("\n".join(tool_lines(part, terminal(columns, is_live=True)))) == []
        lines = [line for shown in tool_lines(part, terminal(columns)) for line in shown.split("\n")]
        assert lines and all(width(line) < columns for line in lines)


def test_signs_are_ascii_where_the_locale_asks_for_it(terminal):
    assert "".join(tool_lines(EDIT, terminal(60, is_utf8=False))).isascii()


def test_a_running_call_is_described_with_a_verb():
    state = ToolStateRunning(input={"command": "pytest -q\nrm x"}, time=ToolTime(start=0))
    part = call("c", "bash").changed(state=state)
    assert (activity_of(part), describe_call(part)) == ("Running pytest -q …", "Bash: pytest -q …")
