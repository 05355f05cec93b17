"""The address of a scheduler: `tls://` with certificates, or `tcp://` on this machine.

Its protocol is pickle: who can connect to a port of the cluster can run code on all its machines.
"""

import ipaddress
from urllib.parse import urlsplit

from opencode_tui.batch.pool import TLS_OPTIONS, TlsFiles
from opencode_tui.schema.error import ConfigError


def check_address(address: str, tls: TlsFiles | None) -> None:
    """Raise ConfigError for what is no address of a scheduler, or without TLS elsewhere, or TLS without its files. Blocks."""
    try:
        parts = urlsplit(address)
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host, port = "", None, None
    if scheme not in ("tcp", "tls") or not host or not port:
        raise ConfigError(
            f"{address!r} is not the address of a scheduler; write it as tls://HOST:PORT, or tcp://127.0.0.1:PORT on this machine"
        )
    if scheme == "tcp":
        if not _is_loopback(host):
            raise ConfigError(
                f"{address} is refused: without TLS everyone who reaches the port can run commands on all machines; start the "
                f"scheduler and its workers with TLS certificates and use tls:// with {TLS_OPTIONS}"
            )
        if tls is not None:
            raise ConfigError(f"{address} has no TLS: remove {TLS_OPTIONS}, or write the address as tls://")
    elif tls is None:
        raise ConfigError(f"{address} needs {TLS_OPTIONS}: the PEM files of the cluster's certificates")
    else:
        missing = [path for path in (tls.authority, tls.certificate, tls.key) if not path.is_file()]
        if missing:
            raise ConfigError(f"{missing[0]} is not a file; check {TLS_OPTIONS}")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
