"""The HTTP proxy through which confined commands reach single hosts: CONNECT, and requests in absolute form.

It resolves a name once and connects to that address. An address of this machine or its network must be allowed itself. What is sent
through a connection is not read: the name in TLS or in a later header may be another one. Each command has a secret of its own, by
which the proxy knows its hosts and records what it refused.
"""

import asyncio
import re
import socket
from base64 import b64encode
from collections.abc import Iterable, Sequence
from secrets import token_hex
from typing import NoReturn
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from opencode_tui.accepting import Acceptor
from opencode_tui.engine.permission.address_forms import read_address
from opencode_tui.engine.sandbox.address import is_local_address, resolve

MOST_CONNECTIONS = 256
"""At once, of all commands of a folder: each needs two descriptors of this process."""
MOST_HEAD_BYTES = 32 * 1024
HEAD_S = 30.0
_CONNECT_S = 10.0
_LOOKUPS = 3
"""Names resolved at once: each occupies a thread of the event loop."""
_PIECE_BYTES = 64 * 1024
_OWN = ("localhost", "127.0.0.1", "::1")
"""The command's own machine, which is reached without the proxy unless it is allowed."""
_HOST = re.compile(r"[A-Za-z0-9_.:-]{1,253}")
_DROPPED = re.compile(rb"(?:proxy-[\w-]+|connection|keep-alive|host)\s*:", re.IGNORECASE)


class HostList:
    """Hosts that may be reached: `name`, `*.suffix` (not the suffix itself), an address; each with or without `:port`."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = [_split(entry) for entry in entries]

    def allows(self, host: str, port: int | None = None) -> bool:
        """Return whether a host may be reached at a port, without one at any port."""
        name = _normalize(host)
        return any(
            (of in (None, port) or port is None) and (name == one or _is_below(name, one)) for one, of in self._entries
        )


def _split(entry: str) -> tuple[str, int | None]:
    host, _, port = entry.rpartition(":") if entry.count(":") == 1 or "]:" in entry else (entry, "", "")
    return _normalize(host), int(port) if port else None


def _normalize(host: str) -> str:
    address = read_address(host)
    return str(address) if address is not None else host.lower().rstrip(".")


def _is_below(name: str, pattern: str) -> bool:
    return pattern.startswith("*.") and name.endswith(pattern[1:]) and read_address(name) is None


class HostAccess:
    """The access of one command: its secret, its hosts, its connections, and the hosts that it was refused."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._own = [host for host in _OWN if not HostList(entries).allows(host)]
        self.hosts = HostList(entries)
        self.secret = token_hex(16)
        self.refused: list[str] = []
        self.tasks: set[asyncio.Task[None]] = set()

    def variables(self, port: int) -> dict[str, str]:
        """Return the environment variables that point programs to the proxy, which listens on a port of localhost."""
        url, direct = f"http://sandbox:{self.secret}@127.0.0.1:{port}", ",".join(self._own)
        names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        return {
            **{form: url for name in names for form in (name, name.lower())},
            **dict.fromkeys(("NO_PROXY", "no_proxy", "npm_config_noproxy"), direct),
            **dict.fromkeys(("npm_config_proxy", "npm_config_https_proxy", "PIP_PROXY", "CARGO_HTTP_PROXY"), url),
            "NODE_USE_ENV_PROXY": "1",
        }

    def close(self) -> None:
        """End the connections of the command."""
        for task in self.tasks:
            task.cancel()


class _AnswerError(Exception):
    """Ends a request with a status and one line."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class HostProxy:
    """The proxy of one folder. Call all methods on the event loop."""

    def __init__(self) -> None:
        self._acceptor: Acceptor | None = None
        self._accesses: WeakValueDictionary[str, HostAccess] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lookups = asyncio.Semaphore(_LOOKUPS)

    def listen(self, bound: socket.socket) -> None:
        """Accept connections from now on, at a bound socket."""

        def protocol() -> asyncio.Protocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(MOST_HEAD_BYTES), self._serve)

        self._acceptor = Acceptor(bound, protocol)

    def access(self, entries: Sequence[str]) -> HostAccess:
        """Return an access to these hosts; it is valid as long as the caller keeps it."""
        access = HostAccess(entries)
        self._accesses[b64encode(f"sandbox:{access.secret}".encode()).decode()] = access
        return access

    async def close(self) -> None:
        """End all connections, and accept no more."""
        if self._acceptor is not None:
            self._acceptor.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            if len(self._tasks) > MOST_CONNECTIONS:
                raise _AnswerError(503, f"more than {MOST_CONNECTIONS} connections at once")
            await self._forward(reader, writer, task)
        except _AnswerError as error:
            writer.write(_answer(error))
        except (OSError, EOFError):
            pass  # the client is gone
        finally:
            writer.close()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, task: "asyncio.Task[None]"
    ) -> None:
        lines = await _read_head(reader)
        access = next(filter(None, map(self._accesses.get, _secrets(lines))), None)
        if access is None:
            raise _AnswerError(407, "the proxy of the sandbox needs the secret of a command")
        access.tasks.add(task)
        task.add_done_callback(access.tasks.discard)
        method, host, port, target = _read_request(lines[0])
        far_reader, far_writer = await self._connect(access, host, port)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            else:
                named = host if ":" not in host else f"[{host}]"
                first = f"{method} {target} HTTP/1.1\r\nHost: {named}{'' if port == 80 else f':{port}'}\r\n"
                kept = [line for line in lines[1:] if not _DROPPED.match(line)]
                far_writer.write(b"\r\n".join((first.encode("latin-1") + b"Connection: close", *kept, b"", b"")))
            await _copy_both((reader, far_writer), (far_reader, writer))
        finally:
            far_writer.close()

    async def _connect(
        self, access: HostAccess, host: str, port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not access.hosts.allows(host, port):
            _refuse(access, host, f"the sandbox does not allow {host}")
        try:
            async with self._lookups:
                found = await resolve(host)
        except (OSError, UnicodeError) as error:
            raise _AnswerError(502, f"no address is known for {host}") from error
        allowed = [one for one in found if not is_local_address(one) or access.hosts.allows(one, port)]
        if found and not allowed:
            _refuse(access, found[0], f"{host} is {found[0]}, a local address, which the sandbox does not allow")
        for address in allowed:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await asyncio.open_connection(address, port)
            except OSError:  # also a timeout
                continue
        raise _AnswerError(502, f"could not connect to {host} port {port}")


def _refuse(access: HostAccess, host: str, words: str) -> NoReturn:
    if host not in access.refused:
        access.refused.append(host)
    raise _AnswerError(403, words)


async def _read_head(reader: asyncio.StreamReader) -> list[bytes]:
    """Return the lines of a request's head, without the empty one at its end."""
    try:
        async with asyncio.timeout(HEAD_S):
            return (await reader.readuntil(b"\r\n\r\n"))[:-4].split(b"\r\n")
    except TimeoutError as error:
        raise _AnswerError(408, "the head of the request did not come in time") from error
    except asyncio.LimitOverrunError as error:
        raise _AnswerError(431, f"the head of the request is larger than {MOST_HEAD_BYTES} bytes") from error


def _secrets(lines: Sequence[bytes]) -> Iterable[str]:
    for line in lines[1:]:
        name, _, value = line.decode("latin-1").partition(":")
        if name.strip().lower() == "proxy-authorization":
            yield value.strip().removeprefix("Basic ").strip()


def _read_request(line: bytes) -> tuple[str, str, int, str]:
    """Return method, host, port, and the target for the server."""
    try:
        method, target, _ = line.decode("ascii").split(" ")
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 0)
        path = target.partition("://")[2].removeprefix(parts.netloc) or "/"
    except ValueError:
        method, host, port, path = "", "", 0, ""
    if not port or not _HOST.fullmatch(host):
        raise _AnswerError(400, "this proxy knows CONNECT host:port and METHOD http://host/path")
    return method, host, port, path


def _answer(error: _AnswerError) -> bytes:
    body = f"{error}\n"
    challenge = 'Proxy-Authenticate: Basic realm="sandbox"\r\n' if error.status == 407 else ""
    head = f"HTTP/1.1 {error.status} {error}\r\n{challenge}Content-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n{body}".encode("ascii", "replace")


async def _copy_both(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Copy both ways until both have ended, or one fails."""
    copies = [asyncio.create_task(_copy(*way)) for way in ways]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
