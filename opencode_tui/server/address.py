"""The address of the server, and its allowed host names and origins.

A page in a browser can make its own name point to this machine (DNS rebinding); its requests carry that name in `Host`, so only
names that cannot be bent this way are admitted. Source: docs/internals/http.md#hosts-and-origins.
"""

import ipaddress
import re

from msgspec import Struct

from opencode_tui.schema.error import ConfigError

_LOCAL_ORIGIN = re.compile(r"http://(localhost|127\.0\.0\.1)(:\d{1,5})?")
_WITH_PORT = re.compile(r"(?P<name>\[[^\]]*\]|[^:]*)(?::(?P<port>\d{1,5}))?")


class Listening(Struct, frozen=True):
    """The address that a server should listen on (port 0: any free port), and further allowed origins."""

    host: str
    port: int
    origins: frozenset[str] = frozenset()


class Address(Struct, frozen=True):
    """A host name or IP address (an IPv6 one without brackets) and a port; `origins` are further allowed origins.

    `names` are further `Host` headers: those of a proxy in front of the server that passes its own name on.
    """

    host: str
    port: int
    origins: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def reachable_url(self) -> str:
        """A URL that reaches the server from this machine, also where it listens on all addresses."""
        ip = _ip(self.host)
        if ip is None or not ip.is_unspecified:
            return self.url
        return f"http://{'127.0.0.1' if ip.version == 4 else '[::1]'}:{self.port}"

    def is_called(self, host_header: str) -> bool:
        """Return whether a `Host` header has a name and the port of this server, or is one of `names`."""
        if host_header.strip().lower() in self.names:
            return True
        match = _WITH_PORT.fullmatch(host_header.strip().lower())
        if match is None or int(match["port"] or 80) != self.port:
            return False
        name = match["name"].strip("[]").rstrip(".")
        return name in ("localhost", "127.0.0.1", "::1", self.host.lower()) or self._is_own_ip(name)

    def admits(self, origin: str) -> bool:
        """Return whether pages of this origin may use the server."""
        return is_own_origin(origin) or origin in self.origins

    def _is_own_ip(self, name: str) -> bool:
        """Return whether an IP address may be ours: any address when we listen on all, as DNS cannot redirect an address."""
        listening, called = _ip(self.host), _ip(name)
        return listening is not None and called is not None and listening.is_unspecified


def origin_name(origin: str) -> str:
    """Return the `Host` header of requests to an origin: its name and port, without the scheme."""
    return origin.partition("://")[2].rstrip("/").lower()


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on `host`."""
    address = _ip(host)
    return host.lower() == "localhost" or (address is not None and address.is_loopback)


def check_reach(host: str, *, has_password: bool) -> None:
    """Raise ConfigError when other machines could reach a server without a password of the user."""
    if not has_password and not is_loopback(host):
        raise ConfigError(
            f"--hostname {host!r} allows access from other machines, which requires a password; set OPENCODE_SERVER_PASSWORD, "
            "or listen on 127.0.0.1"
        )


def is_own_origin(origin: str) -> bool:
    """Return whether pages of this origin may use the server: those that this machine serves."""
    return _LOCAL_ORIGIN.fullmatch(origin) is not None


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
