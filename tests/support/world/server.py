"""The real HTTP server on a real port in the test's own loop, and its event stream as a client reads it.

async with served(folder, environ, provider=model_server.config()) as face:
    session = (await face.http.post("/session")).json()
    async with face.events() as events:
        await face.say(session["id"], "hello")
        seen = await events.until("session.idle")
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi.routing import APIRoute, APIWebSocketRoute

from opencode_tui.client.local import LocalClients, open_clients
from opencode_tui.server.address import Address, Listening
from opencode_tui.server.app import build_app
from opencode_tui.server.guard import Credentials
from opencode_tui.server.serving import open_socket, serving
from opencode_tui.server.web.pages import Web
from tests.support.world.waiting import PATIENCE_S

PASSWORD = "correct horse"
_REUSE_S = 2.0
"""Seconds for which a connection is used again: the server closes idle ones after 5."""
ALLOWED = "https://allowed.example"
MODEL = {"providerID": "fake", "modelID": "fake-model"}


@dataclass(frozen=True, slots=True)
class Events:
    """An open event stream; `seen` holds what was read so far."""

    lines: AsyncIterator[str]
    seen: list[dict[str, Any]] = field(default_factory=list)

    async def read(self) -> dict[str, Any]:
        """Wait for the next event."""
        async for line in self.lines:
            if line:
                assert line.startswith("data: ")
                self.seen.append(json.loads(line[6:]))
                return self.seen[-1]
        raise EOFError("the stream has ended")

    async def until(self, kind: str, *, seconds: float = PATIENCE_S) -> list[dict[str, Any]]:
        """Read on to the next event of this type and return all that were seen so far."""
        async with asyncio.timeout(seconds):
            while (await self.read()).get("type") != kind:
                pass
        return self.seen


@dataclass(frozen=True, slots=True)
class HttpFace:
    """A running server with a client that knows its password."""

    address: Address
    http: httpx.AsyncClient
    clients: LocalClients

    async def session(self, **fields: object) -> str:
        """Make a session and return its id."""
        return (await self.http.post("/session", json=fields)).json()["id"]

    async def say(self, session_id: str, text: str, **fields: object) -> httpx.Response:
        """Send a request and wait for its answer."""
        body = {"model": MODEL, "parts": [{"type": "text", "text": text}], **fields}
        return await self.http.post(f"/session/{session_id}/message", json=body)

    async def messages(self, session_id: str) -> list[dict[str, Any]]:
        """Return the messages of a session."""
        return (await self.http.get(f"/session/{session_id}/message")).json()

    @asynccontextmanager
    async def events(self, path: str = "/event", **headers: str) -> AsyncGenerator[Events]:
        """Open an event stream; the greeting has been read."""
        async with self.http.stream("GET", path, headers=headers, timeout=None) as answer:
            assert answer.status_code == 200
            events = Events(answer.aiter_lines())
            await events.read()
            yield events


def http_client(url: str, **options: Any) -> httpx.AsyncClient:
    """Return a client of a server that waits as long as a test does; without credentials unless these are among the options."""
    return httpx.AsyncClient(base_url=url, verify=False, trust_env=False, timeout=PATIENCE_S, **options)


@asynccontextmanager
async def served(
    folder: Path,
    environ: Mapping[str, str],
    *,
    provider: object = None,
    settings: Mapping[str, object] | None = None,
    terminals: Mapping[str, str] | None = None,
    web: Web | None = None,
) -> AsyncGenerator[HttpFace]:
    """Serve a folder as long as the context lasts; with an environment for terminals, also these; with `web`, the page."""
    content = {**(settings or {}), **({"provider": provider} if provider else {})}
    variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
    async with open_clients(variables, folder) as clients:
        listening = Listening("127.0.0.1", 0, frozenset({ALLOWED}))
        credentials = Credentials(PASSWORD)
        async with serving(
            clients, open_socket(listening), listening=listening, credentials=credentials, terminals=terminals, web=web
        ) as address:
            auth = httpx.BasicAuth(credentials.username, PASSWORD)
            limits = httpx.Limits(keepalive_expiry=_REUSE_S)
            async with http_client(address.url, auth=auth, limits=limits) as http:
                yield HttpFace(address, http, clients)


# Every route that the server's application holds, however it came in.


def every_route() -> list[APIRoute]:
    """Return the routes of the application itself; fails for one that is of no kind that tests know."""
    return list(_flat(build_app(None).routes))  # pyright: ignore[reportArgumentType] - only a request needs services


def _flat(routes: Iterable[object]) -> Iterator[APIRoute]:
    for route in routes:
        router = getattr(route, "original_router", None)  # what newer versions of the library keep of a router
        if router is not None:
            yield from _flat(router.routes)
        elif not isinstance(route, APIWebSocketRoute):
            assert isinstance(route, APIRoute), f"{route} is missing from the table of routes"
            yield route
