"""What `http.py` uses of httpcore, alone: all of it has each class once more for programs without an event loop, and HTTP/2.

Its own way to the certificates loads a package that finds them; ours are those of `network.py`. Imported with the first request.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from opencode_tui import lean_libraries
from opencode_tui.network import tls_context

_CERTIFICATES = "opencode_tui_httpcore._ssl"

if TYPE_CHECKING:
    from httpcore import (
        AsyncConnectionPool,
        ConnectTimeout,
        NetworkError,
        ProtocolError,
        Proxy,
        ProxyError,
        Request,
        Response,
        TimeoutException,
        UnsupportedProtocol,
        WriteTimeout,
    )
else:
    try:
        module = ModuleType(_CERTIFICATES)
        module.default_ssl_context = tls_context
        sys.modules[_CERTIFICATES] = module
        errors = lean_libraries.part("httpcore", "_exceptions")
        models = lean_libraries.part("httpcore", "_models")
        AsyncConnectionPool = lean_libraries.part("httpcore", "_async.connection_pool").AsyncConnectionPool
    except (ImportError, AttributeError):  # another version may have them elsewhere
        import httpcore as errors

        models, AsyncConnectionPool = errors, errors.AsyncConnectionPool
    Proxy, Request, Response = models.Proxy, models.Request, models.Response
    ConnectTimeout, WriteTimeout, TimeoutException = errors.ConnectTimeout, errors.WriteTimeout, errors.TimeoutException
    NetworkError, ProtocolError, ProxyError = errors.NetworkError, errors.ProtocolError, errors.ProxyError
    UnsupportedProtocol = errors.UnsupportedProtocol

__all__ = [
    "AsyncConnectionPool",
    "ConnectTimeout",
    "NetworkError",
    "ProtocolError",
    "Proxy",
    "ProxyError",
    "Request",
    "Response",
    "TimeoutException",
    "UnsupportedProtocol",
    "WriteTimeout",
]
