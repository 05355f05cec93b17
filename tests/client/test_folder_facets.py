"""The folder, through either api."""

import json

import pytest

from opencode_tui.schema.api.setting import SettingChange
from opencode_tui.schema.error import ConfigError, NotFoundError, ToolError
from opencode_tui.schema.event.screen_event import ScreenTextAppended
from opencode_tui.schema.permission import Rule
from opencode_tui.tui.prompt.completion import Completer, Trigger


async def test_the_folder_is_the_one_that_was_opened(api):
    places = await api.client.project.places()
    assert api.client.directory == api.project.path and places.worktree == str(api.project.path)
    current = await api.client.project.current()
    assert current.vcs == "git" and current.id in [one.id for one in await api.client.project.all()]
    assert await api.client.project.branch() == api.project.git("branch", "--show-current").strip()


async def test_rules_are_listed_explained_and_tried(api):
    rules = await api.client.rules.list(None)
    assert rules.agent == "build" and Rule(permission="webfetch", pattern="*", action="ask") in rules.rules
    asked = await api.client.rules.explain("bash", "rm -rf x")
    denied = await api.client.rules.explain("bash", "ls", extra=[Rule(permission="bash", pattern="ls*", action="deny")])
    assert (asked.action, denied.action) == ("ask", "deny")
    with pytest.raises(ConfigError, match="nobody"):
        await api.client.rules.list("nobody")


async def test_files_that_differ_from_the_last_commit_are_told_with_their_lines(api):
    api.project.write("a.py", "x = 1\ny = 2\n")
    api.project.write("gone.py", "1\n2\n")
    api.project.commit()
    assert await api.client.files.changed() == []
    api.project.write("a.py", "x = 1\nz = 3\nlast")
    (api.project.path / "gone.py").unlink()
    api.project.write("new/ä.py", "one\ntwo")
    told = {one.path: (one.added, one.removed, one.status) for one in await api.client.files.changed()}
    assert told == {"a.py": (2, 1, "modified"), "gone.py": (0, 2, "deleted"), "new/ä.py": (2, 0, "added")}


async def test_there_is_nothing_to_revoke_at_first(api):
    assert (await api.client.rules.grants("bash", None), await api.client.rules.revoke("bash", None)) == ([], [])


async def test_a_grant_is_switched_changed_and_revoked(api, paths):
    project = await api.client.project.current()
    metadata = {"worktree": str(api.project.path.resolve()), "created": 1}
    record = paths.storage / "permission" / f"{project.id}.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(json.dumps([{"permission": "bash", "pattern": "npm *", "action": "allow", "metadata": metadata}]))
    switched = await api.client.rules.switch("bash", None, is_on=False)
    off = await api.client.rules.list(None)
    assert [one.pattern for one in switched] == ["npm *"] and off.grants == []
    assert [(one.pattern, one.is_on, one.used) for one in off.stored] == [("npm *", False, 0)]
    await api.client.rules.switch("bash", "npm *", is_on=True)
    assert (await api.client.rules.change("bash", "npm *", " npm ci ")).pattern == "npm ci"
    with pytest.raises(NotFoundError):
        await api.client.rules.change("bash", "npm *", "x")
    assert [one.pattern for one in await api.client.rules.revoke("bash", None)] == ["npm ci"]
    assert not await api.client.permissions.decline("per_gone")


async def test_models_are_told_in_full(api):
    [model] = [one for one in await api.client.catalog.models() if one.provider_id == "fake"]
    assert model.model_id == "fake-model" and model.limit.context > 0
    assert len(await api.client.catalog.all_models()) > len(await api.client.catalog.models())
    assert (await api.client.catalog.default_model()).provider_id
    [provider] = [one for one in await api.client.catalog.providers(only_ready=True) if one.id == "fake"]
    assert provider.is_ready and provider.source == "config"


async def test_agents_commands_tools_and_skills_can_be_chosen(api):
    catalog = api.client.catalog
    assert (await catalog.agents())[0].name == "build"
    assert "init" in [command.name for command in await catalog.commands()]
    assert "bash" in [tool.id for tool in await catalog.tools()]
    assert list(await catalog.skills()) == []
    assert (await catalog.describe_agent("plan"))["agent"]["name"] == "plan"
    with pytest.raises(ConfigError, match="nobody"):
        await catalog.describe_agent("nobody")


async def test_settings_tell_what_is_in_force_and_keep_keys(api):
    settings = api.client.settings
    assert (await settings.effective())["permission"]["webfetch"] == "ask"
    assert (await settings.notices()).ignored == []
    assert await settings.delete_key("groq") is False
    await settings.store_key("groq", "secret")
    assert await settings.key_override("groq") == ""
    assert await settings.delete_key("groq") is True


async def test_a_setting_is_changed_and_reset_in_the_users_file(api):
    change = SettingChange(path=["tui", "vim"], value="true")
    done = await api.client.settings.change_one(change)
    listed = {".".join(one.path): one for one in (await api.client.settings.all()).settings}
    assert (done.before, done.problem) == (None, "") and listed["tui.vim"].source == done.file
    assert (await api.client.settings.change_one(change.changed(value=None))).before == "true"
    with pytest.raises(ConfigError, match=r"tui\.vim"):
        await api.client.settings.change_one(change.changed(value='"on"'))


async def test_files_are_found_listed_and_read(api):
    files = api.client.files
    assert next(iter(await files.find("c.py", kind="file"))) == "b/c.py"
    assert [entry.name for entry in await files.list("b")] == ["c.py"]
    assert (await files.read("a.py")).content.strip() == "x = 1"
    assert [match.path.text for match in await files.search("import", limit=5)] == ["b/c.py"]
    with pytest.raises(NotFoundError):
        await files.read("../outside")
    with pytest.raises(ToolError):
        await files.search("(")


async def test_files_are_completed_wherever_the_engine_is(api):
    files = [f"many/f{number}.py" for number in range(250)]  # more than a route of OpenCode's API returns
    for name in files:
        api.project.write(name, "")
    assert {*files, "a.py", "b/", "b/c.py", "many/"} == set(await api.client.files.names())
    found = await Completer(api.client).find(Trigger("reference", "f249", 5))
    assert [one.insert for one in found] == ["@many/f249.py "]


async def test_screens_are_told(api):
    with api.client.events() as events:
        await api.client.screen.publish(ScreenTextAppended(text="hello"))
        envelope = await anext(events)
    assert envelope.event == ScreenTextAppended(text="hello")
