"""HTTP/1.1 as servers speak it, over real connections: framing, connections that stay, and what is no response."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from opencode_tui.engine.provider.connection import (
    AddressError,
    Connector,
    HttpError,
    Limits,
    ReadTimeoutError,
    Response,
)
from opencode_tui.network import Route
from tests.support.world.waiting import PATIENCE_S

LIMITS = Limits(connect_s=PATIENCE_S, write_s=PATIENCE_S, read_s=PATIENCE_S)
OK = b"HTTP/1.1 200 OK\r\n"
CLOSE = b""
"""In a script: the server closes the connection."""


class Raw:
    """A server that answers each request with the next bytes of its script, some in pieces."""

    def __init__(self, script: Sequence[Sequence[bytes]]) -> None:
        self._script = list(script)
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.port = 0
        self.ended = asyncio.Event()
        """Set when a client has closed a connection."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self._script:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0
                )
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(length))
                for piece in self._script.pop(0):
                    if piece == CLOSE:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
            await reader.read()
            self.ended.set()
        except (OSError, asyncio.IncompleteReadError):
            self.ended.set()
        finally:
            writer.close()


@asynccontextmanager
async def raw(*script: Sequence[bytes]) -> AsyncGenerator[tuple[Raw, Connector]]:
    served = Raw(script)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    served.port = server.sockets[0].getsockname()[1]
    connector = Connector(Route(), LIMITS)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield served, connector
    finally:
        await connector.close()
        server.close()


async def send(
    connector: Connector, served: Raw, body: bytes = b"{}", headers: Mapping[str, str] = {}, path: str = "/v1?a=b c"
) -> Response:
    url = f"http://127.0.0.1:{served.port}{path}"
    return await connector.send("POST", url, headers, body, on_connect=lambda: None, on_send=lambda: None)


async def read(response: Response) -> bytes:
    async with aclosing(response):
        return b"".join([piece async for piece in response.pieces()])


async def answer(*pieces: bytes) -> bytes:
    async with raw(pieces) as (served, connector):
        return await read(await send(connector, served))


CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
BODIES: tuple[tuple[bytes, ...], ...] = (
    (OK + b"content-length: 5\r\n\r\nhello",),
    (OK + b"Content-Length:5\r\nContent-Length: 5\r\n\r\nhello",),
    (OK + b"\r\nhello", CLOSE),
    (b"HTTP/1.0 200 OK\r\n\r\nhello", CLOSE),
    (b"HTTP/1.1 200\nx: 1\n\nhello", CLOSE),
    (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",),
    (CHUNKED + b"2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nx-trailer: 1\r\n\r\n",),
    (
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n",
        *(OK + b"content-length: 5\r\n\r\nhello",),
    ),
)


@pytest.mark.parametrize("pieces", BODIES)
async def test_a_body_of_each_framing_is_read(pieces: tuple[bytes, ...]) -> None:
    assert await answer(*pieces) == b"hello"


@pytest.mark.parametrize("pieces", [BODIES[0], BODIES[6], BODIES[7]])
async def test_a_response_may_come_byte_by_byte(pieces: tuple[bytes, ...]) -> None:
    whole = b"".join(pieces)
    assert await answer(*(whole[at : at + 1] for at in range(len(whole)))) == b"hello"


@pytest.mark.parametrize(
    ("pieces", "problem"),
    [
        ((CLOSE,), "closed without a response"),
        ((OK, CLOSE), "closed without a response"),
        ((b"SSH-2.0-OpenSSH\r\n\r\n",), "not HTTP/1.1"),
        ((b"HTTP/2 200\r\n\r\n",), "not HTTP/1.1"),
        ((OK + b"a header\r\n\r\n",), "no valid name"),
        ((OK + b"x y: 1\r\n\r\n",), "no valid name"),
        ((OK + b"content-length: 5\r\ncontent-length: 6\r\n\r\nhello",), "two lengths"),
        ((OK + b"content-length: -5\r\n\r\nhello",), "invalid length"),
        ((OK + b"transfer-encoding: gzip, chunked\r\n\r\n",), "unknown transfer encoding"),
        ((OK + b"content-length: 9\r\n\r\nhello", CLOSE), "closed 4 bytes before the end"),
        ((CHUNKED + b"5\r\nhello\r\n", CLOSE), "closed before the last chunk"),
        ((CHUNKED + b"0x5\r\nhello\r\n",), "not a number"),
        ((CHUNKED + b"-5\r\nhello\r\n",), "not a number"),
        ((CHUNKED + b"5\r\nhello!!\r\n",), "longer than its size"),
        ((CHUNKED + b"0\r\n" + b"x" * 20_000,), "too long"),
        ((OK + b"x: " + b"y" * 200_000,), "too long"),
        ((b"HTTP/1.1 101 Switching Protocols\r\n\r\n",), "a protocol that nobody asked for"),
    ],
)
async def test_what_is_no_response_is_an_error(pieces: tuple[bytes, ...], problem: str) -> None:
    with pytest.raises(HttpError) as raised:
        await answer(*pieces)
    assert problem in str(raised.value)


async def test_a_connection_serves_the_next_request_where_its_response_was_whole() -> None:
    whole, chunked = BODIES[0], (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n",)
    async with raw(whole, chunked, whole) as (served, connector):
        assert [await read(await send(connector, served)) for _ in range(3)] == [b"hello"] * 3
        assert served.connections == 1
    assert served.heads[0].startswith(f"POST /v1?a=b%20c HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n".encode())


@pytest.mark.parametrize(
    "first",
    [
        (OK + b"content-length: 5\r\n\r\nhello, and bytes that nobody asked for",),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake",),
        (OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",),
        (OK + b"content-length: 5\r\n\r\nhello", CLOSE),
    ],
)
async def test_a_connection_is_not_used_again_where_its_end_is_in_doubt(first: tuple[bytes, ...]) -> None:
    async with raw(first, BODIES[0]) as (served, connector):
        assert await read(await send(connector, served)) == b"hello"
        for _ in range(5):  # both sides run here: what the server did has arrived after some turns
            await asyncio.sleep(0)
        assert await read(await send(connector, served)) == b"hello"
        assert served.connections == 2


async def test_two_requests_at_once_have_a_connection_each() -> None:
    async with raw(BODIES[0], BODIES[0]) as (served, connector):
        first, second = await send(connector, served), await send(connector, served)
        assert (await read(second), await read(first), served.connections) == (b"hello", b"hello", 2)


async def test_a_response_that_is_left_closes_its_connection() -> None:
    async with raw((OK + b"content-length: 9\r\n\r\nhello",)) as (served, connector):
        response = await send(connector, served)
        async for piece in response.pieces():
            assert piece == b"hello"
            break
        await response.aclose()
        await served.ended.wait()


async def test_a_large_request_arrives_whole_and_so_does_a_large_response() -> None:
    body = bytes(range(256)) * 20_000
    reply = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:1_000_000], body[1_000_000:]))
    async with raw((CHUNKED, reply + b"0\r\n\r\n")) as (served, connector):
        assert await read(await send(connector, served, body)) == body
        assert served.bodies == [body]


async def test_a_server_that_says_nothing_is_given_up() -> None:
    async with raw((OK + b"content-length: 9\r\n\r\nhello",)) as (served, _):
        connector = Connector(Route(), Limits(PATIENCE_S, PATIENCE_S, 0.05))
        with pytest.raises(ReadTimeoutError):
            await read(await send(connector, served))
        await served.ended.wait()


async def test_headers_of_the_request_are_checked_and_its_framing_is_ours() -> None:
    given = {"X-Team": "blue", "Content-Length": "99", "Transfer-Encoding": "chunked", "HOST": "other.test"}
    async with raw(BODIES[0]) as (served, connector):
        await read(await send(connector, served, headers=given))
        assert served.heads[0].split(b"\r\n")[1:] == [
            b"host: other.test",
            b"x-team: blue",
            b"content-length: 2",
            b"",
            b"",
        ]
        for name, value in (("x-a", "1\r\nx-b: 2"), ("x a", "1"), ("x-a", "\0")):
            with pytest.raises(HttpError, match="cannot be sent"):
                await send(connector, served, headers={name: value})


@pytest.mark.parametrize("url", ["ftp://a.test/", "http:///v1", "http://a.test:99999/", "nothing", "http://a b/"])
async def test_an_address_that_is_not_of_http_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        await Connector(Route(), LIMITS).send("GET", url, {}, b"", on_connect=lambda: None, on_send=lambda: None)


async def test_a_login_of_the_address_goes_with_the_request() -> None:
    async with raw(BODIES[0]) as (served, connector):
        url = f"http://us%20er:pa55@127.0.0.1:{served.port}"
        response = await connector.send("GET", url, {}, b"", on_connect=lambda: None, on_send=lambda: None)
        assert await read(response) == b"hello"
    assert served.heads[0].startswith(b"GET / HTTP/1.1\r\n")
    assert b"\r\nauthorization: Basic dXMgZXI6cGE1NQ==\r\n" in served.heads[0]


async def test_a_refused_connection_is_said_in_words() -> None:
    async with raw() as (served, _):
        pass
    with pytest.raises(HttpError) as raised:
        await send(Connector(Route(), LIMITS), served)
    assert str(raised.value) == "Connection refused"
