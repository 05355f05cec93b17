"""One wrong definition or setting does not stop the rest: it is named and left out, unless permission rules would go with it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.sources.definitions import MAX_FILES, find_definitions
from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld

GOOD = "---\ndescription: Good\n---\nP\n"


def written(content: str | bytes) -> Callable[[Path], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data)


def linked(*targets: str) -> Callable[[Path], object]:
    """Return what makes a link to the first name, that to the second, and so on."""

    def make(path: Path) -> None:
        for name, target in zip([path.name, *targets], targets, strict=False):
            path.with_name(name).symlink_to(target)

    return make


# (how the wrong file is made, what is said about it; nothing is said of a hidden name)
FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link that leads nowhere": (linked("nowhere"), "broken symlink"),
    "a link to itself": (linked("bad.md"), "broken symlink"),
    "a circle of links": (linked("b.md", "bad.md"), "broken symlink"),
    "Latin-1": (written("---\ndescription: \xe9t\xe9\n---\nP".encode("latin-1")), "not UTF-8"),
    "UTF-16": (written("---\ndescription: x\n---\nP".encode("utf-16")), "UTF-16"),
    "a NUL byte": (written(b"---\ndescription: x\n---\nP\0"), "NUL byte"),
    "front matter without an end": (written("---\ndescription: x\nP"), "unterminated front matter"),
    "front matter that is no YAML": (written("---\ndescription: [x\n---\nP"), "not YAML"),
    "front matter that is a list": (written("---\n- x\n---\nP"), "list of `key: value` lines"),
    "aliases": (written("---\ndescription: &a x\nmore: *a\n---\nP"), "aliases"),
    "too large": (written("---\ndescription: x\n---\n" + "P" * (1 << 20)), "too large"),
    "a pipe": (os.mkfifo, "a named pipe"),
    "conflict markers": (written("<<<<<<< HEAD\n---\ndescription: x\n=======\n"), ""),
    "a control character": (written('---\ndescription: "a\\x1bb"\n---\nP'), "control character"),
}
AGENT_FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "an unknown mode": (written("---\nmode: main\n---\nP"), "is not one of primary, subagent, all"),
    "a wrong number": (written("---\ntemperature: hot\n---\nP"), "temperature: expected"),
    "a number of steps as a word": (written("---\nsteps: many\n---\nP"), "steps: expected"),
    "a model that is a list": (written("---\nmodel: [a]\n---\nP"), "model: expected"),
}
SECTIONS = ("agent", "agents", "mode", "modes", "command", "commands")


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("of", ["the user", "a repository"])
def test_a_wrong_file_is_named_and_the_others_work(world: SettingsWorld, name: str, fault: str, of: str) -> None:
    make, words = FAULTS[fault]
    place = (world.paths.config if of == "the user" else world.project / ".opencode") / name
    place.mkdir(parents=True)
    (place / "good.md").write_text(GOOD)
    make(place / "bad.md")
    loaded = world.load()
    section = loaded.effective["command" if name.startswith("command") else "agent"]
    assert "good" in section
    if words:
        assert "bad" not in section
        assert [str(one) for one in loaded.warnings if one.source == str(place / "bad.md") and words in str(one)]


@pytest.mark.parametrize("fault", AGENT_FAULTS)
@pytest.mark.parametrize("of", ["the user", "a repository"])
def test_a_wrong_value_of_an_agent_costs_that_agent(world: SettingsWorld, fault: str, of: str) -> None:
    make, words = AGENT_FAULTS[fault]
    place = (world.paths.config if of == "the user" else world.project / ".opencode") / "agent"
    place.mkdir(parents=True)
    (place / "good.md").write_text(GOOD)
    make(place / "bad.md")
    loaded = world.load()
    assert set(loaded.effective["agent"]) == {"good"}
    (warning,) = loaded.warnings
    assert words in str(warning) and str(place / "bad.md") in str(warning)


@pytest.mark.parametrize("name", [".#x.md", ".x.md", ".x.md.swp", "._x.md", ".hidden/x.md"])
def test_a_hidden_name_is_no_definition(world: SettingsWorld, name: str) -> None:
    place = world.paths.config / "agent"
    world.write(place / "x.md", GOOD)
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).symlink_to("me@host.123:456")
    loaded = world.load()
    assert (set(loaded.effective["agent"]), loaded.warnings) == ({"x"}, [])


RULES = ["permission:\n  bash: deny", "tools:\n  bash: false", "tools: Read", "disallowedTools: Bash"]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("of", ["the user", "a trusted repository"])
@pytest.mark.parametrize("head", ["mode: main\n{}", "{}\ndescription: [x"])
def test_a_wrong_file_with_permission_rules_is_an_error(world: SettingsWorld, rules: str, of: str, head: str) -> None:
    place = (world.paths.config if of == "the user" else world.project / ".opencode") / "agent"
    world.repository({"mcp": {"m": {"type": "local", "command": ["x"]}}})
    world.trust()
    path = world.write(place / "bad.md", f"---\n{head.format(rules)}\n---\nP")
    with pytest.raises(ConfigError, match=str(path)):
        world.load()


@pytest.mark.parametrize("rules", RULES)
def test_a_wrong_file_of_a_folder_without_trust_stops_nothing_whatever_it_holds(
    world: SettingsWorld, rules: str
) -> None:
    path = world.write(world.project / ".opencode" / "agent" / "bad.md", f"---\nmode: main\n{rules}\n---\nP")
    (warning,) = world.load().warnings
    assert str(warning).startswith(f"{path}: it is left out (line 2: agent.bad.mode")


# (what a repository has in opencode.json, the settings that still have an effect)
CONTENTS: dict[str, tuple[str | bytes, Any]] = {
    "conflict markers": ("<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", {}),
    "a list": ("[]", {}),
    "a text": ('"x"', {}),
    "half of it": ('{"theme": "system", ', {}),
    "UTF-16": ('{"theme": "system"}'.encode("utf-16"), {}),
    "Latin-1": ('{"theme": "\xe9"}'.encode("latin-1"), {}),
    "a NUL byte": (b'{"theme": "system"}\0', {}),
    "instructions as a text": ('{"theme": "system", "instructions": "a.md"}', {"theme": "system"}),
    "null": ('{"theme": null}', {}),
    "an agent that is a list": ('{"theme": "system", "agent": []}', {"theme": "system"}),
    "one wrong agent": (
        '{"agent": {"a": {"mode": "main"}, "b": {"description": "B"}}}',
        {"agent": {"b": {"description": "B"}}},
    ),
    "a wrong agent with rules": (
        '{"permission": {"bash": "deny"}, "agent": {"a": {"mode": "main", "permission": {"edit": "deny"}}}}',
        {"permission": {"bash": "deny"}},
    ),
    "wrong rules": ('{"theme": "system", "permission": {"bash": "maybe"}}', {"theme": "system"}),
    "rules that are a list": ('{"theme": "system", "permission": ["bash"]}', {"theme": "system"}),
    "a command without a template": (
        '{"command": {"a": {}, "b": {"template": "B"}}}',
        {"command": {"b": {"template": "B"}}},
    ),
    "a file that is missing": ('{"theme": "system", "username": "{file:nowhere}"}', {"theme": "system"}),
    "a default agent that is missing": ('{"default_agent": "nobody"}', {}),
    "no agent that is left": ('{"agent": {"build": {"disable": true}, "plan": {"disable": true}}}', None),
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("name", ["opencode.json", "opencode.jsonc", ".opencode/opencode.json"])
def test_wrong_settings_of_a_folder_without_trust_are_named_and_stop_nothing(
    world: SettingsWorld, content: str, name: str
) -> None:
    given, effective = CONTENTS[content]
    path = world.project / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(given.encode() if isinstance(given, str) else given)
    loaded = world.load()
    if effective is not None:
        assert loaded.effective == effective
        assert str(path) in "\n".join(map(str, loaded.warnings))


@pytest.mark.parametrize("content", ["conflict markers", "instructions as a text", "a list", "UTF-16", "Latin-1"])
def test_wrong_settings_of_a_trusted_folder_are_named_where_they_hold_no_rules(
    world: SettingsWorld, content: str
) -> None:
    given, effective = CONTENTS[content]
    trust(world)
    path = world.project / "opencode.json"
    path.write_bytes(given.encode() if isinstance(given, str) else given)
    loaded = world.load()
    assert loaded.effective == effective
    assert [one for one in loaded.warnings if one.source == str(path)]


@pytest.mark.parametrize(
    "given",
    [
        '{"permission": {"bash": "deny"}\n<<<<<<< HEAD\n}',
        '{"permission": {"bash": "maybe"}}',
        '{\n  // rules\n  "permission": {"bash": "deny"},\n  "a": [}',
        '{"agent": {"a": {"mode": "main", "permission": {"edit": "deny"}}}}',
    ],
)
def test_wrong_settings_of_a_trusted_folder_with_rules_are_an_error(world: SettingsWorld, given: str) -> None:
    trust(world)
    path = world.repository(given)
    with pytest.raises(ConfigError, match=str(path)):
        world.load()


@pytest.mark.parametrize("content", ["conflict markers", "instructions as a text", "a list", "UTF-16", "Latin-1"])
def test_a_check_of_a_trusted_folder_leaves_out_no_wrong_settings(world: SettingsWorld, content: str) -> None:
    given, _ = CONTENTS[content]
    trust(world)
    path = world.project / "opencode.json"
    path.write_bytes(given.encode() if isinstance(given, str) else given)
    with pytest.raises(ConfigError, match=str(path)):
        world.check()
    path.unlink()
    definition = world.write(world.project / ".opencode" / "agent" / "bad.md", "---\nmode: main\n---\nP")
    (warning,) = world.check().warnings
    assert str(warning).startswith(str(definition))


@pytest.mark.parametrize("content", ["conflict markers", "instructions as a text"])
def test_a_check_of_a_folder_without_trust_leaves_wrong_settings_out(world: SettingsWorld, content: str) -> None:
    given, effective = CONTENTS[content]
    world.repository(given)
    assert world.check().effective == effective


def trust(world: SettingsWorld) -> None:
    world.repository({"mcp": {"m": {"type": "local", "command": ["x"]}}})
    world.trust()
    (world.project / "opencode.json").unlink()


def test_the_own_settings_of_the_user_are_an_error_with_line_and_key(world: SettingsWorld) -> None:
    path = world.write(world.paths.config / "opencode.json", '{\n "instructions": "a.md"\n}')
    world.repository("[]")
    with pytest.raises(ConfigError, match=f"{path} line 2: instructions: expected a list"):
        world.load()


def test_a_folder_with_wrong_files_can_be_trusted(world: SettingsWorld) -> None:
    world.write(world.project / ".opencode" / "agent" / "bad.md", "---\nmode: [\n---\nP")
    world.repository("[]", "opencode.jsonc")
    world.repository({"mcp": {"m": {"type": "local", "command": ["x"]}}})
    assert [one.key for one in world.load().ignored] == ["mcp.m"]
    world.trust()
    loaded = world.load()
    assert (loaded.ignored, list(loaded.effective["mcp"])) == ([], ["m"])
    assert sum("it is left out" in str(one) for one in loaded.warnings) == 2


CLAUDE: list[tuple[str, set[str], set[str]]] = [
    ("tools: Read, Grep", {"edit", "bash"}, {"read", "grep"}),
    ("tools: [Read, Grep]", {"edit", "bash"}, {"read", "grep"}),
    ("tools:\n  - Read\n  - Bash(git:*)", {"edit"}, {"read", "bash"}),
    ("tools: read, grep", {"edit", "bash"}, {"read"}),
    ("tools: '*'", set(), {"edit", "bash", "read"}),
    ("tools: All tools", set(), {"edit", "bash", "read"}),
    ("disallowedTools: Bash", {"bash"}, {"read", "edit"}),
    ("tools: Read, Bash\ndisallowedTools: Bash", {"bash", "edit"}, {"read"}),
    ("tools: Read\npermission:\n  edit: ask", {"bash"}, {"read", "edit"}),
    ("tools:\n  bash: false", {"bash"}, {"read", "edit"}),
]


@pytest.mark.parametrize(("head", "denied", "kept"), CLAUDE)
def test_tools_in_the_form_of_claude_code_are_rules(
    world: SettingsWorld, head: str, denied: set[str], kept: set[str]
) -> None:
    world.write(world.paths.config / "agent" / "a.md", f"---\nname: a\ndescription: x\nmodel: sonnet\n{head}\n---\nP")
    loaded = world.load()
    agent = loaded.effective["agent"]["a"]
    rules = {name for name, action in agent.get("permission", {}).items() if action == "deny"}
    assert denied <= rules and not kept & rules
    assert "model" not in agent and any("sonnet" in str(one) for one in loaded.warnings)


def test_links_of_the_user_are_followed_and_circles_end(world: SettingsWorld, tmp_path: Path) -> None:
    own = world.paths.config
    world.write(tmp_path / "store" / "deep" / "a.md", GOOD)
    world.write(own / "agent" / "b.md", GOOD)
    (own / "agent" / "linked").symlink_to(tmp_path / "store")
    (own / "agent" / "again").symlink_to(tmp_path / "store")
    (tmp_path / "store" / "circle").symlink_to(own / "agent")
    loaded = world.load()
    assert (set(loaded.effective["agent"]), loaded.warnings) == ({"b", "again/deep/a"}, [])


def test_a_linked_folder_of_a_skill_is_found(world: SettingsWorld, tmp_path: Path) -> None:
    skill = world.write(tmp_path / "store" / "demo" / "SKILL.md", "---\nname: demo\ndescription: d\n---\nB\n").parent
    place = world.paths.config / "skills"
    place.mkdir(parents=True)
    (place / "demo").symlink_to(skill)
    (place / "gone").symlink_to(tmp_path / "nowhere")
    (place / "circle").symlink_to(place)
    world.write(place / "own" / "OLD-SKILL.md", "x")
    loaded = world.load()
    assert [one.path for one in loaded.extensions] == [place / "demo"]
    assert [(one.source, "broken symlink" in one.message) for one in loaded.warnings] == [(str(place / "gone"), True)]


def test_links_of_a_project_are_followed_only_inside_it(world: SettingsWorld, tmp_path: Path) -> None:
    world.write(tmp_path / "store" / "demo" / "SKILL.md", "x")
    inner = world.write(world.project / "shared" / "inner" / "SKILL.md", "x").parent
    world.write(world.project / "shared" / "agents" / "a.md", GOOD)
    own = world.project / ".opencode"
    for name, target in (
        ("skills/out", tmp_path / "store" / "demo"),
        ("skills/in", inner),
        ("agent/out", tmp_path / "store"),
    ):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(target)
    (own / "agent" / "in").symlink_to(world.project / "shared" / "agents")
    loaded = world.load()
    assert [one.path for one in loaded.extensions] == [inner]
    assert set(loaded.effective["agent"]) == {"in/a"}
    assert [one.source for one in loaded.warnings if "outside the project" in one.message] == [
        str(own / "agent" / "out"),
        str(own / "skills" / "out"),
    ]


def test_a_search_ends_and_says_so(tmp_path: Path) -> None:
    for number in range(MAX_FILES // 500 + 1):
        (tmp_path / "top" / str(number)).mkdir(parents=True)
        for inner in range(500):
            (tmp_path / "top" / str(number) / f"{inner}.md").touch()
    found = find_definitions(tmp_path / "top", lambda name: name.endswith(".md"))
    assert 0 < len(found.files) <= MAX_FILES
    assert ["more than" in one.message for one in found.notices] == [True]
