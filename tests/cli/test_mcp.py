import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.config.user_file import add_mcp_server
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import Paths
from tests.engine.mcp.conftest import COMMAND
from tests.engine.mcp.sign_in_world import oauth_server
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands

pytestmark = pytest.mark.slow


LOCAL: JsonObject = {"type": "local", "command": COMMAND}


def test_a_server_is_added_between_comments(tmp_path: Path, paths: Paths):
    path = tmp_path / "opencode.jsonc"
    path.write_text('{\n  // mine\n  "theme": "nord", // dark\n}\n')
    path.chmod(0o644)
    for name in ("one", "two"):
        assert add_mcp_server(tmp_path, name, {"type": "local", "command": ["x", name]}, paths=paths) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    text = path.read_text()
    assert ("// mine" in text, "// dark" in text, text.index('"one"') < text.index('"two"')) == (True, True, True)
    with pytest.raises(ConfigError, match=r"mcp\.one exists already"):
        add_mcp_server(tmp_path, "one", LOCAL, paths=paths)
    (tmp_path / "opencode.json").write_text("{}")  # overrides the other
    assert add_mcp_server(tmp_path, "three", LOCAL, paths=paths) == tmp_path / "opencode.json"


def test_a_server_is_added_to_a_new_file(tmp_path: Path, paths: Paths):
    path = add_mcp_server(tmp_path / "new", "one", LOCAL, paths=paths)
    assert json.loads(path.read_text()) == {"mcp": {"one": LOCAL}}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, r'mcp\.one\.type: expected "local" or "remote", got nothing'),
        ({"type": "local"}, r"mcp\.one\.command: is missing"),
        ({"type": "remote", "url": "one"}, r"mcp\.one\.url: expected an address"),
        ({**LOCAL, "comand": "x"}, r"mcp\.one\.comand: unknown key"),
    ],
)
def test_a_server_that_the_settings_would_refuse_is_not_added(
    tmp_path: Path, paths: Paths, entry: JsonObject, words: str
):
    """It would keep each command and the server from reading the settings."""
    (tmp_path / "opencode.json").write_text('{"theme": "nord"}')
    with pytest.raises(ConfigError, match=words):
        add_mcp_server(tmp_path, "one", entry, paths=paths)
    assert (tmp_path / "opencode.json").read_text() == '{"theme": "nord"}'


def test_the_commands_say_where_a_server_stops_that_demands_a_sign_in(tmp_path: Path, environ: dict[str, str]):
    with oauth_server() as oauth:
        settings = {"mcp": {"one": {"type": "remote", "url": oauth.mcp}, "two": {"type": "local", "command": COMMAND}}}
        line = CommandLine(tmp_path, environ, settings=settings)
        debug = line.run("mcp", "debug", "one")
        assert (debug.code, debug.stdout) == (1, "")
        assert [text.removeprefix("opencode-tui: ") for text in debug.stderr.splitlines()] == [
            f"settings  remote, {oauth.mcp}",
            "reach     it answers",
            "sign-in   it demands a sign-in; sign in with `opencode-tui mcp auth one`",
        ]
        listed = line.run("mcp", "auth", "list")
        assert [text.split() for text in listed.stdout.splitlines()] == [
            ["SERVER", "SIGN-IN", "TARGET"],
            ["one", "not", "signed", "in", oauth.mcp],
        ]
        local = line.run("mcp", "auth", "two")
        assert local.code != 0
        assert "there is no sign-in to the MCP server two: it is a program on this machine" in local.stderr


def test_a_tool_is_called_by_the_name_that_the_list_shows_and_by_the_servers_own(
    tmp_path: Path, environ: dict[str, str]
):
    line = CommandLine(tmp_path, environ, settings={"mcp": {"two": {"type": "local", "command": COMMAND}}})
    listed = json.loads(line.run("mcp", "tools", "two", "--format", "json").stdout)
    names = {one["id"]: one["name"] for one in listed}
    assert names["two_echo"] == "echo"
    for name in ("two_echo", "echo"):
        called = line.run("mcp", "debug", "two", "--call", name, "--arguments", '{"text": "hi"}')
        assert (called.code, "hi" in called.stdout) == (0, True)


def test_servers_of_a_folder_that_is_not_trusted_are_listed_as_inactive(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    commands = Commands(tmp_path, environ, monkeypatch, capsys)
    assert "add one with" in commands.run("mcp", "list").stderr
    assert commands.run("mcp", "add", "tracker", "--url", "http://127.0.0.1:9/mcp").code == 0
    listed = commands.run("mcp", "list")
    assert listed.code == 0
    assert "no MCP servers are in force here" in listed.stderr and "tracker" in listed.stderr
    assert "add one with" not in listed.stderr


MODEL = "fake/fake-model"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def test_a_run_has_the_tools_of_a_server_that_was_never_listed(
    tmp_path: Path, environ: dict[str, str], server: ModelServer
):
    """In its first request, as in a fresh container; the server takes longer than the program."""
    entry = {**LOCAL, "environment": {"START_S": "1.5"}}
    settings = {"mcp": {"one": entry}, "permission": "allow"}
    line = CommandLine(tmp_path, environ, provider=server.config(), settings=settings)
    done = line.run("run", "-m", MODEL, '<<tool one_echo {"text": "hi"}>> go')
    assert done.code == 0
    assert "waiting for the tools of the MCP server one, at most 30 s" in done.stderr
    assert any(tool["function"]["name"] == "one_echo" for tool in server.bodies[0]["tools"])
    again = line.run("run", "-m", MODEL, "go")
    assert (again.code, "waiting" in again.stderr) == (0, False)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({**LOCAL, "environment": {"CRASH_AT_START": "3"}}, "the MCP server one has no tools in this turn: "),
        ({"type": "local", "command": ["no-such-program-here"]}, "no-such-program-here"),
        ({"type": "remote", "url": "http://127.0.0.1:9/mcp"}, "the MCP server one has no tools in this turn: "),
    ],
    ids=["it ends", "it is missing", "it is not there"],
)
def test_a_run_names_the_servers_that_are_not_up(
    tmp_path: Path, environ: dict[str, str], server: ModelServer, entry: JsonObject, words: str
):
    settings = {"mcp": {"one": entry, "two": LOCAL, "off": {**LOCAL, "enabled": False}}}
    line = CommandLine(tmp_path, environ, provider=server.config(), settings=settings)
    done = line.run("run", "-m", MODEL, "go")
    assert done.code == 0
    assert words in done.stderr
    assert done.stderr.count("has no tools in this turn") == 1
    assert any(tool["function"]["name"].startswith("two_") for tool in server.bodies[0]["tools"])
