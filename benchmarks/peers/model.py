"""A scripted model that speaks the formats of all agents, at any path, and writes an answer at a given pace."""

import gzip
import json
import re
import sys
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from tests.support.provider.model_script import Answer, Api
from tests.support.provider.stream_format import body_chunks

_PATHS: tuple[tuple[str, Api], ...] = (
    (r"/chat/completions", "openai"),
    (r"/responses", "responses"),
    (r"/messages(\?.*)?", "anthropic"),
    (r":streamGenerateContent(\?.*)?", "gemini"),
)
SHELLS = ("bash", "Bash", "shell", "exec_command", "shell_command", "run_shell_command")
"""The shell tools of all agents; the first one that a request has is called."""


class Model(Protocol):
    """Answers requests."""

    def answer(self, api: Api, body: dict[str, Any], size: int) -> tuple[Answer, float]:
        """Return the answer to a request of so many bytes, and its deltas a second; 0: all at once."""
        ...


def shell_of(body: Mapping[str, Any]) -> str | None:
    """Return the name of the shell tool of a request; without one it is not of the task: a title, a check."""
    found: list[str] = []
    for tool in body.get("tools") or []:
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        found += [str(one.get("name") or one.get("type")) for one in declared]
    return next((name for name in SHELLS if name in found), None)


def shell_arguments(shell: str, command: str) -> dict[str, Any]:
    """Return the arguments with which this shell tool runs a command."""
    match shell:
        case "shell":
            return {"command": ["bash", "-lc", command]}
        case "exec_command":
            return {"cmd": command}
        case "bash" | "Bash":
            return {"command": command, "description": "Say the step"}
        case _:
            return {"command": command}


@contextmanager
def serving(model: Model) -> Generator[str]:
    """Serve a model on a free port of this machine; yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        """As providers do: else each answer after the first waits 40 ms for a client that acknowledges late."""

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            api: Api | None = next((api for pattern, api in _PATHS if re.search(f"{pattern}$", self.path)), None)
            if api is None:
                self._write(b'{"input_tokens": 1000, "totalTokens": 1000}', "application/json")
                return
            body = json.loads(data)
            is_stream = api == "gemini" or bool(body.get("stream"))
            answer, pace = model.answer(api, body, len(data))
            chunks = body_chunks(answer, api=api, body=body)
            if is_stream and pace:
                self._stream(chunks, pace)
            else:
                self._write(b"".join(chunks), "text/event-stream" if is_stream else "application/json")

        def do_GET(self) -> None:
            self._write(b'{"data": [], "models": []}', "application/json")

        def _write(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, chunks: Iterator[bytes], pace: float) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            begun = time.perf_counter()
            with suppress(ConnectionError):  # an agent that is ended does not read to the end
                for number, chunk in enumerate(chunks):
                    if (early := begun + number / pace - time.perf_counter()) > 0:
                        time.sleep(early)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:
            return

    class Server(ThreadingHTTPServer):
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exception(), OSError):  # that is an agent that was killed
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
