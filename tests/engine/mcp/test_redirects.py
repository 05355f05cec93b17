"""Headers of a remote server are for its origin: a redirect to another one gets none of them."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from opencode_tui.config.settings.settings import McpRemoteSettings
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.mcp.servers import McpServers
from tests.engine.mcp.conftest import World
from tests.support.mcp.world import server_world


async def test_headers_are_not_sent_to_another_origin_by_a_redirect(world: World) -> None:
    ports: list[int] = []
    asked: list[tuple[str, str | None]] = []
    methods: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            methods.append(self.command)
            asked.append((self.path, self.headers.get("X-Secret")))
            length = int(self.headers.get("Content-Length") or 0)
            self.rfile.read(length)
            self.send_response(307 if self.path == "/mcp" else 404)
            self.send_header("Location", f"http://localhost:{ports[0]}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        ports.append(http.server_port)
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{http.server_port}/mcp"
        entry = McpRemoteSettings(type="remote", url=url, headers={"X-Secret": "s"}, oauth=False)
        servers = McpServers(
            {"one": entry}, server_world(world.folder, world.environ), clock=lambda: 1, publish=world.events.append
        )
        try:
            with pytest.raises(McpError):
                await servers.call("one", "echo", {"text": "x"})
        finally:
            await servers.close()
            http.shutdown()
    assert asked[0] == ("/mcp", "s")
    assert [secret for path, secret in asked if path != "/mcp" and secret is not None] == []
    assert methods[0] == "POST", "the transport that is tried first is streamable HTTP, whose first request this is"
