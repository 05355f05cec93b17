"""The service behind "Sign in with ChatGPT", as strict as its documentation: issuer, catalog and Responses route.

Each rule has its source: https://developers.openai.com/siwc/token-sharing-open-source, the page in brackets. What a client does
wrong is refused and recorded in `violations`. `faults` are done once each, in order, at the next request of their kind:

    lost-refresh, lost-code   the request is done, and the connection is closed without an answer
    busy-refresh              503 with an OAuth error; nothing is done
    page-refresh              502 with a web page, after the refresh was done
    odd-refresh, odd-code     200 with an answer that has no refresh token
    401, plan, …              the route answers with this error
    plan-inside               the limit is reached in the middle of an answer: `response.failed`
"""

import base64
import hashlib
import json
import re
import secrets
import threading
import time
from collections import Counter
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from tests.support.provider.model_script import Answer
from tests.support.provider.responses_format import responses_stream
from tests.support.provider.strict_responses import NAME
from tests.support.provider.strict_responses import violations as responses_violations

RESOURCE = "https://api.openai.com/v1"  # [token-reference]
SCOPES = {"openid", "profile", "email", "offline_access", "resource.invoke", "chatgpt.tokens.use.direct"}
FIRST_CLIENT = "dynamic_agent_client"  # [sign-in]
HOST = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # [sign-in]
REDIRECT = re.compile(r"http://127\.0\.0\.1:[1-9]\d*/auth/callback")  # [sign-in]: not localhost, any port
AUTHORIZE = {
    "response_type", "client_id", "redirect_uri", "scope", "resource", "state", "nonce", "code_challenge",
    "code_challenge_method", "ext_agent_host_id",
}  # fmt: skip
EXCHANGE = {"grant_type", "client_id", "code", "code_verifier", "redirect_uri", "resource"}  # [sign-in]
REFRESH = {"grant_type", "client_id", "refresh_token", "resource"}  # [profiles-and-sessions]: no scope
REVOKE = {"token", "token_type_hint", "client_id"}  # [profiles-and-sessions]
REJECTED = {
    "background", "conversation", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "multi_agent", "prompt",
    "prompt_cache_retention", "safety_identifier", "temperature", "top_logprobs", "top_p", "truncation", "user",
    "previous_response_id",
}  # fmt: skip
"""[models-and-inference]: fields that the route does not accept."""

UNSURE = {"prompt_cache_key", "prompt_cache_options", "service_tier"}
"""Fields that the documentation does not name and some clients leave out; refused here too."""

HOSTED = {
    "image_generation",
    "file_search",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "mcp",
    "tool_search",
}

MODELS = [
    {
        "slug": "gpt-6.1-sol", "display_name": "GPT-6.1 Sol", "visibility": "list", "context_window": 400_000,
        "supported_reasoning_levels": [{"effort": one} for one in ("low", "medium", "high", "xhigh")],
        "default_reasoning_level": "low", "input_modalities": ["text", "image"],
    },
    {
        "slug": "gpt-6-luna", "display_name": "GPT-6 Luna", "visibility": "list", "context_window": 272_000,
        "supported_reasoning_levels": [{"effort": one} for one in ("none", "low", "medium")], "input_modalities": ["text"],
    },
    {"slug": "gpt-internal", "display_name": "Hidden", "visibility": "hide", "context_window": 1, "supported_reasoning_levels": []},
]  # fmt: skip

ERRORS = {
    "401": (401, "invalid_token", "The access token is not valid."),
    "plan": (429, "subscription_sharing_usage_limit_exceeded", "The usage limit of this app is reached."),
    "eligible": (403, "subscription_sharing_user_not_eligible", "This user is not eligible."),
    "unavailable": (503, "subscription_sharing_usage_unavailable", "Usage cannot be read now."),
    "route": (403, "subscription_sharing_route_not_supported", "This route is not supported."),
    "capability": (400, "subscription_sharing_unsupported_capability", "This capability is not supported."),
    "user": (403, "subscription_sharing_invalid_user", "This user is not valid."),
}
"""[errors-and-recovery]: code, status, words; the statuses of single codes are not documented."""


@cache
def _signing_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class ChatGptService:
    """The service on a port of this machine; a context manager. `user` is who signs in next."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.user = {"sub": "user-1", "email": "ada@example.com"}
        self.lifetime = 3600
        self.refresh_after: float | None = None
        self.scope = " ".join(sorted(SCOPES))
        self.claims: dict[str, Any] = {}
        self.signing: dict[str, Any] = {}
        self.slow_s = 0.0
        self.faults: list[str] = []
        self.answers: list[Answer] = []
        self.models: list[dict[str, Any]] = MODELS
        self.violations: list[str] = []
        self.count: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.secrets: list[str] = []
        self._clients: dict[str, dict[str, str]] = {}
        self._codes: dict[str, dict[str, Any]] = {}
        self._access: dict[str, tuple[float, str]] = {}
        self._refresh: dict[str, dict[str, Any]] = {}
        self._key = _signing_key()

    def __enter__(self) -> Self:
        handler = type("Bound", (_Handler,), {"service": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    # What the user does in the browser.

    def consent(self, url: str) -> str:
        """Return the address to which the browser is sent, after the user has agreed. Raises AssertionError for a wrong request."""
        query = {name: values for name, values in parse_qs(urlsplit(url).query, keep_blank_values=True).items()}
        fault = self._wrong_authorize(url, query)
        if fault:
            self.violations.append(fault)
            raise AssertionError(fault)
        given = {name: values[0] for name, values in query.items()}
        with self.guard:
            client = given["client_id"]
            if client == FIRST_CLIENT:
                client = f"oaiapp_{secrets.token_hex(8)}"
                self._clients[client] = {"host": given["ext_agent_host_id"], "name": given["agent_name_hint"]}
            code = self._secret("code")
            self._codes[code] = {**given, "client_id": client, "user": dict(self.user)}
        return f"{given['redirect_uri']}?{urlencode({'code': code, 'state': given['state'], 'client_id': client})}"

    def _wrong_authorize(self, url: str, query: dict[str, list[str]]) -> str:
        if not url.startswith(f"{self.origin}/api/accounts/authorize?"):
            return "another authorization endpoint"
        if any(len(values) != 1 for values in query.values()):
            return "a parameter twice"
        given = {name: values[0] for name, values in query.items()}
        is_first = given.get("client_id") == FIRST_CLIENT
        allowed = AUTHORIZE | ({"agent_name_hint"} if is_first else {"id_token_hint", "login_hint"}) | {"prompt"}
        required = AUTHORIZE | ({"agent_name_hint"} if is_first else set())
        if given.keys() - allowed or required - given.keys():
            return f"authorize: unknown {given.keys() - allowed}, missing {required - given.keys()}"
        known = self._clients.get(given["client_id"])
        checks = {
            "response_type": given["response_type"] == "code",
            "client_id": is_first or known is not None,
            "redirect_uri": REDIRECT.fullmatch(given["redirect_uri"]) is not None,
            "scope": set(given["scope"].split()) == SCOPES,
            "resource": given["resource"] == RESOURCE,
            "state": len(given["state"]) >= 32,
            "nonce": len(given["nonce"]) >= 32 and given["nonce"] != given["state"],
            "code_challenge": re.fullmatch(r"[\w-]{43}", given["code_challenge"]) is not None,
            "code_challenge_method": given["code_challenge_method"] == "S256",
            "ext_agent_host_id": HOST.fullmatch(given["ext_agent_host_id"]) is not None
            and (known is None or known["host"] == given["ext_agent_host_id"]),
            "agent_name_hint": not is_first or bool(given["agent_name_hint"]),
            "prompt": given.get("prompt", "consent") == "consent",
        }
        wrong = [name for name, is_right in checks.items() if not is_right]
        return f"authorize: wrong {wrong}" if wrong else ""

    # The token endpoint.

    def token(self, form: dict[str, str]) -> tuple[int, Any]:
        match form.get("grant_type"):
            case "authorization_code":
                return self._exchange(form)
            case "refresh_token":
                time.sleep(self.slow_s)
                return self._renew(form)
            case _:
                return self._refuse("unsupported_grant_type", f"grant_type {form.get('grant_type')!r}")

    def _exchange(self, form: dict[str, str]) -> tuple[int, Any]:
        self.count["exchange"] += 1
        if form.keys() != EXCHANGE:
            return self._refuse("invalid_request", f"exchange: fields {sorted(form.keys() ^ EXCHANGE)}")
        known = self._codes.get(form["code"])
        if known is None or known.get("used"):
            return self._refuse("invalid_grant", "exchange: a replayed or unknown code")
        known["used"] = True
        verifier = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if form["client_id"] == FIRST_CLIENT or form["client_id"] != known["client_id"]:
            return self._refuse("invalid_client", "exchange: not the issued client")
        if verifier.decode() != known["code_challenge"] or form["redirect_uri"] != known["redirect_uri"]:
            return self._refuse("invalid_grant", "exchange: verifier or redirect_uri")
        if form["resource"] != RESOURCE:
            return self._refuse("invalid_target", "exchange: resource")
        answer = self._issue(form["client_id"], known["user"]["sub"])
        claims = {
            "iss": self.origin, "sub": known["user"]["sub"], "email": known["user"]["email"], "aud": form["client_id"],
            "azp": form["client_id"], "iat": int(time.time()), "exp": int(time.time()) + 600, "nonce": known["nonce"],
            **self.claims,
        }  # fmt: skip
        answer["id_token"] = self._sign({name: value for name, value in claims.items() if value is not None})
        return self._faulty("code", answer)

    def _renew(self, form: dict[str, str]) -> tuple[int, Any]:
        self.count["refresh"] += 1
        if "busy-refresh" in self.faults:
            self.faults.remove("busy-refresh")
            return 503, {"error": "temporarily_unavailable"}
        if form.keys() != REFRESH or form["resource"] != RESOURCE:
            return self._refuse("invalid_request", f"refresh: fields {sorted(form.keys() ^ REFRESH)}")
        known = self._refresh.get(form["refresh_token"])
        if known is None or known["client"] != form["client_id"]:
            return self._refuse("invalid_refresh_token", "refresh: an unknown token")
        if known["state"] != "new":  # used twice: the whole sign-in ends
            for one in self._refresh.values():
                if one["client"] == known["client"]:
                    one["state"] = "ended"
            return self._refuse("refresh_token_reused", "refresh: a token that was used before")
        if time.time() < (known["after"] or 0):
            return self._refuse("invalid_request", "refresh: before earliest_refresh_at")
        known["state"] = "used"
        return self._faulty("refresh", self._issue(form["client_id"], known["sub"]))

    def _issue(self, client: str, subject: str) -> dict[str, Any]:
        access, refresh = self._secret("access"), self._secret("refresh")
        self._access[access] = (time.time() + self.lifetime, subject)
        after = None if self.refresh_after is None else time.time() + self.refresh_after
        self._refresh[refresh] = {"client": client, "sub": subject, "state": "new", "after": after}
        answer = {
            "access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": self.lifetime,
            "scope": self.scope,
        }  # fmt: skip
        return answer if after is None else {**answer, "earliest_refresh_at": int(after)}

    def revoke(self, form: dict[str, str]) -> tuple[int, Any]:
        self.count["revoke"] += 1
        known = self._refresh.get(form.get("token", ""))
        if form.keys() != REVOKE or known is None or form["client_id"] != known["client"]:
            return self._refuse(
                "invalid_request", f"revoke: fields {sorted(form.keys() ^ REVOKE)}, or an unknown token"
            )
        known["state"] = "revoked"
        return 200, {}

    def is_live(self, refresh_token: str) -> bool:
        """Return whether a refresh token could still be used."""
        return self._refresh[refresh_token]["state"] == "new"

    def expire(self) -> None:
        """End all access tokens."""
        self._access = {token: (0.0, subject) for token, (_, subject) in self._access.items()}

    def end_all(self) -> None:
        """End all sign-ins, as the user does in the settings of ChatGPT."""
        self.expire()
        self._refresh = {}

    def keys(self) -> dict[str, Any]:
        public = json.loads(RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}

    def _sign(self, claims: dict[str, Any]) -> str:
        asked: dict[str, Any] = {"key": self._key, "algorithm": "RS256", "headers": {"kid": "k1"}, **self.signing}
        token = jwt.encode(claims, **asked)
        self.secrets.append(token)
        return token

    def _secret(self, kind: str) -> str:
        self.secrets.append(f"{kind}-{secrets.token_urlsafe(24)}")
        return self.secrets[-1]

    def _faulty(self, kind: str, answer: dict[str, Any]) -> tuple[int, Any]:
        for fault in [one for one in self.faults if one.endswith(f"-{kind}")]:
            self.faults.remove(fault)
            match fault.partition("-")[0]:
                case "lost":
                    return 0, None
                case "page":
                    return 502, "<html>Bad gateway</html>"
                case _:
                    return 200, {name: value for name, value in answer.items() if name != "refresh_token"}
        return 200, answer

    def _refuse(self, code: str, violation: str) -> tuple[int, Any]:
        self.violations.append(violation)
        return 400, {"error": code, "error_description": violation}

    # The API.

    def user_of(self, header: str) -> str | None:
        """Return whose access token this is, None for none that is valid now."""
        until, subject = self._access.get(header.removeprefix("Bearer "), (0.0, ""))
        return subject if until > time.time() else None

    def respond(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.bodies.append(body)
        self.count["responses"] += 1
        for fault in [one for one in self.faults if one in ERRORS]:
            self.faults.remove(fault)
            status, code, message = ERRORS[fault]
            return status, {"error": {"code": code, "message": message, "type": "invalid_request_error", "param": None}}
        found = route_violations(body, [model["slug"] for model in self.models])
        if found:
            self.violations += found
            return 400, {"error": {"code": "subscription_sharing_unsupported_capability", "message": found[0]}}
        answer = self.answers.pop(0) if self.answers else Answer(text="Hello.")
        events = list(responses_stream(answer, body, (10, 5, 0)))
        if "plan-inside" in self.faults:
            self.faults.remove("plan-inside")
            _, code, message = ERRORS["plan"]
            failed = {"status": "failed", "error": {"code": code, "message": message}}
            events[-1] = b"data: %s\n\n" % json.dumps({"type": "response.failed", "response": failed}).encode()
        raw = b"".join(events)
        spaces = [tool["name"] for tool in body.get("tools", []) if tool["type"] == "namespace"]
        named = f'"type": "function_call", "namespace": "{(spaces or [""])[0]}", '
        return 200, raw.replace(b'"type": "function_call", ', named.encode())


def route_violations(body: dict[str, Any], slugs: list[str]) -> list[str]:
    """Return what the route does not accept of a body. [models-and-inference]"""
    found = [f"field {name!r}" for name in sorted(body.keys() & (REJECTED | UNSURE))]
    found += [] if body.get("store") is False else ["store must be false"]
    found += [] if body.get("stream") is True else ["stream must be true"]
    found += [] if body.get("model") in slugs else [f"model {body.get('model')!r} is not in the catalog"]
    items = body.get("input")
    if not isinstance(items, list):
        return [*found, "input must be an array"]
    found += ["an item of role system" for item in items if item.get("role") == "system"]
    tools: list[dict[str, Any]] = []
    names = set[str]()
    for tool in body.get("tools", []):
        match tool.get("type"):
            case "namespace":
                names.add(tool.get("name", ""))
                good = NAME.match(tool.get("name", "")) and tool.get("description") and tool.get("tools")
                found += (
                    [] if good and tool.keys() == {"type", "name", "description", "tools"} else ["a wrong namespace"]
                )
                tools += tool.get("tools") or []
            case "function" | "custom":
                found.append(f"a flat tool {tool.get('name')!r}")
            case kind if kind in HOSTED:
                found.append(f"a hosted tool {kind!r}")
            case _:
                tools.append(tool)
    for item in items:
        if item.get("type") == "function_call" and (item.get("namespace") or "") not in names:
            found.append(f"a call of {item.get('name')!r} without its namespace")
    if isinstance(body.get("tool_choice"), dict):
        found.append("tool_choice of one function")
    plain = [{name: value for name, value in item.items() if name != "namespace"} for item in items]
    return found + responses_violations({**body, "input": plain, **({"tools": tools} if "tools" in body else {})})


class _Handler(BaseHTTPRequestHandler):
    service: ChatGptService
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/api/accounts/authorize":
            try:
                location = self.service.consent(f"{self.service.origin}{self.path}")
            except AssertionError as wrong:
                return self._send(400, {"error": "invalid_request", "error_description": str(wrong)})
            self.send_response(302)
            self.send_header("location", location)
            self.send_header("content-length", "0")
            return self.end_headers()
        if path == "/.well-known/jwks.json":
            return self._send(200, self.service.keys())
        if path == "/v1/models":
            self.service.count["models"] += 1
            if self.service.user_of(self.headers.get("authorization", "")) is None:
                return self._send(401, {"error": {"code": "invalid_token", "message": "no"}})
            return self._send(200, {"models": self.service.models})
        return self._send(404, {"error": "not_found"})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        service, path = self.service, urlsplit(self.path).path
        if path == "/v1/responses":
            if service.user_of(self.headers.get("authorization", "")) is None:
                service.count["unauthorized"] += 1
                return self._send(
                    401, {"error": {"code": "invalid_token", "message": "The access token is not valid."}}
                )
            return self._send(*service.respond(json.loads(raw)))
        if path.startswith("/v1/"):
            status, code, message = ERRORS["route"]
            service.violations.append(f"another route: {path}")
            return self._send(status, {"error": {"code": code, "message": message}})
        if self.headers.get("content-type") != "application/x-www-form-urlencoded":
            return self._send(*service._refuse("invalid_request", "not a form"))
        form = {name: values[0] for name, values in parse_qs(raw.decode(), keep_blank_values=True).items()}
        answers = {"/api/accounts/oauth/token": service.token, "/api/accounts/oauth/revoke": service.revoke}
        if path not in answers:
            return self._send(404, {"error": "not_found"})
        with service.guard:
            status, body = answers[path](form)
        if status == 0:
            self.close_connection = True
            return None
        return self._send(status, body)

    def _send(self, status: int, body: Any) -> None:
        is_stream = isinstance(body, bytes)
        data = body if is_stream else (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = "text/event-stream" if is_stream else "text/html" if isinstance(body, str) else "application/json"
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass
