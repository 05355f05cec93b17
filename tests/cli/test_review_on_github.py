"""What `review --format github` prints is a body that `gh api` sends as a review, to a local server with GitHub's path."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.client.test_findings import FOUND
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.provider.network_world import make_authority
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


PATH = "/api/v3/repos/you/csvkit/pulls/7/reviews"
FIELDS = {"body", "commit_id", "comments", "event"}
COMMENT_FIELDS = {"path", "line", "side", "body", "start_line", "start_side"}


class Reviews(HTTPServer):
    """A server that takes reviews, as GitHub's documentation describes their fields."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.taken: list[dict[str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        given = json.loads(self._body())
        is_review = self.path == PATH and given.keys() <= FIELDS and given["event"] in ("COMMENT", "APPROVE")
        lines = all(
            one.keys() <= COMMENT_FIELDS and {"path", "line", "body"} <= one.keys() and isinstance(one["line"], int)
            for one in given.get("comments", [])
        )
        assert isinstance(self.server, Reviews)
        self.server.taken.append(given)
        answer = json.dumps(
            {"id": 1, "state": "COMMENTED"} if is_review and lines else {"message": "Unprocessable"}
        ).encode()
        self.send_response(200 if is_review and lines else 422)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        """Return the body, which comes in chunks where its length is not known."""
        if (length := self.headers["Content-Length"]) is not None:
            return self.rfile.read(int(length))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def reviews(tmp_path: Path) -> Iterator[tuple[Reviews, Path]]:
    """A server of reviews, and the file with its certificate."""
    if shutil.which("gh") is None:
        pytest.skip("gh is not installed")
    authority = make_authority(tmp_path, "localhost")
    server = Reviews()
    server.socket = authority.context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server, authority.path
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_gh_sends_the_review_that_was_printed(
    environ: dict[str, str], tmp_path: Path, reviews: tuple[Reviews, Path]
) -> None:
    server, certificate = reviews
    repo = make_repo(tmp_path / "csvkit")
    repo.commit("first", **{"a.py": "one\nmore\n"})
    repo.write("a.py", "two\nother\n")
    with ModelServer() as model:
        model.script(Answer(calls=(Call("StructuredOutput", FOUND),)))
        line = CommandLine(repo.path, environ, provider=model.config())
        done = line.run("review", "--format", "github", "-m", "fake/fake-model")
    assert done.code == 0, done.stderr
    body = json.loads(done.stdout)
    assert body["comments"]
    host = f"localhost:{server.server_port}"
    sent = subprocess.run(
        ["gh", "api", f"https://{host}{PATH}", "--input", "-"],
        input=done.stdout, text=True, capture_output=True,
        env={**environ, "GH_ENTERPRISE_TOKEN": "t", "GH_HOST": host, "SSL_CERT_FILE": str(certificate),
             "GH_CONFIG_DIR": str(tmp_path / "gh"), "PATH": environ.get("PATH", "") + ":/usr/bin:/usr/local/bin"},
    )  # fmt: skip
    assert sent.returncode == 0, sent.stderr
    assert server.taken == [body]
    assert json.loads(sent.stdout)["state"] == "COMMENTED"
