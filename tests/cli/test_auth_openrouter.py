"""`auth login openrouter --browser`: the PKCE flow against a service as strict as its documentation."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from opencode_tui.engine.sign_in.openrouter import TEST_ORIGIN
from tests.engine.mcp.sign_in_world import browser
from tests.support.world.in_process import Commands

KEY = "sk-or-v1-canary"


class OpenRouter(BaseHTTPRequestHandler):
    """Source: https://openrouter.ai/docs/guides/overview/auth/oauth. A code counts once, for its verifier."""

    codes: dict[str, str]

    def do_GET(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        callback = urlsplit(query["callback_url"])
        assert query.keys() == {"callback_url", "code_challenge", "code_challenge_method"}
        assert query["code_challenge_method"] == "S256" and callback.hostname == "127.0.0.1"
        self.codes["code-1"] = query["code_challenge"]
        self.send_response(302)
        self.send_header("location", f"{query['callback_url']}&code=code-1")
        self.end_headers()

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert sent.keys() == {"code", "code_verifier", "code_challenge_method"}
        challenge = (
            base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).decode().rstrip("=")
        )
        is_right = self.path == "/api/v1/auth/keys" and self.codes.pop(sent["code"], None) == challenge
        data = json.dumps({"key": KEY} if is_right else {"error": {"code": 403, "message": "Invalid code"}}).encode()
        self.send_response(200 if is_right else 403)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Commands]:
    handler = type("Bound", (OpenRouter,), {"codes": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    outside = {**environ, TEST_ORIGIN: f"http://127.0.0.1:{server.server_port}", "BROWSER": browser(tmp_path)}
    folder = tmp_path / "empty"  # programs of the project are not started
    folder.mkdir()
    yield Commands(folder, outside, monkeypatch, capsys)
    server.shutdown()
    server.server_close()


def test_the_browser_brings_a_key_which_is_stored_and_not_shown(line: Commands) -> None:
    done = line.run("auth", "login", "openrouter", "--browser")
    assert done.code == 0 and "OpenRouter" in done.stderr, done.stderr
    stored = json.loads(Path(line.environ["XDG_DATA_HOME"], "opencode-tui", "auth.json").read_text())
    assert stored == {"openrouter": {"type": "api", "key": KEY}}
    assert KEY not in done.stdout + done.stderr


def test_only_openrouter_has_such_a_sign_in(line: Commands) -> None:
    wrong = line.run("auth", "login", "groq", "--browser")
    assert wrong.code != 0 and "--browser is for openrouter" in wrong.stderr
