"""Addresses of hosts: what names resolve to, and which of them are no public ones."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence

from opencode_tui.engine.permission.address_forms import read_address

_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last 32 bits."""


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
