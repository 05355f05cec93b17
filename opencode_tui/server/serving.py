"""Starting, running and stopping of the HTTP server.

On shutdown no new requests are accepted, running turns end and are reported, event streams end after their queued events, then
the connections close. uvicorn installs no signal handlers: the caller decides when it ends.
"""

import asyncio
import logging
import secrets
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from opencode_tui.accepting import BACKLOG, Acceptor
from opencode_tui.schema.error import OpencodeError
from opencode_tui.server.address import Address, Listening, origin_name
from opencode_tui.server.app import build_app
from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.frame import Frame
from opencode_tui.server.guard import App, BrowserAccess, Credentials, Guard
from opencode_tui.server.lazy_app import BothApis
from opencode_tui.server.peer import comes_from_sandbox
from opencode_tui.server.request import Services
from opencode_tui.server.screen_requests import ScreenRequests
from opencode_tui.server.terminals import make_terminals
from opencode_tui.server.throttle import Throttle
from opencode_tui.server.turns import Turns
from opencode_tui.server.web.pages import Pages
from opencode_tui.tasks import guarded_tasks, task_group

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.client.local import LocalClients
    from opencode_tui.schema.event.folder_event import FolderEvent
    from opencode_tui.server.terminals import Publish, Terminals
    from opencode_tui.server.web.pages import Web

logger = logging.getLogger(__name__)

GRACE_S = 1
"""Seconds that open connections have at shutdown."""

HEADER_S = 5
"""Seconds in which the header of a request must arrive."""

BODY_S = 300
"""Seconds in which the body of a request must arrive."""

WAITING_LIMIT = 256
"""Most connections that have not sent a header yet; the one that waits the longest is closed for another."""

SOCKET_LIMIT = 1024 * 1024
"""Most bytes of one message to a WebSocket."""

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
    clients: "LocalClients",
    opened: socket.socket,
    *,
    listening: Listening,
    credentials: Credentials,
    terminals: Mapping[str, str] | None = None,
    web: "Web | None" = None,
) -> AsyncGenerator[Address, None]:
    """Serve on an open socket during the context; yields the address with the actual port.

    With `terminals`, the environment of their shells, clients can start them. With `web`, browsers can show the TUI.
    """
    names = frozenset(map(origin_name, listening.origins)) if web is not None else frozenset[str]()
    address = Address(listening.host, opened.getsockname()[1], listening.origins, names)
    async with _serving(clients, opened, address, credentials, environ=terminals, web=web):
        yield address


@asynccontextmanager
async def serving_terminals(
    clients: "LocalClients", opened: socket.socket, secret: str, counted: Callable[[], None]
) -> AsyncGenerator[Callable[[], int], None]:
    """Serve on a Unix socket during the context; yields a function that returns how many clients follow the events.

    The function may be called in any thread; `counted` is called in this one when the number has changed.
    """
    # a Unix socket has no address: its clients send the name that HTTP requires
    async with _serving(clients, opened, Address("localhost", 80), Credentials(secret), counted=counted) as hub:
        yield lambda: len(hub.listeners)


@asynccontextmanager
async def _serving(
    clients: "LocalClients",
    opened: socket.socket,
    address: Address,
    credentials: Credentials,
    *,
    environ: Mapping[str, str] | None = None,
    web: "Web | None" = None,
    counted: Callable[[], None] | None = None,
) -> AsyncGenerator[EventHub, None]:
    hub = EventHub(now=time.monotonic, counted=counted)

    def publish(folder: str, event: "FolderEvent") -> None:
        hub.publish([Frame.of(folder, event)])
        app.publish(folder, event)

    terminals = None if environ is None else _make_terminals(publish, environ)
    pages, browsers = (None, None) if web is None else _make_pages(web, address, credentials, clients.at)
    async with task_group() as group, guarded_tasks() as tasks:
        turns = Turns(tasks)
        screens = ScreenRequests()
        services = Services(clients, hub, turns, screens, terminals)
        app = BothApis(build_app(services), services)
        guard = Guard(app, address=address, credentials=credentials, browsers=browsers)  # pyright: ignore[reportArgumentType] - one ASGI, two spellings
        server = make_server(guard, has_sockets=terminals is not None or pages is not None)
        with clients.events() as events:
            telling = group.create_task(hub.run(events), name="event hub")
            running = group.create_task(server.serve(sockets=[opened]), name="http server")
            try:
                await server.ready.wait()
                yield hub
            finally:
                guard.close()
                if pages is not None:
                    await pages.viewers.close()
                if terminals is not None:
                    await terminals.close()
                await clients.end_runs()
                await turns.end()
                await asyncio.sleep(0)  # the last events of the runs reach the hub
                hub.close()
                await app.close()
                await screens.close()
                server.stop()
                await asyncio.wait({running})
                telling.cancel()


def _make_terminals(publish: "Publish", environ: Mapping[str, str]) -> "Terminals":
    return make_terminals(publish=publish, environ=environ)


def _make_pages(
    web: "Web", address: Address, credentials: Credentials, find_client: "Callable[[], Awaitable[Client]]"
) -> "tuple[Pages, BrowserAccess]":
    throttle = Throttle()
    own = Credentials(secrets.token_urlsafe(32), credentials.username)
    pages = Pages(web, address, credentials=credentials, own=own, throttle=throttle, find_client=find_client)
    return pages, BrowserAccess(pages.has, pages.refuse, pages.app, own, throttle)


class HttpServer(uvicorn.Server):
    """uvicorn without its signal handlers, with an event for the start."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self._stopping = asyncio.Event()
        self._acceptors: list[Acceptor] = []
        self.servers = []

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
        """Start to accept connections, as long as the process may open files."""

        def protocol() -> asyncio.Protocol:
            return _Connection(self.config, self.server_state, self.lifespan.state)

        self._acceptors = [Acceptor(one, protocol) for one in sockets or ()]
        self.started = True
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and end the connections."""
        for one in self._acceptors:
            one.close()
        await super().shutdown(sockets)


class _Config(uvicorn.Config):
    """uvicorn's settings with what its connections share: those that wait for a header, the oldest first."""

    waiting: "dict[_Connection, None]"


class _Connection(H11Protocol):
    """A connection that is closed when it sends nothing, so that connections without a password cannot use up all there are."""

    config: _Config  # pyright: ignore[reportIncompatibleVariableOverride] - always made from ours
    _phase: Literal["header", "body", ""] = ""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as uvicorn's
        """Wait for a header; end a connection that comes from a command in the sandbox."""
        super().connection_made(transport)
        opened: socket.socket = transport.get_extra_info("socket")
        if comes_from_sandbox(opened):
            logger.warning("a confined command connected to the engine: its connection was closed")
            transport.abort()
            return
        self._observe()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._enter("")

    def handle_events(self) -> None:
        """Handle the received data, and the end of a response."""
        super().handle_events()
        self._observe()

    def _observe(self) -> None:
        match self.conn.their_state:
            case h11.IDLE if self.cycle is None or self.cycle.response_complete:  # pyright: ignore[reportUnnecessaryComparison] - None before a request
                self._enter("header")
            case h11.SEND_BODY:
                self._enter("body")
            case _:
                self._enter("")

    def _enter(self, phase: Literal["header", "body", ""]) -> None:
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting = self.config.waiting
        waiting.pop(self, None)
        if phase:
            self._timer = self.loop.call_later(HEADER_S if phase == "header" else BODY_S, self.transport.close)
        if phase == "header":
            waiting[self] = None
            if len(waiting) > WAITING_LIMIT:
                next(iter(waiting)).transport.close()


def make_server(app: App, *, has_sockets: bool = False) -> HttpServer:
    """Return a server of an application, with WebSockets or without; `serve` runs it on open sockets."""
    config = _Config(
        app,  # pyright: ignore[reportArgumentType] - one ASGI, two spellings
        http=_Connection,
        ws="websockets-sansio" if has_sockets else "none",
        ws_max_size=SOCKET_LIMIT,
        lifespan="off",
        loop="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    config.waiting = {}
    return HttpServer(config)
