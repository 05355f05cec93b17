"""The spellings of a web address: as it was written, and its normal form, which names what a client connects to and asks for.

A rule that asks or denies counts in each spelling, one that allows only in the normal form. Pure.
"""

import ipaddress
import re
import socket
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote, unquote

from msgspec import Struct

PERMISSION = "webfetch"
"""The permission whose patterns are addresses."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_CACHED = 1_024
_PORTS = {"http": 80, "https": 443}
_ADDRESS = re.compile(r"(https?):/{1,3}([^/?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE | re.DOTALL)
"""An address without its fragment, which is not sent. curl reads one or three slashes as two."""

_START = re.compile(r"(https?:/{1,3}[^/*?#]+)(?=/|$)|https?:/{1,3}(?:[^/#]*(?=/)|[^/*?#]*)", re.IGNORECASE)
"""The scheme and host of a pattern, in the group where no wildcard follows in them."""

_HOST = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]*))?")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_KEPT = "!$%&'()*+,/:;=?@[\\]^|"
"""Characters that are sent as they are, besides unreserved ones. Source: httpx 0.28, the path of a URL."""

_STRIPPED = "".join(map(chr, range(0x21)))


class AddressForms(Struct, frozen=True):
    """`normal` are the spellings that count for rules that allow, without and with the port, `all` those for other rules."""

    normal: Sequence[str]
    all: Sequence[str]


@lru_cache(maxsize=_CACHED)
def forms_of_address(text: str) -> AddressForms:
    """Return the spellings of an address; of another text, as the pattern `*`, itself."""
    normal = normal_address(text)
    if normal is None:
        return AddressForms((text,), (text,))
    scheme, host, rest = _parts(normal)
    has_port = re.search(r":\d+$", host) is not None
    spellings = (normal,) if has_port else (normal, f"{scheme}://{host}:{_PORTS[scheme]}{rest}")
    return AddressForms(spellings, tuple(dict.fromkeys((text, *spellings))))


def normal_address(text: str) -> str | None:
    """Return the normal form of an address, None for what is none.

    Scheme and host are in lower case and ASCII, an address of a machine in its usual notation, without user, final dot, default
    port and fragment. The path begins with `/`, has no dot segments, and only escapes that are necessary.
    """
    written = text.strip(_STRIPPED).translate(dict.fromkeys(map(ord, "\t\r\n")))
    found = _ADDRESS.fullmatch(written.partition("#")[0])
    origin = _origin(found[1], found[2]) if found else None
    if found is None or origin is None:
        return None
    return origin + (_without_dots(_escaped(found[3])) or "/") + _escaped(found[4] or "")


@lru_cache(maxsize=_CACHED)
def normal_pattern(pattern: str) -> str:
    """Return a pattern for addresses whose scheme, host and escapes are in the normal form, as far as no wildcard is among them."""
    found = _START.match(pattern)
    if found is None or not re.search(r"[*?]", pattern):
        return normal_address(pattern) or pattern
    rest = pattern[found.end() :]
    normal = normal_address(found[1]) if found[1] else None
    if normal is None:
        return found[0].lower() + _escaped(rest)
    return normal.removesuffix("/") + (_escaped(rest) or "/")


def origin_of(text: str) -> str:
    """Return scheme, host and port of an address in the normal form. Raises ValueError for what is no address."""
    normal = normal_address(text)
    if normal is None:
        raise ValueError(f"{text!r} is not an address")
    scheme, host, _ = _parts(normal)
    return f"{scheme}://{host}"


def read_address(host: str) -> Address | None:
    """Return the address that a host is, as the resolver reads it: also `127.1`, `0x7f000001`, `017700000001`; None for a name."""
    try:
        return ipaddress.ip_address(host.partition("%")[0].strip("[]"))
    except ValueError:
        pass
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host)) if host and not any(map(str.isspace, host)) else None
    except OSError:
        return None


def _parts(normal: str) -> tuple[str, str, str]:
    """Return the scheme, the host with its port, and the rest of a normal form."""
    scheme, _, after = normal.partition("://")
    host, slash, rest = after.partition("/")
    return scheme, host, slash + rest


def _origin(scheme: str, authority: str) -> str | None:
    name = scheme.lower()
    found = _HOST.fullmatch(authority.rpartition("@")[2])
    host = _host(found[1]) if found else ""
    if found is None or not host:
        return None
    port = int(found[2] or _PORTS[name])
    return f"{name}://{host}" if port == _PORTS[name] else f"{name}://{host}:{port}"


def _host(written: str) -> str:
    """Return the normal form of a host; empty where nothing is left of it."""
    host = unicodedata.normalize("NFKC", unquote(written)).lower()
    if not host.isascii() and not re.search(r"[/?#@:\[\]\\]", host):
        host = _in_ascii(host)
    name = host.rstrip(".")
    address = read_address(name)
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or f"[{address}]")
    return quote(name, safe="!$&'()*+,;=") if address is None else str(address)


def _in_ascii(host: str) -> str:
    import httpx  # costs a tenth of a second, which only such a name should pay

    try:
        return httpx.URL(f"http://{host}/").raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError):
        return host


def _escaped(text: str) -> str:
    """Return a path or query in which just what must not be sent as it is is escaped, and what is escaped stays so."""
    plain = _ESCAPE.sub(lambda found: _unescaped(found[0]), text)
    return quote(plain, safe=_KEPT, errors="replace")


def _unescaped(escape: str) -> str:
    character = chr(int(escape[1:], 16))
    return character if _UNRESERVED.fullmatch(character) else escape.upper()


def _without_dots(path: str) -> str:
    """Return a path without `.` and `..`. Source: RFC 3986, 5.2.4."""
    kept: list[str] = []
    *folders, last = path.split("/")
    for part in (*folders, last):
        if part == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif part != ".":
            kept.append(part)
    return "/".join([*kept, ""] if last in (".", "..") else kept)
