"""Single hosts that confined commands reach through the proxy, and what does not get through."""

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.proxy import MOST_CONNECTIONS, MOST_HEAD_BYTES, HostList
from opencode_tui.engine.sandbox.sandbox import Confined, Sandbox
from opencode_tui.engine.sandbox.tier import Tier
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.machine import PYTHON
from tests.support.world.repo import make_repo


class _Handler(BaseHTTPRequestHandler):
    """Answers each request with its path and its host."""

    def do_GET(self) -> None:
        body = f"{self.path} for {self.headers['Host']}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def port() -> Generator[int]:
    """The port of a server on the machine's own address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.request_queue_size = MOST_CONNECTIONS
    server.socket.listen(MOST_CONNECTIONS)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@dataclass
class World:
    """A project and its sandbox; `granted` are the hosts that the user always allows."""

    sandbox: Sandbox
    project: Path
    environ: dict[str, str]
    granted: list[str] = field(default_factory=list[str])
    confined: Confined | None = None
    code: int | None = None
    leftovers: tuple[str, ...] = ()

    async def run(self, text: str) -> str:
        """Run a command line inside and return its output."""
        self.confined = await self.sandbox.confine(
            ["bash", "-c", text], session_id="ses_one", folder=self.project, environ=self.environ, read_only=False
        )
        assert self.confined is not None, await self.sandbox.status()
        pieces: list[bytes] = []
        cancel, end = os.pipe()
        command = Command(text, self.project, self.environ, 60_000, "bash", self.confined.launch)
        try:
            ended = await asyncio.to_thread(ShellProcess(command, pieces.append, cancel=cancel).run)
        finally:
            os.close(cancel)
            os.close(end)
        await self.sandbox.changes(self.confined)
        self.code = ended.exit_code
        self.leftovers = ended.leftovers
        return b"".join(pieces).decode(errors="replace")

    @property
    def refused(self) -> list[str]:
        """The hosts that the proxy refused to the last command."""
        assert self.confined is not None and self.confined.access is not None
        return self.confined.access.refused


@pytest.fixture(params=["bubblewrap", "landlock"])
async def world(
    request: pytest.FixtureRequest, paths: Paths, environ: dict[str, str], port: int
) -> AsyncGenerator[World]:
    tier: Tier = request.param
    require_tier(tier)
    project = paths.home / "work/project"
    make_repo(project).commit("begin")
    granted: list[str] = []

    async def granted_hosts() -> list[str]:
        return granted

    sandbox = Sandbox(
        settings=SandboxSettings.model_validate({"tier": tier, "network": "hosts", "hosts": [f"127.0.0.1:{port}"]}),
        project=discover(project, paths=paths, environ=environ),
        paths=paths,
        environ=environ,
        secrets=Secrets(environ),
        granted_hosts=granted_hosts,
    )
    if reason := await sandbox.no_hosts():
        pytest.skip(reason)
    yield World(sandbox, project, environ, granted)
    await sandbox.close()


GET = f'{PYTHON} -c "import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=20).read().decode())"'


PROGRAMS = pytest.mark.parametrize(
    "program", ["curl -sS", "curl -sS --proxytunnel", GET], ids=["curl", "curl with a tunnel", "python"]
)


@pytest.mark.fast_cases("bubblewrap-curl with a tunnel")
@PROGRAMS
async def test_programs_reach_a_listed_host(world: World, port: int, program: str) -> None:
    assert f"/a?b for 127.0.0.1:{port}" in await world.run(f"{program} 'http://127.0.0.1:{port}/a?b'")


@pytest.mark.slow
@PROGRAMS
async def test_other_hosts_are_refused_by_name(world: World, program: str) -> None:
    await world.run(f"{program} http://db.example:5432/; false")
    assert world.refused == ["db.example"]


@pytest.mark.fast_cases("bubblewrap")
async def test_a_refused_host_is_named_in_one_line(world: World) -> None:
    assert await world.run("curl -sS http://db.example/") == "the sandbox does not allow db.example\n"


@pytest.mark.fast_cases("bubblewrap")
async def test_git_fetches_through_the_proxy(world: World, port: int) -> None:
    output = await world.run(f"git ls-remote http://127.0.0.1:{port}/r.git")
    assert "/r.git/info/refs not valid" in output  # what our server answers is no repository
    assert world.refused == []


@pytest.mark.slow
async def test_pip_fetches_through_the_proxy(world: World, port: int) -> None:
    if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("the Python of this environment has no pip")
    options = f"--no-deps --retries 0 --index-url http://127.0.0.1:{port}/simple"
    output = await world.run(f"{PYTHON} -m pip download {options} wheel_of_nobody")
    assert "No matching distribution found for wheel_of_nobody" in output
    assert world.refused == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://localhost:{port}/", "localhost"),  # by default it is the command's own machine
        ("http://127.0.0.1:1/", "127.0.0.1"),
        ("http://0x7f000001:1/", "127.0.0.1"),
        ("http://[::ffff:7f00:1]:{port}/", "::ffff:7f00:1"),
        ("http://169.254.169.254/latest/", "169.254.169.254"),
        ("http://user:x@db.example/", "db.example"),
    ],
)
async def test_other_ways_to_write_an_address_are_refused(world: World, port: int, url: str, refused: str) -> None:
    written = url.format(port=port)
    await world.run(f"curl -sS --noproxy '' '{written}'; curl -sS --noproxy '' --proxytunnel '{written}'")
    assert world.refused == [refused]


@pytest.mark.fast_cases("bubblewrap")
async def test_a_name_that_resolves_to_a_local_address_needs_the_address_too(world: World, port: int) -> None:
    world.granted.append("localhost")
    output = await world.run(f"curl -sS4 http://localhost:{port}/ || true; curl -sS http://localhost:1/")
    assert f"/ for localhost:{port}" in output
    assert "a local address, which the sandbox does not allow" in output
    assert world.refused[0] in ("127.0.0.1", "::1")


@pytest.mark.fast_cases("bubblewrap")
async def test_a_granted_host_counts_for_the_next_command(world: World) -> None:
    await world.run("curl -sS http://db.example/")
    assert world.refused == ["db.example"]
    world.granted.append("*.example")
    assert await world.run("curl -sS http://db.example/") == "no address is known for db.example\n"
    assert world.refused == []


RAW = (
    f"{PYTHON} - <<'END'\n"
    """\
import os, socket, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ['HTTP_PROXY'])
def connect():
    return socket.create_connection((proxy.hostname, proxy.port))
def read(one):
    return b''.join(iter(lambda: one.recv(65536), b'')).decode()
from base64 import b64encode
AUTH = 'Proxy-Authorization: Basic ' + b64encode(f'{proxy.username}:{proxy.password}'.encode()).decode() + '\\r\\n'
"""
)


WRONG_HEADS = (
    ("GET http://127.0.0.1/ HTTP/1.1\\r\\n\\r\\n", "407"),
    ("GET http://127.0.0.1/ HTTP/1.1\\r\\nProxy-Authorization: Basic eDp5\\r\\n\\r\\n", "407"),
    ("GET / HTTP/1.1\\r\\n' + AUTH + '\\r\\n", "400"),
    ("CONNECT nowhere HTTP/1.1\\r\\n' + AUTH + '\\r\\n", "400"),
    ("CONNECT a:99999 HTTP/1.1\\r\\n' + AUTH + '\\r\\n", "400"),
    ("GET http://a\\x1b[2J/ HTTP/1.1\\r\\n' + AUTH + '\\r\\n", "400"),
    ("nonsense\\r\\n\\r\\n", "407"),
)
"""Requests, in the quotes of Python, with the answers."""


@pytest.mark.fast_cases("bubblewrap")
async def test_what_is_no_request_of_the_command_is_answered_with_an_error(world: World) -> None:
    heads = ", ".join(f"'{head}'" for head, _ in WRONG_HEADS)
    output = await world.run(
        f"{RAW}for head in [{heads}]:\n"
        "    one = connect()\n    one.sendall(head.encode())\n    print(read(one).split(' ')[1])\nEND"
    )
    assert output.split() == [answer for _, answer in WRONG_HEADS]


@pytest.mark.fast_cases("bubblewrap")
async def test_a_very_long_head_ends_the_connection(world: World) -> None:
    head = f"'GET http://a/ HTTP/1.1\\r\\nX: ' + 'x' * {2 * MOST_HEAD_BYTES}"
    sent = f"one = connect()\ntry:\n    one.sendall(({head}).encode())\n    print(read(one))\nexcept OSError: print('reset')\nEND"
    output = await world.run(RAW + sent)
    assert output.startswith(("HTTP/1.1 431 ", "reset"))


@pytest.mark.slow
async def test_200_connections_at_once_are_served_and_slow_clients_delay_no_other(world: World, port: int) -> None:
    request = f"('GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n' + AUTH + '\\r\\n').encode()"
    output = await world.run(
        f"{RAW}slow = [connect() for _ in range(20)]\nfor one in slow: one.sendall(b'G')\n"
        f"many = [connect() for _ in range(200)]\nfor one in many: one.sendall({request})\n"
        "print(sum('for 127.0.0.1' in read(one) for one in many))\nEND"
    )
    assert output == "200\n"


@pytest.mark.fast_cases("bubblewrap")
async def test_connections_end_with_their_command(world: World, port: int) -> None:
    head = f"('CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n' + AUTH + '\\r\\n').encode()"
    assert "200" in await world.run(f"{RAW}one = connect()\none.sendall({head})\nprint(one.recv(99))\nEND")
    assert world.confined is not None and world.confined.access is not None
    tasks = world.confined.access.tasks
    await asyncio.gather(*tasks, return_exceptions=True)
    assert tasks == set()


@pytest.mark.fast_cases("bubblewrap")
async def test_nothing_passes_by_the_proxy(world: World, port: int) -> None:
    tries = [
        f"socket.create_connection(('127.0.0.1', {port}), 5)",
        "socket.create_connection(('127.0.0.1', 22), 5)",
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53))",
        "socket.create_connection(('1.1.1.1', 80), 0.3)",
        "socket.create_connection(('1.1.1.1', proxy.port), 0.3)",
        f"socket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', {port}))",
        f"socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(('127.0.0.1', {port}))",
        "socket.socket(socket.AF_INET, socket.SOCK_STREAM).setsockopt(1, 25, b'eth0')",
    ]
    lines = "".join(f"try:\n    {one}\n    print('through')\nexcept OSError: print('no')\n" for one in tries)
    assert (await world.run(f"{RAW}{lines}END")).split() == ["no"] * len(tries)


@pytest.mark.fast_cases("bubblewrap")
async def test_the_socket_of_the_proxy_is_the_users_alone_and_ends_with_the_sandbox(world: World, port: int) -> None:
    await world.run(f"curl -sS http://127.0.0.1:{port}/")
    assert world.confined is not None
    proxy = world.confined.policy.proxy
    if isinstance(proxy, Path):
        assert (proxy.stat().st_mode & 0o777, proxy.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        await world.sandbox.close()
        assert not proxy.parent.exists()
    else:
        await world.sandbox.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", proxy)


def test_a_host_list_matches_names_suffixes_addresses_and_ports() -> None:
    hosts = HostList(["Example.com", "*.example.org", "10.0.0.5:80", "[::1]:443", "fe80::1", "db:5432"])
    allowed = [
        *(
            ("example.com.", 443),
            ("a.b.EXAMPLE.org", 1),
            ("10.0.0.5", 80),
            ("10.5", 80),
            ("::1", 443),
            ("fe80:0::1", 9),
            ("db", 5432),
        )
    ]
    refused = [
        *(
            ("xexample.com", 443),
            ("a.example.com", 443),
            ("example.org", 1),
            ("xexample.org", 1),
            ("10.0.0.5", 81),
            ("::1", 80),
            ("db", 1),
        ),
        *(("", 80), ("example.org.evil.example", 80)),
    ]
    assert [one for one in allowed if not hosts.allows(*one)] == []
    assert [one for one in refused if hosts.allows(*one)] == []


@pytest.mark.fast_cases("bubblewrap")
async def test_what_a_command_leaves_running_is_ended_and_its_exit_code_kept(world: World) -> None:
    await world.run('sleep 300 & until read -r name < /proc/$!/comm && [ "$name" = sleep ]; do :; done; exit 3')
    assert (world.code, world.leftovers) == (3, ("sleep 300",))
    await world.run("exit 4")
    assert (world.code, world.leftovers) == (4, ())
