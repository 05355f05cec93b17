"""What `http.py` uses of httpcore, alone: all of it has each class once more for programs without an event loop, and HTTP/2.

Its own way to the certificates loads a package that finds them; ours are those of `network.py`. Its locks and its connections are
those of anyio, which has whatever asyncio has once more: a megabyte and a half. Here they are asyncio's, the connections in
`http_network.py`. Imported with the first request.
"""

import asyncio
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from opencode_tui import lean_libraries
from opencode_tui.network import tls_context

_CERTIFICATES = "opencode_tui_httpcore._ssl"
_LOCKS = "opencode_tui_httpcore._synchronization"


class _Event(asyncio.Event):
    """An event for which the pool waits, with a limit in seconds. Raises PoolTimeout."""

    async def wait(self, timeout: float | None = None) -> Literal[True]:
        try:
            async with asyncio.timeout(timeout):
                return await super().wait()
        except TimeoutError as error:
            raise PoolTimeout(error) from error


class _Nothing:
    """Locks nothing, between threads, and shields from nothing: one loop uses a client, and asyncio cancels a task once."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_error: object) -> None: ...


if TYPE_CHECKING:
    from httpcore import (
        AsyncConnectionPool,
        ConnectError,
        ConnectTimeout,
        NetworkError,
        PoolTimeout,
        ProtocolError,
        Proxy,
        ProxyError,
        ReadError,
        ReadTimeout,
        Request,
        Response,
        TimeoutException,
        UnsupportedProtocol,
        WriteError,
        WriteTimeout,
    )
else:
    try:
        module = ModuleType(_CERTIFICATES)
        module.default_ssl_context = tls_context
        sys.modules[_CERTIFICATES] = module
        locks = ModuleType(_LOCKS)
        locks.AsyncLock, locks.AsyncEvent = asyncio.Lock, _Event
        locks.AsyncThreadLock = locks.AsyncShieldCancellation = _Nothing
        locks.current_async_library = lambda: "asyncio"
        sys.modules[_LOCKS] = locks
        errors = lean_libraries.part("httpcore", "_exceptions")
        models = lean_libraries.part("httpcore", "_models")
        AsyncConnectionPool = lean_libraries.part("httpcore", "_async.connection_pool").AsyncConnectionPool
    except (ImportError, AttributeError):  # another version may have them elsewhere
        import httpcore as errors

        models, AsyncConnectionPool = errors, errors.AsyncConnectionPool
    Proxy, Request, Response = models.Proxy, models.Request, models.Response
    ConnectTimeout, ReadTimeout, WriteTimeout = errors.ConnectTimeout, errors.ReadTimeout, errors.WriteTimeout
    ConnectError, ReadError, WriteError = errors.ConnectError, errors.ReadError, errors.WriteError
    PoolTimeout, TimeoutException = errors.PoolTimeout, errors.TimeoutException
    NetworkError, ProtocolError, ProxyError = errors.NetworkError, errors.ProtocolError, errors.ProxyError
    UnsupportedProtocol = errors.UnsupportedProtocol

__all__ = [
    "AsyncConnectionPool",
    "ConnectError",
    "ConnectTimeout",
    "NetworkError",
    "PoolTimeout",
    "ProtocolError",
    "Proxy",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "Request",
    "Response",
    "TimeoutException",
    "UnsupportedProtocol",
    "WriteError",
    "WriteTimeout",
]
