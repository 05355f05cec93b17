"""Checks that every request must pass before any route.

In order: the server still takes work, `Host` names it, `Origin` (if there is one) is this machine's, the password is right (asked
of all but `OPTIONS`), the body is not a form and not too large. Event streams are checked like all other requests. The paths of the
page for browsers, where there is one, have rules of their own for the origin, and a cookie in place of the password.
"""

import base64
import binascii
import hmac
import logging
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct
from starlette.exceptions import HTTPException

from opencode_tui.schema.http_headers import DEFAULT_USERNAME
from opencode_tui.server.address import Address
from opencode_tui.server.answer import error_body, value_bytes
from opencode_tui.server.lazy_app import PREFIXES
from opencode_tui.server.throttle import Throttle

# The credentials of the server: one password, by basic or bearer authorization, compared in constant time.


class Credentials(Struct, frozen=True):
    """The user name and the password of a server."""

    password: str
    username: str = DEFAULT_USERNAME

    def __repr__(self) -> str:
        return f"Credentials(username={self.username!r})"  # without the password

    def admits(self, authorization: bytes | None) -> bool:
        """Return whether an `Authorization` header is valid, in a time independent of the password."""
        scheme, _, given = (authorization or b"").strip().partition(b" ")
        match scheme.lower():
            case b"bearer":
                return hmac.compare_digest(given.strip(), self.password.encode())
            case b"basic":
                return self._admits_basic(given.strip())
            case _:
                return False

    def _admits_basic(self, encoded: bytes) -> bool:
        try:
            given = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return False
        username, _, password = given.partition(b":")
        is_user = hmac.compare_digest(username, self.username.encode())
        return hmac.compare_digest(password, self.password.encode()) and is_user


logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

BODY_LIMIT = 64 * 1024 * 1024
"""Most bytes of a request body: attachments are data URLs in it."""

REQUEST_LIMIT = 1_000
"""Most requests with the password at a time, event streams included; more get status 503."""

METHODS = b"GET, HEAD, PUT, POST, DELETE, PATCH"
_PREFLIGHT: Headers = [
    (b"access-control-allow-methods", METHODS),
    (b"access-control-allow-headers", b"Authorization, Content-Type, X-Opencode-Directory"),
    (b"access-control-max-age", b"600"),
]
_FORMS = (b"application/x-www-form-urlencoded", b"multipart/form-data", b"text/plain")
"""Content types that a page can post anywhere without a preflight."""


class Refusal(Struct, frozen=True):
    """The reason for the rejection of a request."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class BrowserAccess(Struct, frozen=True):
    """What a server with a page for browsers has in addition to its password.

    `has` returns whether a path is one of the page, `refuse` why a request to it is refused, and `app` answers it. `own` are the
    credentials of the TUI that it starts for each viewer; `throttle` limits wrong passwords.
    """

    has: Callable[[str], bool]
    refuse: Callable[[Scope], Refusal | None]
    app: App
    own: Credentials
    throttle: Throttle


class Guard:
    """The outermost ASGI application; with `browsers`, also of the page for them."""

    def __init__(
        self, app: App, *, address: Address, credentials: Credentials, browsers: BrowserAccess | None = None
    ) -> None:
        self._app = app
        self._address = address
        self._credentials = credentials
        self._browsers = browsers
        self._is_closed = False
        self._active = 0

    def close(self) -> None:
        """Refuse all new requests; those in progress continue."""
        self._is_closed = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, answer a preflight, or pass the request on."""
        if scope["type"] != "http":
            await self._check_socket(scope, receive, send)
            return
        headers: Headers = scope["headers"]
        pages = self._pages_at(scope)
        refusal = self._refuse(scope["method"], scope, pages)
        if pages is None and (refusal is None or refusal.status == 401):
            send = _with_origin(_first(headers, b"origin"), send)
        if refusal is not None:
            # the body of a refused request is not read
            closing = [(b"connection", b"close")] if _has_body(headers) else []
            await _answer(send, refusal.status, [*refusal.headers, *closing], _refusal_body(scope["path"], refusal))
        elif scope["method"] == "OPTIONS" and pages is None:
            await _answer(send, 204, _PREFLIGHT, None)
        else:
            await self._hand_on(self._app if pages is None else pages.app, scope, _Limited(receive), send)

    async def _check_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a WebSocket on that passes the checks of a request; its server opens none where it has no use for them."""
        if scope["type"] != "websocket":
            return
        pages = self._pages_at(scope)
        refusal = self._refuse("GET", scope, pages)
        if refusal is None:
            await self._hand_on(self._app if pages is None else pages.app, scope, receive, send)
            return
        body = value_bytes(error_body("Refused", refusal.message))
        headers = [*refusal.headers, (b"content-type", b"application/json")]
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})

    def _pages_at(self, scope: Scope) -> BrowserAccess | None:
        """Return the page for browsers where the path is one of it."""
        pages = self._browsers
        return pages if pages is not None and pages.has(scope["path"]) else None

    def _refuse(self, method: str, scope: Scope, pages: BrowserAccess | None) -> Refusal | None:
        headers: Headers = scope["headers"]
        if self._is_closed:
            return Refusal(503, "the server is ending; start it again")
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or not self._address.is_called(hosts[0].decode("latin-1")):
            return Refusal(403, f"this server is {self._address.url}; the Host header has another name")
        if pages is not None:
            refusal = pages.refuse(scope)
        elif self._is_foreign(headers):
            refusal = Refusal(403, "origin not allowed; only pages of localhost may use the server")
        elif method == "OPTIONS":
            return None
        else:
            refusal = self._check_password(scope)
        if refusal is not None:
            return refusal
        if self._active >= REQUEST_LIMIT:
            return Refusal(503, f"the server has {REQUEST_LIMIT} requests in progress; try again later")
        return _refuse_body(headers)

    def _check_password(self, scope: Scope) -> Refusal | None:
        given = _first(scope["headers"], b"authorization")
        throttle = None
        if self._browsers is not None and given is not None:
            if self._browsers.own.admits(given):
                return None
            throttle = self._browsers.throttle
        client: str = (scope.get("client") or ("",))[0]
        if throttle is not None and (wait := throttle.wait_s(client)) > 0:
            retry = (b"retry-after", str(math.ceil(wait)).encode())
            return Refusal(429, f"too many wrong passwords; try again in {math.ceil(wait)} s", (retry,))
        is_right = self._credentials.admits(given)
        if throttle is not None:
            throttle.record(client, is_right=is_right)
        if is_right:
            return None
        challenge = (b"www-authenticate", b'Basic realm="Secure Area"')
        return Refusal(401, "the password is missing or wrong; send it by basic or bearer authorization", (challenge,))

    def _is_foreign(self, headers: Headers) -> bool:
        """Return whether a page of another origin sent it, by the Origin header or by Sec-Fetch-Site."""
        origins = [origin.decode("latin-1") for origin in _all(headers, b"origin")]
        if not origins:
            return _first(headers, b"sec-fetch-site") == b"cross-site"
        return not all(map(self._address.admits, origins))

    async def _hand_on(self, app: App, scope: Scope, receive: Receive, send: Send) -> None:
        self._active += 1
        try:
            await app(scope, receive, send)
        except Exception:
            logger.exception(
                "%s %s failed", scope.get("method", "WebSocket"), scope["path"]
            )  # a response was sent, or cannot be sent
        finally:
            self._active -= 1


class _Limited:
    """Passes the body on; raises an error when it exceeds the limit."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        if self._bytes > BODY_LIMIT:
            raise HTTPException(413, f"the body is larger than {BODY_LIMIT >> 20} MB")
        return message


def _refusal_body(path: str, refusal: Refusal) -> dict[str, Any]:
    """Return the body of a refusal in the form of the API that the path is of."""
    if not path.startswith(PREFIXES):
        return error_body("Refused", refusal.message)
    tag = {401: "UnauthorizedError", 403: "ForbiddenError"}.get(refusal.status, "ServiceUnavailableError")
    return {"_tag": tag, "message": refusal.message}


def _refuse_body(headers: Headers) -> Refusal | None:
    kind = (_first(headers, b"content-type") or b"").partition(b";")[0].strip().lower()
    if kind in _FORMS:
        return Refusal(403, f"Unsupported content type {kind.decode('latin-1')}; send application/json")
    length = _first(headers, b"content-length") or b"0"
    if length.isdigit() and int(length[:20]) > BODY_LIMIT:
        return Refusal(413, f"the body is larger than {BODY_LIMIT >> 20} MB")
    return None


def _has_body(headers: Headers) -> bool:
    return _first(headers, b"transfer-encoding") is not None or _first(headers, b"content-length") not in (None, b"0")


def _with_origin(origin: bytes | None, send: Send) -> Send:
    """Return a `send` that allows pages of this origin to read the response."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            grant = [(b"access-control-allow-origin", origin)] if origin else []
            message["headers"] = [*message.get("headers", []), *grant, (b"vary", b"Origin")]
        await send(message)

    return sending


async def _answer(send: Send, status: int, headers: Headers, body: dict[str, Any] | None) -> None:
    data = b"" if body is None else value_bytes(body)
    described = [] if body is None else [(b"content-type", b"application/json")]
    sized = [] if status == 204 else [(b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *described, *sized]})
    await send({"type": "http.response.body", "body": data})


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _first(headers: Headers, name: bytes) -> bytes | None:
    return next(iter(_all(headers, name)), None)
