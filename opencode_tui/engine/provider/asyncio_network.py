"""The network and the locks of httpcore by asyncio alone: httpcore's own load anyio, a tenth of what one prompt imports.

Errors and timeouts are those that httpcore's own network raises. `http_core.py` puts the locks in the place of httpcore's.
"""

import asyncio
import socket
from collections.abc import Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING, Self, cast

from opencode_tui import lean_libraries

if TYPE_CHECKING:
    import ssl

    from httpcore import (
        AsyncNetworkBackend,
        AsyncNetworkStream,
        ConnectError,
        ConnectTimeout,
        PoolTimeout,
        ReadError,
        ReadTimeout,
        WriteError,
        WriteTimeout,
    )
    from httpcore._backends.base import SOCKET_OPTION
    from httpcore._utils import is_socket_readable
else:
    errors = lean_libraries.part("httpcore", "_exceptions")
    base = lean_libraries.part("httpcore", "_backends.base")
    is_socket_readable = lean_libraries.part("httpcore", "_utils").is_socket_readable
    AsyncNetworkBackend, AsyncNetworkStream = base.AsyncNetworkBackend, base.AsyncNetworkStream
    ConnectError, ConnectTimeout, PoolTimeout = errors.ConnectError, errors.ConnectTimeout, errors.PoolTimeout
    ReadError, ReadTimeout = errors.ReadError, errors.ReadTimeout
    WriteError, WriteTimeout = errors.WriteError, errors.WriteTimeout

_KEPT_BYTES = 256 * 1024
"""Bytes that may wait for a reader before the server has to wait."""

_NEXT_ADDRESS_S = 0.25
"""Seconds after which the next address of a server is tried too (RFC 8305, section 8)."""


class AsyncioNetwork(AsyncNetworkBackend):
    """Opens connections over TCP."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: "Iterable[SOCKET_OPTION] | None" = None,
    ) -> AsyncNetworkStream:
        """Return a connection. Raises ConnectTimeout, ConnectError."""
        loop = asyncio.get_running_loop()
        local = None if local_address is None else (local_address, 0)

        async def open_one(address: str) -> _Wire:
            return (await loop.create_connection(_Wire, address, port, local_addr=local))[1]

        with _raising(ConnectTimeout, ConnectError):
            async with asyncio.timeout(timeout):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = mixed([(family, str(place[0])) for family, _, _, _, place in found])
                wire = await _first([open_one(address) for address in addresses])
        for option in socket_options or ():
            wire.transport.get_extra_info("socket").setsockopt(*option)
        return _Stream(wire)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class _Stream(AsyncNetworkStream):
    """A connection."""

    def __init__(self, wire: "_Wire") -> None:
        self._wire = wire

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has arrived, nothing at the end. Raises ReadTimeout, ReadError."""
        with _raising(ReadTimeout, ReadError):
            async with asyncio.timeout(timeout):
                return await self._wire.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it, or leave little to be sent. Raises WriteTimeout, WriteError."""
        if buffer:
            with _raising(WriteTimeout, WriteError):
                async with asyncio.timeout(timeout):
                    await self._wire.write(buffer)

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._wire.transport.abort()
        await asyncio.sleep(0)  # the socket is closed with the next turn of the loop

    async def start_tls(
        self, ssl_context: "ssl.SSLContext", server_hostname: str | None = None, timeout: float | None = None
    ) -> AsyncNetworkStream:
        """Return the connection in TLS. Raises ConnectTimeout, ConnectError, with the connection closed."""
        inner, wire = self._wire.transport, _Wire(is_tls=True)
        try:
            with _raising(ConnectTimeout, ConnectError):
                if self._wire.is_ended:  # nobody would tell the handshake
                    raise ConnectionResetError("the connection was closed")
                async with asyncio.timeout(timeout):
                    transport = await asyncio.get_running_loop().start_tls(
                        inner, wire, ssl_context, server_hostname=server_hostname
                    )
                if transport is None:
                    raise ConnectionResetError("the connection was closed")
        except BaseException:
            inner.abort()
            raise
        wire.connection_made(transport)
        return _Stream(wire)

    def get_extra_info(self, info: str) -> object:
        """Return what httpcore asks for of a connection."""
        transport = self._wire.transport
        match info:
            case "is_readable":
                return self._wire.is_readable
            case "client_addr":
                return transport.get_extra_info("sockname")
            case "server_addr":
                return transport.get_extra_info("peername")
            case _:
                return transport.get_extra_info(info)


class _Wire(asyncio.Protocol):
    """The bytes that arrive, until they are read.

    Without TLS nothing is received while nobody reads: many small pieces of a slow response are then received at once.
    """

    def __init__(self, *, is_tls: bool = False) -> None:
        self.transport: asyncio.Transport
        self.is_ended = False
        """Whether nothing more will arrive."""
        self._is_tls = is_tls
        self._is_open = False
        self._received = bytearray()
        self._failure: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()

    @property
    def is_readable(self) -> bool:
        """Whether a read would return at once: a server that sends something between two responses closes the connection."""
        if self._received or self.is_ended or self.transport.is_closing():
            return True
        return is_socket_readable(self.transport.get_extra_info("socket"))

    async def read(self, most: int) -> bytes:
        """Return what has arrived, nothing at the end. Raises OSError."""
        if not self._received and not self.is_ended:
            self._arrival = asyncio.get_running_loop().create_future()
            self.transport.resume_reading()
            try:
                await self._arrival
            finally:
                self._arrival = None
        if not self._received and self._failure is not None:
            raise self._failure
        piece = bytes(self._received[:most])
        del self._received[:most]
        return piece

    async def write(self, data: bytes) -> None:
        """Send, and wait until little is left. Raises OSError."""
        if self.transport.is_closing():
            raise self._failure or ConnectionResetError("the connection is closed")
        self.transport.write(data)
        await self._may_write.wait()
        if self._failure is not None:
            raise self._failure

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Follow a new connection; in TLS bytes may have arrived before."""
        self.transport, self._is_open = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        """Keep bytes for the reader."""
        self._received += data
        if not self._is_tls or (self._is_open and len(self._received) > _KEPT_BYTES):
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """Record the end; a server that sends no more may still receive."""
        self.is_ended = True
        self._wake()
        return not self._is_tls  # TLS ends both ways

    def connection_lost(self, exc: Exception | None) -> None:
        """Record the end, and why."""
        self.is_ended = True
        self._failure = exc
        self._may_write.set()
        self._wake()

    def pause_writing(self) -> None:
        """Have writers wait."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Let writers go on."""
        self._may_write.set()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)


def mixed(found: Sequence[tuple[int, str]]) -> list[str]:
    """Return the addresses of a server in their order, those of each family in turns, as RFC 8305 recommends."""
    by_family: dict[int, list[str]] = {}
    for family, address in dict.fromkeys(found):
        by_family.setdefault(family, []).append(address)
    turns = zip_longest(*by_family.values())
    return [address for turn in turns for address in turn if address is not None]


async def _first(attempts: "Sequence[Coroutine[object, object, _Wire]]") -> "_Wire":
    """Return the first connection of attempts that begin one after the other. Raises OSError when all fail."""
    left, running = [*reversed(attempts)], set[asyncio.Task[_Wire]]()
    failures: list[OSError] = []
    try:
        while left or running:
            if left:
                running.add(asyncio.create_task(left.pop()))
            done, running = await asyncio.wait(
                running, timeout=_NEXT_ADDRESS_S if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            failures += [error for task in done if isinstance(error := task.exception(), OSError)]
            opened = [task.result() for task in done if not isinstance(task.exception(), OSError)]
            for one in opened[1:]:
                one.transport.abort()
            if opened:
                return opened[0]
    finally:
        for attempt in left:
            attempt.close()
        for task in running:
            task.add_done_callback(_abort)
            task.cancel()
    if len(failures) == 1:
        raise failures[0]
    raise OSError("; ".join(map(str, failures))) from ExceptionGroup("no address of the server accepts", failures)


def _abort(attempt: asyncio.Task[_Wire]) -> None:
    """Close a connection that nobody needs any more."""
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().transport.abort()


@contextmanager
def _raising(late: type[Exception], failed: type[Exception]) -> Generator[None]:
    """Raise these errors of httpcore for a time that is over, and for any other failure of a connection."""
    try:
        yield
    except TimeoutError as error:
        raise late(error) from error
    except OSError as error:
        raise failed(error) from error


class AsyncLock(asyncio.Lock):
    """A lock of httpcore."""


class AsyncThreadLock:
    """A lock between threads: a connection pool belongs to one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class AsyncEvent(asyncio.Event):
    """An event of httpcore."""

    async def wait(self, timeout: float | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - httpcore's form
        """Wait until it is set. Raises PoolTimeout."""
        try:
            async with asyncio.timeout(timeout):
                await super().wait()
        except TimeoutError as error:
            raise PoolTimeout(error) from error


class AsyncShieldCancellation:
    """A part that is not canceled: asyncio cancels a task once, and what closes connections then is not interrupted."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def current_async_library() -> str:
    """Return the library of the event loop."""
    return "asyncio"
