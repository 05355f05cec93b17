"""Several layers as one, and where each value came from."""

from typing import Any

from opencode_tui.config.merge import Merged


def merged(*layers: tuple[str, dict[str, Any]]) -> Merged:
    result = Merged()
    for source, value in layers:
        result.add(value, source)
    return result


def test_objects_are_merged_and_lists_replaced() -> None:
    result = merged(
        ("one", {"provider": {"a": {"name": "x", "whitelist": ["m"]}}, "username": "u"}),
        ("two", {"provider": {"a": {"whitelist": ["n"]}}}),
    )
    assert result.value == {"provider": {"a": {"name": "x", "whitelist": ["n"]}}, "username": "u"}


def test_plugins_and_instructions_are_united() -> None:
    result = merged(
        ("one", {"plugin": ["a", "b"], "instructions": ["x"]}), ("two", {"plugin": ["b", "c"], "instructions": ["y"]})
    )
    assert result.value == {"plugin": ["a", "b", "c"], "instructions": ["x", "y"]}


def test_the_source_is_the_last_one_that_set_a_value() -> None:
    result = merged(("one", {"tui": {"scroll_speed": 1, "diff_style": "auto"}}), ("two", {"tui": {"scroll_speed": 2}}))
    assert result.present_sources() == {"tui": "two", "tui.scroll_speed": "two", "tui.diff_style": "one"}


def test_a_rule_that_changed_its_form_keeps_a_source() -> None:
    result = merged(("one", {"permission": {"bash": "ask"}}), ("two", {"permission": {"bash": {"ls": "allow"}}}))
    assert result.value == {"permission": {"bash": {"*": "ask", "ls": "allow"}}}
    assert set(result.present_sources().values()) == {"two"}


def test_rules_of_agents_are_merged_as_rules() -> None:
    one: dict[str, Any] = {"agent": {"build": {"permission": {"bash": {"rm": "deny"}, "edit": "ask"}}}}
    two: dict[str, Any] = {"agent": {"build": {"permission": {"bash": "allow"}}}}
    result = merged(("one", one), ("two", two))
    assert list(result.value["agent"]["build"]["permission"].items()) == [("edit", "ask"), ("bash", "allow")]
