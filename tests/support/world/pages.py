"""A small web site on loopback, for tests that read pages."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Pages(BaseHTTPRequestHandler):
    """Answers requests by its `do_…` methods, which call `answer`."""

    def answer(self, status: int, mime: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {"Content-Type": mime, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for a request."""


@contextmanager
def serve(pages: type[Pages]) -> Generator[str]:
    """Yield the address of a site, without a slash at its end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
