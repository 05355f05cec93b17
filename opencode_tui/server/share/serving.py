"""Starting and stopping of a share server."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from opencode_tui.server.address import Address, Listening
from opencode_tui.server.serving import make_server
from opencode_tui.server.share.app import ShareApp
from opencode_tui.server.share.store import ShareStore


@asynccontextmanager
async def serving_shares(
    store: ShareStore, opened: socket.socket, *, listening: Listening, base: str | None = None
) -> AsyncGenerator[Address]:
    """Serve shares on an open socket during the context; yields the address with the actual port.

    `base` is the address by which others reach the server, by default the one that each of them used.
    """
    shares = ShareApp(store, base=base)
    server = make_server(shares.app)  # pyright: ignore[reportArgumentType] - one ASGI, two spellings
    async with asyncio.TaskGroup() as group:
        sweeping = group.create_task(shares.sweep(), name="expired shares")
        running = group.create_task(server.serve(sockets=[opened]), name="share server")
        try:
            await server.ready.wait()
            yield Address(listening.host, opened.getsockname()[1])
        finally:
            shares.close()
            server.stop()
            await asyncio.wait({running})
            sweeping.cancel()
