"""Web addresses: which of them lead to this machine or its network, however they are written, and what names resolve to."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from opencode_tui.schema.error import ToolError

LOCAL_REASON = "Reaches an address of this machine or your network."

_LOCAL_ENDINGS = ("localhost", "local", "internal", "localdomain", "lan", "home.arpa")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last 32 bits."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def check_url(url: str) -> None:
    """Raise ToolError for what is not the address of a web page."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ToolError(f"{url!r} is not a URL; it must start with http:// or https:// and name a host")


def host_of(url: str) -> str:
    """Return the host as it is connected to: lower case, in ASCII, without brackets. Raises ToolError."""
    import httpx  # costs a tenth of a second, which only a fetch should pay

    try:
        return httpx.URL(url).raw_host.decode("ascii").lower().rstrip(".")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ToolError(f"{url!r} is not a URL ({error}); check the address") from error


def is_local_name(host: str) -> bool:
    """Return whether a host is an address itself, in any notation, or a name of this machine or its network."""
    return read_address(host) is not None or any(host == end or host.endswith(f".{end}") for end in _LOCAL_ENDINGS)


def read_address(host: str) -> _Address | None:
    """Return the address that a host is, as the resolver reads it: also `127.1`, `0x7f000001`, `017700000001`; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if host and not any(map(str.isspace, host)) else None
    except OSError:
        return None


def is_local_address(text: str) -> bool:
    """Return whether an address is one of this machine, its network, or no public one for other reasons."""
    address = read_address(text)
    if address is None:
        return True
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return not inner.is_global or inner.is_multicast
    return not address.is_global or address.is_multicast


def has_proxy(url: str) -> bool:
    """Return whether the environment names a proxy for an address; it resolves the name then."""
    proxies, parts = getproxies(), urlsplit(url)
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not proxy_bypass(parts.hostname or "")


async def resolve(host: str) -> Sequence[str]:
    """Return the addresses of a host, in the order of preference. Raises OSError."""
    address = read_address(host)
    if address is not None:
        return [str(address)]
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
