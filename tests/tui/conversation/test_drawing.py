"""Lines stand on the grid and shrink in the order of the design; sums and colors are right."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.provider.chatgpt.service import sign_in_again
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.engine.provider.failure import from_response
from opencode_tui.schema.session.stored_error import to_stored
from opencode_tui.text.code_colors import MAX_COLORED
from opencode_tui.tui.conversation.code import color_file, color_lines
from opencode_tui.tui.conversation.drawing import draw_item, words_of
from opencode_tui.tui.conversation.layout import Fenwick
from opencode_tui.tui.conversation.line import RenderContext, count_lines, output_tail, slice_spans
from opencode_tui.tui.conversation.tools import ViewState
from opencode_tui.tui.state.message import AnyItem, CompactionItem, ErrorItem, StopItem, ToolItem, Turn, UserItem
from tests.support.terminal.conversation import NOON, ROOT, Story, edit, look, read, refused_key


def rows(part: Any, width: int, **fields: Any) -> list[str]:
    item = ToolItem(part.id, part.message_id, part=part, **fields)
    return [
        line.strip.text.rstrip() for line in draw_item(item, RenderContext(width, look(), ROOT), ViewState(now=NOON))
    ]


def test_a_tool_line_stands_on_the_grid() -> None:
    (line,) = rows(read(Story(), "src/a.py", 180), 80)
    assert (line.index("✓"), line.index("Read"), line.index("src/a.py"), len(line)) == (1, 3, 10, 78)
    assert line.endswith("180 lines")


def test_facts_end_at_the_same_edge_in_a_wide_window() -> None:
    assert [len(rows(read(Story(), "a.py", 1), width)[0]) for width in (100, 120, 160)] == [98, 118, 158]


def test_words_of_counts_go_first_then_the_time_then_the_counts() -> None:
    story = Story()
    part = story.tool("grep", {"pattern": "a_rather_long_pattern"}, "", seconds=3, matches=12)
    ends = [rows(part, width)[0] for width in (60, 40, 36, 32, 30)]
    assert [("matches" in end, end.endswith("3 s"), "12" in end) for end in ends] == [
        (True, True, True),
        (False, True, True),
        (False, False, True),
        (False, False, True),
        (False, False, False),
    ]


def test_a_path_loses_its_front_a_command_its_end() -> None:
    story = Story()
    long = "src/" + "folder/" * 9 + "parser.py"
    assert rows(read(story, long, 1), 50)[0].split()[2].endswith("/parser.py")
    command = rows(story.tool("bash", {"command": "pytest " + "x" * 90}, output="", exit=0), 50)[0]
    assert command.split()[2] == "pytest"
    assert command.endswith("…")


def test_no_time_under_a_second() -> None:
    story = Story()
    times = [
        rows(story.tool("bash", {"command": "a"}, seconds=s, output="", exit=0), 60)[0][10:]
        for s in (0.9, 1, 1.4, 12, 61)
    ]
    assert [time[1:].strip() for time in times] == ["", "1 s", "1.4 s", "12 s", "1 m 1 s"]


def test_a_diff_shows_twelve_lines_and_counts_the_rest() -> None:
    body = "".join(f"+line {number}\n" for number in range(38))
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,38 @@\n{body}"
    lines = rows(edit(Story(), "x.py", diff, 38, 0), 80)
    assert (len(lines), lines[-1].strip()) == (14, "… 26 lines")


def test_a_diff_line_stands_on_the_grid() -> None:
    lines = rows(edit(Story()), 80)
    assert lines[3].startswith("     41 −     for i in range(")


def test_a_call_whose_files_are_recorded_says_so_while_it_lasts() -> None:
    story = Story()
    first = rows(story.running("bash", {"command": "ls"}, recording=True), 60)[0]
    assert "recording files  12 s" in first
    assert "running  12 s" in rows(story.running("bash", {"command": "ls"}, recording=False), 60)[0]


def test_a_running_call_has_no_empty_rows_and_at_most_three() -> None:
    story = Story()
    outputs = ("", "one\n", "one\ntwo\nthree\nfour\n")
    commands = [rows(story.running("bash", {"command": "a"}, output=output), 60)[1:] for output in outputs]
    assert commands == [[], ["        │ one"], ["        │ two", "        │ three", "        │ four"]]
    given = {"subagent_type": "explore", "description": "find"}
    waiting = [rows(story.running(tool, {}), 60)[0] for tool in ("plan_exit", "question")]
    assert [row.split() for row in waiting] == [
        ["!", "Plan", "needs", "your", "answer"],
        ["!", "Ask", "needs", "your", "answer"],
    ]
    tasks = [rows(story.running("task", given, tools=tools), 60)[1:] for tools in ([], ["read"], ["read", "grep"] * 2)]
    assert tasks == [[], ["        │ Read"], ["        │ Grep", "        │ Read", "        │ Grep"]]


def test_a_line_says_whether_there_is_anything_to_open() -> None:
    story = Story()

    def command(text: str, **metadata: Any) -> str:
        return rows(story.tool("bash", {"command": "a"}, output=text, exit=0, **metadata), 60)[0][10:]

    ends = [command(""), command("one\n"), command("one\n\ntwo\n"), command("2 passed in 1s\n")]
    assert [end[1:].strip() for end in ends] == ["", "1 line", "3 lines", "2 passed"]
    assert command("one\ntwo", outputPath="/tmp/out").endswith("2+ lines")
    both_ends = command("1\n2", outputPath="/tmp/out", lines={"total": 5000, "first": 1000, "last": 1000})
    assert both_ends.endswith("5,000 lines, first and last 1,000 kept")
    assert command("1", lines={"total": 3000, "first": 2000, "last": 0}).endswith("3,000 lines, first 2,000 kept")
    assert command("1", lines={"total": 9, "first": 4, "last": 3}).endswith("9 lines, first 4 and last 3 kept")
    assert command("one\ntwo", lines=2).endswith("2 lines")
    assert rows(story.tool("webfetch", {"url": "http://docs.example"}, "a\nb"), 60)[0].endswith("2 lines")
    assert rows(story.tool("weather", {"name": "x"}, "a\nb\nc"), 60)[0].endswith("3 lines")


def test_the_focused_line_has_a_key_only_where_it_opens_something() -> None:
    def line(output: str, command: str = "a") -> str:
        part = Story().tool("bash", {"command": command}, output=output, exit=0)
        item = ToolItem(part.id, part.message_id, part=part)
        return draw_item(item, RenderContext(60, look(), ROOT), ViewState(now=NOON, focus=item.id))[
            0
        ].strip.text.rstrip()

    assert [line(text).endswith("enter open") for text in ("", "one")] == [False, True]
    assert line("", "long " * 20).endswith("enter open")


def test_the_key_of_the_lines_that_are_left_out_is_beside_their_count() -> None:
    part = Story().tool("bash", {"command": "a"}, output="one\n" * 43, exit=2)
    item = ToolItem(part.id, part.message_id, part=part, is_last=True)
    page = RenderContext(60, look(), ROOT, focus_key="ctrl+up")
    shown = [draw_item(item, page, ViewState(now=NOON, focus=focus))[-1].strip.text for focus in ("", item.id)]
    assert [line.strip(" │") for line in shown] == ["41 lines more   ctrl+up, enter open", "41 lines more   enter open"]


def test_a_todo_line_names_the_todo_at_hand() -> None:
    def line(*states: str) -> list[str]:
        todos = [{"content": f"todo  {number}", "status": state} for number, state in enumerate(states)]
        return rows(Story().tool("todowrite", {"todos": todos}, title="2 todos", todos=todos), 60)[0].split("  ")

    named = [[words for words in line(*states) if words.strip()][1:] for states in (
        ("completed", "in_progress", "pending"), ("completed", "pending"), ("completed", "cancelled"),
    )]  # fmt: skip
    assert [[words.strip() for words in one] for one in named] == [
        ["todo 1", "1 of 3 done"],
        ["todo 1", "1 of 2 done"],
        ["all done", "2 of 2 done"],
    ]


def test_a_bad_end_is_open_only_as_the_turns_last_call() -> None:
    part = Story().tool("bash", {"command": "a"}, output="one\ntwo\n", exit=1)
    assert [len(rows(part, 60, is_last=is_last)) for is_last in (False, True)] == [1, 3]


def test_a_long_error_is_cut_to_six_lines() -> None:
    part = Story().failed("write", {"filePath": "a"}, "\n".join(f"line {number}" for number in range(20)))
    lines = rows(part, 60)
    assert (len(lines), lines[-1].strip(" │")) == (7, "… 15 lines")


@pytest.mark.parametrize(
    ("text", "count", "lines"),
    [
        ("", 3, []),
        ("a\nb\nc\n\n", 2, ["b", "c"]),
        ("\n\na", 3, ["", "", "a"]),
        ("a\r\nb", 1, ["b"]),
        ("50 %\r100 %", 1, ["100 %"]),
    ],
)
def test_the_tail_of_an_output(text: str, count: int, lines: list[str]) -> None:
    assert output_tail(text, count) == lines


def test_lines_are_counted_without_empty_ones_at_the_end() -> None:
    assert [count_lines(text) for text in ("", "a", "a\n", "a\nb\n\n")] == [0, 1, 1, 2]


def test_code_has_the_colors_of_its_language_and_loses_no_letter() -> None:
    lines = ["def f(x: str) -> None:", "", "    return len(x)  # why"]
    colored = color_lines(lines, "python")
    assert ["".join(text for text, _ in line) for line in colored] == lines
    tokens = {text: token for line in colored for text, token in line}
    assert (tokens["def"], tokens["f"], tokens["str"], tokens["# why"]) == (
        "code_keyword",
        "code_function",
        "code_builtin",
        "code_comment",
    )


@pytest.mark.parametrize("language", ["", "no-such-language"])
def test_code_of_an_unknown_language_is_plain(language: str) -> None:
    assert color_lines(["a b"], language) == [[("a b", "text")]]


def test_very_much_code_is_plain() -> None:
    assert {token for line in color_file(["x = 1"] * (MAX_COLORED // 4), "a.py") for _, token in line} == {"text"}


@given(st.lists(st.integers(0, 9), max_size=60), st.data())
def test_sums_follow_every_change(values: list[int], data: st.DataObject) -> None:
    tree = Fenwick(values)
    for _ in range(10):
        if values and data.draw(st.booleans()):
            index = data.draw(st.integers(0, len(values) - 1))
            tree.add(index, 5)
            values[index] += 5
        else:
            start = data.draw(st.integers(0, len(values)))
            fresh = data.draw(st.lists(st.integers(0, 9), max_size=20))
            tree.replace(start, fresh)
            values[start:] = fresh
        assert [tree.sum(count) for count in range(len(values) + 1)] == [
            sum(values[:count]) for count in range(len(values) + 1)
        ]
        place = data.draw(st.integers(0, sum(values) + 3))
        found = tree.find(place)
        assert sum(values[:found]) <= place
        assert found == len(values) or sum(values[: found + 1]) > place


def test_spans_are_cut_where_the_text_is() -> None:
    one, two = look().palette.style("text"), look().palette.style("muted")
    lines = slice_spans([("hello ", one), ("world", two)], [(0, 5), (6, 8), (8, 11)])
    assert [[text for text, _ in line] for line in lines] == [["hello"], ["wo"], ["rld"]]


def test_a_sign_in_that_ended_is_no_rejected_key() -> None:
    error = sign_in_again("the sign-in of ada@example.com has ended (invalid_grant)")
    words = words_of(to_stored(error), "chatgpt")
    assert words.title == "chatgpt: the sign-in of ada@example.com has ended (invalid_grant)"
    assert words.fix == "sign in again (/login, or `opencode-tui auth login chatgpt`)" and words.then


LOGIN = "opencode-tui auth login fake"
QUOTA = "add credit or raise the limit in the billing settings of fake, or switch the model (/models, or -m)"


def test_an_error_says_what_to_do() -> None:
    words = words_of(refused_key(), "anthropic")
    assert (words.title, words.code, words.fix) == (
        "anthropic rejected the API key",
        "401",
        "opencode-tui auth login anthropic",
    )


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (401, "No such key", ("fake rejected the API key", "401", "No such key", LOGIN)),
        (403, "This key has no access", ("fake rejected the API key", "403", "This key has no access", LOGIN)),
        (529, "Overloaded", ("fake: Overloaded", "529", "", "try again later, or switch the model (/models, or -m)")),
        (402, "Pay first", ("fake: quota exceeded: Pay first", "402", "", QUOTA)),
    ],
)
def test_a_failure_shows_the_providers_reason_once_and_a_remedy_that_fits(
    status: int, body: str, shown: tuple[str, ...]
) -> None:
    reported = Reported("fake", status=status, body=json.dumps({"error": {"message": body}}))
    words = words_of(to_stored(from_response(reported, now_ms=0)), "fake")
    assert (words.title, words.code, words.detail, words.fix) == shown


@pytest.mark.parametrize(
    "item",
    [
        UserItem("one", "one", text="Fix it", turn=Turn(started=NOON)),
        StopItem("one", "one", time=NOON),
        ErrorItem("one", "one", error=to_stored(RuntimeError("no")), time=NOON),
        CompactionItem("one", "one", time=NOON),
    ],
    ids=lambda item: item.kind,
)
def test_what_is_of_another_day_has_its_day_where_there_is_room(item: AnyItem) -> None:
    def shown(hours: int, columns: int = 80) -> str:
        page, scene = RenderContext(columns, look(), ROOT), ViewState(now=NOON + hours * 3_600_000)
        return draw_item(item, page, scene)[0].strip.text

    assert " 12:00" in shown(1) and "Dec 26" not in shown(1)
    assert " Dec 26 12:00" in shown(20)
    assert " 2025-12-26" in shown(366 * 24)
    assert " 12:00" in shown(20, 59) and "Dec 26" not in shown(20, 59)


def test_a_long_plan_is_whole_when_it_is_opened() -> None:
    plan = [{"content": f"step {number}", "status": "pending"} for number in range(30)]
    part = Story().tool("todowrite", {"todos": plan}, "[]", todos=plan)
    shown = rows(part, 80, is_last=True)
    assert len(shown) == 14 and shown[-1].endswith("18 more")
    scene = ViewState(now=NOON, opened={part.id: "whole"})
    item = ToolItem(part.id, part.message_id, part=part)
    drawn = [line.strip.text for line in draw_item(item, RenderContext(80, look(), ROOT), scene)]
    assert len(drawn) == 31 and "step 29" in drawn[-1]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)*$", "a?" * 40 + "a" * 40 + "$", "(a|a)" * 30 + "b"])
def test_no_expression_of_a_search_takes_long_to_draw(pattern: str) -> None:
    found = f"Found 1 matches\n\n{ROOT}/x:\n  Line 1: {'a' * 60}!"
    part = Story().tool("grep", {"pattern": pattern}, found, matches=1)
    item = ToolItem(part.id, part.message_id, part=part)
    drawn = draw_item(item, RenderContext(80, look(), ROOT), ViewState(now=NOON, opened={part.id: "whole"}))
    assert any("a" * 50 in line.strip.text for line in drawn)
