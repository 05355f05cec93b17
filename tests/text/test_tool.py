"""What calls are called and say of themselves."""

import pytest

from opencode_tui.schema.session.tool_state import RECORDING, ToolStateCompleted, ToolTime
from opencode_tui.text.tool import activity_of, argument_of, facts_of, name_of, outcome_of_tests, read_count, relative
from tests.support.rows import each
from tests.support.terminal.conversation import Story


@each(
    ("tool", "given", "argument"),
    [
        ("read", {"filePath": "/p/src/a.py"}, "src/a.py"),
        ("read", {"filePath": "/elsewhere/a.py"}, "/elsewhere/a.py"),
        ("bash", {"command": "make\nmake test"}, "make …"),
        ("grep", {"pattern": "x", "path": "/p/src/"}, '"x" in src/'),
        ("glob", {"pattern": "*.py"}, "*.py"),
        ("task", {"subagent_type": "explore", "description": "find"}, "explore: find"),
        ("question", {"questions": [{"question": "Which?"}]}, "Which?"),
        ("webfetch", {"url": "https://a.example"}, "https://a.example"),
        ("own_tool", {"name": "x\x1b[2J"}, "x\\x1b[2J"),
        ("own_tool", {}, ""),
    ],
)
def test_the_argument_says_what_a_call_is_about(tool: str, given: dict[str, object], argument: str) -> None:
    assert argument_of(Story().running(tool, given), "/p") == argument


def test_names_are_words_and_a_plugins_tool_has_its_own() -> None:
    assert [name_of(tool) for tool in ("apply_patch", "todowrite", "bash", "my_tool")] == [
        "Patch",
        "Todo",
        "Bash",
        "my_tool",
    ]


def test_the_activity_says_what_runs() -> None:
    story = Story()
    assert activity_of(story.running("bash", {"command": "pytest"})) == "Running pytest"
    assert activity_of(story.running("my_tool", {})) == "Running my_tool"
    recorded = story.running("bash", {"command": "pytest"})
    recorded = recorded.changed(state=recorded.state.changed(metadata={RECORDING: True}))
    assert activity_of(recorded) == "Recording files for undo"


def test_paths_are_told_from_the_root_only_below_it() -> None:
    assert [relative(path, "/p") for path in ("/p", "/p/a", "/pa", "a")] == [".", "a", "/pa", "a"]


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("=== 1 failed, 213 passed in 2.1s ===", "1 failed"),
        ("=== 214 passed in 17s ===\n", "214 passed"),
        ("Tests: 2 failed, 4 passed, 6 total", "2 failed"),
        ("test result: ok. 12 passed; 0 failed; 0 ignored", "12 passed"),
        ("2 errors in 0.1s", "2 errors"),
        ("made 3 things", ""),
        ("", ""),
    ],
)
def test_a_test_run_says_how_it_went(output: str, result: str) -> None:
    assert outcome_of_tests(output) == result


def test_what_was_read_is_counted_in_lines_or_entries() -> None:
    assert read_count("1: a\n2: b\n") == (2, "line")
    assert read_count("<type>directory</type>\n<entries>\na\nb\nc\n\n(3 entries)") == (3, "entry")
    assert read_count("an image") == (0, "line")


@pytest.mark.parametrize(
    ("sandbox", "code", "facts"),
    [
        ({"runs": "sandbox", "tier": "landlock"}, 0, []),
        ({"runs": "host", "tier": "landlock"}, 0, ["outside"]),
        ({"runs": "host", "tier": "none"}, 0, []),
        ({"runs": "sandbox", "tier": "bubblewrap"}, 1, ["exit 1"]),
        ({"runs": "sandbox", "tier": "bubblewrap", "refused": {"what": "x"}}, 1, ["blocked by the sandbox"]),
        ({"runs": "host", "tier": "bubblewrap", "refused": {"what": "x"}}, 2, ["outside", "exit 2"]),
        ({"runs": "sandbox", "tier": "bubblewrap", "undone": [".envrc"]}, 0, ["undid 1 protected file"]),
        ("strange", 0, []),
    ],
)
def test_a_command_says_where_it_ran_and_what_the_sandbox_stopped(sandbox: object, code: int, facts: list[str]) -> None:
    metadata = {"sandbox": sandbox, "exit": code}
    state = ToolStateCompleted(input={}, output="", title="", metadata=metadata, time=ToolTime(start=1, end=2))
    assert [fact.text for fact in facts_of("bash", state)] == facts


def test_a_folder_that_repeats_its_mark_does_not_take_long() -> None:
    entries = "<type>directory</type>" + "<entries>\n" * 100_000
    assert read_count(entries) == (0, "line")
    assert read_count(f"{entries}a\n\n(1 entry)") == (100_000, "entry")
