"""A server at the limit of open files leaves some for its work, says so once, and accepts again when there are more."""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from opencode_tui import accepting
from opencode_tui.accepting import Acceptor
from tests.support.world.waiting import PATIENCE_S, until


class Echo(asyncio.Protocol):
    """Answers what it gets."""

    count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        Echo.count += 1

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        Echo.count -= 1


class Scarce(socket.socket):
    """A listening socket at which the system accepts nothing while `error` is set."""

    error: int = 0
    calls = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.calls += 1
        if self.error:
            raise OSError(self.error, os.strerror(self.error))
        return super().accept()


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "RETRY_S", 0.01)
    monkeypatch.setattr(Echo, "count", 0)


@asynccontextmanager
async def listening(
    kind: type[socket.socket] = socket.socket, protocol: Callable[[], asyncio.Protocol] = Echo
) -> AsyncGenerator[tuple[int, socket.socket]]:
    """Accept at a port during the context; yields it, and the socket."""
    opened = kind()
    opened.bind(("127.0.0.1", 0))
    acceptor = Acceptor(opened, protocol)
    try:
        yield opened.getsockname()[1], opened
    finally:
        acceptor.close()


async def answered(port: int) -> bool:
    """Return whether a new connection is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"x")
        async with asyncio.timeout(0.1):
            return await reader.readexactly(1) == b"x"
    except TimeoutError:
        return False
    finally:
        writer.close()


async def connect(port: int) -> asyncio.StreamWriter:
    return (await asyncio.open_connection("127.0.0.1", port))[1]


async def test_connections_are_accepted_and_answered() -> None:
    async with listening() as (port, _):
        assert await asyncio.gather(*(answered(port) for _ in range(50))) == [True] * 50


async def test_near_the_limit_of_open_files_no_more_are_accepted_until_some_close(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening() as (port, opened):
        free = os.dup(opened.fileno())
        os.close(free)
        monkeypatch.setattr(accepting, "open_files_limit", lambda: free + 40)
        monkeypatch.setattr(accepting, "RESERVED", 16)
        idle = [await connect(port) for _ in range(30)]
        await until(lambda: bool(caplog.records))
        accepted = Echo.count
        assert 0 < accepted < 24
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert Echo.count == accepted
        for writer in idle:
            writer.close()
        await until(lambda: Echo.count == 0)
        async with asyncio.timeout(PATIENCE_S):
            while not await answered(port):
                pass
        more = [await connect(port) for _ in range(30)]
        await asyncio.sleep(0.05)
        for writer in more:
            writer.close()
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "raise `ulimit -n`" in caplog.text


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM])
async def test_an_error_of_the_system_is_logged_once_and_tried_again_later(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with listening(Scarce) as (port, opened):
        assert isinstance(opened, Scarce)
        opened.error = number
        writer = await connect(port)
        await until(lambda: opened.calls >= 3)
        opened.error = 0
        await until(lambda: Echo.count == 1)
        writer.close()
    assert len(caplog.records) == 1
    assert "Traceback" not in caplog.text


async def test_between_two_tries_nothing_is_done() -> None:
    """One try for each pause, not as often as the loop turns."""
    async with listening(Scarce) as (port, opened):
        assert isinstance(opened, Scarce)
        opened.error = errno.EMFILE
        writer = await connect(port)
        await until(lambda: opened.calls >= 1)
        before = opened.calls
        for _ in range(100):
            await asyncio.sleep(0)
        assert opened.calls <= before + 1
        writer.close()


async def test_a_connection_whose_protocol_fails_leaves_the_others_alone(caplog: pytest.LogCaptureFixture) -> None:
    made: list[int] = []

    def protocol() -> asyncio.Protocol:
        made.append(1)
        if len(made) == 1:
            raise ValueError("no protocol")
        return Echo()

    async with listening(protocol=protocol) as (port, _):
        broken = await connect(port)
        assert await answered(port)
        broken.close()
    assert "no protocol" in caplog.text


async def test_a_unix_socket_is_served_too(tmp_path: os.PathLike[str]) -> None:
    opened = socket.socket(socket.AF_UNIX)
    opened.bind(os.path.join(tmp_path, "s"))
    acceptor = Acceptor(opened, Echo)
    reader, writer = await asyncio.open_unix_connection(os.path.join(tmp_path, "s"))
    writer.write(b"x")
    assert await reader.readexactly(1) == b"x"
    writer.close()
    acceptor.close()


async def test_after_the_end_nothing_is_accepted_and_open_connections_go_on() -> None:
    async with AsyncExitStack() as stack:
        port, _ = await stack.enter_async_context(listening())
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: Echo.count == 1)
        await stack.aclose()
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
        writer.close()


async def test_a_pause_ends_with_the_acceptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting, "open_files_limit", lambda: 0)
    async with listening() as (port, _):
        writer = await connect(port)
        await until(lambda: Echo.count == 1)
    await asyncio.sleep(0.05)
    writer.close()
