"""What of a repository's settings needs trust, and what does not."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_tui.config.trust.gate import RepositoryFolder, find_gated
from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld
from tests.support.world.settings_shapes import SETTINGS_OF_ANY_SHAPE

COMMAND = ["sh", "-c", "true"]
INERT: list[tuple[Any, list[str], Any]] = [
    ({"plugin": ["./p.py"]}, ["plugin"], {}),
    ({"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}, ["hooks"], {}),
    (
        {"tui": {"status_line": {"fields": ["agent"], "command": "x"}}},
        ["tui.status_line.command"],
        {"tui": {"status_line": {"fields": ["agent"]}}},
    ),
    ({"tui": {"notify": "x"}}, ["tui.notify"], {}),
    ({"shell": "./sh"}, ["shell"], {}),
    ({"mcp": {"m": {"type": "local", "command": COMMAND}}}, ["mcp.m"], {}),
    ({"mcp": {"m": {"type": "remote", "url": "http://x.example", "enabled": False}}}, ["mcp.m"], {}),
    ({"lsp": {"l": {"command": COMMAND, "extensions": [".x"]}}}, ["lsp.l"], {}),
    ({"formatter": {"f": {"command": COMMAND}}}, ["formatter.f"], {}),
    ({"formatter": True}, ["formatter"], {}),
    ({"command": {"c": {"template": "a !`id` b"}}}, ["command.c"], {}),
    ({"command": {"c": {"template": "see @~/.ssh/id_rsa"}}}, ["command.c"], {}),
    ({"command": {"c": {"template": "see @../../x"}}}, ["command.c"], {}),
    ({"command": {"c": {"template": "see @.. and @src"}}}, ["command.c"], {}),
    ({"command": {"c": {"template": "see @src,@~/x"}}}, ["command.c"], {}),
    ({"command": {"c": {"template": "see @config/.ENV.local"}}}, ["command.c"], {}),
    ({"keybinds": {"approvals_cycle": "return"}}, ["keybinds"], {}),
    ({"server": {"hostname": "0.0.0.0"}}, ["server"], {}),
    ({"share": "auto"}, ["share"], {}),
    ({"autoshare": True}, ["share"], {}),
    ({"enterprise": {"url": "http://x.example"}}, ["enterprise"], {}),
    ({"autoupdate": True}, ["autoupdate"], {}),
    ({"snapshot": False}, ["snapshot"], {}),
    ({"experimental": {"lsp_diagnostics": "edit"}}, ["experimental.lsp_diagnostics"], {}),
    ({"experimental": {"websearch": "brave"}}, ["experimental.websearch"], {}),
    ({"experimental": {"websearch": "off"}}, [], {"experimental": {"websearch": "off"}}),
    ({"experimental": {"lsp_diagnostics": "off"}}, [], {"experimental": {"lsp_diagnostics": "off"}}),
    ({"experimental": {"openTelemetry": True}}, ["experimental.openTelemetry"], {}),
    ({"experimental": {"hook": {"session_completed": []}}}, ["experimental.hook"], {}),
    ({"skills": {"paths": ["/x"], "urls": ["http://x.example"]}}, ["skills.paths", "skills.urls"], {}),
    (
        {"provider": {"p": {"name": "n", "npm": "x", "api": "http://x.example", "env": ["X"]}}},
        ["provider.p.npm", "provider.p.api", "provider.p.env"],
        {"provider": {"p": {"name": "n"}}},
    ),
    ({"provider": {"p": {"options": {"baseURL": "http://x.example"}}}}, ["provider.p.options"], {}),
    (
        {"provider": {"p": {"models": {"m": {"headers": {"a": "b"}, "reasoning": True}}}}},
        ["provider.p.models.m.headers"],
        {"provider": {"p": {"models": {"m": {"reasoning": True}}}}},
    ),
    ({"models": {"url": "http://x.example", "refresh": True}}, ["models.url", "models.refresh"], {}),
    ({"models": {"refresh": False}}, [], {"models": {"refresh": False}}),
    ({"disabled_providers": []}, ["disabled_providers"], {}),
    ({"enabled_providers": ["x"]}, ["enabled_providers"], {}),
    ({"permission": "allow"}, ["permission.*"], {}),
    ({"permission": {"*": {"*": "allow"}}}, ["permission.*"], {}),
    ({"permission": {"b*": "allow"}}, ["permission.b*"], {}),
    (
        {"permission": {"bash": {"rm *": "deny", "ls": "allow"}, "edit": "ask"}},
        ["permission.bash.ls"],
        {"permission": {"bash": {"rm *": "deny"}, "edit": "ask"}},
    ),
    ({"tools": {"bash": True, "edit": False}}, ["permission.bash"], {"permission": {"edit": "deny"}}),
    ({"agent": {"build": {"permission": {"bash": "allow"}}}}, ["agent.build.permission.bash"], {}),
    ({"mode": {"m": {"tools": {"bash": True}}}}, ["agent.m.permission.bash"], {"agent": {"m": {"mode": "primary"}}}),
    ({"agent": {"plan": {"permission": {"edit": "ask"}}}}, ["agent.plan.permission.edit"], {}),
    ({"agent": {"build": {"options": {"x": 1}, "other": 2}}}, ["agent.build.options", "agent.build.other"], {}),
    ({"agent": {"build": {"prompt": "{env:HOME}"}}}, ["agent.build.prompt"], {}),
    (
        {"command": {"c": {"template": "x", "agent": "{env:HOME}"}}},
        ["command.c.agent"],
        {"command": {"c": {"template": "x"}}},
    ),
    (
        {"instructions": ["a.md", "http://x.example/i", "/etc/passwd", "~/x", "../x", ".env.local", "docs/*.md"]},
        ["instructions[1]", "instructions[2]", "instructions[3]", "instructions[4]", "instructions[5]"],
        {"instructions": ["a.md", "docs/*.md"]},
    ),
]


@pytest.mark.parametrize(("settings", "keys", "left"), INERT, ids=[str(settings)[:60] for settings, _, _ in INERT])
def test_it_has_no_effect_before_trust_and_all_of_it_after(
    world: SettingsWorld, settings: Any, keys: list[str], left: Any
) -> None:
    world.repository(settings)
    loaded = world.load()
    assert ([notice.key for notice in loaded.ignored], loaded.effective) == (keys, left)
    assert all("until you trust" in notice.reason for notice in loaded.ignored)
    world.trust()
    assert world.load().ignored == []


def test_a_long_prompt_of_a_repository_takes_time_by_its_length(world: SettingsWorld) -> None:
    settings = {"command": {"c": {"template": "@" * 1_000_000}}}  # by the square of its length this would be hours
    world.repository(settings)
    assert world.load().effective == settings


HARMLESS: list[Any] = [
    {"theme": "nord", "username": "u", "model": "openai/x", "compaction": {"reserved": 5}},
    {"permission": {"bash": {"*": "ask", "rm *": "deny"}}},
    {"agent": {"x": {"prompt": "p", "permission": {"edit": "deny"}}, "build": {"disable": True}}},
    {"command": {"c": {"template": "look at @src/a.py, mail me@example.com"}}},
    {"formatter": False, "snapshot": True, "share": "disabled"},
    {"provider": {"p": {"models": {"m": {"limit": {"context": 10, "output": 5}}}}}},
    {"instructions": ["rules.md", "docs/**/*.md"]},
]


@pytest.mark.parametrize("settings", HARMLESS)
def test_what_neither_starts_nor_loosens_works_at_once(world: SettingsWorld, settings: Any) -> None:
    world.repository(settings)
    loaded = world.load()
    assert (loaded.ignored, loaded.effective) == ([], settings)


@pytest.mark.parametrize(
    ("own", "repository", "effective"),
    [
        ({"bash": "allow"}, {"bash": "deny"}, {"bash": "deny"}),
        ({"bash": {"git *": "allow"}}, {"bash": "ask"}, {"bash": "ask"}),
        ({"bash": "deny"}, {"bash": "ask"}, {"bash": "deny"}),
        ({"bash": {"rm *": "deny"}}, {"*": "ask"}, {"bash": {"rm *": "deny"}}),
        ({"*": "deny"}, {"edit": "ask"}, {"*": "deny"}),
        ({"bash": "ask"}, {"bash": {"ls": "allow", "rm": "deny"}}, {"bash": {"*": "ask", "rm": "deny"}}),
    ],
)
def test_a_repository_makes_rules_stricter_never_looser(
    world: SettingsWorld, own: Any, repository: Any, effective: Any
) -> None:
    world.person({"permission": own})
    world.repository({"permission": repository})
    assert world.load().effective["permission"] == effective


FREE_AGENT = {"free": {"mode": "primary", "permission": {"bash": "allow"}}}
"""An agent of the user's that asks less than others."""

OVER_THE_USERS: list[tuple[Any, Any, list[str]]] = [
    ({"lsp": False}, {"lsp": {}}, ["lsp"]),
    ({"lsp": False}, {"lsp": {"pyright": {"disabled": True}}}, ["lsp"]),
    ({"lsp": False}, {"lsp": {"pyright": {"disabled": True}, "x": {"command": COMMAND}}}, ["lsp.x", "lsp"]),
    ({"lsp": {"x": {"command": COMMAND, "extensions": [".x"]}}}, {"lsp": {"pyright": {"disabled": True}}}, []),
    ({"lsp": True}, {"lsp": {"pyright": {"disabled": True}}}, []),
    ({}, {"lsp": {"pyright": {"disabled": True}}}, []),
    (
        {"experimental": {"primary_tools": ["bash"]}},
        {"experimental": {"primary_tools": []}},
        ["experimental.primary_tools"],
    ),
    ({"experimental": {"primary_tools": ["bash"]}}, {"experimental": {"primary_tools": ["bash", "edit"]}}, []),
    ({}, {"experimental": {"primary_tools": ["bash"]}}, []),
    ({"agent": FREE_AGENT}, {"default_agent": "free"}, ["default_agent"]),
    ({"agent": {"free": {"tools": {"bash": True}}}}, {"default_agent": "free"}, ["default_agent"]),
    ({"agent": FREE_AGENT}, {"default_agent": "plan"}, []),
    ({"agent": FREE_AGENT, "default_agent": "free"}, {"default_agent": "build"}, []),
    ({"agent": FREE_AGENT, "default_agent": "free"}, {"default_agent": "free"}, []),
    ({"default_agent": "plan"}, {"default_agent": "build"}, ["default_agent"]),
    ({"default_agent": "plan"}, {"default_agent": "own", "agent": {"own": {"prompt": "p"}}}, ["default_agent"]),
    (
        {"default_agent": "calm", "agent": {"calm": {"permission": {"edit": "deny"}}}},
        {"default_agent": "build"},
        ["default_agent"],
    ),
    ({"default_agent": "build"}, {"default_agent": "own", "agent": {"own": {"prompt": "p"}}}, []),
    ({"agent": FREE_AGENT}, {"agent": {"build": {"disable": True}}}, ["agent.build.disable"]),
    ({"agent": FREE_AGENT}, {"agent": {"build": {"mode": "subagent"}}}, ["agent.build.mode"]),
    ({"agent": FREE_AGENT}, {"mode": {"build": {"hidden": True}}}, ["agent.build.hidden"]),
    ({"agent": FREE_AGENT}, {"agent": {"own": {"mode": "subagent", "prompt": "p"}}}, []),
    ({"agent": FREE_AGENT}, {"command": {"c": {"template": "x", "agent": "free"}}}, ["command.c.agent"]),
    ({"agent": FREE_AGENT}, {"command": {"c": {"template": "x", "agent": "plan"}}}, []),
]
"""The user's settings, a repository's, and the keys of those that wait for trust."""


@pytest.mark.fast_cases("own4-repository4-keys4", "own7-repository7-keys7")
@pytest.mark.parametrize(("own", "repository", "keys"), OVER_THE_USERS)
def test_a_repository_does_not_undo_a_stricter_choice_of_the_user(
    world: SettingsWorld, own: Any, repository: Any, keys: list[str]
) -> None:
    world.person(own)
    before = world.load().effective
    world.repository(repository)
    loaded = world.load()
    assert [notice.key for notice in loaded.ignored] == keys
    assert [_at(loaded.effective, key) for key in keys] == [_at(before, key) for key in keys]
    world.trust()
    assert world.load().ignored == []


def _at(value: Any, key: str) -> Any:
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def test_files_of_the_repository_may_be_put_in_but_not_its_secrets_nor_others(world: SettingsWorld) -> None:
    world.repository("rules", "a.txt")
    world.repository("S=canary", ".env")
    world.write(world.paths.home / "secret", "canary")
    (world.project / "link").symlink_to(world.paths.home / "secret")
    for name in (".env", "~/secret", "link", str(world.paths.home / "secret"), "../home/secret"):
        world.repository({"username": "{file:a.txt}", "model": f"{{file:{name}}}"})
        loaded = world.load()
        assert (loaded.effective, [notice.key for notice in loaded.ignored]) == ({"username": "rules"}, ["model"])


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"permission": {"bash": "{file:named}"}}, "allow"),
        ({"permission": "{file:named}"}, "allow"),
        ({"default_agent": "{file:named}"}, "plan"),
        ({"command": {"c": {"template": "{file:named}"}}}, "x !`id`"),
        ({"instructions": ["{file:named}"]}, "/etc/passwd"),
    ],
)
def test_what_is_hidden_in_a_file_needs_trust_in_both(world: SettingsWorld, settings: Any, text: str) -> None:
    world.repository(settings)
    world.repository(text, "named")
    assert (world.load().effective, len(world.load().ignored)) == ({}, 1)
    world.trust()
    assert text in str(world.load().effective)
    world.repository(text + " ", "named")
    assert world.load().effective == {}


def test_a_gated_setting_of_the_wrong_type_is_inert_too(world: SettingsWorld) -> None:
    world.repository({"mcp": 5, "plugin": "x", "skills": {"paths": 1}})
    assert world.load().effective == {}


def test_markdown_that_is_a_link_to_the_outside_is_inert(world: SettingsWorld) -> None:
    world.write(world.paths.home / "private", "canary")
    for name in ("agent", "command"):
        folder = world.project / ".opencode" / name
        folder.mkdir(parents=True)
        (folder / "x.md").symlink_to(world.paths.home / "private")
    loaded = world.load()
    assert ([notice.key for notice in loaded.ignored], loaded.effective) == (["agent.x", "command.x"], {})


def test_a_skill_folder_that_is_a_link_to_the_outside_is_inert(world: SettingsWorld) -> None:
    world.write(world.paths.home / "private" / "one" / "SKILL.md", "canary")
    (world.project / ".opencode").mkdir()
    (world.project / ".opencode" / "skills").symlink_to(world.paths.home / "private")
    loaded = world.load()
    assert (loaded.extensions, len(loaded.ignored)) == ([], 1)


def test_a_folder_that_is_a_link_to_everything_is_not_read_to_its_end(world: SettingsWorld) -> None:
    (world.project / ".opencode").mkdir()
    (world.project / ".opencode" / "agent").symlink_to("/usr")
    loaded = world.load()
    assert any("more than" in warning.message for warning in loaded.warnings)
    assert loaded.effective == {}


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SETTINGS_OF_ANY_SHAPE, st.sampled_from(["allow", "auto", "http://x.example", "a !`id`", "/etc/passwd"]))
def test_nothing_that_needs_trust_is_left_without_it(world: SettingsWorld, content: dict[str, Any], named: str) -> None:
    world.repository(content)
    world.repository(named, "named")
    try:
        effective = world.load().effective
    except ConfigError:
        effective = {}
    left = find_gated(effective, RepositoryFolder(world.project, world.project, world.paths.home))
    assert [gated for gated in left if gated.condition is None] == []
