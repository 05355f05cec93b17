"""Addresses of hosts: how they are written, what names resolve to, and which of them are no public ones."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last 32 bits."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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


async def resolve(host: str) -> Sequence[str]:
    """Return the addresses of a host, in the order of preference. Raises OSError."""
    address = read_address(host)
    if address is not None:
        return [str(address)]
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
