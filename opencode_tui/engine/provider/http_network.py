"""The connections of `http_core.py`: asyncio's transports as httpcore wants them. Imported with the first request.

About `_FULL_BYTES` of what came wait to be read at most. Errors are httpcore's, with those of the system as their causes.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from opencode_tui.engine.provider.http_core import (
    ConnectError,
    ConnectTimeout,
    NetworkError,
    ReadError,
    ReadTimeout,
    TimeoutException,
    WriteError,
    WriteTimeout,
)

if TYPE_CHECKING:
    import ssl

    from httpcore import SOCKET_OPTION, AsyncNetworkBackend, AsyncNetworkStream
else:
    AsyncNetworkBackend = AsyncNetworkStream = object

_FULL_BYTES = 256 * 1024
_NEXT_ADDRESS_S = 0.25
"""Seconds after which the next address of a host is tried beside the one before (RFC 8305, section 8)."""


class _Bytes(asyncio.BaseProtocol):
    """What came on a connection and was not read yet, and whether it can be written to."""

    def __init__(self) -> None:
        self.came: deque[bytes] = deque()
        self.size = 0
        self.has_ended = False
        self.error: Exception | None = None
        self.transport: asyncio.Transport | None = None
        self.is_paused = False
        self._is_full = False
        self._waiting: set[asyncio.Future[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.came.append(data)
        self.size += len(data)
        if self.size > _FULL_BYTES and not self.is_paused and self.transport is not None:
            self.is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_ended = True
        self.error = self.error or exc
        self._is_full = False
        self._wake()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    def read(self, most: int) -> bytes:
        """Return what came, at most so many bytes; nothing at the end."""
        if not self.came:
            return b""
        data = self.came.popleft()
        if len(data) > most:
            self.came.appendleft(data[most:])
            data = data[:most]
        self.size -= len(data)
        if self.is_paused and self.size <= _FULL_BYTES // 2 and self.transport is not None:
            self.is_paused = False
            self.transport.resume_reading()
        return data

    async def wait_readable(self) -> None:
        """Wait until something can be read, or the end has come."""
        await self._wait(lambda: bool(self.came) or self.has_ended)

    async def wait_writable(self) -> None:
        """Wait until the system has accepted most of what was written."""
        await self._wait(lambda: not self._is_full)

    async def _wait(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)

    def _wake(self) -> None:
        for one in self._waiting:
            if not one.done():
                one.set_result(None)


class _Stream(AsyncNetworkStream):
    """A connection."""

    def __init__(self, transport: asyncio.Transport, protocol: _Bytes) -> None:
        self._transport = transport
        self._bytes = protocol

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what came, nothing at the end. Raises ReadTimeout and ReadError."""
        if not self._bytes.came:
            with _mapped(ReadTimeout, ReadError):
                async with asyncio.timeout(timeout):
                    await self._bytes.wait_readable()
                if not self._bytes.came and self._bytes.error is not None:
                    raise self._bytes.error
        return self._bytes.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all. Raises WriteTimeout and WriteError."""
        if not buffer:
            return
        with _mapped(WriteTimeout, WriteError):
            if self._transport.is_closing():
                raise self._bytes.error or ConnectionResetError("the connection is closed")
            self._transport.write(buffer)
            async with asyncio.timeout(timeout):
                await self._bytes.wait_writable()
            if self._bytes.error is not None:
                raise self._bytes.error

    async def aclose(self) -> None:
        """Close at once."""
        self._transport.close()
        await asyncio.sleep(0)
        self._transport.abort()

    async def start_tls(
        self,
        ssl_context: "ssl.SSLContext",
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> AsyncNetworkStream:
        """Return the connection inside of this one. Raises ConnectTimeout and ConnectError."""
        loop = asyncio.get_running_loop()
        inner = _Bytes()
        try:
            with _mapped(ConnectTimeout, ConnectError):
                async with asyncio.timeout(timeout):
                    transport = await loop.start_tls(
                        self._transport, inner, ssl_context, server_hostname=server_hostname
                    )
        except BaseException:
            self._transport.abort()
            raise
        if transport is None:  # it was closed meanwhile
            raise ConnectError("the connection was closed")
        inner.transport = transport
        return _Stream(transport, inner)

    def get_extra_info(self, info: str) -> Any:
        """Return a fact by httpcore's name."""
        if info == "is_readable":  # at rest nothing comes but the end of the connection
            return bool(self._bytes.came) or self._bytes.has_ended
        name = {"client_addr": "sockname", "server_addr": "peername"}.get(info, info)
        return self._transport.get_extra_info(name)


class Network(AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: "Iterable[SOCKET_OPTION] | None" = None,
    ) -> AsyncNetworkStream:
        """Connect to a host. Raises ConnectTimeout and ConnectError."""
        own = None if local_address is None else (local_address, 0)
        with _mapped(ConnectTimeout, ConnectError):
            async with asyncio.timeout(timeout):
                transport, protocol = await asyncio.get_running_loop().create_connection(
                    _Bytes, host, port, local_addr=own, happy_eyeballs_delay=_NEXT_ADDRESS_S
                )
        return _opened(transport, protocol, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: "Iterable[SOCKET_OPTION] | None" = None,
    ) -> AsyncNetworkStream:
        """Connect to a socket of this machine. Raises ConnectTimeout and ConnectError."""
        with _mapped(ConnectTimeout, ConnectError):
            async with asyncio.timeout(timeout):
                transport, protocol = await asyncio.get_running_loop().create_unix_connection(_Bytes, path)
        return _opened(transport, protocol, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def _opened(
    transport: asyncio.Transport, protocol: _Bytes, options: "Iterable[SOCKET_OPTION] | None"
) -> AsyncNetworkStream:
    for option in options or ():
        transport.get_extra_info("socket").setsockopt(*option)
    return _Stream(transport, protocol)


@contextmanager
def _mapped(late: type[TimeoutException], failed: type[NetworkError]) -> Generator[None]:
    """Raise errors of the system as those of httpcore."""
    try:
        yield
    except TimeoutError as error:
        raise late(error) from error
    except OSError as error:  # those of TLS are some
        raise failed(error) from error
