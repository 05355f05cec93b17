"""HTTP/1.1 for requests to models: one request after the other on connections that stay open, a response read as it arrives.

It does what a provider needs and no more: TLS, HTTP proxies, bodies of each framing, a time limit for each step. A library for it
loads as many modules as a third of the engine. It follows RFC 9112 (framing, keep-alive) and RFC 9110 9.3.6 (CONNECT); a response
that does not is an error. `http.py` knows what errors mean for a user.

A connection reads from the system only while something waits for its bytes: many small pieces then come in one.
"""

import asyncio
import os
import re
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TypeVar
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from opencode_tui.network import Route, tls_context

T = TypeVar("T")

_MOST_IDLE = 8
_KEEPALIVE_S = 60.0
_PIECE_BYTES = 64 * 1024
_MOST_BUFFERED = 4 * _PIECE_BYTES
_HEAD_BYTES = 100 * 1024
_LINE_BYTES = 16 * 1024
_PORTS = {"http": 80, "https": 443}
_SAFE = "/%:@!$&'()*+,;=~?-._[]"
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(r"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: (.*))?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_ERROR_NUMBER = re.compile(r"\[Errno ([0-9]+)\]")


class HttpError(Exception):
    """The connection failed, or what came is not HTTP."""


class ConnectTimeoutError(HttpError):
    """There was no connection in time."""


class WriteTimeoutError(HttpError):
    """The other side accepted nothing of the request for too long."""


class ReadTimeoutError(HttpError):
    """The other side sent nothing for too long."""


class AddressError(HttpError):
    """The address is not one of HTTP."""


class Limits(Struct, frozen=True):
    """Seconds: for TCP and as much for TLS, for progress of a request that is sent, for the next bytes of a response."""

    connect_s: float
    write_s: float
    read_s: float


class _Target(Struct, frozen=True):
    """Where a request goes: the server, the path with the query, and the login that the address has."""

    scheme: str
    host: str
    port: int
    path: str
    login: str | None

    @property
    def server(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if _PORTS[self.scheme] == self.port else f"{name}:{self.port}"


class Connector:
    """Sends requests and keeps the connections that are idle; `route` has the proxy of all of them."""

    def __init__(self, route: Route, limits: Limits) -> None:
        self._proxy = route.proxy
        self._limits = limits
        self._idle: list[tuple[float, tuple[str, str, int], _Link]] = []

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        on_connect: Callable[[], None],
        on_send: Callable[[], None],
    ) -> "Response":
        """Send a request; return its response when the headers are there. Raises HttpError, ConfigError for wrong certificates.

        `on_connect` is called before a connection is opened, `on_send` before the request is sent.
        """
        target = _target_of(url)
        head = self._head(method, target, headers, len(body))
        link = self._unused(target)
        if link is None:
            on_connect()
            link = await self._open(target)
        try:
            on_send()
            await link.write(head + body, self._limits.write_s)
            return await _response(link, self._limits.read_s, lambda: self._keep(target, link))
        except BaseException:
            link.abort()
            raise

    async def close(self) -> None:
        """Close the idle connections; safe to call twice."""
        idle, self._idle = self._idle, []
        for _, _, link in idle:
            link.abort()
        if idle:
            await asyncio.sleep(0)  # the loop closes the sockets now

    def _unused(self, target: _Target) -> "_Link | None":
        """Return the newest idle connection to a server, which is no longer idle; close those that are lost or too old."""
        oldest = asyncio.get_running_loop().time() - _KEEPALIVE_S
        found: _Link | None = None
        kept: list[tuple[float, tuple[str, str, int], _Link]] = []
        for since, server, link in reversed(self._idle):
            if since < oldest or not link.is_idle:
                link.abort()
            elif found is None and server == target.server:
                found = link
            else:
                kept.append((since, server, link))
        self._idle = kept[::-1]
        return found

    def _keep(self, target: _Target, link: "_Link") -> None:
        link.listen()
        self._idle.append((asyncio.get_running_loop().time(), target.server, link))
        if len(self._idle) > _MOST_IDLE:
            self._idle.pop(0)[2].abort()

    async def _open(self, target: _Target) -> "_Link":
        by = target if self._proxy is None else _target_of(self._proxy)
        context = await asyncio.to_thread(tls_context) if "https" in (by.scheme, target.scheme) else None
        loop, limit_s = asyncio.get_running_loop(), self._limits.connect_s
        opening = loop.create_connection(_Link, by.host, by.port, happy_eyeballs_delay=0.25)
        _, link = await _in_time(opening, limit_s)
        try:
            if context is not None and by is not target and by.scheme == "https":
                await _in_time(link.start_tls(context, by.host), limit_s)
            if context is not None and by is not target and target.scheme == "https":
                await self._tunnel(link, target, by.login)
            if context is not None and target.scheme == "https":
                await _in_time(link.start_tls(context, target.host), limit_s)
        except BaseException:
            link.abort()
            raise
        return link

    async def _tunnel(self, link: "_Link", target: _Target, login: str | None) -> None:
        """Have a proxy connect to the server."""
        host = f"[{target.host}]" if ":" in target.host else target.host
        lines = [f"CONNECT {host}:{target.port} HTTP/1.1", f"host: {host}:{target.port}"]
        lines += [f"proxy-authorization: {login}"] if login else []
        try:
            await link.write("".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1"), self._limits.connect_s)
            status, reason, _, _ = await _read_head(link, self._limits.connect_s)
        except (ReadTimeoutError, WriteTimeoutError) as error:
            raise ConnectTimeoutError("the proxy makes no connection") from error
        if not 200 <= status < 300:
            raise HttpError(f"{status} {reason}".rstrip())

    def _head(self, method: str, target: _Target, headers: Mapping[str, str], size: int) -> bytes:
        """Return the head of a request, in the form for a proxy where it goes to one as it is."""
        given = {name.lower(): value for name, value in headers.items()}
        path = target.path
        if self._proxy is not None and target.scheme == "http":
            path = f"http://{target.authority}{path}"
            if login := _target_of(self._proxy).login:
                given["proxy-authorization"] = login
        given.pop("transfer-encoding", None)
        if method == "GET":
            given.pop("content-length", None)
        else:
            given["content-length"] = str(size)
        if target.login:
            given.setdefault("authorization", target.login)
        sent = {"host": target.authority, **given}
        for name, value in sent.items():
            if not _NAME.fullmatch(name) or any(sign in value for sign in "\r\n\0"):
                raise HttpError(
                    f"the header {name!r} cannot be sent: its name or value has characters that HTTP excludes"
                )
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items()), "", ""]
        return "\r\n".join(lines).encode("utf-8", "replace")


class Response:
    """A response whose headers have arrived; names of headers are in small letters."""

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        *,
        link: "_Link",
        body: "_Body",
        read_s: float,
        keep: Callable[[], None] | None,
    ) -> None:
        self.status = status
        self.headers = headers
        self._link = link
        self._body = body
        self._read_s = read_s
        self._keep = keep
        self._is_whole = False

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the body, decoded from its framing only, as it arrives. Raises HttpError."""
        while True:
            data = self._link.consume()
            if data and (piece := self._body.feed(data)):
                yield piece
            if self._body.is_whole:
                self._is_whole = True
                if self._keep is None or not self._link.is_idle or self._body.has_more:
                    self._link.abort()
                else:
                    self._keep()
                return
            if not self._link.has_bytes and not await self._link.more(self._read_s):
                self._body.end()
                self._is_whole = True
                self._link.abort()
                return

    async def aclose(self) -> None:
        """Close the connection if the body was not read to its end."""
        if not self._is_whole:
            self._link.abort()


class _Body:
    """A body that ends with the connection; those that end before derive from it."""

    is_whole = False
    has_more = False
    """Whether bytes came behind its end."""

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes have of the body. Raises HttpError."""
        return data

    def end(self) -> None:
        """Accept that the connection has ended. Raises HttpError where the body is not complete."""


class _OfLength(_Body):
    def __init__(self, length: int) -> None:
        self._left = length
        self.is_whole = length == 0
        self.has_more = False

    def feed(self, data: bytes) -> bytes:
        self.has_more = len(data) > self._left
        piece = data[: self._left]
        self._left -= len(piece)
        self.is_whole = self._left == 0
        return piece

    def end(self) -> None:
        raise HttpError(f"closed {self._left} bytes before the end of the response")


class _Chunked(_Body):
    def __init__(self) -> None:
        self._buffer = bytearray()
        self._left = 0
        """Bytes that the current chunk still has."""
        self._next = "size"
        """What the next line is: a chunk's "size", the "gap" behind it, or the "trailer" behind all."""
        self.is_whole = False
        self.has_more = False

    def feed(self, data: bytes) -> bytes:
        buffer, at = self._buffer, 0
        found: list[bytes] = []
        buffer += data
        while True:
            if self._left:
                piece = bytes(buffer[at : at + self._left])
                found.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
            end = buffer.find(b"\n", at)
            if end - at > _LINE_BYTES or (end < 0 and len(buffer) - at > _LINE_BYTES):
                raise HttpError("a line between chunks of the response is too long")
            if end < 0:
                break
            line = bytes(buffer[at:end]).rstrip(b"\r")
            at = end + 1
            if self._next == "size":
                size = _SIZE.fullmatch(line.partition(b";")[0].strip())
                if size is None:
                    raise HttpError("the size of a chunk of the response is not a number")
                self._left = int(size[0], 16)
                self._next = "gap" if self._left else "trailer"
            elif self._next == "gap":
                if line:
                    raise HttpError("a chunk of the response is longer than its size")
                self._next = "size"
            elif not line:
                self.is_whole, self.has_more = True, at < len(buffer)
                break
        del buffer[:at]
        return b"".join(found)

    def end(self) -> None:
        raise HttpError("closed before the last chunk of the response")


class _Link(asyncio.BaseProtocol):
    """A connection: what came and was not read yet, and how it ended."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._has_ended = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._is_full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._use(transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _MOST_BUFFERED:
            self._opened.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> None:
        self._has_ended = True
        _wake(self._reader)

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended = True
        self._error = self._error or exc
        _wake(self._reader)
        _wake(self._writer)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        _wake(self._writer)

    @property
    def has_bytes(self) -> bool:
        """Whether bytes wait to be consumed."""
        return bool(self._buffer)

    @property
    def is_idle(self) -> bool:
        """Whether it is open and nothing came that nobody asked for."""
        return not (self._has_ended or self._buffer or self._opened.is_closing())

    @property
    def _opened(self) -> asyncio.Transport:
        assert self._transport is not None
        return self._transport

    def _use(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.set_write_buffer_limits(0)  # what is written has left this process

    async def start_tls(self, context: ssl.SSLContext, host: str) -> None:
        """Encrypt the connection from now on."""
        context.set_alpn_protocols(["http/1.1"])
        transport = await asyncio.get_running_loop().start_tls(self._opened, self, context, server_hostname=host)
        if transport is None:
            raise ConnectionResetError("closed while the encryption began")
        self._use(transport)

    async def write(self, data: bytes, limit_s: float) -> None:
        """Write until the system has all of it; each piece has `limit_s` seconds. An error is one of the next `more`."""
        self.listen()
        for at in range(0, len(data), _PIECE_BYTES):
            self._opened.write(data[at : at + _PIECE_BYTES])
            if self._has_ended:
                return
            if self._is_full:
                self._writer = asyncio.get_running_loop().create_future()
                try:
                    async with asyncio.timeout(limit_s):
                        await self._writer
                except TimeoutError:
                    raise WriteTimeoutError from None
                finally:
                    self._writer = None

    async def more(self, limit_s: float) -> bool:
        """Wait for more bytes; return False where the connection has ended in order. Raises HttpError."""
        before = len(self._buffer)
        if not self._has_ended:
            self._reader = asyncio.get_running_loop().create_future()
            self.listen()
            try:
                async with asyncio.timeout(limit_s):
                    await self._reader
            except TimeoutError:
                raise ReadTimeoutError from None
            finally:
                self._reader = None
                self._opened.pause_reading()
        if len(self._buffer) > before:
            return True
        if self._error is not None:
            raise HttpError(_words(self._error))
        return False

    def consume(self) -> bytes:
        """Return bytes that came, and drop them; empty if there are none."""
        data = bytes(self._buffer[:_PIECE_BYTES])
        del self._buffer[:_PIECE_BYTES]
        return data

    def consume_head(self) -> bytes | None:
        """Return the lines of a head, once they are all there. Raises HttpError for one without an end."""
        found = _HEAD_END.search(self._buffer)
        if found is None:
            if len(self._buffer) > _HEAD_BYTES:
                raise HttpError("the headers of the response are too long")
            return None
        head = bytes(self._buffer[: found.start()])
        del self._buffer[: found.end()]
        return head

    def listen(self) -> None:
        """Read what comes although nothing waits for it: while a request is sent, and while it is idle, to know that it ended."""
        self._opened.resume_reading()

    def abort(self) -> None:
        """Close it at once; safe to call twice."""
        self._opened.abort()


def _wake(waiter: "asyncio.Future[None] | None") -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


async def _in_time(work: Awaitable[T], limit_s: float) -> T:
    """Return the result of connecting. Raises HttpError."""
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except TimeoutError as error:
        raise ConnectTimeoutError(_words(error)) from error
    except OSError as error:  # names, sockets, TLS
        raise HttpError(_words(error)) from error


def _words(error: Exception) -> str:
    """Return what the system says about an error; of several addresses that failed the first error."""
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
        number = _ERROR_NUMBER.search(str(error))
        if number is not None and not (error.strerror and error.errno is not None and error.errno < 0):
            return os.strerror(int(number[1]))
        return error.strerror or str(error) or type(error).__name__
    return str(error) or type(error).__name__


def _target_of(url: str) -> _Target:
    """Return where an address leads. Raises AddressError."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
        host = parts.hostname or ""
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError as error:  # UnicodeError is one
        raise AddressError(str(error)) from error
    if parts.scheme not in _PORTS:
        raise AddressError("it does not begin with http:// or https://")
    if not host or any(sign <= " " for sign in host):
        raise AddressError("it names no host")
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    login = None
    if parts.username is not None:
        words = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = f"Basic {b64encode(words.encode()).decode('ascii')}"
    return _Target(parts.scheme, host, port, (quote(parts.path, safe=_SAFE) or "/") + query, login)


async def _read_head(link: _Link, limit_s: float) -> tuple[int, str, dict[str, str], bool]:
    """Return status, reason, headers and whether the connection may stay open. Raises HttpError."""
    while (head := link.consume_head()) is None:
        if not await link.more(limit_s):
            raise HttpError("closed without a response")
    first, *lines = [line.removesuffix("\r") for line in head.decode("latin-1").split("\n")]
    found = _STATUS.fullmatch(first)
    if found is None:
        raise HttpError("the response is not HTTP/1.1")
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t") and name:  # a value on several lines, as old servers send it
            headers[name] += f" {line.strip()}"
            continue
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or not _NAME.fullmatch(name):
            raise HttpError("a header of the response has no valid name")
        value = value.strip()
        known = headers.get(name)
        if known is not None and name == "content-length" and known != value:
            raise HttpError("the response has two lengths")
        headers[name] = value if known is None or name == "content-length" else f"{known}, {value}"
    options = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    stays = "close" not in options if found[1] != "0" else "keep-alive" in options
    return int(found[2]), (found[3] or "").strip(), headers, stays


async def _response(link: _Link, read_s: float, keep: Callable[[], None]) -> Response:
    """Return the response behind informational ones."""
    while True:
        status, _, headers, stays = await _read_head(link, read_s)
        if status >= 200:
            break
        if status == 101:
            raise HttpError("the response changes to a protocol that nobody asked for")
    encoding, length = headers.get("transfer-encoding", "").lower(), headers.get("content-length")
    if status in (204, 304):
        body: _Body = _OfLength(0)
    elif encoding == "chunked":
        body = _Chunked()
        stays = stays and length is None
    elif encoding:
        raise HttpError(f"the response has the unknown transfer encoding {encoding!r}")
    elif length is not None:
        if not length.isascii() or not length.isdigit():
            raise HttpError(f"the response has the invalid length {length!r}")
        body = _OfLength(int(length))
    else:
        body, stays = _Body(), False
    return Response(status, headers, link=link, body=body, read_s=read_s, keep=keep if stays else None)
