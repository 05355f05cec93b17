"""Former names of settings."""

import pytest

from opencode_tui.config.sources.migrate import migrate


@pytest.mark.parametrize(
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
