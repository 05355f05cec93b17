"""Settings one by one: their rows are those of the schema, and a change writes one value and keeps the rest of the file."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from opencode_tui.config.flags import read_flags
from opencode_tui.config.setting_list import kind_of, list_settings
from opencode_tui.config.settings.fields import field_at, former_of, has_mark, list_keys
from opencode_tui.config.settings.marks import Mark
from opencode_tui.config.user_file import change_setting, find_user_file
from opencode_tui.engine.sandbox.limits import find_limits
from opencode_tui.schema.api.setting import ChangedSetting, Setting, SettingChange
from opencode_tui.schema.error import ConfigError
from opencode_tui.tui.state.screen_settings import read_settings
from tests.support.rows import each
from tests.support.world.settings import SettingsWorld


def rows(world: SettingsWorld) -> dict[str, Setting]:
    listed = list_settings(world.load(), user_file=find_user_file(world.paths))
    return {".".join(one.path): one for one in listed.settings}


def change(world: SettingsWorld, key: str, value: str | None) -> ChangedSetting:
    wanted = SettingChange(path=key.split("."), value=value)
    return change_setting(
        wanted, paths=world.paths, flags=read_flags(world.environ), directory=world.project, environ=world.environ
    )


@each("value", ["[" * 100_000, "{", "", "nul", "\ud800"])
def test_a_value_that_is_not_json_is_refused_and_the_file_stays(value: str, world: SettingsWorld) -> None:
    file = world.person({"tui": {"vim": True}})
    before = Path(file).read_bytes()
    with pytest.raises(ConfigError):
        change(world, "theme", value)
    assert Path(file).read_bytes() == before


@each("value", [None, "3", "{}", '{"theme": "nord"}'])
def test_a_change_that_names_no_setting_is_refused_and_the_file_stays(value: str | None, world: SettingsWorld) -> None:
    file = world.person({"tui": {"vim": True}, "model": "a/b"})
    before = Path(file).read_bytes()
    with pytest.raises(ConfigError, match="names no setting"):
        change_setting(
            SettingChange(path=[], value=value),
            paths=world.paths,
            flags=read_flags(world.environ),
            directory=world.project,
            environ=world.environ,
        )
    assert Path(file).read_bytes() == before


def test_every_field_of_the_schema_is_a_row_unless_it_has_only_sections(world: SettingsWorld) -> None:
    left_out = {"$schema"}
    wanted = {
        key
        for key in list_keys(lambda field: not former_of(field) and not has_mark(field, Mark.UNSUPPORTED))
        if "*" not in key and key not in left_out and kind_of(getattr(field_at(key.split(".")), "annotation", None))
    }
    listed = rows(world)
    assert wanted - listed.keys() == set() and len(wanted) > 60
    assert all(one.about and (one.kind != "choice" or len(one.choices) > 1) for one in listed.values())
    assert listed["server.port"].at_start and not listed["tui.vim"].at_start


@each(
    ("key", "kind", "choices"),
    [
        ("tui.vim", "switch", ["true", "false"]),
        ("tui.delivery", "choice", ['"steer"', '"queue"']),
        ("autoupdate", "choice", ["true", "false", '"notify"']),
        ("trash.days", "number", ["false"]),
        ("limits.cost.session", "number", []),
        ("theme", "text", []),
        ("instructions", "list", []),
        ("formatter", "choice", ["true", "false"]),
        ("permission", "object", []),
        ("hooks", "object", []),
    ],
)  # fmt: skip
def test_a_row_says_how_its_value_is_typed(world: SettingsWorld, key: str, kind: str, choices: list[str]) -> None:
    one = rows(world)[key]
    assert (one.kind, one.choices) == (kind, choices)


def test_a_row_has_the_value_in_effect_and_its_source(world: SettingsWorld) -> None:
    own = world.write(
        world.paths.config / "opencode.jsonc",
        '{"theme": "light", "agent": {"build": {"model": "a/b"}}, "tui": {"vim": true}}',
    )
    other = world.write(world.project / "opencode.json", '{"tui": {"vim": false}}')
    listed = rows(world)
    assert (listed["theme"].value, listed["theme"].source, listed["theme"].is_own) == ('"light"', str(own), True)
    assert (listed["tui.vim"].value, listed["tui.vim"].source, listed["tui.vim"].is_own) == ("false", str(other), False)
    assert listed["agent.build.model"].value == '"a/b"' and "agent.build.steps" not in listed
    assert (listed["tui.ascii"].value, listed["tui.ascii"].source) == (None, "")
    assert listed["trash.days"].default == "30"


@each(
    ("key", "default"),
    [
        ("tui.tips", "true"),
        ("tui.vim", "false"),
        ("tui.scroll_speed", "3"),
        ("tui.images", '"auto"'),
        ("share", '"manual"'),
        ("server.port", "4096"),
        ("experimental.sandbox.processes", "2000"),
        ("compaction.prepare", "0.75"),
        ("model", None),
        ("instructions", None),
    ],
)
def test_a_row_has_what_is_in_effect_without_a_value(world: SettingsWorld, key: str, default: str | None) -> None:
    one = rows(world)[key]
    assert (one.default, one.value) == (default, None)


def test_every_switch_and_choice_has_a_default_but_those_whose_absence_means_something_else(
    world: SettingsWorld,
) -> None:
    found = {key for key, one in rows(world).items() if one.kind in ("switch", "choice") and one.default is None}
    assert found == {"experimental.sandbox.network"}  # `hosts` if there are any, else `off`


def test_every_default_is_a_value_that_its_setting_accepts(world: SettingsWorld) -> None:
    wanted = {key: one.default for key, one in rows(world).items() if one.default is not None}
    assert len(wanted) > 40
    settings: dict[str, Any] = {}
    for key, default in sorted(wanted.items(), key=lambda one: -one[0].count(".")):
        *sections, name = key.split(".")
        inner = settings
        for section in sections:
            inner = inner.setdefault(section, {})
        if not isinstance(inner.get(name), dict):
            inner[name] = json.loads(default)
    world.person(json.dumps(settings))
    loaded = world.load()
    assert loaded.warnings == []
    assert read_settings(loaded.effective) == replace(read_settings({}), uses_vim=False)
    sandbox = loaded.settings.experimental.sandbox if loaded.settings.experimental else None
    assert sandbox is not None and find_limits(sandbox) == find_limits(None)


def test_secrets_are_covered(world: SettingsWorld) -> None:
    settings = {"provider": {"fake": {"options": {"apiKey": "sk-secret-of-mine"}}}}
    world.write(world.paths.config / "opencode.jsonc", json.dumps(settings))
    texts = [f"{one.value}" for one in rows(world).values()]
    assert any("hidden" in text for text in texts)
    assert "sk-secret" not in str(texts)
    before = change(world, "provider.fake.options.apiKey", '"another"').before
    assert before == '"[hidden]"'
    with pytest.raises(ConfigError, match="hidden"):
        change(world, "provider.fake.options.apiKey", before)


TEXT = """{
  // how it looks
  "theme": "light", // for the day
  "tui": {
    "vim": true /* mine */
  }
}
"""


def test_a_change_keeps_comments_and_its_reset_restores_the_file(world: SettingsWorld) -> None:
    path = world.write(world.paths.config / "opencode.jsonc", TEXT)
    done = change(world, "tui.scroll_speed", "3")
    assert (done.file, done.before, done.problem) == (str(path), None, "")
    assert path.read_text() == TEXT.replace("true /* mine */", 'true, /* mine */\n    "scroll_speed": 3')
    assert change(world, "tui.scroll_speed", None).before == "3"
    assert path.read_text() == TEXT
    assert change(world, "theme", '"dark"').before == '"light"'
    assert path.read_text() == TEXT.replace('"light"', '"dark"')


def test_a_value_in_the_form_of_opencode_2_is_overridden_and_removed(world: SettingsWorld) -> None:
    path = world.person('{\n  // undo\n  "snapshots": false,\n  "theme": "nord"\n}\n')
    change(world, "snapshot", "true")
    assert world.load().effective["snapshot"] is True
    assert change(world, "snapshot", None).before == "true"
    assert change(world, "snapshot", None).before == "false"
    assert "snapshot" not in path.read_text() and "// undo" in path.read_text()


def test_a_file_of_the_project_is_never_written_and_what_it_overrides_says_so(world: SettingsWorld) -> None:
    other = world.write(world.project / "opencode.json", '{"tui": {"vim": true}}')
    assert change(world, "tui.vim", "false").overridden_by == str(other)
    assert rows(world)["tui.vim"].value == "true" and not rows(world)["tui.vim"].is_own
    assert change(world, "tui.vim", None).before == "false"
    assert other.read_text() == '{"tui": {"vim": true}}'


@each(
    ("key", "value", "why"),
    [
        ("tui.vim", '"yes"', "tui.vim"),
        ("tui.scroll_speed", "1000", "tui.scroll_speed"),
        ("theme", "light", "not JSON"),
        ("nothing.here", "1", "nothing"),
        ("model", '"without-a-slash"', "model"),
    ],
)
def test_a_wrong_value_is_refused_as_in_the_file(world: SettingsWorld, key: str, value: str, why: str) -> None:
    path = world.write(world.paths.config / "opencode.jsonc", TEXT)
    with pytest.raises(ConfigError, match=why):
        change(world, key, value)
    assert path.read_text() == TEXT
