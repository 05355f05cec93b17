"""Remote servers whose answers have another form than the protocol demands, or that lose a session, are used all the same."""

import json
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from opencode_tui.config.settings.settings import McpRemoteSettings
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.mcp.servers import McpServers
from tests.engine.mcp.conftest import World
from tests.support.mcp import server as small_server
from tests.support.mcp.world import server_world


class RemoteServer(ThreadingHTTPServer):
    """A server over streamable HTTP; `form` is that of its answers, `ended` are the sessions that it does not know any more."""

    daemon_threads = True

    def __init__(self, form: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.form = form
        self.sessions = 0
        self.ended: set[str] = set()
        self.calls = 0


class Handler(BaseHTTPRequestHandler):
    server: RemoteServer  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that uses it

    def do_GET(self) -> None:
        self.answer(405, b"")

    do_DELETE = do_GET

    def do_POST(self) -> None:
        message: dict[str, Any] = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        session = self.headers.get("mcp-session-id")
        if session in self.server.ended:
            self.answer(404, b"")
        elif "id" not in message:
            self.answer(202, b"")
        else:
            self.server.calls += message["method"] == "tools/call"
            found = small_server.answer(message["method"], message.get("params") or {})
            error = {"error": {"code": -32601, "message": "no"}}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **({"result": found} if found else error)})
            is_event = self.server.form.startswith("event")
            text = f"event: message\ndata: {body}" if is_event else body
            mark = "\ufeff" if "mark" in self.server.form else ""
            kind = "text/event-stream" if is_event else "application/json"
            if message["method"] == "initialize":
                self.server.sessions += 1
            self.answer(200, f"{mark}{text}".encode(), None if "no type" in self.server.form else kind)

    def answer(self, status: int, body: bytes, kind: str | None = None) -> None:
        self.send_response(status)
        if kind is not None:
            self.send_header("content-type", kind)
        if status == 200:
            self.send_header("mcp-session-id", f"session-{self.server.sessions}")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def served(form: str) -> Generator[RemoteServer]:
    with RemoteServer(form) as http:
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield http
        finally:
            http.shutdown()


@asynccontextmanager
async def used(world: World, http: RemoteServer) -> AsyncGenerator[McpServers]:
    entry = McpRemoteSettings(type="remote", url=f"http://127.0.0.1:{http.server_port}/mcp", oauth=False)
    shared = server_world(world.folder, world.environ)
    servers = McpServers({"one": entry}, shared, clock=lambda: 1, publish=world.events.append)
    try:
        yield servers
    finally:
        await servers.close()


@pytest.mark.parametrize(
    "form",
    [
        "json",
        "json no type",
        "json mark",
        "json mark no type",
        "event",
        "event mark",
        "event no type",
        "event mark no type",
    ],
)
async def test_an_answer_of_another_form_is_read(world: World, form: str) -> None:
    with served(form) as http:
        async with used(world, http) as servers:
            result = await servers.call("one", "echo", {"text": "hello"})
            assert result["content"][0]["text"] == "hello"
            assert servers.status()[0].state == "connected"


async def test_a_call_that_finds_its_session_ended_is_sent_once_more(world: World) -> None:
    with served("json") as http:
        async with used(world, http) as servers:
            await servers.call("one", "echo", {"text": "a"})
            http.ended.add("session-1")
            result = await servers.call("one", "echo", {"text": "b"})
            assert result["content"][0]["text"] == "b"
            assert (http.sessions, http.calls) == (2, 2)
            http.ended |= {f"session-{number}" for number in range(2, 9)}
            with pytest.raises(McpError, match="the MCP server one"):
                await servers.call("one", "echo", {"text": "c"})
            assert (http.sessions, http.calls) == (3, 2)
