"""The command `serve`: what it says, whom it refuses, how it ends."""

import contextlib
import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import Commands, in_process
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def line(tmp_path, environ):
    repo = make_repo(tmp_path / "project")
    repo.commit("begin")
    return CommandLine(repo.path, environ)


@pytest.fixture
def commands(tmp_path, environ, monkeypatch, capsys):
    return Commands(tmp_path, environ, monkeypatch, capsys)


@contextlib.contextmanager
def running(line: CommandLine, *arguments: str) -> "Generator[tuple[subprocess.Popen[bytes], str]]":
    """Start `serve` and give the process and its URL."""
    process = line.start("serve", "--port", "0", *arguments)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert said.startswith("opencode server listening on http://127.0.0.1:"), said
        yield process, said.split()[-1]
    finally:
        kill_session(process)


def ask(url: str, path: str, password: str, body: object = None) -> object:
    """Return what the server answers as JSON."""
    headers = {"authorization": f"Bearer {password}", "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url + path, data, headers), timeout=PATIENCE_S) as answer:
        return json.loads(answer.read() or b"null")


def test_without_a_password_a_random_one_is_printed_once_to_stderr(line):
    with running(line) as (process, url):
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        password = said.split("): ")[1].split()[0]
        assert (len(password) >= 32, ask(url, "/session", password)) == (True, [])
        process.terminate()
        rest, code = process.stderr.read().decode(), process.wait(PATIENCE_S)
    assert (code, rest) == (0, "")


SECRETS = {"OPENCODE_SERVER_PASSWORD": "from-the-variable-77", "OPENAI_API_KEY": "sk-CANARY-77"}


def readable(process: "subprocess.Popen[bytes]") -> list[bytes]:
    """Return what other processes can read of a process; only root may read its environment, as it keeps no core dump."""
    shown = [Path(f"/proc/{process.pid}/cmdline").read_bytes()]
    with contextlib.suppress(PermissionError):
        shown.append(Path(f"/proc/{process.pid}/environ").read_bytes())
    return shown


def test_a_password_of_a_file_is_the_one_that_counts_and_no_secret_can_be_read_from_the_process(
    line, environ, tmp_path
):
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_text("from-the-file-77\n")
    with ModelServer() as model:
        line = CommandLine(line.folder, {**environ, **SECRETS}, provider=model.config())
        with running(line, "--password-file", str(file)) as (process, url):
            shown = readable(process)
            assert ask(url, "/session", "from-the-file-77") == []
    assert [text for text in shown if b"-77" in text] == []


@contextlib.contextmanager
def hang_up(handler: signal.Handlers) -> Generator[None]:
    """Set what a hang-up does to processes that are started meanwhile, also where the tests run under nohup."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_hang_up_ends_it_unless_nohup_made_it_ignored(line, environ):
    line = CommandLine(line.folder, {**environ, "OPENCODE_SERVER_PASSWORD": "pw"})
    with hang_up(signal.SIG_DFL), running(line) as (process, _):
        process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE_S) == 0
    with hang_up(signal.SIG_IGN), running(line) as (process, url):
        process.send_signal(signal.SIGHUP)
        assert ask(url, "/session", "pw") == []
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_signal_ends_running_turns_in_order(line, environ, monkeypatch, capsys, number, code):
    with ModelServer() as model:
        line = CommandLine(line.folder, {**environ, "OPENCODE_SERVER_PASSWORD": "pw"}, provider=model.config())
        with running(line) as (process, url):
            session = ask(url, "/session", "pw", {})
            assert isinstance(session, dict)
            text = 'wait <<tool bash {"command":"sleep 60","description":"waits"}>>'
            body = {"model": {"providerID": "fake", "modelID": "fake-model"}, "parts": [{"type": "text", "text": text}]}
            ask(url, f"/session/{session['id']}/prompt_async", "pw", body)
            while '"running"' not in json.dumps(ask(url, f"/session/{session['id']}/message", "pw")):
                time.sleep(0.01)
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == code
    assert line.survivors(grace_s=PATIENCE_S) == []
    exported = json.loads(in_process(line, monkeypatch, capsys).run("export", session["id"]).stdout)
    tool = next(part for part in exported["messages"][-1]["parts"] if part["type"] == "tool")
    assert (tool["state"]["status"], exported["messages"][-1]["info"]["error"]["name"]) == (
        "error",
        "MessageAbortedError",
    )


@pytest.mark.parametrize("password", [None, "", "  "])
@pytest.mark.parametrize("hostname", ["0.0.0.0", "::", "192.0.2.1", "example.invalid", ""])
def test_a_public_address_needs_a_password(commands, password, hostname):
    if password is not None:
        commands.environ["OPENCODE_SERVER_PASSWORD"] = password
    done = commands.run("serve", "--hostname", hostname, "--port", "0")
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "password" in done.stderr


@pytest.mark.parametrize("wrong", [["--port", "99999"], ["--port", "x"], ["--port", "-1"], ["--socket", "/tmp/x"]])
def test_wrong_arguments_are_refused_in_one_line(commands, wrong):
    done = commands.run("serve", *wrong)
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_a_port_that_is_taken_is_named(commands):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = commands.run("serve", "--port", port)
    assert (done.code, done.stdout) == (1, "")
    assert port in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_settings_that_cannot_be_used_stop_it_before_it_listens(commands):
    commands.environ["OPENCODE_CONFIG_CONTENT"] = '{"model": 3}'
    done = commands.run("serve", "--port", "0")
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_the_address_can_come_from_the_settings_and_the_password_of_the_variable_cannot_be_read(line, environ):
    settings = {"server": {"port": 0, "hostname": "localhost"}}
    with ModelServer() as model:
        line = CommandLine(line.folder, {**environ, **SECRETS}, provider=model.config(), settings=settings)
        process = line.start("serve")
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().split()[-1]
            shown = readable(process)
            assert (url.startswith("http://localhost:"), url.endswith(":4096")) == (True, False)
            assert ask(url, "/session", "from-the-variable-77") == []
        finally:
            kill_session(process)
    assert [text for text in shown if b"-77" in text] == []
