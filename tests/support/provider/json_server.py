"""An HTTP server on loopback that answers known paths with JSON, and refuses everything else, as strict fakes do."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
Route = Callable[[dict[str, Any], dict[str, str]], Answer]
"""Returns status and body for the JSON body and the headers (small letters) of a request."""


class JsonServer(ThreadingHTTPServer):
    """`routes` are by method and path, as `GET /v1/models`; `asked` are the requests so far, in that form."""

    daemon_threads = True

    def __init__(self, routes: dict[str, Route], *, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.routes = routes
        self.asked: list[str] = []
        self.port: int = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    server: JsonServer  # pyright: ignore[reportIncompatibleVariableOverride] - the only server that uses it

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        asked = f"{self.command} {self.path}"
        self.server.asked.append(asked)
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        route = self.server.routes.get(asked)
        status, value = route(json.loads(data or b"{}"), headers) if route else (404, {"error": "not found"})
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serve_json(routes: dict[str, Route], *, port: int = 0) -> Generator[JsonServer]:
    """Yield a server that runs."""
    with JsonServer(routes, port=port) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def always(value: Any, status: int = 200) -> Route:
    """Return a route with one answer."""
    return lambda _body, _headers: (status, value)
