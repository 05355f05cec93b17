"""What only shows when all settings are together."""

from typing import Any

import pytest

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
