"""A share server behind a recorder: what was sent to it, byte by byte, and a line that can be cut.

async with recorded_server(folder) as server:
    settings = {"enterprise": {"url": server.url}}
    …
    assert b"secret" not in server.sent
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from opencode_tui.extras.share_server.app import serving_shares
from opencode_tui.extras.share_server.store import Limits, ShareStore
from opencode_tui.server.address import Listening
from opencode_tui.server.serving import open_socket
from tests.support.world.waiting import PATIENCE_S


@dataclass
class Recorder:
    """A line to a server. `sent` are the bytes of all requests; while it is not `is_up`, connections are closed at once."""

    target: tuple[str, int]
    port: int = 0
    is_up: bool = True
    sent: bytearray = field(default_factory=bytearray)
    attempts: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def data(self, url: str) -> list[dict[str, Any]]:
        """Return what the server has of a share, asked directly."""
        async with httpx.AsyncClient(verify=False, trust_env=False, timeout=PATIENCE_S) as http:
            share_id = url.rpartition("/")[2]
            answer = await http.get(f"http://{self.target[0]}:{self.target[1]}/api/share/{share_id}/data")
            return answer.json() if answer.status_code == 200 else []

    async def until(self, url: str, word: str, seconds: float = PATIENCE_S) -> list[dict[str, Any]]:
        """Return what the server has once it contains a word."""
        async with asyncio.timeout(seconds):
            while word not in json.dumps(data := await self.data(url)):
                await asyncio.sleep(0.05)
        return data

    async def cut(self) -> None:
        """Close the line, with all connections."""
        self.is_up = False
        for writer in tuple(self.open):
            writer.close()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.attempts += 1
        if not self.is_up:
            writer.close()
            return
        inner, outer = await asyncio.open_connection(*self.target)
        self.open |= {writer, outer}

        async def pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_recorded: bool) -> None:
            with suppress(OSError):
                while data := await source.read(1 << 16):
                    if is_recorded:
                        self.sent += data
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(pipe(reader, outer, is_recorded=True), pipe(inner, writer, is_recorded=False))
        self.open -= {writer, outer}


@asynccontextmanager
async def recorded_server(folder: Path, limits: Limits | None = None) -> AsyncGenerator[Recorder]:
    """Run a share server and a recorded line to it."""
    listening = Listening("127.0.0.1", 0)
    store = ShareStore(folder / "share-server", limits or Limits())
    async with serving_shares(store, open_socket(listening), listening=listening) as address:
        recorder = Recorder((address.host, address.port))
        line = await asyncio.start_server(recorder.carry, "127.0.0.1", 0)
        recorder.port = line.sockets[0].getsockname()[1]
        try:
            yield recorder
        finally:
            await recorder.cut()
            line.close()
