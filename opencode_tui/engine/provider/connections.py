"""Connections and requests of httpcore, as all that speak to a server of models need them.

httpx on it would bring cookies, mails and a second form of each request.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    import httpcore

    from opencode_tui.network import Route

_KEEPALIVE_S = 60.0
_IMPLIED = {"http": ":80", "https": ":443"}
_SAFE = "/%:@!$&'()*+,;=~?-._"


def open_pool(url: str, route: "Route") -> "httpcore.AsyncConnectionPool":
    """Return the connections to a server, none of which is open yet.

    Blocks: imports httpcore and, for https, loads the certificates (about 0.1 s).
    """
    import httpcore  # with the first request: it loads httpcore

    from opencode_tui.network import tls_context  # only with the first request

    is_plain = route.proxy is None and url.startswith("http://")
    context = None if is_plain else tls_context()
    proxy = None
    if route.proxy is not None:
        login = _login(route.proxy)
        proxy = httpcore.Proxy(
            _address(route.proxy), auth=login, ssl_context=context if route.proxy.startswith("https:") else None
        )
    return httpcore.AsyncConnectionPool(
        ssl_context=context,
        proxy=proxy,
        max_keepalive_connections=8,
        keepalive_expiry=_KEEPALIVE_S,
        max_connections=None,
    )


def new_request(
    method: str, url: str, headers: Mapping[str, str], body: bytes, extensions: dict[str, Any]
) -> "httpcore.Request":
    """Return a request. Raises ValueError for an address that is none."""
    import httpcore  # already imported

    address = _address(url)
    sent = {
        "host": urlsplit(address).netloc,
        **headers,
        **({"content-length": str(len(body))} if method != "GET" else {}),
    }
    login = _login(url)
    if login is not None:
        sent.setdefault("authorization", f"Basic {b64encode(b':'.join(login)).decode('ascii')}")
    given = [(name.encode(), value.encode()) for name, value in sent.items()]
    return httpcore.Request(method, address, headers=given, content=body, extensions=extensions)


def _address(url: str) -> str:
    """Return an address in ASCII, without a login and a port that its scheme implies. Raises ValueError."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2].removesuffix(_IMPLIED.get(parts.scheme, ":"))
    host, colon, port = place.partition(":")
    if not host:
        return url  # httpcore says what is missing
    name = host if host.isascii() else host.encode("idna").decode("ascii")
    query = f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return f"{parts.scheme}://{name}{colon}{port}{quote(parts.path, safe=_SAFE)}{query}"


def _login(url: str) -> tuple[bytes, bytes] | None:
    """Return user and password of an address."""
    parts = urlsplit(url)
    if parts.username is None:
        return None
    return unquote(parts.username).encode(), unquote(parts.password or "").encode()


def connection_failures() -> tuple[type[Exception], ...]:
    """Return the errors of a connection, and of an address that needs another kind of one."""
    import httpcore  # already imported

    return (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.ProxyError,
        httpcore.UnsupportedProtocol,
    )
