"""The network of requests to models does what httpcore's own does, with real connections."""

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

import httpcore
import pytest

from opencode_tui.engine.provider import asyncio_network
from opencode_tui.network import is_refused
from tests.support.provider.network_world import Authority, make_authority

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]

ERRORS = asyncio_network.ConnectError, asyncio_network.ReadTimeout, asyncio_network.WriteTimeout
"""Ours are those of httpcore's part that is loaded alone."""


@pytest.fixture(params=["ours", "httpcore"])
def network(request: pytest.FixtureRequest) -> httpcore.AsyncNetworkBackend:
    """Ours, and the one that it replaces."""
    own = cast(
        httpcore.AsyncNetworkBackend, httpcore.AnyIOBackend()
    )  # its type is that of an installation without anyio
    return asyncio_network.AsyncioNetwork() if request.param == "ours" else own


@asynccontextmanager
async def listening(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """Yield the port of a server that talks to each connection."""
    talks: list[asyncio.Task[object]] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.append(task)
        with suppress(asyncio.CancelledError):
            await talk(reader, writer)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for one in talks:
            one.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def rest(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)


async def read_all(stream: httpcore.AsyncNetworkStream, size: int) -> bytes:
    got = b""
    while len(got) < size:
        piece = await stream.read(64, timeout=20)
        assert 0 < len(piece) <= 64
        got += piece
    return got


async def test_what_is_sent_comes_back_in_pieces_that_fit(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(echo) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        sent = bytes(range(256)) * 20
        await stream.write(sent, timeout=20)
        assert await read_all(stream, len(sent)) == sent
        assert stream.get_extra_info("server_addr")[:2] == ("127.0.0.1", port)
        assert stream.get_extra_info("socket").fileno() > 0
        assert stream.get_extra_info("ssl_object") is None
        await stream.aclose()


async def test_the_end_is_no_bytes_again_and_again(network: httpcore.AsyncNetworkBackend) -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"whole")

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        assert await read_all(stream, 5) == b"whole"
        assert [await stream.read(10, timeout=20) for _ in range(2)] == [b"", b""]
        await stream.aclose()


async def test_a_server_that_sends_no_more_still_receives(network: httpcore.AsyncNetworkBackend) -> None:
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write_eof()
        received.set_result(await reader.readexactly(4))

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        assert await stream.read(10, timeout=20) == b""
        await stream.write(b"more", timeout=20)
        assert await received == b"more"
        await stream.aclose()


async def test_a_read_that_took_too_long_can_be_tried_again(network: httpcore.AsyncNetworkBackend) -> None:
    go = asyncio.Event()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        writer.write(b"late")
        await rest(_, writer)

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        with pytest.raises((ERRORS[1], httpcore.ReadTimeout)):
            await stream.read(10, timeout=0.05)
        go.set()
        assert await read_all(stream, 4) == b"late"
        await stream.aclose()


async def test_a_canceled_read_loses_nothing(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(echo) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        reading = asyncio.create_task(stream.read(10))
        await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await stream.write(b"again", timeout=20)
        assert await read_all(stream, 5) == b"again"
        await stream.aclose()


async def test_a_server_that_reads_nothing_ends_a_write_after_its_time(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(rest) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        with pytest.raises((ERRORS[2], httpcore.WriteTimeout)):
            await stream.write(b"x" * 50_000_000, timeout=0.1)
        await stream.aclose()


async def test_a_large_body_arrives_whole_at_a_slow_reader(network: httpcore.AsyncNetworkBackend) -> None:
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    size = 5_000_000

    async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        count = 0
        while count < size:
            count += len(await reader.read(200_000))
            await asyncio.sleep(0.001)
        received.set_result(count)

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        await stream.write(b"x" * size, timeout=60)
        assert await received == size
        await stream.aclose()


async def test_a_reset_is_an_error_of_the_read(network: httpcore.AsyncNetworkBackend) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort()

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        await stream.write(b"x" * 300_000, timeout=20)  # what is not read when a connection closes resets it
        with pytest.raises((asyncio_network.ReadError, httpcore.ReadError)):
            await stream.read(10, timeout=20)
        await stream.aclose()


async def test_nothing_is_written_to_a_closed_connection(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(rest) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        await stream.aclose()
        with pytest.raises((asyncio_network.WriteError, httpcore.WriteError)):
            await stream.write(b"x", timeout=20)


@pytest.mark.parametrize(
    ("said", "is_last"),
    [(b"", True), (b"HTTP/1.1 408 Request Timeout\r\n\r\n", True), (b"HTTP/1.1 408 Request Timeout\r\n\r\n", False)],
    ids=["end", "words and end", "words"],
)
async def test_a_connection_that_the_server_uses_between_two_responses_is_not_used_again(
    network: httpcore.AsyncNetworkBackend, said: bytes, is_last: bool
) -> None:
    go = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"response")
        await go.wait()
        writer.write(said)
        if not is_last:
            await rest(reader, writer)

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        assert await read_all(stream, 8) == b"response"
        assert not stream.get_extra_info("is_readable")
        go.set()
        for _ in range(2_000):
            if stream.get_extra_info("is_readable"):
                break
            await asyncio.sleep(0.005)
        assert stream.get_extra_info("is_readable")
        await stream.aclose()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_an_address_where_nothing_listens_is_refused(network: httpcore.AsyncNetworkBackend, host: str) -> None:
    with pytest.raises((ERRORS[0], httpcore.ConnectError)) as caught:
        await network.connect_tcp(host, free_port(), timeout=20)
    assert is_refused(caught.value)


async def test_the_next_address_of_a_server_is_tried(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(echo) as port:  # on 127.0.0.1 alone; `localhost` is ::1 too where there is IPv6
        stream = await network.connect_tcp("localhost", port, timeout=20)
        await stream.write(b"hello", timeout=20)
        assert await read_all(stream, 5) == b"hello"
        await stream.aclose()


async def test_a_name_that_nobody_knows_is_an_error_of_the_connection(network: httpcore.AsyncNetworkBackend) -> None:
    with pytest.raises((ERRORS[0], httpcore.ConnectError)):
        await network.connect_tcp("no-such-host.invalid", 80, timeout=20)


async def test_a_server_that_speaks_no_tls_is_an_error_of_the_connection(
    network: httpcore.AsyncNetworkBackend,
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        with pytest.raises((ERRORS[0], httpcore.ConnectError)):
            await stream.start_tls(httpcore.default_ssl_context(), server_hostname="localhost", timeout=20)


async def test_a_server_that_does_not_answer_a_handshake_is_a_timeout(network: httpcore.AsyncNetworkBackend) -> None:
    async with listening(rest) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        with pytest.raises((asyncio_network.ConnectTimeout, httpcore.ConnectTimeout)):
            await stream.start_tls(httpcore.default_ssl_context(), server_hostname="localhost", timeout=0.1)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path, "localhost")


async def in_tls(network: httpcore.AsyncNetworkBackend, port: int, authority: Authority) -> httpcore.AsyncNetworkStream:
    stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
    context = ssl.create_default_context(cafile=authority.path)
    return await stream.start_tls(context, server_hostname="localhost", timeout=20)


async def test_what_is_sent_in_tls_comes_back(network: httpcore.AsyncNetworkBackend, authority: Authority) -> None:
    async with listening(echo, authority.context) as port:
        stream = await in_tls(network, port, authority)
        sent = bytes(range(256)) * 400
        await stream.write(sent, timeout=20)
        assert await read_all(stream, len(sent)) == sent
        assert stream.get_extra_info("ssl_object").version().startswith("TLS")
        assert stream.get_extra_info("socket").fileno() > 0
        await stream.aclose()


async def test_what_a_server_says_first_in_tls_is_not_lost(
    network: httpcore.AsyncNetworkBackend, authority: Authority
) -> None:
    said = b"welcome " * 100_000

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        await writer.drain()

    async with listening(talk, authority.context) as port:
        stream = await in_tls(network, port, authority)
        assert await read_all(stream, len(said)) == said
        assert await stream.read(10, timeout=20) == b""
        await stream.aclose()


async def test_a_connection_in_tls_that_the_server_ended_is_not_used_again(
    network: httpcore.AsyncNetworkBackend, authority: Authority
) -> None:
    go = asyncio.Event()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"response")
        await go.wait()

    async with listening(talk, authority.context) as port:
        stream = await in_tls(network, port, authority)
        assert await read_all(stream, 8) == b"response"
        go.set()
        for _ in range(2_000):
            if stream.get_extra_info("is_readable"):
                break
            await asyncio.sleep(0.005)
        assert stream.get_extra_info("is_readable")
        await stream.aclose()


async def test_a_certificate_of_an_unknown_authority_is_named(
    network: httpcore.AsyncNetworkBackend, authority: Authority
) -> None:
    async with listening(echo, authority.context) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        with pytest.raises((ERRORS[0], httpcore.ConnectError), match="CERTIFICATE_VERIFY_FAILED"):
            await stream.start_tls(ssl.create_default_context(), server_hostname="localhost", timeout=20)


async def test_a_server_that_closes_before_the_handshake_fails_at_once(network: httpcore.AsyncNetworkBackend) -> None:
    async def talk(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        pass

    async with listening(talk) as port:
        stream = await network.connect_tcp("127.0.0.1", port, timeout=20)
        assert await stream.read(10, timeout=20) == b""
        with pytest.raises((ERRORS[0], httpcore.ConnectError)):
            await stream.start_tls(ssl.create_default_context(), server_hostname="localhost", timeout=600)


async def test_small_pieces_that_came_while_nobody_read_are_read_together() -> None:
    sent = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(50):
            writer.write(f"data: {number}\n\n".encode())
            await writer.drain()
            await asyncio.sleep(0)
        sent.set()
        await rest(reader, writer)

    async with listening(talk) as port:
        stream = await asyncio_network.AsyncioNetwork().connect_tcp("127.0.0.1", port, timeout=20)
        await sent.wait()
        pieces: list[bytes] = []
        while b"".join(pieces).count(b"data") < 50:
            pieces.append(await stream.read(65_536, timeout=20))
        assert len(pieces) <= 10
        await stream.aclose()


def test_addresses_of_two_kinds_take_turns() -> None:
    found = [(10, "::1"), (10, "::2"), (10, "::2"), (10, "::3"), (2, "127.0.0.1"), (2, "127.0.0.2")]
    assert asyncio_network.mixed(found) == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"]
    assert asyncio_network.mixed(found[-1:]) == ["127.0.0.2"]
    assert asyncio_network.mixed([]) == []


async def test_an_event_that_is_not_set_in_time_is_a_full_pool() -> None:
    event = asyncio_network.AsyncEvent()
    with pytest.raises(asyncio_network.PoolTimeout):
        await event.wait(timeout=0.01)
    event.set()
    await event.wait(timeout=20)
    await event.wait()
