"""Claims about rules: docs/internals/permissions.md#rules."""

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.permission.defaults import reading_rules
from opencode_tui.engine.permission.ruleset import (
    disabled,
    evaluate,
    evaluate_layers,
    from_config,
    matches,
    merge,
    most_restrictive,
)
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.permission import Action, Rule
from tests.support.rows import each
from tests.support.world.rules import rules

HOME = Path("/home/ann")
TOOLS = ["bash", "edit", "write", "patch", "multiedit", "apply_patch", "read", "task"]


def rule(permission: str, pattern: str, action: Action) -> Rule:
    return Rule(permission=permission, pattern=pattern, action=action)


@each(
    ("pattern", "text", "expected"),
    [
        ("file?.txt", "file1.txt", True),
        ("file?.txt", "file12.txt", False),
        ("foo+bar", "foo+bar", True),
        ("foo+bar", "foooobar", False),
        ("ls *", "ls", True),
        ("ls *", "ls -la", True),
        ("ls *", "lstmeval", False),
        ("ls*", "lstmeval", True),
        ("git *", "git commit -m foo", True),
        ("git *", "git", True),
        ("git * *", "git push", True),
        ("*", "", True),
        ("*", "two\nlines", True),
        ("src/*.py", "src/deep/er/file.py", True),
        ("src/*.py", "src/file.pyc", False),
        ("[ab]", "a", False),
        ("a.c", "abc", False),
        ("", "x", False),
        ("*a*b", "aab", True),
        ("*ab*ab", "ab", False),
    ],
)
def test_wildcards_cover_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


@given(st.text("ab*?/", max_size=12), st.text("ab/\n", max_size=12))
def test_wildcards_agree_with_the_standard_librarys(pattern: str, text: str) -> None:
    assert matches(pattern, text) == (re.fullmatch(fnmatch.translate(pattern), text) is not None)


def test_a_hostile_pattern_is_matched_without_endless_backtracking() -> None:
    assert not matches("*a" * 200 + "*b", "a" * 200_000)


@each(
    ("lines", "permission", "pattern", "expected"),
    [
        (["bash rm deny"], "bash", "rm", "deny"),
        (["bash * allow", "bash rm* deny"], "bash", "rm -r x", "deny"),
        (["bash rm* deny", "bash * allow"], "bash", "rm -r x", "allow"),
        (["edit src/* allow"], "edit", "src/a/b.py", "allow"),
        (["bash * allow"], "edit", "x", "ask"),
        (["bash ls allow"], "bash", "rm", "ask"),
        ([], "bash", "ls", "ask"),
        (["* * deny"], "anything", "x", "deny"),
        (["mcp_* * allow"], "mcp_server_tool", "*", "allow"),
        (["* * allow", "bash * ask"], "bash", "ls", "ask"),
        (["bash * ask", "* * allow"], "bash", "ls", "allow"),
        (["task * allow", "task code-reviewer deny"], "task", "code-reviewer", "deny"),
        (["task * ask", "task orchestrator-* deny"], "task", "orchestrator-fast", "deny"),
        (["task general allow"], "task", "unknown", "ask"),
    ],
)
def test_the_last_rule_that_matches_decides(lines: list[str], permission: str, pattern: str, expected: Action) -> None:
    assert evaluate(permission, pattern, rules(*lines)).action == expected


def test_a_later_ruleset_wins() -> None:
    decided = evaluate("bash", "ls", rules("bash * deny"), rules("bash * allow"))
    assert decided == rule("bash", "*", "allow")


def test_without_a_rule_the_answer_is_to_ask_for_the_permission() -> None:
    assert evaluate("bash", "ls") == rule("bash", "*", "ask")


def test_merging_keeps_order_and_nothing_is_neutral() -> None:
    first, second = rules("bash * ask"), rules("edit * deny", "bash ls allow")
    assert merge(first, [], second) == [*first, *second]
    assert merge() == []


def test_all_layers_must_agree() -> None:
    own, parent = rules("bash * allow"), rules("bash * allow", "bash rm* deny", "bash git* ask")
    decisions = [evaluate_layers("bash", text, [own, parent]).action for text in ("ls", "git push", "rm x")]
    assert decisions == ["allow", "ask", "deny"]
    assert evaluate_layers("bash", "ls", []).action == "ask"


def test_the_first_of_the_strictest_is_returned() -> None:
    first, second = rule("bash", "a", "deny"), rule("bash", "b", "deny")
    assert most_restrictive([rule("bash", "c", "ask"), first, second]) is first


@each(
    ("lines", "hidden"),
    [
        (["* * allow"], set[str]()),
        ([], set[str]()),
        (["bash * deny"], {"bash"}),
        (["edit * deny"], {"edit", "write", "patch", "multiedit", "apply_patch"}),
        (["bash rm* deny"], set[str]()),
        (["bash * ask"], set[str]()),
        (["bash * deny", "bash ls allow"], set[str]()),
        (["bash rm deny", "bash * allow"], set[str]()),
        (["* * deny"], set(TOOLS)),
        (["* * deny", "bash * allow"], set(TOOLS) - {"bash"}),
        (["task general allow", "task * deny"], {"task"}),
        (["task * deny", "task general allow"], set[str]()),
    ],
)
def test_only_what_can_never_run_is_hidden(lines: list[str], hidden: set[str]) -> None:
    assert disabled(TOOLS, rules(*lines)) == hidden


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("deny", [("*", "*", "deny")]),
        ({}, []),
        ({"bash": "ask"}, [("bash", "*", "ask")]),
        (
            {"edit": {"src/*": "allow", "*": "ask"}, "bash": "deny"},
            [("edit", "src/*", "allow"), ("edit", "*", "ask"), ("bash", "*", "deny")],
        ),
        ({"read": {"~/x": "allow", "~": "ask"}}, [("read", "/home/ann/x", "allow"), ("read", "/home/ann", "ask")]),
        (
            {"read": {"$HOME/x/*": "allow", "$HOME": "ask", "a/~/b": "deny", "$HOMER": "ask"}},
            [
                ("read", "/home/ann/x/*", "allow"),
                ("read", "/home/ann", "ask"),
                ("read", "a/~/b", "deny"),
                ("read", "$HOMER", "ask"),
            ],
        ),
    ],
)
def test_settings_become_rules_in_their_order(value: Any, expected: list[tuple[str, str, Action]]) -> None:
    assert from_config(value, home=HOME) == [rule(*line) for line in expected]


@pytest.mark.parametrize("value", ["maybe", {"bash": "yes"}, {"bash": {"*": 1}}, {"bash": None}])
def test_what_is_no_action_is_named_with_its_remedy(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^permission\..+ is .+; write \"allow\", \"ask\" or \"deny\" there$"):
        from_config(value, home=HOME)


@pytest.mark.parametrize("name", [".ENV", ".Env.Local", "prod.ENV", ".env.", ".env "])
def test_a_file_of_secrets_in_another_spelling_needs_what_the_usual_one_needs(name: str) -> None:
    own = reading_rules()
    assert evaluate("read", f"/p/Sub/{name}", own).action == "ask"
    for action in ("allow", "deny"):
        assert evaluate("read", f"/p/Sub/{name}", [*own, rule("read", "/p/Sub/*.env*", action)]).action == action
