"""Receives the browser at the end of a sign-in, on 127.0.0.1 and only while a sign-in waits for it.

A request counts if it has the `state` of a sign-in that waits, which only its address contained. The pages are fixed texts.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from opencode_tui.engine.mcp.lists import clean
from opencode_tui.schema.error import SignInError
from opencode_tui.schema.setting_defaults import SIGN_IN_PORT

HOST, PATH = "127.0.0.1", "/mcp/oauth/callback"
"""Where the browser is sent, as OpenCode registers it; the settings may name another port."""

_BACKLOG = 8
_HEAD_BYTES = 16_384
_HEAD_S = 10.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><title>opencode-tui</title>"
    "<body style='font-family:sans-serif;text-align:center;padding-top:20vh'><h1>{}</h1><p>{}</p>"
)
_RECEIVED = _PAGE.format("Almost done", "opencode-tui finishes the sign-in. You can close this page.")
_REFUSED = _PAGE.format("Not signed in", "The sign-in was refused. opencode-tui shows why.")
_UNKNOWN = _PAGE.format(
    "Nothing waits for this", "This sign-in has ended or is not one of opencode-tui. Begin it again."
)


class Redirected(Struct, frozen=True):
    """What the browser brought back."""

    code: str
    state: str | None
    issuer: str | None = None
    client_id: str | None = None


class RefusedSignIn(SignInError):
    """The authorization server refused a sign-in; `code` is its name of the error, empty without one."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class UnavailablePort(OSError):
    """None of the ports on which a sign-in may wait is free; errno and words are those of the last one."""


def redirect_address(port: int | None) -> str:
    """Return the address to which the browser is sent."""
    return f"http://{HOST}:{port or SIGN_IN_PORT}{PATH}"


def read_redirect(address: str) -> Redirected:
    """Return what an address says to which the browser was sent. Raises RefusedSignIn, ValueError for anything else."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    if "error" in query:
        about = str(clean(query.get("error_description", "")))[:200]
        code = str(clean(query["error"]))[:60]
        raise RefusedSignIn(f"it was refused: {code}{f' ({about})' if about else ''}", code)
    if not query.get("code"):
        raise ValueError("it has no code")
    return Redirected(query["code"], query.get("state"), query.get("iss"), query.get("client_id"))


class Callbacks:
    """Listens on the ports of the sign-ins that wait. Call all methods on the event loop."""

    def __init__(self, path: str = PATH) -> None:
        """`path` is that of the addresses to which browsers are sent."""
        self._path = path
        self._servers: dict[int, asyncio.Server] = {}
        self._waiting: dict[str, asyncio.Future[Redirected]] = {}
        self._users: dict[int, int] = {}
        self._starting = asyncio.Lock()

    @asynccontextmanager
    async def listening(self, *ports: int) -> AsyncGenerator[int]:
        """Listen on the first of these ports that is free, 0 for any, and yield it. Raises UnavailablePort if there is none."""
        async with self._starting:  # two that begin at once use the same one
            port = await self._start(ports)
            self._users[port] = self._users.get(port, 0) + 1
        try:
            yield port
        finally:
            self._users[port] -= 1
            if not self._users[port]:
                self._servers.pop(port).close()

    async def _start(self, ports: Sequence[int]) -> int:
        failure = UnavailablePort()
        for port in ports:
            try:
                server = self._servers.get(port)
                server = server or await asyncio.start_server(
                    self._receive, HOST, port, limit=_HEAD_BYTES, backlog=_BACKLOG
                )
            except OSError as error:
                failure = UnavailablePort(error.errno, error.strerror)
            else:
                bound: int = server.sockets[0].getsockname()[1]
                self._servers[bound] = server
                return bound
        raise failure

    @asynccontextmanager
    async def expecting(self, state: str, found: "asyncio.Future[Redirected]") -> AsyncGenerator[None]:
        """Set the future when the browser comes with this state."""
        self._waiting[state] = found
        try:
            yield
        finally:
            del self._waiting[state]

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, page = self._answer(head.decode("latin-1"))
            body = page.encode()
            fields = (
                f"HTTP/1.1 {status}",
                "Content-Type: text/html; charset=utf-8",
                f"Content-Length: {len(body)}",
                "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'",
                "Cache-Control: no-store",
                "Referrer-Policy: no-referrer",
                "Connection: close",
            )
            writer.write("\r\n".join((*fields, "", "")).encode() + body)
            await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a browser that left, or no browser
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _answer(self, head: str) -> tuple[str, str]:
        method, _, rest = head.partition(" ")
        target = rest.partition(" ")[0]
        try:
            parts = urlsplit(target)
        except ValueError:  # such as `http://[`
            return "400 Bad Request", _UNKNOWN
        if method != "GET" or parts.path != self._path:
            return "404 Not Found", _UNKNOWN
        given = parse_qs(parts.query).get("state", [""])[0]
        found = next((one for state, one in self._waiting.items() if _same(state, given)), None)
        if found is None or found.done():
            return "400 Bad Request", _UNKNOWN
        try:
            found.set_result(read_redirect(target))
        except RefusedSignIn as error:
            found.set_exception(error)
            return "200 OK", _REFUSED
        except ValueError:
            return "400 Bad Request", _UNKNOWN
        return "200 OK", _RECEIVED


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())
