"""The routes of the page, and who may use them.

    GET  /                    → /web/
    GET  /web/                the page with the terminal
    GET  /web/login           the login page
    GET  /web/assets/{name}   their files
    POST /web/login           {password} or {link} → a cookie and {key}
    POST /web/ticket          {key} → {ticket}
    POST /web/logout
    WS   /web/socket          ?ticket=&viewer=&columns=&rows=
    …    /web/inbox           the small page for phones (`inbox.py`)

The cookie opens these paths only: the routes of the API ask for the password as ever, so that no page can use them with the cookie.
"""

import asyncio
import hmac
import logging
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from opencode_tui.programs import python_command, python_environ
from opencode_tui.schema.api.pty import PtyCreate
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.json_text import decode_json
from opencode_tui.server.address import Address
from opencode_tui.server.answer import error_body
from opencode_tui.server.errors import STATUS
from opencode_tui.server.guard import Credentials, Headers, Message, Receive, Refusal, Scope, Send
from opencode_tui.server.terminals import make_terminals
from opencode_tui.server.throttle import Throttle
from opencode_tui.server.web.access import LOGIN_S, Access
from opencode_tui.server.web.inbox import Act, InboxPage
from opencode_tui.server.web.viewers import Viewers

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

logger = logging.getLogger(__name__)

T = TypeVar("T")

BODY_LIMIT = 8192
_ID_LENGTH = 100

_ASSETS = Path(__file__).parent / "assets"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}
FILES = (
    "page.js",
    "page.css",
    "login.js",
    "login.css",
    "inbox.js",
    "inbox.css",
    "icon.svg",
    "xterm.js",
    "xterm.css",
    "addon-fit.js",
    "addon-unicode11.js",
)
_LOGIN_FILES = ("login.js", "login.css", "icon.svg")
_OPEN_PATHS = ("/", "/web", "/web/login", *(f"/web/assets/{name}" for name in _LOGIN_FILES))
"""What the login page needs; everything else asks for the cookie."""

_LOGIN_OF = {"/web/": b"/web/login", "/web/inbox": b"/web/login?to=inbox"}
"""The login for each page, which it leads back to."""

_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; object-src 'none'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TERMINAL_POLICY = _POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
"""xterm.js writes the colors and the size of its cells into a style element."""

_HEADERS: Headers = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]

_OTHER_TERMINAL = (
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "VTE_VERSION",
    "WT_SESSION",
    "NO_COLOR",
)
"""Variables that describe the terminal of the server, which is not that of the page."""


class Web(msgspec.Struct, frozen=True):
    """What the page of a server needs: the logins, and the folder and the environment of the viewers' TUI."""

    access: Access
    directory: str
    environ: Mapping[str, str]


class _LoginRequest(msgspec.Struct, frozen=True):
    password: str | None = None
    link: str | None = None


class _TicketRequest(msgspec.Struct, frozen=True):
    key: str


class Pages:
    """The page of a server; the guard asks `refuse` before each of its requests.

    The viewers' TUI uses `own`, a password of this run that no one else knows. `find_client` returns the client of its folder.
    """

    def __init__(
        self,
        web: Web,
        address: Address,
        *,
        credentials: Credentials,
        own: Credentials,
        throttle: Throttle,
        find_client: "Callable[[], Awaitable[Client]]",
    ) -> None:
        self._inbox = InboxPage(find_client, web.environ.get("HOME", ""))
        self._access = web.access
        self._address = address
        self._password = credentials.password.encode()
        self._throttle = throttle
        self._cookie = f"opencode_tui_{address.port}"
        environ = {name: value for name, value in web.environ.items() if name not in _OTHER_TERMINAL}
        terminals = make_terminals(publish=lambda _folder, _event: None, environ=environ)
        self.viewers = Viewers(terminals, web.directory, _describe_attach(address, own))
        self.routes: Sequence[BaseRoute] = self._list_routes()
        self._starlette = Starlette(routes=self.routes)
        self._files: dict[str, bytes] = {}

    def has(self, path: str) -> bool:
        """Return whether a path is one of the page."""
        return path in ("/", "/web") or path.startswith("/web/")

    def refuse(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused, None when it is not: its origin, then its cookie."""
        headers: Headers = scope["headers"]
        is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if not self._is_of_own_page(headers, is_reading=is_reading):
            return self._refusal(403, "origin not allowed; only the page of this server may use it")
        path: str = scope["path"]
        is_open = path in _OPEN_PATHS
        if is_open or self._access.is_logged_in(self._cookie_of(headers)):
            return None
        if path in _LOGIN_OF and is_reading:
            return self._refusal(303, "log in first", (b"location", _LOGIN_OF[path]))
        return self._refusal(401, "log in first, at /web/login")

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that was not refused."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = _TERMINAL_POLICY if scope["path"] == "/web/" else _POLICY
                message["headers"] = [
                    *message.get("headers", []),
                    *_HEADERS,
                    (b"content-security-policy", policy.encode()),
                ]
            await send(message)

        await self._starlette(scope, receive, sending)

    def _list_routes(self) -> list[BaseRoute]:
        return [
            Route("/", self._redirect),
            Route("/web", self._redirect),
            Route("/web/", self._page),
            Route("/web/login", self._login_page),
            Route("/web/assets/{name}", self._asset),
            Route("/web/login", self._log_in, methods=["POST"]),
            Route("/web/ticket", self._ticket, methods=["POST"]),
            Route("/web/logout", self._log_out, methods=["POST"]),
            Route("/web/inbox", self._inbox_page),
            Route("/web/inbox/list", self._list_inbox),
            Route("/web/inbox/changes", self._read_changes),
            Route("/web/inbox/act", self._act, methods=["POST"]),
            WebSocketRoute("/web/socket", self._socket),
        ]

    async def _redirect(self, _: Request) -> Response:
        return RedirectResponse("/web/", 303)

    async def _page(self, _: Request) -> Response:
        return await self._file("page.html")

    async def _login_page(self, _: Request) -> Response:
        return await self._file("login.html")

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return JSONResponse(error_body("NotFoundError", f"there is no file {name!r}"), 404)
        return await self._file(name)

    async def _file(self, name: str) -> Response:
        if name not in self._files:
            folder = _ASSETS / "xterm" if name.startswith(("xterm", "addon")) else _ASSETS
            self._files[name] = await asyncio.to_thread((folder / name).read_bytes)
        return Response(self._files[name], media_type=_TYPES[Path(name).suffix])

    async def _log_in(self, request: Request) -> Response:
        given = await _read_body(request, _LoginRequest)
        if given is None or (given.password is None) == (given.link is None):
            return _failure(400, 'send {"password": "…"} or {"link": "…"}')
        client = request.client.host if request.client else ""
        if given.link is not None:
            if not self._access.consume_link(given.link):
                return _failure(401, "This link was used already or has expired. Log in with the password.")
        else:
            wait = self._throttle.wait_s(client)
            if wait > 0:
                seconds = math.ceil(wait)
                message = f"Too many wrong passwords. Try again in {seconds} s."
                return _failure(429, message, {"retry-after": str(seconds)})
            is_right = hmac.compare_digest((given.password or "").encode("utf-8", "replace"), self._password)
            self._throttle.record(client, is_right=is_right)
            if not is_right:
                logger.warning("wrong password on the login page, from %s", client)
                return _failure(401, "Wrong password.")
        login = self._access.log_in()
        answer = JSONResponse({"key": login.key})
        self._set_cookie(request, answer, login.cookie, LOGIN_S)
        return answer

    async def _ticket(self, request: Request) -> Response:
        given = await _read_body(request, _TicketRequest)
        cookie = self._cookie_of(request.scope["headers"])
        ticket = None if given is None else self._access.create_ticket(cookie, given.key)
        if ticket is None:
            return _failure(401, "log in first, at /web/login")
        return JSONResponse({"ticket": ticket})

    async def _log_out(self, request: Request) -> Response:
        cookie = self._cookie_of(request.scope["headers"])
        self._access.log_out(cookie)
        await self.viewers.log_out(cookie)
        answer = JSONResponse({})
        self._set_cookie(request, answer, "", 0)
        return answer

    async def _inbox_page(self, _: Request) -> Response:
        return await self._file("inbox.html")

    async def _list_inbox(self, _: Request) -> Response:
        return await self._answer(self._inbox.list())

    async def _read_changes(self, request: Request) -> Response:
        return await self._answer(self._inbox.changes(request.query_params.get("session", "")[:_ID_LENGTH]))

    async def _act(self, request: Request) -> Response:
        given = await _read_body(request, Act)
        if given is None:
            return _failure(400, 'send {"ticket": "…", "act": "…", "id": "…"}')
        if not self._access.consume_ticket(self._cookie_of(request.scope["headers"]), given.ticket):
            return _failure(401, "the ticket is missing, used or expired; get one at /web/ticket")
        return await self._answer(self._inbox.act(given))

    @staticmethod
    async def _answer(work: Awaitable[object]) -> Response:
        """Return the result of a call of the engine, or its error."""
        try:
            return Response(msgspec.json.encode(await work), media_type="application/json")
        except OpencodeError as error:
            status, name = next(
                ((code, name) for kind, code, name in STATUS if isinstance(error, kind)), (500, "Error")
            )
            return JSONResponse(error_body(name, str(error)), status)

    async def _socket(self, socket: WebSocket) -> None:
        query = socket.query_params
        cookie = self._cookie_of(socket.scope["headers"])
        if not self._access.consume_ticket(cookie, query.get("ticket", "")):
            await socket.send_denial_response(
                _failure(401, "the ticket is missing, used or expired; get one at /web/ticket")
            )
            return
        try:
            size = int(query.get("columns", "80")[:6]), int(query.get("rows", "24")[:6])
        except ValueError:
            await socket.send_denial_response(_failure(400, "columns and rows are numbers"))
            return
        await self.viewers.serve(socket, login=cookie, name=query.get("viewer", ""), size=size)

    def _is_of_own_page(self, headers: Headers, *, is_reading: bool) -> bool:
        """Return whether our page sent a request; to read, the user may also have followed a link."""
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if origins:
            host = next(value.decode("latin-1") for name, value in headers if name == b"host")
            return all(one == f"http://{host.strip().lower()}" or one in self._address.origins for one in origins)
        if not is_reading:
            return False
        fetched = {name: value for name, value in headers if name.startswith(b"sec-fetch-")}
        is_visit = fetched.get(b"sec-fetch-mode") == b"navigate" and fetched.get(b"sec-fetch-dest") == b"document"
        return is_visit or fetched.get(b"sec-fetch-site", b"none") in (b"none", b"same-origin")

    def _cookie_of(self, headers: Headers) -> str:
        """Return the value of our cookie, empty without one."""
        lines = b"; ".join(value for name, value in headers if name == b"cookie").decode("latin-1")
        pairs = (pair.strip().partition("=") for pair in lines.split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    def _set_cookie(self, request: Request, answer: Response, value: str, seconds: int) -> None:
        is_secure = request.headers.get("origin", "").startswith("https:")  # a proxy ends TLS
        answer.set_cookie(
            self._cookie, value, max_age=seconds, path="/web", httponly=True, samesite="strict", secure=is_secure
        )

    def _refusal(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> Refusal:
        policy = (b"content-security-policy", _POLICY.encode())
        return Refusal(status, message, (*headers, *_HEADERS, policy))


def _describe_attach(address: Address, own: Credentials) -> PtyCreate:
    """Return the TUI of a viewer: attached to this server, with its own password in a variable that it removes at its start."""
    program, *options = python_command()
    return PtyCreate(
        command=program,
        args=[*options, "-m", "opencode_tui", "attach", address.reachable_url],
        env={
            "PYTHONPATH": python_environ(os.environ).get("PYTHONPATH", ""),
            "OPENCODE_SERVER_PASSWORD": own.password,
            "OPENCODE_SERVER_USERNAME": own.username,
            "COLORTERM": "truecolor",
        },
    )


async def _read_body(request: Request, kind: type[T]) -> T | None:
    """Return the JSON of a request, None when it is not of this form or too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_LIMIT:
            return None
    try:
        return msgspec.convert(decode_json(body), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _failure(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse(error_body("Refused", message), status, dict(headers or {}))
