"""A command in the sandbox can neither read the secret of an engine that terminals share, nor use its socket."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from opencode_tui.storage.engine_claim import EngineRecord, live_engines, short_path
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import ProcessIdentity
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import LineInProcess, in_process
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


CONNECT = """
import os, socket, sys
os.chdir(os.path.dirname(sys.argv[1])) if os.path.isdir(os.path.dirname(sys.argv[1])) else print("no folder")
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(os.path.basename(sys.argv[1]))
    connection.sendall(b"GET /session HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    print(connection.recv(4096).decode().splitlines()[0])
"""


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    base = tmp_path_factory.mktemp("shared")
    (base / "home").mkdir()
    make_repo(base / "project").commit("begin")
    settings = {"experimental": {"sandbox": {"tier": request.param}}, "model": "fake/fake-model"}
    with ModelServer() as server:
        environ = isolated_environment(base / "home")
        line = CommandLine(base / "project", environ, provider=server.config(), settings=settings)
        status = json.loads(line.run("debug", "sandbox").stdout)
        if status["tier"] != request.param:
            pytest.skip(status["reason"])
        yield line


@pytest.fixture(scope="module")
def terminal(line: CommandLine) -> Iterator[ScreenTerminal]:
    with ScreenTerminal(["-m", "opencode_tui"], folder=line.folder, environ=line.variables()) as terminal:
        terminal.sees("fake-model")
        yield terminal


@pytest.fixture
def paths(line: CommandLine) -> Paths:
    return find_paths(line.environ)


@pytest.fixture
def record(terminal: ScreenTerminal, paths: Paths) -> EngineRecord:
    (path,) = paths.terminals.glob("*.json")
    fields = json.loads(path.read_text())
    return EngineRecord(ProcessIdentity(fields["pid"], "", ""), fields["folder"], fields["socket"], fields["secret"])


@pytest.fixture
def here(line: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LineInProcess:
    """The same commands without a process for each."""
    return in_process(line, monkeypatch, capsys)


def confined(here: LineInProcess, text: str) -> str:
    return here.run(
        "debug", "sandbox", "--timeout", f"{PATIENCE_S:.0f}", "--", "bash", "-c", f"{text}\necho tried"
    ).stdout


def test_the_secret_cannot_be_read(here, terminal, record, paths):
    pid = terminal.process.pid
    output = confined(
        here,
        f"cat {paths.terminals}/*.json; ls {paths.terminals}; grep -r . {paths.data}; env; cat /proc/*/environ;"
        f" cat /proc/{pid}/environ /proc/{pid}/cmdline; strings /proc/{pid}/mem; ls -l /proc/{pid}/fd",
    )
    assert "tried" in output
    assert record.secret not in output and Path(record.socket).name not in output


def test_without_the_secret_the_socket_refuses(here, terminal, record):
    with (
        short_path(record.socket) as path,
        httpx.Client(transport=httpx.HTTPTransport(uds=path), timeout=PATIENCE_S) as http,
    ):
        assert http.get("http://localhost/session").status_code == 401
        assert http.get("http://localhost/session", auth=("opencode", record.secret)).json() == []
    output = confined(here, f"python3 - {record.socket} <<'E'\n{CONNECT}\nE")
    assert "tried" in output
    assert "HTTP/1.1 200" not in output and "[]" not in output


def test_the_process_with_the_engine_cannot_be_signaled(here, terminal):
    assert "tried" in confined(here, f"kill -9 {terminal.process.pid}")
    assert terminal.process.poll() is None


def test_an_engine_that_was_left_is_as_closed_to_commands(line, here, paths, tmp_path):
    folder = tmp_path / "left"
    folder.mkdir()
    with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as left:
        left.sees("fake-model")
        left.type("count <<slow 500>> <<words 2000>>\r")
        left.sees("word1")
        left.hang_up()
        wait_until(lambda: any(one.is_detached for one in live_engines(paths)))
        (record,) = (one for one in live_engines(paths) if one.is_detached)
        output = confined(
            here,
            f"cat {paths.terminals}/*.json; cat /proc/{record.process.pid}/environ; kill -9 {record.process.pid}\n"
            f"python3 - {record.socket} <<'E'\n{CONNECT}\nE\n{sys.executable} -m opencode_tui stop --all --yes",
        )
        assert "tried" in output and record.secret not in output and "HTTP/1.1 200" not in output
        assert left.process.poll() is None
        # At its first connection the engine loads what serves it: on a loaded machine longer than one command waits.
        wait_until(lambda: line.run("stop", "--all", "--yes").code == 0)
        left.process.terminate()
        assert left.process.wait(PATIENCE_S) == 0
