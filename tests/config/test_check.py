"""Types of settings: one clear line for each mistake."""

from typing import Any

import pytest

from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld

MISTAKES: list[tuple[Any, str]] = [
    ({"permission": {"bash": "prompt"}}, 'permission.bash: "prompt" is not one of allow, deny, ask'),
    ({"permission": {"bash": {"ls": 1}}}, "permission.bash.ls: expected one of allow, deny, ask, got 1"),
    ({"permission": True}, "permission: expected an object, got true"),
    ({"compaction": False}, "compaction: expected an object, got false"),
    ({"compaction": {"reserved": -1}}, "compaction.reserved: expected a number at least 0, got -1"),
    ({"compaction": {"reserved": "1"}}, 'compaction.reserved: expected an integer, got "1"'),
    ({"compaction": {"reserved": 10**30}}, "compaction.reserved: expected a number at most 1000000000"),
    ({"compaction": {"prepare": 1.5}}, "compaction.prepare: expected false or a number at most 1, got 1.5"),
    ({"model": "gpt-5"}, "model: expected provider/model"),
    ({"agent": {"a": {"model": "/x"}}}, "agent.a.model"),
    ({"agent": {"a": {"mode": "main"}}}, 'agent.a.mode: "main" is not one of primary, subagent, all'),
    ({"agent": {"a": {"temperature": 3}}}, "agent.a.temperature: expected a number at most 2, got 3"),
    ({"agent": {"a": {"steps": 0}}}, "agent.a.steps: expected a number at least 1, got 0"),
    ({"agent": {"a": {"steps": True}}}, "agent.a.steps: expected an integer, got true"),
    ({"agent": []}, "agent: expected an object, got a list"),
    ({"server": {"port": 65536}}, "server.port"),
    ({"instructions": "a"}, 'instructions: expected a list, got "a"'),
    ({"instructions": ["a", 5]}, "instructions[1]: expected a string, got 5"),
    ({"mcp": {"m": {"type": "local", "command": "x"}}}, 'mcp.m.command: expected a list, got "x"'),
    (
        {"mcp": {"m": {"type": "local", "command": []}}},
        "mcp.m.command: expected a list with at least one member, got a list",
    ),
    ({"mcp": {"m": {"type": "local"}}}, "mcp.m.command: is missing"),
    ({"mcp": {"m": {"command": ["x"]}}}, 'mcp.m.type: expected "local" or "remote"'),
    ({"command": {"c": {}}}, "command.c.template: is missing"),
    ({"formatter": {"f": {"command": 5}}}, "formatter.f.command: expected a list, got 5"),
    ({"provider": {"p": {"options": {"timeout": -5}}}}, "provider.p.options.timeout"),
    (
        {"experimental": {"mcp_background": 3}},
        "experimental.mcp_background: expected at least 1000, as it is in milliseconds: write 3000 for 3 s, got 3",
    ),
    ({"provider": {"p": {"options": {"baseURL": "x"}}}}, "baseURL: expected an address that begins"),
    ({"provider": {"p": {"options": {"apiKey": 5}}}}, "apiKey: expected a string, got a number (not shown)"),
    (
        {"tui": {"editor_links": "javascript://{path}"}},
        "tui.editor_links: expected the name of an editor, or an address",
    ),
    ({"tui": {"editor_links": "vim"}}, "tui.editor_links: expected the name of an editor, or an address"),
    ({"model": None}, "model: null has no effect"),
    ({"theme": "a\x1b]0;b"}, "theme: control character"),
    ({"a\x07": 1}, "control character"),
    ({"tools": {"bash": "no"}}, 'tools.bash: expected true or false, got "no"'),
]


@pytest.mark.parametrize(("settings", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_wrong_value_is_one_line_with_file_line_and_key(world: SettingsWorld, settings: Any, message: str) -> None:
    path = world.person(settings)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert str(caught.value).startswith(f"{path} line 1: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_line_is_that_of_the_key(world: SettingsWorld) -> None:
    path = world.person('{\n  "agent": {\n    "build": {\n      // hot\n      "temperature": 9\n    }\n  }\n}')
    with pytest.raises(ConfigError, match=f"{path} line 5: agent.build.temperature"):
        world.load()


def test_a_renamed_key_is_found_under_its_former_name(world: SettingsWorld) -> None:
    path = world.person('{\n"mode": {\n"build": {\n"temperature": 9}}}')
    with pytest.raises(ConfigError, match=f"{path} line 4: agent.build.temperature"):
        world.load()


def test_unknown_keys_are_named_once_with_the_nearest_and_have_no_effect(world: SettingsWorld) -> None:
    world.person({"permisson": {"bash": "deny"}, "tui": {"scrol_speed": 1}, "zzz": 1, "agent": {"build": {"stps": 3}}})
    loaded = world.load()
    assert [(notice.key, notice.message) for notice in loaded.warnings] == [
        ("permisson", "unknown key (ignored), did you mean 'permission'?"),
        ("zzz", "unknown key (ignored)"),
        ("tui.scrol_speed", "unknown key (ignored), did you mean 'scroll_speed'?"),
        ("agent.build.stps", "unknown key (ignored), did you mean 'steps'?"),
    ]
    assert loaded.effective == {}


def test_options_of_agents_and_providers_may_be_anything(world: SettingsWorld) -> None:
    settings = {
        "agent": {"build": {"reasoningEffort": "high", "top_k": 3, "options": {"a": None}}},
        "provider": {"p": {"options": {"region": "eu", "nested": {"x": None}}}},
    }
    world.person(settings)
    loaded = world.load()
    assert (loaded.warnings, loaded.effective) == ([], settings)


def test_what_has_no_effect_yet_is_said_once(world: SettingsWorld) -> None:
    world.person({"layout": "auto", "autoupdate": False, "share": "manual", "mcp": {}})
    world.repository({"layout": "stretch"})
    assert [notice.key for notice in world.load().warnings] == ["layout"]
