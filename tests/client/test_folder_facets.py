"""The folder, through either door."""

import pytest

from opencode_tui.schema.error import ConfigError, NotFoundError, ToolError
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.screen_event import ScreenTextAppended


async def test_the_folder_is_the_one_that_was_opened(door):
    places = await door.client.project.places()
    assert door.client.directory == door.project.path and places.worktree == str(door.project.path)
    current = await door.client.project.current()
    assert current.vcs == "git" and current.id in [one.id for one in await door.client.project.all()]
    assert await door.client.project.branch() == door.project.git("branch", "--show-current").strip()


async def test_rules_are_listed_explained_and_tried(door):
    rules = await door.client.rules.list(None)
    assert rules.agent == "build" and Rule(permission="webfetch", pattern="*", action="ask") in rules.rules
    asked = await door.client.rules.explain("bash", "rm -rf x")
    denied = await door.client.rules.explain(
        "bash", "ls", extra=[Rule(permission="bash", pattern="ls*", action="deny")]
    )
    assert (asked.action, denied.action) == ("ask", "deny")
    with pytest.raises(ConfigError, match="nobody"):
        await door.client.rules.list("nobody")


async def test_files_that_differ_from_the_last_commit_are_told_with_their_lines(door):
    door.project.write("a.py", "x = 1\ny = 2\n")
    door.project.write("gone.py", "1\n2\n")
    door.project.commit()
    assert await door.client.files.changed() == []
    door.project.write("a.py", "x = 1\nz = 3\nlast")
    (door.project.path / "gone.py").unlink()
    door.project.write("new/ä.py", "one\ntwo")
    told = {one.path: (one.added, one.removed, one.status) for one in await door.client.files.changed()}
    assert told == {"a.py": (2, 1, "modified"), "gone.py": (0, 2, "deleted"), "new/ä.py": (2, 0, "added")}


async def test_there_is_nothing_to_revoke_at_first(door):
    assert (await door.client.rules.grants("bash", None), await door.client.rules.revoke("bash", None)) == ([], [])


async def test_models_are_told_in_full(door):
    [model] = [one for one in await door.client.catalog.models() if one.provider_id == "fake"]
    assert model.model_id == "fake-model" and model.limit.context > 0
    assert len(await door.client.catalog.all_models()) > len(await door.client.catalog.models())
    assert (await door.client.catalog.default_model()).provider_id
    [provider] = [one for one in await door.client.catalog.providers(only_ready=True) if one.id == "fake"]
    assert provider.is_ready and provider.source == "config"


async def test_agents_commands_tools_and_skills_can_be_chosen(door):
    catalog = door.client.catalog
    assert (await catalog.agents())[0].name == "build"
    assert "init" in [command.name for command in await catalog.commands()]
    assert "bash" in [tool.id for tool in await catalog.tools()]
    assert list(await catalog.skills()) == []
    assert (await catalog.describe_agent("plan"))["agent"]["name"] == "plan"
    with pytest.raises(ConfigError, match="nobody"):
        await catalog.describe_agent("nobody")


async def test_settings_tell_what_is_in_force_and_keep_keys(door):
    settings = door.client.settings
    assert (await settings.effective())["permission"]["webfetch"] == "ask"
    assert (await settings.notices()).ignored == []
    assert await settings.delete_key("groq") is False
    await settings.store_key("groq", "secret")
    assert await settings.delete_key("groq") is True


async def test_files_are_found_listed_and_read(door):
    files = door.client.files
    assert next(iter(await files.find("c.py", kind="file"))) == "b/c.py"
    assert [entry.name for entry in await files.list("b")] == ["c.py"]
    assert (await files.read("a.py")).content.strip() == "x = 1"
    assert [match.path.text for match in await files.search("import", limit=5)] == ["b/c.py"]
    with pytest.raises(NotFoundError):
        await files.read("../outside")
    with pytest.raises(ToolError):
        await files.search("(")


async def test_screens_are_told(door):
    with door.client.events() as events:
        await door.client.screen.publish(ScreenTextAppended(text="hello"))
        envelope = await anext(events)
    assert envelope.event == ScreenTextAppended(text="hello")
