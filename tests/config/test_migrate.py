"""Former names of settings."""

import pytest

from opencode_tui.config.sources.migrate import migrate, overridden
from tests.support.rows import each


@each(
    ("former", "present"),
    [
        ({"tools": {"bash": False, "write": True}}, {"permission": {"bash": "deny", "edit": "allow"}}),
        ({"tools": {"bash": False}, "permission": {"bash": "ask"}}, {"permission": {"bash": "ask"}}),
        ({"permission": "ask"}, {"permission": {"*": "ask"}}),
        ({"autoshare": True}, {"share": "auto"}),
        ({"autoshare": True, "share": "disabled"}, {"share": "disabled"}),
        ({"autoshare": False}, {}),
        ({"mode": {"x": {"prompt": "p"}}}, {"agent": {"x": {"mode": "primary", "prompt": "p"}}}),
        (
            {"mode": {"build": {"steps": 3}}, "agent": {"build": {"steps": 4}, "b": {}}},
            {"agent": {"build": {"mode": "primary", "steps": 4}, "b": {}}},
        ),
        ({"agent": {"a": {"maxSteps": 3}}}, {"agent": {"a": {"steps": 3}}}),
        ({"agent": {"a": {"tools": {"edit": False}}}}, {"agent": {"a": {"permission": {"edit": "deny"}}}}),
    ],
)
def test_former_names_become_those_of_today(former: dict[str, object], present: dict[str, object]) -> None:
    assert migrate(former) == present


@pytest.mark.parametrize(
    "wrong",
    [{"tools": {"bash": "no"}}, {"tools": []}, {"mode": 5}, {"autoshare": "yes"}, {"agent": [1]}, {"agent": {"a": 1}}],
)
def test_what_has_the_wrong_type_stays_for_the_validation(wrong: dict[str, object]) -> None:
    assert migrate(wrong) == wrong


@each(
    ("settings", "expected"),
    [
        ({"autoshare": True, "share": "disabled"}, {("autoshare",): "share"}),
        ({"autoshare": False, "share": "auto"}, {("autoshare",): "share"}),
        ({"autoshare": True, "share": "auto"}, {}),
        ({"autoshare": True, "share": True}, {}),
        ({"autoshare": True}, {}),
        ({"tools": {"bash": True}, "permission": {"bash": "deny"}}, {("tools", "bash"): "permission.bash"}),
        ({"tools": {"write": False}, "permission": {"edit": "allow"}}, {("tools", "write"): "permission.edit"}),
        ({"tools": {"bash": False}, "permission": {"bash": "deny"}}, {}),
        ({"tools": {"bash": False}, "permission": {"bash": {"git *": "allow"}}}, {}),
        ({"tools": {"bash": False}, "permission": "ask"}, {}),
        ({"agent": {"a": {"maxSteps": 3, "steps": 4}}}, {("agent", "a", "maxSteps"): "agent.a.steps"}),
        ({"agent": {"a": {"maxSteps": 3, "steps": 3}}}, {}),
        (
            {"agent": {"a": {"tools": {"bash": True}, "permission": {"bash": "ask"}}}},
            {("agent", "a", "tools", "bash"): "agent.a.permission.bash"},
        ),
        (
            {"mode": {"b": {"temperature": 1, "prompt": "p"}}, "agent": {"b": {"temperature": 0.5, "prompt": "p"}}},
            {("mode", "b", "temperature"): "agent.b.temperature"},
        ),
        ({"mode": 5, "agent": [1], "tools": "x", "permission": None, "share": 3, "autoshare": "yes"}, {}),
    ],
)
def test_a_former_name_beside_the_current_one_is_found_where_they_differ(
    settings: dict[str, object], expected: dict[tuple[str, ...], str]
) -> None:
    assert dict(overridden(settings)) == expected
