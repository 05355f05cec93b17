"""Starting, running and stopping of the HTTP server.

On shutdown no new requests are accepted, running turns end and are reported, event streams end after their queued events, then
the connections close. uvicorn installs no signal handlers: the caller decides when it ends.
"""

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn

from opencode_tui.client.client import Clients
from opencode_tui.schema.error import OpencodeError
from opencode_tui.server.address import Address, Listening
from opencode_tui.server.app import build_app
from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.guard import Credentials, Guard
from opencode_tui.server.request import Services
from opencode_tui.server.turns import Turns

GRACE_S = 1
"""Seconds that open connections have at shutdown."""

CONNECTION_LIMIT = 1_000
"""Most concurrent connections and requests; more get status 503."""

BACKLOG = 256

TICK_S = 0.1
"""Seconds between two checks of uvicorn's state."""


def open_socket(listening: Listening) -> socket.socket:
    """Return a listening socket. Raises OpencodeError when it cannot be opened."""
    host, port = listening.host, listening.port
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            "127.0.0.1" if host == "localhost" else host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(place)
            opened.listen(BACKLOG)
        except OSError:
            opened.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OpencodeError(
            f"cannot listen on {host}:{port} ({reason}); choose another --port or --hostname"
        ) from error
    opened.setblocking(False)
    return opened


@asynccontextmanager
async def serving(
    clients: Clients, opened: socket.socket, *, listening: Listening, credentials: Credentials
) -> AsyncGenerator[Address, None]:
    """Serve on an open socket during the context; yields the address with the actual port."""
    address = Address(listening.host, opened.getsockname()[1], listening.origins)
    hub = EventHub(now=time.monotonic)
    async with asyncio.TaskGroup() as group:
        turns = Turns(group)
        app = build_app(Services(clients, hub, turns))
        guard = Guard(app, address=address, credentials=credentials)  # pyright: ignore[reportArgumentType] - one ASGI, two spellings
        server = _Server(_settings(guard))
        with clients.events() as events:
            telling = group.create_task(hub.run(events), name="event hub")
            running = group.create_task(server.serve(sockets=[opened]), name="http server")
            try:
                await server.ready.wait()
                yield address
            finally:
                guard.close()
                await clients.end_runs()
                await turns.end()
                await asyncio.sleep(0)  # the last events of the runs reach the hub
                hub.close()
                server.stop()
                await asyncio.wait({running})
                telling.cancel()


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, with an event for the start."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End `serve`; returns at once."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        """Tick until `stop`, which ends it without waiting for the next tick."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_S):
                    await self._stopping.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Do not install signal handlers."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        await super().startup(sockets)
        self.ready.set()


def _settings(guard: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        http="h11",
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTION_LIMIT,
        timeout_graceful_shutdown=GRACE_S,
    )
