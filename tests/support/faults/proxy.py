"""A proxy between the program and the other side of a TCP connection, which breaks what comes back where a test says so.

    with FaultProxy(server.base_url) as proxy:
        proxy.fault = Fault("stall", at="middle")
        …                                  # the program uses proxy.url
        proxy.fault = None                 # connections from now on are whole

It runs in a thread of its own, counts connections, and ends them all when it is closed. `never_accepting` is an address whose
connections are never made, `closed_port` one that refuses them.
"""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

from tests.support.world.waiting import PATIENCE_S

Kind = Literal["stall", "half_close", "drip", "reset", "garbage", "deaf", "slow_connect", "comments"]
At = Literal["headers", "first", "middle", "stream"]

GARBAGE = b"\x00\xff\x17\x03 not what you asked for \r\n\r\n" * 4
COMMENT = b": still working\n\n"

KINDS: tuple[tuple[Kind, At], ...] = (
    ("deaf", "headers"),
    ("slow_connect", "headers"),
    *((kind, at) for kind in ("stall", "half_close", "drip", "reset") for at in ("headers", "first", "middle")),
    ("garbage", "headers"),
    ("garbage", "first"),
    ("comments", "first"),
)
"""Every fault and where it happens."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to a response, and where: before its headers, before the first byte of its body, after `bytes` of that, or in
    what comes next on any connection (`stream`).

    - `stall`: nothing more comes, the connection stays. `half_close`: the sending side ends, and still reads. `reset`: RST.
    - `drip`: one byte each `every_s` seconds. `garbage`: other bytes, then the end. `comments`: events without data, for ever.
    - `deaf`: what the program sends is never read. `slow_connect`: accepted, and nothing is forwarded.
    """

    kind: Kind
    at: At = "first"
    bytes: int = 300
    every_s: float = 1.0


class FaultProxy:
    """A proxy to the host and port of an address."""

    def __init__(self, address: str, fault: Fault | None = None) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None and parts.port is not None
        self.fault = fault
        """What happens to the responses on connections that are accepted from now on, and to the next ones of older connections."""
        self.connections = 0
        self.faults = 0
        """Responses to which the fault happened."""
        self._target = parts.hostname, parts.port
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}{parts.path}"
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._socket)
        await self._stop.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve_one(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                await self._handle(reader, writer)
        finally:
            writer.transport.abort()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault is not None and self.fault.kind in ("deaf", "slow_connect"):
            self.faults += 1
            writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            if self.fault.kind == "deaf":
                writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue] - it is that of a socket
            await asyncio.Event().wait()
        upstream, onward = await asyncio.open_connection(*self._target)
        sending = asyncio.create_task(_forward(reader, onward))
        try:
            while await self._respond(upstream, writer):
                pass
        finally:
            sending.cancel()
            onward.transport.abort()

    async def _respond(self, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Forward the bytes that come next, with the fault in them; return whether more may come."""
        data = await upstream.read(64 * 1024)
        if not data:
            return False
        fault = self.fault
        if fault is not None and fault.at == "stream":
            self.faults += 1
            await _break(fault, writer, data, is_chunked=False)
            return False
        if fault is None or not data.startswith(b"HTTP/1."):  # the rest of a response
            writer.write(data)
            await writer.drain()
            return True
        while b"\r\n\r\n" not in data and (more := await upstream.read(64 * 1024)):
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        head += b"\r\n\r\n"
        if fault.at == "middle":
            while len(body) < fault.bytes and (more := await upstream.read(64 * 1024)):
                body += more
        whole = {"headers": b"", "first": head, "middle": head + body[: fault.bytes]}[fault.at]
        rest = (head + body)[len(whole) :]
        self.faults += 1
        writer.write(whole)
        await writer.drain()
        await _break(fault, writer, rest, is_chunked=b"chunked" in head.lower() and fault.at != "headers")
        return False


async def _break(fault: Fault, writer: asyncio.StreamWriter, rest: bytes, *, is_chunked: bool) -> None:
    match fault.kind:
        case "reset":
            await asyncio.sleep(0.02)  # a reset discards what is on its way
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return
        case "half_close":
            writer.write_eof()
        case "garbage":
            writer.write(GARBAGE)
            await writer.drain()
            return
        case "drip":
            for value in rest:
                if writer.is_closing():
                    return
                writer.write(bytes([value]))
                await asyncio.sleep(fault.every_s)
        case "comments":
            while not writer.is_closing():
                writer.write(b"%x\r\n%b\r\n" % (len(COMMENT), COMMENT) if is_chunked else COMMENT)
                await asyncio.sleep(fault.every_s)
        case _:
            pass
    await asyncio.Event().wait()


async def _forward(reader: asyncio.StreamReader, onward: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(64 * 1024):
            onward.write(data)
            await onward.drain()


@contextmanager
def closed_port() -> Generator[int]:
    """Yield a port of this machine at which nothing listens, and that no other program gets meanwhile."""
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def never_accepting() -> Generator[str]:
    """Yield an address whose queue of connections is full: a connection to it is never made, and never refused."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting: list[socket.socket] = []
        try:
            while len(waiting) < 16:
                one = socket.socket()
                one.setblocking(False)
                waiting.append(one)
                with suppress(BlockingIOError):
                    one.connect(listener.getsockname())
                time.sleep(0.01)
                if one.connect_ex(listener.getsockname()) not in (0, 106):  # EISCONN: this one was made
                    break
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for one in waiting:
                one.close()
