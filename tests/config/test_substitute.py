"""Variables and files inside settings."""

import os

import pytest

from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld


def test_a_variable_becomes_part_of_its_text_whatever_it_holds(world: SettingsWorld) -> None:
    world.person({"username": "<{env:WHO}>"})
    assert world.load(WHO='a","model":"x/y\\').effective == {"username": '<a","model":"x/y\\>'}


def test_a_variable_may_hold_what_is_normalised(world: SettingsWorld) -> None:
    world.person({"permission": "{env:MODE}"})
    assert world.load(MODE="ask").effective == {"permission": {"*": "ask"}}
    with pytest.raises(ConfigError, match="permission"):
        world.load(MODE="sk-canary")


def test_an_unset_variable_is_empty_and_named(world: SettingsWorld) -> None:
    world.person({"username": "x{env:NOPE}y"})
    loaded = world.load()
    assert loaded.effective == {"username": "xy"}
    assert "NOPE is not set" in str(loaded.warnings[0])


def test_files_count_from_the_file_that_names_them_or_from_home(world: SettingsWorld) -> None:
    world.person({"username": "{file:./names/mine}", "instructions": ["{file:~/other}"]})
    world.write(world.paths.config / "names" / "mine", "  me\n")
    world.write(world.paths.home / "other", "rules.md\n")
    assert world.load().effective == {"username": "me", "instructions": ["rules.md"]}


def test_what_was_put_in_is_not_looked_at_again(world: SettingsWorld) -> None:
    world.person({"username": "{file:a}"})
    world.write(world.paths.config / "a", "{env:HOME}")
    assert world.load().effective == {"username": "{env:HOME}"}


def test_placeholders_in_comments_and_in_prose_mean_nothing(world: SettingsWorld) -> None:
    world.person('// {file:missing}\n{"username": "u"}')
    world.write(world.paths.config / "agents" / "a.md", "write {env:NOPE} and {file:missing}")
    assert world.load().effective["agent"]["a"]["prompt"] == "write {env:NOPE} and {file:missing}"


@pytest.mark.parametrize("name", ["missing", ".", "pipe", "/dev/zero", "big"])
def test_a_file_that_cannot_be_put_in_is_an_error_at_once(world: SettingsWorld, name: str) -> None:
    path = world.person({"username": f"{{file:{name}}}"})
    os.mkfifo(world.paths.config / "pipe")
    world.write(world.paths.config / "big", "x" * (2 << 20))
    with pytest.raises(ConfigError, match=f"{path} line 1: username: the file "):
        world.load()


def test_a_value_from_a_variable_is_never_quoted(world: SettingsWorld) -> None:
    world.person({"model": "{env:SECRET}", "logLevel": "INFO"})
    with pytest.raises(ConfigError) as caught:
        world.load(SECRET="sk-canary")
    assert "{env:SECRET}" in str(caught.value)
    assert "sk-canary" not in str(caught.value)


def test_what_a_variable_holds_is_not_quoted_by_later_checks_either(world: SettingsWorld) -> None:
    world.person({"theme": "{env:SECRET}"})
    assert "sk-canary" not in str(world.load(SECRET="sk-canary").warnings[0])
    world.person({"default_agent": "{env:SECRET}"})
    with pytest.raises(ConfigError) as caught:
        world.load(SECRET="sk-canary")
    assert "sk-canary" not in str(caught.value)


def test_a_control_character_from_a_file_is_refused(world: SettingsWorld) -> None:
    world.person({"username": "{file:a}"})
    world.write(world.paths.config / "a", "x\x1b[2J")
    with pytest.raises(ConfigError, match="control character"):
        world.load()
