"""The places of settings in their order, and what loading never does."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from opencode_tui.config.load import LoadedConfig
from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld
from tests.support.world.settings_shapes import SETTINGS_OF_ANY_SHAPE


def set_username(world: SettingsWorld, *paths: Path) -> None:
    for path in paths:
        world.write(path, {"username": str(path)})


def test_without_any_file_nothing_is_set(world: SettingsWorld) -> None:
    loaded = world.load()
    assert (loaded.effective, loaded.sources, loaded.warnings, loaded.ignored) == ({}, {}, [], [])
    assert (loaded.settings.compaction.auto, loaded.settings.compaction.prepare) == (True, 0.75)


@pytest.mark.slow
def test_each_place_wins_over_those_before_it(world: SettingsWorld) -> None:
    inner = world.project / "a" / "b"
    inner.mkdir(parents=True)
    places = [
        world.paths.config / "opencode.jsonc",
        world.paths.config / "opencode.json",
        world.paths.home / ".opencode" / "opencode.json",
        world.root / "named.json",
        world.project / "opencode.jsonc",
        world.project / "opencode.json",
        world.project / ".opencode" / "opencode.json",
        world.project / "a" / "opencode.json",
        inner / ".opencode" / "opencode.jsonc",
        world.root / "own" / "opencode.json",
    ]
    environ = {"OPENCODE_CONFIG": str(world.root / "named.json"), "OPENCODE_CONFIG_DIR": str(world.root / "own")}
    world.write(world.root / "named.json", {})
    (world.root / "own").mkdir()
    assert len(places) > 4
    for place in places:
        set_username(world, place)
        assert world.load(inner, **environ).sources == {"username": str(place)}
    environ["OPENCODE_CONFIG_CONTENT"] = '{"username": "inline"}'
    assert world.load(inner, **environ).sources == {"username": "OPENCODE_CONFIG_CONTENT"}
    administrator = Path(world.environ["OPENCODE_TEST_MANAGED_CONFIG_DIR"]) / "opencode.json"
    set_username(world, administrator)
    assert world.load(inner, **environ).sources == {"username": str(administrator)}


def test_nothing_above_the_repository_is_read(world: SettingsWorld) -> None:
    set_username(world, world.root / "opencode.json")
    assert world.load().effective == {}


def test_without_a_repository_only_the_folder_itself_is_read(world: SettingsWorld) -> None:
    folder = world.root / "plain" / "inner"
    set_username(world, folder.parent / "opencode.json", folder / "opencode.json")
    loaded = world.load(folder)
    assert (loaded.worktree, loaded.sources) == (folder, {"username": str(folder / "opencode.json")})


def test_two_files_of_one_folder_are_told(world: SettingsWorld) -> None:
    set_username(world, world.project / "opencode.json", world.project / "opencode.jsonc")
    assert "opencode.json in the same folder overrides it" in str(world.load().warnings[0])


def test_the_persons_own_folder_stays_hers_when_she_works_in_it(world: SettingsWorld) -> None:
    world.person({"permission": "allow"})
    assert world.load(world.paths.config).ignored == []


def test_rules_of_the_environment_come_behind_those_of_files(world: SettingsWorld) -> None:
    world.person({"permission": {"bash": {"ls": "allow"}}})
    loaded = world.load(OPENCODE_PERMISSION='{"bash": {"*": "deny"}}')
    assert loaded.effective == {"permission": {"bash": "deny"}}
    assert loaded.sources["permission.bash"] == "OPENCODE_PERMISSION"


def test_the_administrators_rules_stand_behind_those_of_every_agent(world: SettingsWorld) -> None:
    world.person({"agent": {"build": {"permission": {"bash": "allow"}}}})
    world.write(
        Path(world.environ["OPENCODE_TEST_MANAGED_CONFIG_DIR"]) / "opencode.json",
        {"permission": {"bash": {"rm *": "deny"}}},
    )
    loaded = world.load()
    assert loaded.effective["agent"]["build"]["permission"] == {"bash": {"*": "allow", "rm *": "deny"}}


def test_switches_of_the_environment_win_over_files(world: SettingsWorld) -> None:
    world.person({"compaction": {"auto": True, "prune": True}, "share": "manual"})
    loaded = world.load(OPENCODE_DISABLE_AUTOCOMPACT="1", OPENCODE_DISABLE_PRUNE="true", OPENCODE_DISABLE_SHARE="1")
    compaction = loaded.settings.compaction
    assert (compaction.auto, compaction.prune, loaded.settings.share) == (False, False, "disabled")
    assert loaded.sources["compaction.auto"] == "OPENCODE_DISABLE_AUTOCOMPACT"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("OPENCODE_CONFIG", "/nowhere/x.json", "OPENCODE_CONFIG: the file /nowhere/x.json does not exist"),
        ("OPENCODE_CONFIG_DIR", "/nowhere", "OPENCODE_CONFIG_DIR: /nowhere is not a folder"),
        ("OPENCODE_CONFIG_CONTENT", '{"k": "sk-canary', "OPENCODE_CONFIG_CONTENT: line 1 column 7"),
        ("OPENCODE_CONFIG_CONTENT", "[]", "OPENCODE_CONFIG_CONTENT line 1: expected an object"),
        ("OPENCODE_PERMISSION", "{bash}", "OPENCODE_PERMISSION: line 1 column 2"),
        ("OPENCODE_PERMISSION", '{"bash": "maybe"}', "OPENCODE_PERMISSION line 1: permission.bash"),
    ],
)
def test_a_wrong_variable_is_named(world: SettingsWorld, variable: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        world.load(None, **{variable: value})
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(world: SettingsWorld) -> None:
    (world.paths.config / "opencode.json").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"opencode\.json: a directory, not a regular file"):
        world.load()


def test_linked_settings_are_read(world: SettingsWorld) -> None:
    target = world.write(world.root / "dotfiles" / "oc.json", {"username": "linked"})
    world.paths.config.mkdir(parents=True)
    (world.paths.config / "opencode.json").symlink_to(target)
    assert world.load().effective == {"username": "linked"}


def test_a_dot_env_file_is_never_loaded(world: SettingsWorld) -> None:
    world.repository('OPENCODE_CONFIG_CONTENT={"permission":"allow"}\n', ".env")
    assert world.load().effective == {}


def test_loading_writes_nothing(world: SettingsWorld) -> None:
    world.person({"username": "u"})
    world.repository({"plugin": ["./p.py"]})
    before = sorted(world.root.rglob("*"))
    loaded: LoadedConfig = world.load()
    assert loaded.ignored
    assert sorted(world.root.rglob("*")) == before


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(SETTINGS_OF_ANY_SHAPE)
def test_whatever_stands_in_a_file_is_loaded_or_one_line(world: SettingsWorld, content: dict[str, object]) -> None:
    for write in (world.person, world.repository):
        path = write(content)
        try:
            told = [str(notice) for notice in world.load().warnings]
        except ConfigError as error:
            told = [str(error)]
        assert [line for line in told if "\n" in line] == []
        path.unlink()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"mcpServers": {', "its MCP servers are left out"),
        ({"mcpServers": {"bad": {"command": "x", "args": 5}}}, "mcp.bad: `args` must be a list of texts"),
        ({"mcpServers": {"bad": {"command": "x", "env": None}}}, "mcp.bad: null has no effect"),
        ({"mcpServers": {"bad": {"args": []}}}, "mcp.bad: `command` must be a text"),
        *(
            ({"mcpServers": {"bad": entry}}, "the MCP server bad is left out (")
            for entry in (
                {"url": "not an address"},
                {"url": ""},
                {"url": "http://"},
                {"url": "ftp://example.com"},
                {"url": "https://example.com/${MISSING:-a b}"},
                {"url": "https://example.com", "headers": {"A B": "x"}},
                {"url": "https://example.com", "headers": {"A": "x\ny"}},
                {"command": ""},
                {"command": " "},
                {"command": "x", "env": {"A=B": "x"}},
                {"command": "x", "env": {"A": "{env:NOT_THERE}"}, "args": ["{file:not-there}"]},
            )
        ),
    ],
)
def test_a_wrong_file_of_mcp_servers_is_a_warning(world: SettingsWorld, content: Any, problem: str) -> None:
    world.repository(content, ".mcp.json")
    world.trust()
    loaded = world.load()
    assert problem in str(loaded.warnings[0])
    assert not loaded.settings.mcp


def test_one_wrong_server_costs_no_other(world: SettingsWorld) -> None:
    right = {"local": {"command": "sh"}, "remote": {"url": "https://example.com/mcp"}}
    wrong = {
        "url": {"url": "nowhere"},
        "words": {"command": ""},
        "kind": 5,
        "variable": {"command": "x", "env": {"A B": ""}},
    }
    world.repository({"mcpServers": {**wrong, **right}}, ".mcp.json")
    world.trust()
    loaded = world.load()
    assert set(loaded.settings.mcp or {}) == set(right)
    assert [next(name for name in wrong if name in str(one)) for one in loaded.warnings] == [
        "kind",
        "url",
        "words",
        "variable",
    ]


def test_a_variable_of_an_mcp_server_has_a_default(world: SettingsWorld) -> None:
    entry = {"command": "x", "args": ["${WHO:-nobody}", "${ELSE:-none}"], "env": {"A": "${WHO}"}}
    world.repository({"mcpServers": {"one": entry, "bad": 3}}, ".mcp.json")
    world.trust()
    server = world.load(WHO="ada").effective["mcp"]["one"]
    assert (server["command"], server["environment"]) == (["x", "ada", "none"], {"A": "ada"})
