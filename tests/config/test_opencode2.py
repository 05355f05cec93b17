"""Settings in the form of OpenCode 2: what they mean here, what is wrong in them, and rules that decide as strictly as there."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.config.sources.layer import Layer, parse_layer
from opencode_tui.config.sources.newer_form import is_newer_form
from opencode_tui.engine.permission.ruleset import evaluate, from_config, most_restrictive, strictness
from opencode_tui.schema.error import ConfigError
from tests.support.random_rules import calls, preview_effect, rules
from tests.support.rows import each
from tests.support.world.settings import SettingsWorld

HOME = Path("/home/u")


def read(value: Any) -> Layer:
    text = value if isinstance(value, str) else json.dumps(value)
    return parse_layer(text, source="opencode.json", origin="user", folder=HOME)


def rule(action: str, resource: str, effect: str) -> dict[str, str]:
    return {"action": action, "resource": resource, "effect": effect}


@each(
    ("newer", "older"),
    [
        (
            {
                "permissions": [
                    rule("*", "*", "ask"),
                    rule("shell", "git *", "allow"),
                    rule("subagent", "explore", "deny"),
                ]
            },
            {"permission": {"*": "ask", "bash": {"git *": "allow"}, "task": {"explore": "deny"}}},
        ),
        (
            {"permissions": [rule("read", "*.env", "deny")]},
            {"permission": {"read": {"*.env": "deny"}, "list": {"*.env": "deny"}}},
        ),
        ({"permissions": [rule("shell", "~/x", "deny")]}, {"permission": {"bash": {"\\~/x": "deny"}}}),
        (
            {"permissions": [rule("edit", "a", "deny")], "permission": {"edit": {"a": "ask"}}},
            {"permission": {"edit": {"a": "ask"}}},
        ),
        (
            {"agents": {"r": {"system": "s", "model": "p/m#high", "disabled": False, "permissions": []}}},
            {"agent": {"r": {"prompt": "s", "model": "p/m", "variant": "high", "disable": False, "permission": {}}}},
        ),
        (
            {"agents": {"r": {"request": {"headers": {}, "body": {"temperature": 0.5, "k": 1}}}}},
            {"agent": {"r": {"temperature": 0.5, "options": {"k": 1}}}},
        ),
        ({"agents": {"a": {"steps": 1}}, "agent": {"a": {"steps": 2}}}, {"agent": {"a": {"steps": 2}}}),
        ({"agent": {"a": {"disabled": True}}}, {"agent": {"a": {"disable": True}}}),
        (
            {
                "mcp": {
                    "timeout": {"request": 5},
                    "servers": {"a": {"type": "local", "command": ["x"], "disabled": True}},
                }
            },
            {"mcp": {"a": {"type": "local", "command": ["x"], "enabled": False}}, "experimental": {"mcp_timeout": 5}},
        ),
        (
            {"mcp": {"servers": {"a": {"type": "remote", "url": "http://x", "oauth": {"client_id": "i"}}}}},
            {"mcp": {"a": {"type": "remote", "url": "http://x", "oauth": {"clientId": "i"}}}},
        ),
        (
            {"mcp": {"servers": {"a": {"type": "local", "command": ["x"], "timeout": {"catalog": 1, "execution": 2}}}}},
            {"mcp": {"a": {"type": "local", "command": ["x"], "timeout": 2}}},
        ),
        (
            {
                "providers": {
                    "p": {
                        "api": {
                            "type": "aisdk",
                            "package": "@ai-sdk/openai",
                            "url": "http://x/v1",
                            "settings": {"a": 1},
                        },
                        "request": {"headers": {"h": "v"}, "body": {}},
                        "models": {"m": {"api": {"id": "n"}, "capabilities": {"tools": True, "input": ["text"]}}},
                    }
                }
            },
            {
                "provider": {
                    "p": {
                        "npm": "@ai-sdk/openai",
                        "options": {"a": 1, "baseURL": "http://x/v1", "headers": {"h": "v"}},
                        "models": {"m": {"id": "n", "tool_call": True, "modalities": {"input": ["text"]}}},
                    }
                }
            },
        ),
        (
            {"providers": {"p": {"package": "aisdk:@ai-sdk/openai", "settings": {"apiKey": "k"}, "models": {}}}},
            {"provider": {"p": {"npm": "@ai-sdk/openai", "options": {"apiKey": "k"}, "models": {}}}},
        ),
        (
            {"providers": {"p": {"models": {"m": {"cost": [{"input": 1, "output": 2, "cache": {"read": 3}}]}}}}},
            {"provider": {"p": {"models": {"m": {"cost": {"input": 1, "output": 2, "cache_read": 3}}}}}},
        ),
        (
            {"providers": {"p": {"models": {"m": {"variants": [{"id": "v", "body": {"k": 1}}]}}}}},
            {"provider": {"p": {"models": {"m": {"variants": {"v": {"k": 1}}}}}}},
        ),
        (
            {"commands": {"c": {"template": "t", "subagent": True}}},
            {"command": {"c": {"template": "t", "subtask": True}}},
        ),
        (
            {"skills": ["./a", "https://x/y"], "snapshots": False, "update": "disable", "plugins": ["./p.py", "-x"]},
            {
                "skills": {"paths": ["./a"], "urls": ["https://x/y"]},
                "snapshot": False,
                "autoupdate": False,
                "plugin": ["./p.py"],
            },
        ),
        (
            {"experimental": {"policies": [rule("provider.use", "openai", "deny")], "batch_tool": False}},
            {"experimental": {"batch_tool": False}, "disabled_providers": ["openai"]},
        ),
        (
            {"experimental": {"policies": [rule("provider.use", "*", "deny"), rule("provider.use", "p", "allow")]}},
            {"enabled_providers": ["p"]},
        ),
        (
            {"experimental": {"policies": [rule("provider.use", "p", "deny"), rule("provider.use", "*", "allow")]}},
            {},
        ),
        ({"compaction": {"auto": False, "buffer": 9}}, {"compaction": {"auto": False, "reserved": 9}}),
    ],
)
def test_it_means_the_same_as_in_the_older_form(newer: dict[str, Any], older: dict[str, Any]) -> None:
    assert is_newer_form(newer)
    assert read(newer).value == older


@each(
    "older",
    [
        {"permission": {"bash": "ask"}, "agent": {"a": {"prompt": "p"}}, "skills": {"paths": ["x"]}},
        {"mcp": {"servers": {"type": "local", "command": ["x"]}, "timeout": {"enabled": False}}},
        {"compaction": {"auto": True}, "agent": 5, "mcp": 5, "skills": None},
    ],
)
def test_the_older_form_is_left_alone(older: dict[str, Any]) -> None:
    assert not is_newer_form(older)


@each(
    ("text", "message"),
    [
        ('{\n"permissions": {"bash": "ask"}}', "line 2: permissions: expected a list of rules"),
        ('{\n"permissions": [\n{"action": "edit", "effect": "ask"}]}', "line 3: permissions[0]: `resource` is missing"),
        (
            '{"permissions": [{"action": "edit", "resource": "*",\n"effect": "prompt"}]}',
            'line 2: permissions[0].effect: expected "allow", "ask" or "deny"',
        ),
        (
            '{"permissions": [{"action": 5, "resource": "*", "effect": "ask"}]}',
            "permissions[0].action: expected a string",
        ),
        (
            '{"permissions": [{"action": "edit", "resource": "{env:X}/*", "effect": "deny"}]}',
            "permissions[0].resource: placeholders are not replaced in rules",
        ),
        ('{"agents": {\n"a": []}}', "line 2: agents.a: expected an object"),
        ('{"agents": {"a": {"permissions": [\n[]]}}}', "line 2: agents.a.permissions[0]: expected an object"),
        (
            '{"mcp": {"servers": {"a": {"type": "local", "disabled": 1}}}}',
            "mcp.servers.a.disabled: expected true or false",
        ),
        ('{"update": true}', 'update: expected "disable", "notify" or "auto"'),
        ('{"plugins": [5]}', "plugins[0]: expected the path of a Python file"),
        (
            '{"experimental": {"policies": [\n{"action": "provider.use"}]}}',
            "line 2: experimental.policies[0]: expected",
        ),
        ('{"skills": [5]}', "skills[0]: expected a folder or an address"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_what_is_right(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert message in str(raised.value)


def test_a_value_that_has_the_same_form_in_both_is_named_as_it_is_written(world: SettingsWorld) -> None:
    world.person('{"agents": {\n"a": {\n"system": 5}}}')
    with pytest.raises(ConfigError, match=r"line 3: agents\.a\.system: expected a string"):
        world.load()
    world.person('{"mcp": {"servers": {\n"a": {"type": "local", "command": ["x"], "folder": "/"}}}}')
    assert [(one.line, one.key) for one in world.load().warnings] == [
        (2, "mcp.servers.a.folder"),
        (2, "mcp.servers.a.command"),
    ]


def test_what_has_no_effect_here_is_named() -> None:
    layer = read(
        {
            "permissions": [{**rule("edit", "*", "ask"), "reason": "x"}],
            "snapshots": True,
            "snapshot": False,
            "compaction": {"keep": {"tokens": 5}},
            "agents": {"a": {"request": {"headers": {"h": "v"}}}},
            "plugins": [{"package": "./p.py", "options": {"x": 1}}],
            "providers": {"p": {"models": {"m": {"disabled": True}}}},
            "experimental": {
                "policies": [rule("permission", "shell:sudo *", "deny"), rule("provider.use", "o*", "deny")]
            },
        }
    )
    assert [notice.key for notice in layer.warnings] == [
        "permissions[0].reason",
        "agents.a.request.headers",
        "providers.p.models.m.disabled",
        "snapshots",
        "plugins[0].options",
        "experimental.policies[0]",
        "experimental.policies[1]",
        "compaction.keep",
    ]
    assert layer.value["snapshot"] is False


def test_sources_are_shown_and_later_files_win_in_both_forms(world: SettingsWorld) -> None:
    own = world.person({"permissions": [rule("edit", "*", "allow"), rule("edit", "a", "deny")]})
    other = world.repository({"permission": {"edit": {"b": "deny"}}}, ".opencode/opencode.json")
    loaded = world.load()
    assert loaded.effective["permission"]["edit"] == {"*": "allow", "a": "deny", "b": "deny"}
    sources = {key: loaded.sources[key] for key in ("permission.edit.a", "permission.edit.b")}
    assert sources == {"permission.edit.a": str(own), "permission.edit.b": str(other)}


def test_a_repository_makes_rules_stricter_never_looser(world: SettingsWorld) -> None:
    world.person({"permissions": [rule("*", "*", "ask")]})
    world.repository(
        {
            "permissions": [rule("shell", "*", "allow"), rule("edit", "x", "deny"), rule("e*", "y", "allow")],
            "agents": {"build": {"permissions": [rule("read", "*", "allow")], "request": {"body": {"k": 1}}}},
            "mcp": {"servers": {"m": {"type": "local", "command": ["x"]}}},
            "plugins": ["./p.py"],
            "snapshots": False,
            "skills": ["/x"],
            "providers": {"p": {"settings": {"baseURL": "http://x.example"}}},
            "commands": {"c": {"template": "!`id`"}},
            "update": "auto",
        }
    )
    loaded = world.load()
    assert loaded.effective == {"permission": {"*": "ask", "edit": {"x": "deny"}}}
    assert sorted(notice.key for notice in loaded.ignored) == [
        "agents.build.permissions[0]",
        "agents.build.request.body",
        "commands.c",
        "mcp.servers.m",
        "permissions[0]",
        "permissions[2]",
        "plugins",
        "providers.p.settings",
        "skills",
        "snapshots",
        "update",
    ]
    world.trust()
    assert world.load().ignored == []


def test_the_front_matter_of_an_agent_may_have_it(world: SettingsWorld) -> None:
    rules = "permissions:\n  - action: edit\n    resource: '*'\n    effect: deny\n"
    matter = f"---\nmode: subagent\ndisabled: false\n{rules}---\nlook\n"
    world.write(world.paths.config / "agents" / "r.md", matter)
    agent = world.load().effective["agent"]["r"]
    assert agent == {"mode": "subagent", "disable": False, "permission": {"edit": "deny"}, "prompt": "look"}


def test_the_screen_of_the_other_program_sets_ours(world: SettingsWorld) -> None:
    path = world.write(
        world.paths.config / "cli.json",
        {
            "$schema": "https://opencode.ai/v2/cli.json",
            "theme": {"name": "nord", "mode": "dark"},
            "animations": False,
            "scroll": {"speed": 2, "acceleration": True},
            "diffs": {"view": "unified", "wrap": "word"},
            "prompt": {"paste": "full"},
            "session": {"permissions": "autoaccept"},
            "keybinds": {
                "leader": "ctrl+space",
                "app.exit": ["f12", {"name": "w", "ctrl": True}],
                "command.palette.show": {"key": "ctrl+k", "preventDefault": False},
                "session.new": False,
                "app.console": "f9",
            },
        },
    )
    loaded = world.load()
    assert loaded.effective == {
        "theme": "nord",
        "tui": {
            "reduced_motion": True,
            "scroll_speed": 2,
            "scroll_acceleration": {"enabled": True},
            "diff_style": "stacked",
        },
        "experimental": {"disable_paste_summary": True},
        "keybinds": {
            "leader": "ctrl+space",
            "app_exit": "f12,ctrl+w",
            "command_list": "ctrl+k",
            "session_new": "none",
        },
    }
    assert loaded.sources["theme"] == str(path)
    named = [notice.key for notice in loaded.warnings if notice.source == str(path)]
    assert named == ["theme.mode", "diffs.wrap", "session", "keybinds.app.console"]
    world.person({"theme": "gruvbox"})
    assert world.load().effective["theme"] == "gruvbox"


@each(
    ("value", "message"),
    [
        ({"theme": "nord"}, "theme: expected an object"),
        ({"diffs": {"view": "wide"}}, 'diffs.view: expected "auto", "split" or "unified"'),
        ({"keybinds": {"app.exit": 5}}, "keybinds.app.exit: expected keys"),
        ({"animations": "no"}, "animations: expected true or false"),
        ([], "expected an object"),
    ],
)
def test_a_wrong_value_of_the_screen_is_named(world: SettingsWorld, value: Any, message: str) -> None:
    world.write(world.paths.config / "cli.json", value)
    with pytest.raises(ConfigError) as raised:
        world.load()
    assert message in str(raised.value)


def test_no_cli_file_of_a_repository_is_read(world: SettingsWorld) -> None:
    world.repository({"theme": {"name": "nord"}}, "cli.json")
    world.repository({"theme": {"name": "nord"}}, ".opencode/cli.json")
    assert world.load().effective == {}


@given(st.integers(0, 2**32))
def test_a_list_of_rules_decides_as_the_evaluator_there_or_stricter(seed: int) -> None:
    """That the evaluator there is as `preview_effect` says is what `bench_rules_real` shows."""
    chance = random.Random(seed)
    made, own = rules(chance), rules(chance, 3)
    try:
        value = read({"permissions": made, "agents": {"a": {"permissions": own}}}).value
    except ConfigError:
        return  # a wildcard that cannot be said; nothing is decided by such a file
    ruleset = [*from_config(value["permission"], home=HOME), *from_config(value["agent"]["a"]["permission"], home=HOME)]
    for action, resources in calls(chance, [*made, *own], 5, str(HOME)):
        theirs = preview_effect([*made, *own], action, resources, str(HOME))
        ours = most_restrictive(evaluate(action, resource, ruleset) for resource in resources).action
        assert strictness(ours) >= strictness(theirs), (made, own, action, resources, ours, theirs)  # type: ignore[arg-type] - an effect is an action
