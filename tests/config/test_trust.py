"""Trust in a folder is bound to what was seen in it."""

import json
import os
from pathlib import Path

import pytest

from opencode_tui.config.sources.locations import find_worktree
from opencode_tui.config.trust.inspection import inspect_folder
from opencode_tui.config.trust.store import TrustStore
from opencode_tui.schema.error import TrustError
from tests.support.world.settings import SettingsWorld

MCP = {"mcp": {"m": {"type": "local", "command": ["./serve.sh", "--fast"]}}}


def is_trusted(world: SettingsWorld, directory: Path | None = None) -> bool:
    return world.load(directory).ignored == []


def test_changed_settings_are_not_trusted(world: SettingsWorld) -> None:
    world.repository({"mcp": {"m": {"type": "local", "command": ["true"]}}})
    world.trust()
    world.repository({"mcp": {"m": {"type": "local", "command": ["false"]}}})
    loaded = world.load()
    assert "mcp" not in loaded.effective
    assert "changed since you trusted it" in loaded.ignored[0].reason


def test_harmless_changes_cost_no_trust(world: SettingsWorld) -> None:
    world.repository(MCP)
    world.trust()
    world.repository({**MCP, "username": "new", "permission": {"bash": "deny"}})
    assert is_trusted(world)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (MCP, "serve.sh"),
        ({"plugin": ["./tools/p.py"]}, "tools/p.py"),
        ({"plugin": ["file://{root}/tools/p.py"]}, "tools/p.py"),
        ({"plugin": ["./tools/p.py"]}, "tools/beside.py"),
        ({"formatter": {"f": {"command": ["sh", "-c", "cd x && ./fmt.sh $FILE"]}}}, "fmt.sh"),
        ({"command": {"c": {"template": "x !`./fmt.sh`"}}}, "fmt.sh"),
        ({"mcp": {"m": {"type": "remote", "url": "http://x.example", "headers": {"a": "{file:token}"}}}}, "token"),
        ({"skills": {"paths": ["extra"]}}, "extra/one/run.sh"),
    ],
)
def test_a_changed_file_that_settings_start_or_read_is_not_trusted(
    world: SettingsWorld, settings: dict[str, object], name: str
) -> None:
    text = json.dumps(settings).replace("{root}", str(world.project))
    world.repository(text)
    world.repository("old", name)
    world.repository("old", "tools/p.py")
    world.trust()
    assert is_trusted(world)
    world.repository("new", name)
    assert not is_trusted(world)


def test_a_link_that_leads_elsewhere_is_not_trusted(world: SettingsWorld) -> None:
    world.repository(MCP)
    script = world.project / "serve.sh"
    for target in ("/bin/true", "/bin/sh"):
        script.unlink(missing_ok=True)
        script.symlink_to(target)
        assert not is_trusted(world)
        world.trust()
        assert is_trusted(world)


@pytest.mark.parametrize(
    "name",
    [
        ".opencode/plugin/p.py",
        ".opencode/plugins/p.py",
        ".opencode/tool/t.py",
        ".opencode/tools/t.py",
        ".opencode/skills/s/run.sh",
    ],
)
def test_extensions_are_listed_only_when_trusted_as_they_are(world: SettingsWorld, name: str) -> None:
    path = world.repository("one", name)
    if "skills" in name:
        world.repository("---\nname: s\n---\n", ".opencode/skills/s/SKILL.md")
        path = path.parent
    assert (world.load().extensions, [notice.source for notice in world.load().ignored]) == ([], [str(path)])
    world.trust()
    assert [extension.path for extension in world.load().extensions] == [path]
    world.repository("two", name)
    assert world.load().extensions == []
    world.trust()
    world.repository("more", str(Path(name).with_name("beside.py")))
    assert world.load().extensions == []


def test_a_skill_of_texts_needs_no_trust(world: SettingsWorld) -> None:
    world.repository("---\nname: s\n---\n", ".opencode/skill/s/SKILL.md")
    world.repository("more", ".opencode/skill/s/more.md")
    assert [extension.path.name for extension in world.load().extensions] == ["s"]


def test_a_folder_below_adds_only_what_was_seen(world: SettingsWorld) -> None:
    world.repository({"plugin": ["./a.py"]})
    world.repository({"plugin": ["./b.py"]}, "sub/opencode.json")
    world.trust()
    assert is_trusted(world)
    assert [notice.source for notice in world.load(world.project / "sub").ignored] == [
        str(world.project / "sub" / "opencode.json")
    ]
    world.trust(world.project / "sub")
    assert is_trusted(world)
    assert is_trusted(world, world.project / "sub")


def test_trust_belongs_to_the_real_folder(world: SettingsWorld) -> None:
    world.repository({"plugin": ["./a.py"]})
    other = world.root / "other"
    world.write(other / "opencode.json", {"plugin": ["./a.py"]})
    link = world.root / "link"
    link.symlink_to(world.project)
    world.trust(link)
    assert is_trusted(world)
    link.unlink()
    link.symlink_to(other)
    assert not is_trusted(world, link)


def test_what_cannot_be_read_is_never_trusted(world: SettingsWorld) -> None:
    world.repository("x", ".opencode/plugin/p.py")
    os.mkfifo(world.project / ".opencode" / "plugin" / "pipe")
    with pytest.raises(TrustError, match="files that cannot be read"):
        world.trust()
    assert not is_trusted(world)


def test_home_and_what_holds_it_cannot_be_trusted(world: SettingsWorld) -> None:
    for folder in (world.paths.home, world.paths.home.parent, Path("/")):
        with pytest.raises(TrustError, match="home folder"):
            inspect_folder(folder, paths=world.paths)


def test_a_repository_that_is_the_home_folder_cannot_be_trusted(world: SettingsWorld) -> None:
    (world.paths.home / ".git").mkdir()
    project = world.paths.home / "project"
    project.mkdir()
    with pytest.raises(TrustError, match="home folder"):
        inspect_folder(project, paths=world.paths)


def test_revoked_trust_is_gone(world: SettingsWorld) -> None:
    world.repository({"plugin": ["./a.py"]})
    world.trust()
    store = TrustStore(paths=world.paths, clock=lambda: 5)
    assert [folder.worktree for folder in store.folders()] == [str(world.project)]
    assert store.revoke(find_worktree(world.project))
    assert not store.revoke(find_worktree(world.project))
    assert not is_trusted(world)


def test_the_file_is_private(world: SettingsWorld) -> None:
    world.repository({"plugin": ["./a.py"]})
    world.trust()
    assert world.paths.trust.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", ["{bad", "[]", '{"/x": 5}'])
def test_with_a_damaged_file_nothing_is_trusted_and_it_stays(world: SettingsWorld, damage: str) -> None:
    world.repository({"plugin": ["./a.py"]})
    world.write(world.paths.trust, damage)
    assert not is_trusted(world)
    assert str(world.paths.trust) in str(world.load().warnings[0])
    with pytest.raises(TrustError):
        world.trust()
    assert world.paths.trust.read_text() == damage
