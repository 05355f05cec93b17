"""Web addresses: which of them are valid, and which name this machine or its network."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from opencode_tui.engine.sandbox.address import read_address
from opencode_tui.schema.error import ToolError

LOCAL_REASON = "Reaches an address of this machine or your network."

_LOCAL_ENDINGS = ("localhost", "local", "internal", "localdomain", "lan", "home.arpa")


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


def has_proxy(url: str) -> bool:
    """Return whether the environment names a proxy for an address; it resolves the name then."""
    proxies, parts = getproxies(), urlsplit(url)
    return bool(proxies.get(parts.scheme) or proxies.get("all")) and not proxy_bypass(parts.hostname or "")
