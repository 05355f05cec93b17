"""A command in the sandbox reaches neither a running server, nor its password, nor the questions that it asks."""

import json
import os
import secrets
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest

from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import LineInProcess, in_process
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


PASSWORD = f"CANARY-password-{secrets.token_hex(8)}"
"""Another one in each process: a command of these tests has it among its words, which all commands in Landlock can see."""


@pytest.fixture(scope="module", params=["bubblewrap", "landlock"])
def line(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    base = tmp_path_factory.mktemp("server")
    (base / "home").mkdir()
    make_repo(base / "project").commit("begin")
    settings = json.dumps({"experimental": {"sandbox": {"tier": request.param}}})
    environ = {**isolated_environment(base / "home"), "OPENCODE_CONFIG_CONTENT": settings}
    line = CommandLine(base / "project", environ)
    status = json.loads(line.run("debug", "sandbox").stdout)
    if status["tier"] != request.param:
        pytest.skip(status["reason"])
    return line


@pytest.fixture(scope="module")
def server(line: CommandLine) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Start a server with a password in the variable and one in a file; give its process and URL."""
    file = line.folder.parent / "home/password"
    file.touch(mode=0o600)
    file.write_text(PASSWORD)
    with ModelServer() as model:
        environ = {**line.environ, "OPENCODE_SERVER_PASSWORD": PASSWORD}
        process = CommandLine(line.folder, environ, provider=model.config()).start(
            "serve", "--port", "0", "--password-file", str(file)
        )
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().decode().split()[-1]
        finally:
            kill_session(process)


@pytest.fixture
def here(line: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> LineInProcess:
    """The same commands without a process for each."""
    return in_process(line, monkeypatch, capsys)


def test_the_password_cannot_be_read(here, server):
    process, _ = server
    text = (
        f"cat {here.folder.parent}/home/password; ps eww -A; cat /proc/{process.pid}/environ /proc/{process.pid}/cmdline;"
        f" strings /proc/{process.pid}/mem; env; cat /proc/*/environ; ls ~/.local/share/opencode-tui"
    )
    output = here.run("debug", "sandbox", "--", "bash", "-c", text).stdout
    assert PASSWORD not in output


def test_the_server_cannot_be_reached_even_with_the_password(here, server):
    _, url = server
    request = urllib.request.Request(f"{url}/session", headers={"authorization": f"Bearer {PASSWORD}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    assert opener.open(request, timeout=PATIENCE_S).read() == b"[]"
    replies = (
        f"curl -sS -m 3 -u opencode:{PASSWORD} {url}/session",
        f'curl -sS -m 3 -u opencode:{PASSWORD} -X POST {url}/permission/per_1/reply -d \'{{"reply":"always"}}\'',
        f"python3 -c \"import urllib.request as u; print(u.urlopen('{url}/doc', timeout=3).status)\"",
        f"(exec 3<>/dev/tcp/{url.removeprefix('http://').replace(':', '/')} && echo connected)",
    )
    text = "\n".join(f"{reply}\necho exit=$?" for reply in replies)
    output = here.run("debug", "sandbox", "--", "bash", "-c", text).stdout.split()
    codes = [word for word in output if word.startswith("exit=")]
    assert len(codes) == len(replies) and "exit=0" not in codes
    assert [word for word in ("[]", "200", "connected") if word in output] == []


def test_the_server_cannot_be_signaled_or_traced(here, server):
    process, _ = server
    text = (
        f"kill -9 {process.pid}; timeout 5 strace -p {process.pid}; timeout 5 gdb -p {process.pid} -batch; echo tried"
    )
    assert "tried" in here.run("debug", "sandbox", "--timeout", "20", "--", "bash", "-c", text).stdout
    assert process.poll() is None
    assert os.path.exists(f"/proc/{process.pid}")
