"""An MCP server over HTTP that demands OAuth, and its authorization server on another port: a process of its own, no library.

    python -m tests.support.mcp.oauth_server '{"secret": "basic"}'

It prints one line of JSON with both addresses, and ends with its standard input. Options:

- `registers` (true): whether clients may register. `client` [id, secret] is known beforehand; `secret` (basic, post): how it must
  prove itself, and what registered clients get.
- `lifetime` (3600): seconds of a token. `rotates` (true): each refresh returns another refresh token, and the old one is dead.
- `refresh_status` (0): the status with which every refresh is refused. `slow_s` (0): seconds that a refresh takes.
- `refresh_answer` (null): [status, text] with which every refresh is answered.
- `scope` ("basic"): named in the challenge. `wants_more`: calls of the tool `echo` need the scope `write`.
- `anonymous`: only calls of tools demand a sign-in. `metadata` (true): without, the old addresses at the root count.
- `elsewhere`: the MCP endpoint redirects (308) to the authorization server's origin.
- `is_open` (false): no sign-in is demanded. A call of the tool `ask` asks the user `text`, on the stream of its answer.
- `refuses_scope` (""): where the scope is refused: register, authorize or token.
- `refuses` (false): the user refuses. `odd_token`: the token endpoint answers 200 with something else that contains a secret.

`GET /seen` of either returns all requests: `{server, method, path, headers, form}`; `GET /expire` makes all access
tokens invalid, `GET /drop` drops all clients, `GET /reset?OPTIONS` begins anew.
"""

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from tests.support.mcp import server as small_server
from tests.support.world.waiting import PATIENCE_S

OPTIONS: dict[str, Any] = {
    "registers": True, "client": None, "secret": None, "lifetime": 3600, "rotates": True, "refresh_status": 0, "slow_s": 0,
    "scope": "basic", "wants_more": False, "anonymous": False, "metadata": True, "elsewhere": False, "refuses": False,
    "odd_token": False, "refuses_scope": "", "is_open": False, "refresh_answer": None,
}  # fmt: skip


class State:
    """What both servers share."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.resource = self.issuer = ""
        self.guard = threading.Lock()
        self.reset(options)

    def reset(self, options: dict[str, Any]) -> None:
        self.options = {**OPTIONS, **options}
        self.seen: list[dict[str, Any]] = []
        self.clients: dict[str, str | None] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.tokens: dict[str, tuple[float, str]] = {}
        self.refresh_tokens: dict[str, str] = {}
        self.questions: dict[str, tuple[threading.Event, list[Any]]] = {}
        if self.options["client"]:
            self.clients[self.options["client"][0]] = self.options["client"][1]

    def new_tokens(self, scope: str) -> dict[str, Any]:
        access, refresh = f"access-{secrets.token_hex(12)}", f"refresh-{secrets.token_hex(12)}"
        self.tokens[access] = (time.time() + self.options["lifetime"], scope)
        self.refresh_tokens[refresh] = scope
        answer = {
            "access_token": access,
            "token_type": "bearer",
            "expires_in": self.options["lifetime"],
            "scope": scope,
        }
        return {**answer, "refresh_token": refresh}


class Handler(BaseHTTPRequestHandler):
    """Answers for one of the two; `state` and `kind` are set on a subclass."""

    state: State
    kind: str
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def answer(self, status: int, body: Any = None, text: str = "", **headers: str) -> None:
        data = text.encode() if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(data)), "content-type": "application/json"}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def handle_all(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = urlsplit(self.path).path
        if path == "/seen":
            return self.answer(200, self.state.seen)
        if path == "/reset":
            self.state.reset(json.loads(unquote(urlsplit(self.path).query)))
            return self.answer(200, True)
        if path == "/drop":
            self.state.clients.clear()
            return self.answer(200, True)
        if path == "/expire":
            self.state.tokens.clear()
            return self.answer(200, True)
        form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        self.state.seen.append(
            {
                "server": self.kind,
                "method": self.command,
                "path": self.path,
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "form": form,
            }
        )
        if self.kind == "mcp":
            return self.answer_mcp(path, body)
        return self.answer_authorization(path, body, form)

    do_GET = do_POST = do_DELETE = handle_all

    # The MCP server.

    def answer_mcp(self, path: str, body: bytes) -> None:
        state, options = self.state, self.state.options
        if path.startswith("/.well-known/oauth-protected-resource") and options["metadata"]:
            metadata = {"resource": f"{state.resource}/mcp", "authorization_servers": [state.issuer]}
            return self.answer(200, metadata)
        if path != "/mcp":
            if not options["metadata"]:
                return self.answer_authorization(path, body, {k: v[0] for k, v in parse_qs(body.decode()).items()})
            return self.answer(404)
        if options["elsewhere"]:
            return self.answer(308, location=f"{state.issuer}/mcp")
        if self.command != "POST":
            return self.answer(405)
        message = json.loads(body)
        is_call = message.get("method") == "tools/call"
        scope = self.scope_of_token()
        metadata = f"{state.resource}/.well-known/oauth-protected-resource/mcp"
        challenge = f'Bearer scope="{options["scope"]}", resource_metadata="{metadata}"'
        if options["is_open"]:
            scope = "basic"
        if scope is None and (is_call or not options["anonymous"]):
            return self.answer(401, {"error": "invalid_token"}, www_authenticate=challenge)
        if is_call and options["wants_more"] and "write" not in (scope or "").split():
            more = 'Bearer error="insufficient_scope", scope="write"'
            return self.answer(403, {"error": "insufficient_scope"}, www_authenticate=more)
        if "method" not in message:
            event, answers = state.questions[message["id"]]
            answers.append(message.get("result"))
            event.set()
        if "id" not in message or "method" not in message:
            return self.answer(202)
        if is_call and message["params"]["name"] == "ask":
            return self.ask(message)
        result = small_server.answer(message["method"], message.get("params") or {})
        if result is None:
            missing = {"code": -32601, "message": f"no method {message['method']}"}
            return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": missing})
        return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def ask(self, message: dict[str, Any]) -> None:
        question, event, answers = secrets.token_hex(4), threading.Event(), list[Any]()
        self.state.questions[question] = event, answers
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        params = {"message": message["params"]["arguments"]["text"], "requestedSchema": schema}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.send_event({"id": question, "method": "elicitation/create", "params": params})
        event.wait(PATIENCE_S)
        content = [{"type": "text", "text": json.dumps(answers[0])}]
        self.send_event({"id": message["id"], "result": {"content": content}})
        self.close_connection = True

    def send_event(self, message: dict[str, Any]) -> None:
        self.wfile.write(f"event: message\ndata: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())
        self.wfile.flush()

    def scope_of_token(self) -> str | None:
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        ends, scope = self.state.tokens.get(token, (0.0, ""))
        return scope if ends > time.time() else None

    # The authorization server.

    def answer_authorization(self, path: str, body: bytes, form: dict[str, str]) -> None:
        state, options = self.state, self.state.options
        issuer = state.issuer if options["metadata"] else state.resource
        match path:
            case "/.well-known/oauth-authorization-server" if options["metadata"]:
                methods = [f"client_secret_{options['secret']}"] if options["secret"] else ["none"]
                registration = {"registration_endpoint": f"{issuer}/register"} if options["registers"] else {}
                metadata = {
                    "issuer": issuer,
                    "authorization_endpoint": f"{issuer}/authorize",
                    "token_endpoint": f"{issuer}/token",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": methods,
                    **registration,
                }
                return self.answer(200, metadata)
            case "/register" if options["refuses_scope"] == "register":
                about = "scope must only contain supported values"
                return self.answer(400, {"error": "invalid_client_metadata", "error_description": about})
            case "/register" if options["registers"]:
                name = f"client-{len(state.clients) + 1}"
                secret = f"secret-{secrets.token_hex(8)}" if options["secret"] else None
                state.clients[name] = secret
                given = json.loads(body)
                more = {"client_secret": secret} if secret else {}
                return self.answer(201, {"client_id": name, "redirect_uris": given["redirect_uris"], **more})
            case "/authorize":
                return self.authorize({name: one[0] for name, one in parse_qs(urlsplit(self.path).query).items()})
            case "/token":
                return self.exchange(form)
            case _:
                return self.answer(404, {"error": "not_found"})

    def authorize(self, query: dict[str, str]) -> None:
        if query["client_id"] not in self.state.clients:
            return self.answer(400, {"error": "invalid_client"})
        back = {"state": query["state"]}
        if self.state.options["refuses"]:
            back |= {"error": "access_denied", "error_description": "not <b>today</b>"}
        elif self.state.options["refuses_scope"] == "authorize":
            back |= {"error": "invalid_scope"}
        else:
            code = f"code-{secrets.token_hex(8)}"
            self.state.codes[code] = query
            back |= {"code": code}
        return self.answer(302, location=f"{query['redirect_uri']}?{urlencode(back)}")

    def exchange(self, form: dict[str, str]) -> None:
        state, options = self.state, self.state.options
        if not self.is_client(form):
            return self.answer(401, {"error": "invalid_client"})
        if options["refuses_scope"] == "token":
            return self.answer(400, {"error": "invalid_scope"})
        if form["grant_type"] == "refresh_token":
            time.sleep(options["slow_s"])
            if options["refresh_answer"]:
                return self.answer(options["refresh_answer"][0], text=options["refresh_answer"][1])
            if options["refresh_status"]:
                return self.answer(options["refresh_status"], {"error": "temporarily_unavailable"})
            with state.guard:
                scope = state.refresh_tokens.get(form["refresh_token"])
                if scope is None:
                    return self.answer(400, {"error": "invalid_grant"})
                if options["rotates"]:
                    del state.refresh_tokens[form["refresh_token"]]
                return self.answer(200, state.new_tokens(scope))
        query = state.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if query is None or base64.urlsafe_b64encode(digest).decode().rstrip("=") != query["code_challenge"]:
            return self.answer(400, {"error": "invalid_grant", "error_description": "wrong code"})
        if options["odd_token"]:
            return self.answer(200, {"access_token": ["access-canary"], "refresh_token": "refresh-canary"})
        return self.answer(200, state.new_tokens(query.get("scope", "")))

    def is_client(self, form: dict[str, str]) -> bool:
        name, secret = form.get("client_id", ""), form.get("client_secret")
        given = self.headers.get("authorization", "")
        if given.startswith("Basic "):
            pair = base64.b64decode(given.removeprefix("Basic ")).decode().partition(":")
            name, secret = unquote(pair[0]), unquote(pair[2])
        if self.state.options["secret"] == "basic" and not given:
            return False
        return name in self.state.clients and self.state.clients[name] == secret


def main() -> None:
    """Serve until the end of the standard input."""
    state = State(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})
    addresses: list[str] = []
    for kind in ("mcp", "authorization"):
        handler = type(f"{kind}Handler", (Handler,), {"state": state, "kind": kind})
        http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        addresses.append(f"http://127.0.0.1:{http.server_address[1]}")
        threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    state.resource, state.issuer = addresses
    print(json.dumps({"mcp": f"{state.resource}/mcp", "issuer": state.issuer}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
