"""`config` and `debug config` for users and scripts."""

import json
from pathlib import Path

import pytest

from tests.support.world.in_process import Commands


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command in a repository with settings of its own."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "opencode.json").write_text('{"username": "ume"}')
    return Commands(folder, environ, monkeypatch, capsys)


def write_own(line: Commands, settings: object) -> Path:
    path = Path(line.environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "opencode.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings))
    path.chmod(0o600)
    return path


def test_debug_config_prints_values_sources_warnings_and_ignored_keys(line: Commands) -> None:
    own = write_own(line, {"provider": {"p": {"options": {"apiKey": "sk-canary"}}}, "zzz": 1})
    (line.folder / "opencode.json").write_text('{"plugin": ["./p.py"]}')
    done = line.run("debug", "config")
    printed = json.loads(done.stdout)
    assert (done.code, done.stderr) == (0, "")
    assert printed["config"] == {"provider": {"p": {"options": {"apiKey": "[hidden]"}}}}
    assert printed["sources"]["provider"] == str(own)
    assert [entry["key"] for entry in printed["warnings"]] == ["zzz"]
    assert "trust" in printed["ignored"][0]["message"]


def test_a_wrong_value_is_one_line_and_exit_2(line: Commands) -> None:
    path = write_own(line, {"theme": "a\x1b]52;c;x\x07"})
    done = line.run("debug", "config")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr == f"opencode-tui: {path} line 1: theme: control character in string; remove it\n"


def test_show_is_a_table_of_values_and_sources(line: Commands) -> None:
    done = line.run("config", "show")
    assert done.stdout == f'username  "ume"  {line.folder}/opencode.json\n'


def test_path_names_each_place_and_whether_something_is_there(line: Commands) -> None:
    places = line.run("config", "path").stdout.splitlines()
    assert f"found    {line.folder}/opencode.json" in places
    assert f"missing  {line.environ['XDG_CONFIG_HOME']}/opencode-tui/opencode.json" in places


def test_schema_is_json(line: Commands) -> None:
    assert "permission" in json.loads(line.run("config", "schema").stdout)["properties"]
