"""Installed plugins in the settings: joined to the user's, weakest first, with their source; a wrong one costs nothing else."""

import json
from typing import Any

from opencode_tui.config.installed.store import InstalledStore
from tests.support.rows import each
from tests.support.world.plugins import SKILL, install, servers, write_plugin
from tests.support.world.settings import SettingsWorld

CLAUDE = {
    "plugin.json": None,
    ".claude-plugin/plugin.json": {"name": "team", "version": "2"},
    "commands/deploy.md": "---\ndescription: Deploys\n---\nDeploy $ARGUMENTS with ${CLAUDE_PLUGIN_ROOT}/x\n",
    "agents/reviewer.md": "---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: sonnet\n---\nReview.\n",
    "skills/one/SKILL.md": SKILL.format("one"),
    "hooks/hooks.json": {
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check"}]}
            ]
        }
    },
    ".mcp.json": {"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["${WHO:-me}"]}}},
}


def test_servers_and_skills_join_the_settings_with_their_source(world: SettingsWorld) -> None:
    entry = {"type": "stdio", "command": "sh", "args": ["{env:HOME}"]}
    remote = {"type": "streamable-http", "url": "https://a.example/{env:HOME}", "headers": {"X": "{env:HOME} ${HOME}"}}
    files = {"skills/one/SKILL.md": SKILL.format("one"), "mcp.json": servers(db=entry, web=remote)}
    root = install(write_plugin(world.root / "p", files), world.environ)
    loaded = world.load()
    assert loaded.warnings == []
    assert loaded.effective["mcp"]["acme:db"]["command"] == ["sh", "{env:HOME}"]
    web = loaded.effective["mcp"]["acme:web"]
    assert (web["url"], web["headers"]) == (remote["url"], remote["headers"])
    assert loaded.sources["mcp.acme:db.command"] == "plugin acme"
    assert [(one.kind, one.path) for one in loaded.extensions] == [("skill", root / "skills" / "one")]


def test_the_user_overrides_a_plugin(world: SettingsWorld) -> None:
    install(write_plugin(world.root / "p", {"mcp.json": servers(db={"type": "stdio", "command": "x"})}), world.environ)
    world.person({"mcp": {"acme:db": {"enabled": False}}})
    entry = world.load().effective["mcp"]["acme:db"]
    assert (entry["command"], entry["enabled"]) == (["x"], False)


def test_all_parts_of_a_plugin_of_claude_code_join_the_settings(world: SettingsWorld) -> None:
    root = install(write_plugin(world.root / "p", CLAUDE), world.environ)
    loaded = world.load(WHO="you")
    assert loaded.warnings == []
    command, agent = loaded.effective["command"]["team:deploy"], loaded.effective["agent"]["team:reviewer"]
    assert command == {"description": "Deploys", "template": f"Deploy $ARGUMENTS with {root}/x"}
    assert (agent["mode"], agent["prompt"], "model" in agent) == ("subagent", "Review.", False)
    assert {"bash", "edit", "webfetch"} <= agent["permission"].keys()
    assert {"read", "grep"}.isdisjoint(agent["permission"])
    assert set(agent["permission"].values()) == {"deny"}
    assert loaded.effective["mcp"]["team:db"]["command"] == [f"{root}/db", "you"]
    hook = loaded.settings.hooks["PreToolUse"][0].hooks[0] if loaded.settings.hooks else None
    assert hook is not None and hook.command == f"{root}/check"
    assert (hook.environment or {})["CLAUDE_PLUGIN_ROOT"] == str(root)


def test_hooks_of_plugins_are_joined_to_those_of_the_user(world: SettingsWorld) -> None:
    install(write_plugin(world.root / "p", CLAUDE), world.environ)
    mine = world.person({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "mine"}]}]}})
    loaded = world.load()
    commands = [one["hooks"][0]["command"] for one in loaded.effective["hooks"]["PreToolUse"]]
    assert [one.rpartition("/")[2] for one in commands] == ["check", "mine"]
    assert loaded.sources["hooks.PreToolUse"] == f"plugin team, {mine}"


@each(
    "named",
    [
        "./hooks/hooks.json",
        "hooks/hooks.json",
        ["./hooks/hooks.json", "./hooks/../hooks/hooks.json"],
        "./hooks/link.json",
    ],
)
def test_a_file_of_hooks_that_is_named_twice_counts_once(named: Any, world: SettingsWorld) -> None:
    manifest = {"name": "team", "hooks": named}
    folder = write_plugin(world.root / "p", {**CLAUDE, ".claude-plugin/plugin.json": manifest})
    (folder / "hooks" / "link.json").unlink(missing_ok=True)
    (folder / "hooks" / "link.json").symlink_to("hooks.json")
    install(folder, world.environ)
    hooks = world.load().effective["hooks"]["PreToolUse"]
    assert [one["hooks"][0]["command"].rpartition("/")[2] for one in hooks] == ["check"]


def test_hooks_of_the_manifest_are_joined_to_those_of_the_usual_file(world: SettingsWorld) -> None:
    more = {"PreToolUse": [{"hooks": [{"type": "command", "command": "more"}]}]}
    manifest = {"name": "team", "hooks": ["./more.json", {"hooks": more}]}
    install(
        write_plugin(
            world.root / "p", {**CLAUDE, ".claude-plugin/plugin.json": manifest, "more.json": {"hooks": more}}
        ),
        world.environ,
    )
    hooks = world.load().effective["hooks"]["PreToolUse"]
    assert [one["hooks"][0]["command"].rpartition("/")[2] for one in hooks] == ["check", "more", "more"]


@each("written", ["./a\0b", "\0", "./\ud800", "\udfff/x"])
@each("key", ["commands", "agents", "skills", "hooks", "mcpServers"])
def test_a_path_that_no_file_can_have_is_named_and_costs_nothing_else(
    key: str, written: str, world: SettingsWorld
) -> None:
    folder = write_plugin(world.root / "p", {**CLAUDE, ".claude-plugin/plugin.json": {"name": "team", key: written}})
    install(folder, world.environ)
    store = InstalledStore(paths=world.paths)
    assert ["no path may have" in problem for one in store.all() for problem in store.read(one).problems] == [True]
    assert "team:deploy" in world.load().effective["command"]


def test_a_wrong_part_is_named_and_costs_nothing_else(world: SettingsWorld) -> None:
    wrong = {
        **CLAUDE,
        "hooks/hooks.json": {"hooks": {"Stop": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]}},
        "agents/second.md": "---\ncolor: 'NO COLOR'\n---\nx\n",
        "commands/bad.md": "---\nx: [\n---\n",
    }
    install(write_plugin(world.root / "p", wrong), world.environ)
    world.person({"username": "me"})
    loaded = world.load()
    assert loaded.effective["username"] == "me"
    assert ("team:deploy" in loaded.effective["command"], "hooks" in loaded.effective) == (True, False)
    assert len(loaded.warnings) == 3
    assert {one.source for one in loaded.warnings} == {"plugin team"}


def test_a_plugin_that_was_damaged_is_named_and_the_program_starts(world: SettingsWorld) -> None:
    root = install(write_plugin(world.root / "p"), world.environ)
    install(write_plugin(world.root / "q", {"skills/one/SKILL.md": SKILL.format("one")}, name="other"), world.environ)
    (root / "plugin.json").write_text("{")
    loaded = world.load()
    assert [one.source for one in loaded.warnings] == ["plugin acme"]
    assert len(loaded.extensions) == 1
    (root.parent / "record.json").write_text(json.dumps({"name": "acme"}))
    assert "opencode-tui plugin remove acme" in str(world.load().warnings[0])
