"""Rules in settings: their shortest form, and several files as one list."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.config.permission import covers, iterate, merge, normalize
from opencode_tui.engine.permission.ruleset import evaluate, from_config

NAMES = st.sampled_from(["bash", "edit", "read", "*"])
PATTERNS = st.sampled_from(["*", "ls", "l*", "git *"])
ACTIONS = st.sampled_from(["ask", "allow", "deny"])
MAPS = st.dictionaries(NAMES, ACTIONS | st.dictionaries(PATTERNS, ACTIONS, max_size=3), max_size=4)


def test_a_lone_action_applies_to_all_tools() -> None:
    assert normalize("ask") == {"*": "ask"}
    assert normalize({"bash": {"*": "deny"}, "edit": {}}) == {"bash": "deny", "edit": {}}


def test_what_is_no_rule_is_left_for_the_validation() -> None:
    assert normalize({"bash": "prompt"}) == {"bash": "prompt"}
    assert normalize(["x"]) == ["x"]


def test_rules_of_a_later_file_stand_behind_those_of_an_earlier_one() -> None:
    earlier = {"bash": {"rm *": "deny", "ls": "allow"}, "edit": "ask"}
    later = {"bash": {"rm *": "ask", "git *": "allow"}}
    assert list(iterate(merge(earlier, later))) == [
        ("edit", "*", "ask"),
        ("bash", "ls", "allow"),
        ("bash", "rm *", "ask"),
        ("bash", "git *", "allow"),
    ]


def test_a_rule_for_everything_replaces_what_it_covers() -> None:
    assert merge({"bash": {"ls": "allow"}}, {"bash": "deny"}) == {"bash": "deny"}
    assert merge({"bash": "allow", "edit": "ask"}, {"*": "deny"}) == {"*": "deny"}


@given(MAPS, MAPS, st.sampled_from(["bash", "edit", "x"]), st.sampled_from(["ls", "git status", "rm a"]))
def test_merged_files_decide_as_their_rules_one_after_the_other(
    earlier: Any, later: Any, tool: str, pattern: str
) -> None:
    one, two = normalize(earlier), normalize(later)
    merged = from_config(merge(one, two), home=Path("/home/u"))
    apart = [from_config(one, home=Path("/home/u")), from_config(two, home=Path("/home/u"))]
    assert evaluate(tool, pattern, merged).action == evaluate(tool, pattern, *apart).action


def test_a_wildcard_over_tools_covers_names() -> None:
    assert [covers("a*b?", name) for name in ("abc", "a b\nc", "axbyb", "axbybz")] == [True, False, False, True]


def test_no_wildcard_over_tools_takes_long() -> None:
    assert merge({"a" * 250: "allow"}, {"*a" * 100 + "b": "deny"})["a" * 250] == "allow"
