"""The PKCE sign-in of OpenRouter, as strict as its documentation: https://openrouter.ai/docs/guides/overview/auth/oauth."""

import base64
import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

KEY = "sk-or-v1-canary"


class _OpenRouter(BaseHTTPRequestHandler):
    """A code counts once, for its verifier."""

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


@contextmanager
def openrouter_service() -> Generator[str]:
    """Run the service; yield its origin."""
    handler = type("Bound", (_OpenRouter,), {"codes": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
