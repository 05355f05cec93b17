"""How requests leave this machine: the proxies and certificates of the environment, with the names of the variables in force.

No other module reads these variables.

`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, in small letters first, as curl and Python read them; an address of this
machine is never asked through a proxy. `SSL_CERT_FILE` and `SSL_CERT_DIR`, else `REQUESTS_CA_BUNDLE`, replace the certificates that
this program brings, `NODE_EXTRA_CA_CERTS` adds to them. Sources: https://everything.curl.dev/usingcurl/proxies/env.html,
https://docs.openssl.org/3.0/man3/SSL_CTX_load_verify_locations/, https://requests.readthedocs.io/en/latest/user/advanced/ (SSL Cert
Verification), https://nodejs.org/api/cli.html (NODE_EXTRA_CA_CERTS). Imported with the first request.
"""

import ipaddress
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from opencode_tui.schema.error import ConfigError, with_remedy

if TYPE_CHECKING:
    import ssl

    import httpx

_OF_OPENSSL = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OF_REQUESTS = "REQUESTS_CA_BUNDLE"
_EXTRA = "NODE_EXTRA_CA_CERTS"
_SYSTEM = "the system's settings"
_PORTS = {"http": 80, "https": 443}


class Route(Struct, frozen=True):
    """How the requests to an address leave: through a proxy, or directly without one; `source` says where the proxy is from."""

    host: str = ""
    proxy: str | None = None
    source: str = ""

    @property
    def words(self) -> str:
        """The proxy and its source behind a space, empty without one."""
        return f" through the proxy {_shown(self.proxy)} ({self.source})" if self.proxy else ""

    @property
    def remedy(self) -> str:
        """What the user can do where the proxy fails, empty without one."""
        if not self.proxy:
            return ""
        bypass = (
            "" if "." in self.source or "." not in self.host else f", or exclude the host with NO_PROXY={self.host}"
        )
        return f"check {self.source}{bypass}"


def find_route(
    url: str, environ: Mapping[str, str] | None = None, *, proxy: str | None = None, source: str = ""
) -> Route:
    """Return how requests to an address leave. `proxy` is that of a setting, with `source` its name; an empty one means directly.

    Raises ConfigError for the address of a proxy that cannot be used.
    """
    environ = os.environ if environ is None else environ
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return Route()
    if proxy is not None:
        return _checked(Route(host, proxy, source)) if proxy else Route(host)
    if is_loopback(host) or _is_excluded(host, port, _named(environ, "no_proxy")[0]):
        return Route(host)
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        value, variable = _named(environ, name)
        if value:
            return _checked(Route(host, value if "://" in value else f"http://{value}", variable))
    if sys.platform == "darwin" and environ is os.environ:
        return _of_system(parts.scheme, host)
    return Route(host)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or its address."""
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def without_credentials(address: str) -> str:
    """Return an address without a user and a password; of an invalid one rather too little."""
    before, _, after = address.rpartition("@")
    scheme, slashes, _ = before.partition("//")
    return f"{scheme}{slashes}{after}" if slashes else after


def is_refused(error: BaseException) -> bool:
    """Return whether a connection failed because nothing listens at its address, as an exception or one of its causes says."""
    if isinstance(error, ConnectionRefusedError):
        return True
    causes = [error.__cause__ or error.__context__, *getattr(error, "exceptions", ())]
    return any(is_refused(cause) for cause in causes if cause is not None)


def certificate_words(environ: Mapping[str, str] | None = None) -> str:
    """Return the variables with certificates in force, as `SSL_CERT_FILE=/ca.pem`; empty without any."""
    environ = os.environ if environ is None else environ
    return ", ".join(f"{name}={environ[name]}" for name in (*_replacing(environ), _EXTRA) if environ.get(name))


def certificate_remedy() -> str:
    """Return what the user can do where the certificate of a server is not accepted."""
    words = certificate_words()
    own = "name the file with the certificates of your network in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE"
    return f"check {words}, which has to hold the authority of this certificate" if words else own


def is_certificate_error(reason: object) -> bool:
    """Return whether a connection failed because the certificate of the other side was not accepted, by the words of OpenSSL."""
    return "CERTIFICATE_VERIFY_FAILED" in str(reason)


def explain(reason: str, url: str, route: Route | None = None) -> str:
    """Return why an address cannot be reached, with the variables in force and what the user can do about them."""
    if is_certificate_error(reason):
        return f"{reason}; {certificate_remedy()}"
    try:
        used = route or find_route(url)
    except ConfigError as error:
        return str(error)
    return f"{reason},{used.words}; {used.remedy}" if used.proxy else reason


def tls_context(environ: Mapping[str, str] | None = None) -> "ssl.SSLContext":
    """Return the TLS settings of requests, the same object for the same variables. Blocks at first: loads the certificates.

    Raises ConfigError for a variable that names no certificates.
    """
    environ = os.environ if environ is None else environ
    return _make_context(tuple((name, environ[name]) for name in _replacing(environ)), environ.get(_EXTRA, ""))


def _replacing(environ: Mapping[str, str]) -> list[str]:
    """Return the variables whose certificates are in the place of ours."""
    return [name for name in _OF_OPENSSL if environ.get(name)] or [
        name for name in (_OF_REQUESTS,) if environ.get(name)
    ]


@cache
def _make_context(replacing: tuple[tuple[str, str], ...], extra: str) -> "ssl.SSLContext":
    import ssl  # a megabyte, which nothing needs before the first request

    import certifi

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # checks the certificate and the name of the other side
    for variable, path in replacing:
        _load(context, variable, path)
    if not replacing:
        context.load_verify_locations(cafile=certifi.where())
    if extra:
        _load(context, _EXTRA, extra)
    return context


def _load(context: "ssl.SSLContext", variable: str, path: str) -> None:
    import ssl

    is_list = variable == "SSL_CERT_DIR"
    folders = [one for one in (path.split(os.pathsep) if is_list else [path]) if os.path.isdir(one)]
    try:
        if folders:
            context.load_verify_locations(capath=os.pathsep.join(folders))
        elif not (
            is_list and context.cert_store_stats()["x509"]
        ):  # beside a file a missing folder says nothing, as for OpenSSL
            context.load_verify_locations(cafile=path)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or "not certificates"
        remedy = f"name a file with certificates (PEM) in {variable}, or unset it, then start opencode-tui again"
        raise ConfigError(with_remedy(f"{variable}={path} cannot be read ({str(reason).lower()})", remedy)) from None


def client_options(url: str, *, route: Route | None = None, is_redirected: bool = False) -> dict[str, Any]:
    """Return the arguments of a client of httpx for the requests to an address. Blocks: loads the certificates. Raises ConfigError.

    Plain HTTP without a proxy needs no certificates, and loading them takes 30 ms; `is_redirected` says that the client may be led
    to an address with TLS.
    """
    route = find_route(url) if route is None else route
    if route.proxy is None and url.startswith("http://") and not is_redirected:
        return {"verify": False, "trust_env": False}
    context = tls_context()
    return {"verify": context, "trust_env": False, "proxy": _proxy(route, context)}


class Fetched(Struct, frozen=True):
    """A response; `is_whole` is False where it has more bytes than the wanted ones, which are its first."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    is_whole: bool = True


def fetch(
    method: str,
    url: str,
    *,
    limit_s: float,
    most_bytes: int,
    silence_s: float | None = None,
    is_redirected: bool = False,
    **request: Any,
) -> Fetched:
    """Return the response to a request, complete within `limit_s` seconds and without a pause of `silence_s`.

    `request` are further arguments of httpx. Blocks, on a thread without an event loop. Raises ConfigError, httpx.HTTPError and
    httpx.InvalidURL; httpx.ReadTimeout when it takes longer, also byte by byte.
    """
    import asyncio

    import httpx

    async def receive() -> Fetched:
        options = client_options(url, is_redirected=is_redirected)
        client = httpx.AsyncClient(timeout=silence_s or limit_s, follow_redirects=is_redirected, **options)
        async with client, client.stream(method, url, **request) as response:
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > most_bytes:
                    break
            return Fetched(response.status_code, response.headers, bytes(content), len(content) <= most_bytes)

    async def receive_in_time() -> Fetched:
        async with asyncio.timeout(limit_s):
            return await receive()

    try:
        return asyncio.run(receive_in_time())
    except TimeoutError:
        raise httpx.ReadTimeout(f"no complete answer within {limit_s:g} s") from None


def _proxy(route: Route, context: "ssl.SSLContext") -> "httpx.Proxy | None":
    import httpx

    if route.proxy is None:
        return None
    return httpx.Proxy(route.proxy, ssl_context=context if route.proxy.startswith("https:") else None)


def _named(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the value of a variable, and the variable as it is spelled there; small letters come before capitals."""
    variable = name if name in environ else name.upper()
    return environ.get(variable, "").strip(), variable


def _is_excluded(host: str, port: int, listed: str) -> bool:
    """Return whether `NO_PROXY` names a host: its domain, its address or network, one of them with the port, or `*`."""
    for entry in listed.replace(",", " ").split():
        name, colon, its_port = entry.lower().rpartition(":")
        if colon and its_port.isdigit() and (":" not in name or name.endswith("]")):
            if int(its_port) != port:
                continue
        else:
            name = entry.lower()
        name = name.removeprefix("*.").strip("[].")
        if entry == "*" or host.lower() == name or (name and host.lower().endswith(f".{name}")):
            return True
        try:
            if "/" in name and ipaddress.ip_address(host) in ipaddress.ip_network(name, strict=False):
                return True
        except ValueError:
            continue
    return False


def _of_system(scheme: str, host: str) -> Route:
    """Return the route of macOS, whose settings have proxies too."""
    from urllib.request import getproxies, proxy_bypass

    proxy = getproxies().get(scheme)
    return Route(host) if not proxy or proxy_bypass(host) else _checked(Route(host, proxy, _SYSTEM))


def _checked(route: Route) -> Route:
    """Return a route whose proxy can be used. Raises ConfigError."""
    parts = urlsplit(route.proxy or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        problem = f"{route.source or 'the proxy'} is set to {_shown(route.proxy)}: unsupported proxy"
        raise ConfigError(
            with_remedy(problem, f"set {route.source} to an address that begins with http:// or https://")
        )
    return route


def _shown(proxy: str | None) -> str:
    """Return the address of a proxy without its credentials."""
    scheme, _, rest = (proxy or "").partition("://")
    place = rest.split("/")[0].rpartition("@")[2]
    return place if scheme == "http" else f"{scheme}://{place}"
