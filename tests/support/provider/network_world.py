"""A TLS server with an authority of its own, and a proxy, both on loopback: the network of a company."""

import contextlib
import datetime
import ipaddress
import select
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Authority:
    """A certificate authority: `path` is its certificate, `context` the TLS settings of a server for `names`."""

    path: Path
    context: ssl.SSLContext


def make_authority(folder: Path, *names: str) -> Authority:
    """Return a new authority with files in a folder, and a server certificate of it."""
    key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Company CA")])
    authority = _certificate(issuer, issuer, key, key).add_extension(x509.BasicConstraints(True, None), critical=True)
    addresses: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    addresses.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    leaf = _certificate(subject, issuer, own, key).add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(authority.sign(key, hashes.SHA256()).public_bytes(pem))
    private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(private + leaf.sign(key, hashes.SHA256()).public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return Authority(folder / "ca.pem", context)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )


@dataclass
class Proxy:
    """An HTTP proxy for CONNECT and plain requests: `asked` are the first lines; each name leads to a port of loopback.

    With `refusal`, a status line, it refuses everything.
    """

    ports: dict[str, int]
    refusal: str = ""
    asked: list[str] = field(default_factory=list[str])
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            received = client.recv(65536)
            if not received:
                return
            head += received
        line, _, rest = head.partition(b"\r\n")
        method, target, _ = line.decode().split(" ", 2)
        self.asked.append(f"{method} {target}")
        if self.refusal:
            client.sendall(f"HTTP/1.1 {self.refusal}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
            return
        host, _, path = target.removeprefix("http://").partition("/")
        port = self.ports.get(host.partition(":")[0], 0)
        if not port:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        with socket.create_connection(("127.0.0.1", port)) as server:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(f"{method} /{path} HTTP/1.1\r\n".encode() + rest)
            relay(client, server)


def relay(one: socket.socket, other: socket.socket) -> None:
    """Pass on what arrives at either side until one of them ends."""
    while True:
        waiting = isinstance(one, ssl.SSLSocket) and one.pending() > 0
        ready = [one] if waiting else select.select([one, other], [], [])[0]
        for side in ready:
            data = side.recv(65536)
            if not data:
                return
            (other if side is one else one).sendall(data)


@contextlib.contextmanager
def open_proxy(ports: dict[str, int], *, refusal: str = "") -> Generator[Proxy]:
    """Yield a proxy that runs."""
    proxy = Proxy(ports, refusal)
    with _listening(proxy.serve) as port:
        proxy.port = port
        yield proxy


@contextlib.contextmanager
def open_tls(authority: Authority, target: int) -> Generator[int]:
    """Yield the port of a TLS server in front of a plain one."""

    def serve(client: socket.socket) -> None:
        with (
            authority.context.wrap_socket(client, server_side=True) as secure,
            socket.create_connection(("127.0.0.1", target)) as server,
        ):
            relay(secure, server)

    with _listening(serve) as port:
        yield port


@contextlib.contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Generator[int]:
    """Yield a port of loopback; each connection is served by a thread."""

    def serve_one(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            serve(client)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve_one, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
