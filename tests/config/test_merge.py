"""Several layers as one, and where each value came from."""

from typing import Any

from opencode_tui.config.merge import Merged, sources_after


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


def test_a_rule_that_changed_its_form_keeps_its_source() -> None:
    result = merged(("one", {"permission": {"bash": "ask"}}), ("two", {"permission": {"bash": {"ls": "allow"}}}))
    assert result.value == {"permission": {"bash": {"*": "ask", "ls": "allow"}}}
    assert result.present_sources() == {
        "permission": "two", "permission.bash": "two", "permission.bash.*": "one", "permission.bash.ls": "two",
    }  # fmt: skip


def test_a_rule_that_a_wildcard_took_over_keeps_its_source() -> None:
    result = merged(
        ("one", {"permission": {"todo*": {"a": "deny"}, "todoread": {"b": "ask"}}}),
        ("two", {"permission": {"todoread": {"c": "allow"}}}),
        ("three", {"permission": {"todo*": {"d": "deny"}}}),
    )
    rules = {"b": "ask", "c": "allow", "d": "deny"}
    assert result.value == {"permission": {"todoread": rules, "todo*": {"a": "deny", "d": "deny"}}}
    sources = result.present_sources()
    assert [sources[f"permission.todoread.{one}"] for one in rules] == ["one", "two", "three"]
    assert [sources[f"permission.todo*.{one}"] for one in "ad"] == ["one", "three"]


def test_rules_that_are_put_last_tell_their_source_at_each_agent() -> None:
    result = merged(("one", {"agent": {"build": {"permission": {"bash": {"ls": "allow"}}}, "plan": {"steps": 3}}}))
    result.put_rules_last({"bash": "deny"}, "admin")
    assert result.value["agent"] == {"build": {"permission": {"bash": "deny"}}, "plan": {"steps": 3}}
    assert result.present_sources()["agent.build.permission.bash"] == "admin"


def test_rules_of_agents_are_merged_as_rules() -> None:
    one: dict[str, Any] = {"agent": {"build": {"permission": {"bash": {"rm": "deny"}, "edit": "ask"}}}}
    two: dict[str, Any] = {"agent": {"build": {"permission": {"bash": "allow"}}}}
    result = merged(("one", one), ("two", two))
    assert list(result.value["agent"]["build"]["permission"].items()) == [("edit", "ask"), ("bash", "allow")]


def test_what_a_plugin_changed_is_its_own_and_the_rest_stays_with_its_source() -> None:
    before = {"permission": {"bash": {"ls": "allow", "rm": "deny"}, "edit": "ask"}}
    after = {"permission": {"bash": {"ls": "ask", "rm": "deny"}, "edit": "ask", "read": "ask"}}
    sources = merged(("one", before)).present_sources()
    changed = sources_after(before, after, sources, "a plugin")
    assert {key: changed[f"permission.{key}"] for key in ("bash.ls", "bash.rm", "edit", "read")} == {
        "bash.ls": "a plugin", "bash.rm": "one", "edit": "one", "read": "a plugin",
    }  # fmt: skip
