"""What only shows when all settings are together."""

from typing import Any

import pytest

from opencode_tui.config.check.consistency import KNOWN_FORMATTERS, KNOWN_LANGUAGE_SERVERS, KNOWN_PROVIDERS
from opencode_tui.engine.format.known_formatters import KNOWN as FORMATTERS
from opencode_tui.engine.lsp.known_servers import KNOWN as LANGUAGE_SERVERS
from opencode_tui.engine.provider.known_provider import KNOWN as PROVIDERS
from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": {"build": {"disable": True}, "plan": {"disable": True}}}, "agent: no primary agent is left"),
        ({"default_agent": "nope"}, "default_agent: the agent 'nope' does not exist; choose one of build, plan"),
        ({"default_agent": "general"}, "'general' is a subagent"),
        ({"default_agent": "title"}, "'title' is hidden"),
        ({"default_agent": "plan", "agent": {"plan": {"disable": True}}}, "'plan' is disabled; choose one of build"),
    ],
)
def test_without_an_agent_to_begin_with_there_is_an_error(world: SettingsWorld, settings: Any, message: str) -> None:
    path = world.person(settings)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_an_own_agent_is_enough(world: SettingsWorld) -> None:
    agents = {"build": {"disable": True}, "plan": {"disable": True}, "mine": {"prompt": "p"}}
    world.person({"agent": agents, "default_agent": "mine"})
    assert world.load().warnings == []


def test_an_unknown_limit_is_visible(world: SettingsWorld) -> None:
    options = {"baseURL": "http://127.0.0.1:9/v1"}
    models = {"zero": {"limit": {"context": 0}}, "none": {}, "good": {"limit": {"context": 1000, "output": 10}}}
    world.person({"provider": {"own": {"options": options, "models": models}, "openai": {"models": {"gpt": {}}}}})
    keys = [notice.key for notice in world.load().warnings]
    assert keys == ["provider.own.models.zero", "provider.own.models.none"]


def test_a_theme_of_ones_own_is_known_and_another_one_is_a_warning(world: SettingsWorld) -> None:
    world.write(world.paths.config / "themes" / "mine.json", {})
    world.person({"theme": "mine"})
    assert world.load().warnings == []
    world.person({"theme": "dracla"})
    assert "did you mean 'dracula'?" in str(world.load().warnings[0])


def test_a_theme_that_only_opencode_has_is_a_warning_until_a_file_says_how_it_looks(world: SettingsWorld) -> None:
    world.person({"theme": "aura"})
    (warning,) = world.load().warnings
    assert "OpenCode's theme 'aura' is not in this program" in str(warning)
    world.write(world.paths.config / "themes" / "aura.json", {})
    assert world.load().warnings == []


@pytest.mark.parametrize(
    ("action", "keys", "captured"),
    [
        ("session_new", "enter", "enter"),
        ("session_new", "<leader>n,ctrl+c", "ctrl+c"),
        ("session_list", "l", "l"),
        ("agent_cycle", "Escape", "escape"),
        ("input_submit", "return", None),
        ("app_exit", "ctrl+c,<leader>q", None),
        ("session_share", "none", None),
    ],
)
def test_keys_that_typing_needs_are_not_taken_silently(
    world: SettingsWorld, action: str, keys: str, captured: str | None
) -> None:
    world.person({"keybinds": {action: keys}})
    expected = [f"{captured} is reserved; choose another key"] if captured else []
    assert [notice.message for notice in world.load().warnings] == expected


def test_names_of_actions_and_tools_are_compared_with_the_known_ones(world: SettingsWorld) -> None:
    world.person({"keybinds": {"sesion_new": "f3"}, "permission": {"bsh": "deny", "github_*": "ask", "a_b": "ask"}})
    assert [notice.message for notice in world.load().warnings] == [
        "unknown action (ignored), did you mean 'session_new'?",
        "no tool of this name, did you mean 'bash'?",
    ]


def test_the_known_names_are_those_of_the_engine() -> None:
    assert {name for one in PROVIDERS for name in (one.id, *one.tables)} | {"demo", "chatgpt"} == KNOWN_PROVIDERS
    assert {one.id for one in FORMATTERS} == KNOWN_FORMATTERS
    assert {one.id for one in LANGUAGE_SERVERS} == KNOWN_LANGUAGE_SERVERS


@pytest.mark.parametrize(
    ("section", "name", "entry", "expected"),
    [
        ("formatter", "mine", {"extensions": [".py"]}, "never runs: it has no command"),
        ("formatter", "mine", {"command": ["cat"]}, "never runs: it has no extensions"),
        ("formatter", "mine", {"command": ["cat"], "extensions": []}, "never runs: it has no extensions"),
        ("formatter", "prettierr", {}, "never runs: it has no command and no extensions, did you mean 'prettier'?"),
        ("formatter", "prettier", {"extensions": [".py"]}, ""),
        ("formatter", "mine", {"command": ["cat"], "extensions": ["py"]}, ""),
        ("formatter", "mine", {"disabled": True}, ""),
        ("lsp", "mine", {"command": ["server"]}, "never runs: it has no extensions"),
        ("lsp", "pyrigt", {"extensions": [".py"]}, "never runs: it has no command, did you mean 'pyright'?"),
        ("lsp", "pyright", {"initialization": {}}, ""),
        ("lsp", "pyrigt", {"disabled": True}, ""),
        ("mcp", "mine", {"type": "local", "command": ["no-such-program"]}, "no program 'no-such-program' on PATH"),
        ("mcp", "mine", {"type": "local", "command": ["no-such-program"], "enabled": False}, ""),
        ("mcp", "mine", {"type": "local", "command": ["one"], "environment": {"PATH": "/opt/one"}}, ""),
        ("mcp", "mine", {"type": "local", "command": ["./bin/no-such-program"]}, ""),
        ("mcp", "mine", {"type": "local", "command": ["sh"]}, ""),
    ],
)
def test_a_program_that_cannot_start_is_named(
    world: SettingsWorld, section: str, name: str, entry: Any, expected: str
) -> None:
    world.person({section: {name: entry}})
    messages = [notice.message for notice in world.load().warnings]
    assert len(messages) == (1 if expected else 0)
    assert expected in "".join(messages)


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"model": "antropic/claude-x"}, "model", "no provider 'antropic', did you mean 'anthropic'?"),
        ({"small_model": "opnai/gpt-5"}, "small_model", "no provider 'opnai', did you mean 'openai'?"),
        (
            {"agent": {"a": {"prompt": "p", "model": "Anthropic/x"}}},
            "agent.a.model",
            "no provider 'Anthropic', did you mean 'anthropic'?",
        ),
        (
            {"disabled_providers": ["openai", "deepsek"]},
            "disabled_providers[1]",
            "no provider of this name, did you mean 'deepseek'?",
        ),
        (
            {"enabled_providers": ["mistrall"]},
            "enabled_providers[0]",
            "no provider of this name, did you mean 'mistral'?",
        ),
        (
            {"provider": {"opnrouter": {"options": {"timeout": 5000}}}},
            "provider.opnrouter",
            "no provider of this name, did you mean 'openrouter'?",
        ),
        ({"model": "perplexity/sonar"}, "", ""),
        ({"model": "demo/tour"}, "", ""),
        (
            {
                "model": "opnai/m",
                "provider": {
                    "opnai": {
                        "options": {"baseURL": "http://127.0.0.1:9/v1"},
                        "models": {"m": {"limit": {"context": 9000, "output": 100}}},
                    }
                },
            },
            "",
            "",
        ),
    ],
)
def test_a_misspelled_provider_is_named(world: SettingsWorld, settings: Any, key: str, message: str) -> None:
    world.person(settings)
    found = [(notice.key, notice.message) for notice in world.load().warnings]
    assert found == ([(key, message)] if key else [])


_LOCAL = {"baseURL": "http://127.0.0.1:9/v1"}
_SIZED = {"m": {"limit": {"context": 9000, "output": 100}}}


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({"permission": {"bash": {"rm * ": "deny"}}}, "permission.bash.rm * ", "starts or ends with a space"),
        ({"permission": {"bash": {" rm": "deny"}}}, "permission.bash. rm", "starts or ends with a space"),
        ({"permission": {"bash": {"rm *": "deny"}, "edit": {"a ": "deny"}}}, "", ""),
        (
            {"permission": {"external_directory": {"../x/*": "allow"}}},
            "permission.external_directory.../x/*",
            "start it with / or ~/",
        ),
        ({"permission": {"external_directory": {"~/x/*": "allow", "/y/*": "allow", "$HOME/z": "allow"}}}, "", ""),
        ({"permission": {"task": {"explor": "deny"}}}, "permission.task.explor", "did you mean 'explore'?"),
        (
            {"agent": {"a": {"prompt": "p", "permission": {"task": {"nobody": "deny"}}}}},
            "agent.a.permission.task.nobody",
            "no agent of this name",
        ),
        (
            {"agent": {"mine": {"prompt": "p"}}, "permission": {"task": {"*": "ask", "mine": "allow", "gen*": "deny"}}},
            "",
            "",
        ),
        ({"limits": {"cost": {"session": 10, "day": 1.5}}}, "limits.cost.session", "limits.cost.day is 1.5"),
        ({"limits": {"cost": {"session": 1, "day": 1}}}, "", ""),
        (
            {"experimental": {"sandbox": {"network": "off", "hosts": ["a.example"]}}},
            "experimental.sandbox.hosts",
            'has no effect with network "off"',
        ),
        ({"experimental": {"sandbox": {"hosts": ["a.example"]}}}, "", ""),
        (
            {"provider": {"mine": {"options": {**_LOCAL, "proxy": "nonsense"}, "models": _SIZED}}},
            "provider.mine.options.proxy",
            "begins with http:// or https://",
        ),
        (
            {"provider": {"mine": {"options": {**_LOCAL, "proxy": "socks5://h:1"}, "models": _SIZED}}},
            "provider.mine.options.proxy",
            "begins with http:// or https://",
        ),
        ({"provider": {"mine": {"options": {**_LOCAL, "proxy": "http://h:3128"}, "models": _SIZED}}}, "", ""),
        ({"provider": {"mine": {"options": {**_LOCAL, "proxy": True}, "models": _SIZED}}}, "", ""),
    ],
)
def test_a_value_that_can_have_no_effect_is_named(world: SettingsWorld, settings: Any, key: str, message: str) -> None:
    world.person(settings)
    found = world.load().warnings
    assert [notice.key for notice in found] == ([key] if key else [])
    assert message in "".join(notice.message for notice in found)
