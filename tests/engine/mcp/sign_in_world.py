"""Sign-ins against a real OAuth server in a process of its own, and a browser that follows redirects."""

import http.client
import json
import os
import secrets
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from msgspec import Struct

from opencode_tui.config.settings.settings import McpRemoteSettings
from opencode_tui.engine.mcp.servers import McpServers
from tests.support.mcp.world import server_world
from tests.support.world.cli import PACKAGE_ROOT
from tests.support.world.waiting import PATIENCE_S

PORTS = range(20_000, 30_000)
"""Below those that Linux and macOS give to sockets that ask for none."""

BROWSER = """#!{python} -SI
import socket, sys
url = sys.argv[1]
while url:
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), timeout={patience_s}) as link:
        link.sendall(("GET /%s HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n" % (path, host)).encode())
        answer = b"".join(iter(lambda: link.recv(65536), b"")).decode()
    lines = answer.partition("\\r\\n\\r\\n")[0].splitlines()
    url = next((one.partition(":")[2].strip() for one in lines if one.lower().startswith("location:")), None)
sys.exit(lines[0].split()[1] != "200")
"""
"""A browser without imports that take time: it follows redirects, and succeeds if the last page does."""


class OAuthServer(Struct, frozen=True):
    """The addresses of a running server."""

    mcp: str
    issuer: str

    def seen(self, path: str = "", **form: str) -> list[dict[str, Any]]:
        """Return the requests so far, those whose path begins so and whose form has these fields."""
        found = json.loads(fetch(f"{self.issuer}/seen"))
        return [one for one in found if one["path"].startswith(path) and form.items() <= one["form"].items()]

    def expire(self) -> None:
        """Make all access tokens invalid."""
        fetch(f"{self.issuer}/expire")


def fetch(url: str) -> bytes:
    """Return what an address answers, after all redirects."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=PATIENCE_S) as answer:
        return answer.read()


_IDLE: list[tuple[subprocess.Popen[bytes], OAuthServer]] = []
"""Servers that no test uses now; they end with the input that they have from this process."""


@contextmanager
def oauth_server(**options: Any) -> Generator[OAuthServer]:
    """Run a server with these options (`tests/support/mcp/oauth_server.py`), one that another test has used if there is one."""
    process, server = _IDLE.pop() if _IDLE else _start("oauth_server")
    try:
        fetch(f"{server.issuer}/reset?{quote(json.dumps(options))}")
        yield server
        _IDLE.append((process, server))
    except BaseException:
        process.kill()
        process.wait()
        raise


@contextmanager
def sdk_oauth_server() -> Generator[OAuthServer]:
    """Run a server of the official SDK with its authorization server (`tests/support/mcp/sdk_oauth_server.py`)."""
    process, server = _start("sdk_oauth_server")
    try:
        yield server
    finally:
        process.communicate()


def _start(module: str) -> tuple["subprocess.Popen[bytes]", OAuthServer]:
    command = [sys.executable, "-m", f"tests.support.mcp.{module}"]
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE_ROOT)}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    assert process.stdout is not None
    return process, OAuthServer(**json.loads(process.stdout.readline()))


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing uses now, none of those that the system gives to other sockets meanwhile."""
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port


def location(url: str) -> str:
    """Return the address to which the authorization server sends the browser of a signed-in user."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    connection.request("GET", url)
    return connection.getresponse().headers["location"]


def browser(folder: Path) -> str:
    """Return the path of a program that follows the redirects of an address, as the browser of a signed-in user does.

    It lies beside the folder: what is in the project is never started.
    """
    path = folder.with_name(f"{folder.name}-programs") / "browser"
    path.parent.mkdir(exist_ok=True)
    path.write_text(BROWSER.format(python=sys.executable, patience_s=PATIENCE_S))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@asynccontextmanager
async def remote_servers(
    folder: Path, environ: dict[str, str], events: list[Any], **entries: dict[str, Any]
) -> AsyncGenerator[McpServers]:
    """Yield the remote servers of these names and settings, and close them."""
    world = server_world(folder, environ)
    made = {name: McpRemoteSettings.model_validate({"type": "remote", **entry}) for name, entry in entries.items()}
    servers = McpServers(made, world, clock=lambda: 1_000, publish=events.append)
    try:
        yield servers
    finally:
        await servers.close()
