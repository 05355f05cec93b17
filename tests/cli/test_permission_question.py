from pathlib import Path

import pytest

from opencode_tui.cli.cells import width
from opencode_tui.cli.permission_question import Question, render_question
from opencode_tui.cli.permission_reason import Verdict, explain, judge
from opencode_tui.cli.style import PLAIN
from opencode_tui.schema.permission import PermissionRequest, Rule
from tests.support.build import call
from tests.support.hostile import HOSTILE, steering

HERE = Path("/src/csvkit")
RULES = [
    Rule(permission="*", pattern="*", action="allow"),
    Rule(permission="bash", pattern="rm *", action="ask"),
    Rule(permission="external_directory", pattern="*", action="ask"),
]


def asked(permission: str, *patterns: str, always: list[str] | None = None, **metadata) -> PermissionRequest:
    return PermissionRequest(
        id="per_1",
        session_id="ses_1",
        permission=permission,
        patterns=list(patterns),
        always=always if always is not None else list(patterns),
        metadata=metadata,
    )


def shown(request: PermissionRequest, rules=RULES, call=None, style=PLAIN) -> list[str]:
    return render_question(Question(request, judge(request, rules), HERE, call), style).splitlines()


def test_a_command_is_shown_with_the_rule_that_asks_and_the_keys():
    assert shown(asked("bash", "rm -rf build", always=["rm *"])) == [
        "! Run this command?",
        "    rm -rf build",
        "  Rule bash: rm * asks.",
        "  y run once   a always, for rm *   n reject, with a word to the agent",
    ]


def test_each_part_of_a_command_has_its_verdict():
    part = call("c", "bash")
    whole = part.changed(state=part.state.changed(input={"command": "rm -rf build && pip install ."}))
    assert shown(asked("bash", "rm -rf build", "pip install .", always=["rm *"]), call=whole)[:5] == [
        "! Run this command?",
        "    rm -rf build && pip install .",
        "  ! rm -rf build   asks     rule bash: rm * asks",
        "  ✓ pip install .  allowed  rule * allows it",
        "  One part asks, so the whole command asks.",
    ]


@pytest.mark.parametrize(
    ("request_", "rules", "why"),
    [
        (asked("bash", "x", opaque=True), RULES, "What it does cannot be known before it runs."),
        (asked("bash", "curl x", network=True), RULES, "It uses the network."),
        (asked("external_directory", "/etc/*"), RULES, "It lies outside of /src/csvkit."),
        (asked("doom_loop", "read"), RULES, "The same calls come again and again."),
        (asked("edit", ".git/hooks/x"), RULES, "only one that names it word for word"),
        (asked("webfetch", "https://x"), [], "No rule allows it."),
    ],
)
def test_it_says_why_it_asks(request_, rules, why):
    assert why in " ".join(explain(request_, judge(request_, rules), HERE))


def test_the_last_rule_that_matches_is_the_one_named():
    assert judge(asked("bash", "rm x", "ls"), RULES) == [
        Verdict("rm x", False, "rule bash: rm * asks"),
        Verdict("ls", True, "rule * allows it"),
    ]


def test_a_rule_is_named_with_the_file_that_it_stands_in():
    stands = ["", "~/.config/opencode-tui/opencode.json", ""]
    assert judge(asked("bash", "rm x", "ls"), RULES, stands) == [
        Verdict("rm x", False, "rule bash: rm * in ~/.config/opencode-tui/opencode.json asks"),
        Verdict("ls", True, "rule * allows it"),
    ]


def test_a_folder_outside_is_named_with_the_call_that_needs_it():
    lines = shown(asked("external_directory", "/etc/*"), call=call("c", "bash"))
    assert (lines[1], lines[3]) == ("    /etc", "  Needed by Bash: a")


def test_an_edit_shows_its_diff():
    diff = "--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"
    assert shown(asked("edit", "a.py", diff=diff))[:4] == [
        "! Edit this file?",
        "    a.py",
        "     1 − x = 1",
        "     1 + x = 2",
    ]


def test_what_cannot_be_allowed_for_good_has_no_key_for_it():
    assert shown(asked("bash", "rm x", always=[]))[-1] == "  y run once   n reject, with a word to the agent"


def test_patterns_that_do_not_fit_stand_below_their_key_whole(terminal):
    patterns = [f"rm -rf some/folder/number/{number} *" for number in range(3)]
    lines = shown(asked("bash", "rm x", always=patterns), style=terminal(60))
    assert lines[-6:] == [
        "  y run once",
        "  a always, for",
        *[f"      {pattern}" for pattern in patterns],
        "  n reject, with a word to the agent",
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_question_steers_the_terminal_or_wraps(terminal, hostile):
    long = hostile + "漢字 " * 40
    request = asked("bash", long, "ls", always=[long], diff=f"@@ -1,0 +1,1 @@\n+{long}")
    assert steering("\n".join(shown(request, style=terminal(60, is_live=True)))) == []
    first = asked("external_directory", long)
    assert all(width(line) < 60 for line in shown(first, style=terminal(60)))
