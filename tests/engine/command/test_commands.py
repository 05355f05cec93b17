from pathlib import Path

import pytest

from opencode_tui.engine.command.commands import collect_commands
from opencode_tui.engine.skill.skills import Skill, Skills
from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld


@pytest.fixture
def world(tmp_path: Path, environ: dict[str, str]) -> SettingsWorld:
    return SettingsWorld(tmp_path, environ)


def collect(world: SettingsWorld, *skills: Skill):
    return collect_commands(world.load(), Skills(skills))


def test_init_and_review_are_there_and_review_works_apart(world):
    found = {one.name: one for one in collect(world).all()}
    assert list(found) == ["init", "review"]
    assert (found["review"].subtask, found["review"].hints, found["init"].subtask) == (True, ["$ARGUMENTS"], None)


def test_settings_and_markdown_add_and_replace(world):
    world.person({"command": {"init": {"template": "mine"}, "say": {"template": "Say $1", "agent": "plan"}}})
    world.repository("---\ndescription: deep\nsubtask: false\n---\nGo $2 $1", ".opencode/command/nested/child.md")
    found = {one.name: one for one in collect(world).all()}
    assert list(found) == ["init", "nested/child", "review", "say"]
    assert (found["init"].template, found["say"].agent) == ("mine", "plan")
    child = found["nested/child"]
    assert (child.description, child.subtask, child.hints) == ("deep", False, ["$1", "$2"])


def test_a_skill_is_a_command_where_the_name_is_free(world, tmp_path):
    path = world.write(tmp_path / "s" / "SKILL.md", "---\nname: pdf\ndescription: d\n---\nRead it.")
    found = collect(world, Skill("pdf", "d", path, path), Skill("review", "d", path, path))
    assert {one.name: one.source for one in found.all()} == {"init": "command", "pdf": "skill", "review": "command"}
    assert found.get("/pdf").template() == "Read it."


def test_commands_of_the_repository_are_not_the_users_own(world):
    world.person({"command": {"mine": {"template": "a"}}})
    world.repository("theirs", ".opencode/commands/theirs.md")
    found = collect(world)
    assert {name: found.get(name).is_own for name in ("init", "mine", "theirs")} == {
        "init": True,
        "mine": True,
        "theirs": False,
    }


def test_an_unknown_command_is_answered_with_those_there_are(world):
    with pytest.raises(ConfigError, match=r"Unknown command 'nope'\. Commands: init, review"):
        collect(world).get("nope")
