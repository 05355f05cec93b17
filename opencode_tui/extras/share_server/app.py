"""The routes of a share server.

    POST   /api/share              {sessionID} → {id, url, secret, removes}
    POST   /api/share/:id/sync     {secret, data: [{type, data}]}
    DELETE /api/share/:id          {secret}
    GET    /api/share/:id/data     [{type, data}]
    GET    /share/:id              the page
    GET    /share/:id/events       what changes on it, as server-sent events

Anyone who knows a share's address may read it, nobody can list them, and only who has its secret changes it. A page of another site
cannot use the server: it answers no preflight, and takes JSON only.
"""

import asyncio
import logging
import re
import secrets
import socket
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import cast

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from opencode_tui.extras.share_server.store import REMOVED, Change, Share, ShareRefused, ShareStore, read_changes
from opencode_tui.extras.share_server.view import changed_since, render_head, render_page, render_updates
from opencode_tui.schema.json_text import JsonError, decode_json
from opencode_tui.server.address import Address, Listening
from opencode_tui.server.serving import make_server
from opencode_tui.tasks import guarded_tasks, task_group
from opencode_tui.text.export.html import Live
from opencode_tui.text.export.markup import escape

logger = logging.getLogger(__name__)

BODY_LIMIT = 80_000_000
"""Most bytes of a request: the first synchronization has a whole session in it."""

READERS = 100
"""Most open pages of one share that are kept up to date."""

ALL_READERS = 2_000

WAITING_BYTES = 8_000_000
"""Bytes of events that may wait for one reader; a slower one is disconnected, and begins again where it was."""

PULSE_S = 20
"""Seconds between two signs of life to a reader."""

RATES = {"create": (30, 60.0), "sync": (600, 60.0), "read": (1_200, 60.0)}
"""By kind, the requests that one address may send, and in how many seconds."""

_HOST = re.compile(r"[A-Za-z0-9.\-]{1,253}(?::\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?")

_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex, nofollow",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}


class _Reader:
    """One open page."""

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.size = 0
        self.is_lost = False
        self.has_more = asyncio.Event()

    def put(self, event: bytes) -> None:
        """Queue an event, or give the reader up."""
        self.size += len(event)
        self.is_lost = self.is_lost or self.size > WAITING_BYTES
        self.waiting.append(event)
        self.has_more.set()


class ShareApp:
    """The application over a store; `base` is the address that it is known by, by default that of each request."""

    def __init__(self, store: ShareStore, *, base: str | None = None) -> None:
        self._store = store
        self._base = base.rstrip("/") if base else None
        self._readers: dict[str, set[_Reader]] = {}
        self._syncing: dict[str, asyncio.Lock] = {}
        self._seen: dict[tuple[str, str], deque[float]] = {}
        self._is_closed = False
        self.app = Starlette(
            routes=[
                Route("/api/share", self._answering("create", self._create), methods=["POST"]),
                Route("/api/share/{id}/sync", self._answering("sync", self._sync), methods=["POST"]),
                Route("/api/share/{id}", self._answering("sync", self._remove), methods=["DELETE"]),
                Route("/api/share/{id}/data", self._answering("read", self._data), methods=["GET"]),
                Route("/share/{id}", self._answering("read", self._page), methods=["GET"]),
                Route("/share/{id}/events", self._answering("read", self._events), methods=["GET"]),
                Route("/", self._answering("read", self._welcome), methods=["GET"]),
            ]
        )

    def close(self) -> None:
        """End the streams of all readers."""
        self._is_closed = True
        for readers in self._readers.values():
            for reader in readers:
                reader.has_more.set()

    async def sweep(self) -> None:
        """Delete expired shares now and every hour."""
        while True:
            for share_id in await asyncio.to_thread(self._store.sweep):
                self._end(share_id)
            self._seen = {
                key: times for key, times in self._seen.items() if times and times[-1] > time.monotonic() - 60
            }
            await asyncio.sleep(3_600)

    def _answering(
        self, kind: str, act: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                self._limit(kind, request.client.host if request.client else "")
                response = await act(request)
            except ShareRefused as error:
                response = _refusal(request, error.status, str(error))
            except OSError as error:
                logger.error("%s %s failed: %s", request.method, request.scope["path"], error)
                response = _refusal(request, 507, "the server cannot store it now; try again later")
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return answer

    def _limit(self, kind: str, address: str) -> None:
        most, seconds = RATES[kind]
        now = time.monotonic()
        times = self._seen.setdefault((kind, address), deque())
        while times and times[0] < now - seconds:
            times.popleft()
        if len(times) >= most:
            raise ShareRefused(429, "too many requests; try again in a minute")
        times.append(now)

    async def _welcome(self, _request: Request) -> Response:
        return PlainTextResponse("This server shows shared sessions. Open the link that you were given.\n")

    async def _create(self, request: Request) -> Response:
        given = await _read_json(request)
        share_id, secret = await asyncio.to_thread(self._store.create, given.get("sessionID"))
        url = f"{self._base or _origin(request)}/share/{share_id}"
        return JSONResponse({"id": share_id, "url": url, "secret": secret, REMOVED: True})

    async def _sync(self, request: Request) -> Response:
        share = await self._share(request)
        given = await _read_json(request)
        _check(share, given)
        async with self._syncing.setdefault(share.id, asyncio.Lock()):
            changes = await asyncio.to_thread(read_changes, given.get("data"))
            await asyncio.to_thread(self._store.apply, share, changes)
            await self._publish(share, changes)
        return JSONResponse({})

    async def _remove(self, request: Request) -> Response:
        share = await self._share(request)
        _check(share, await _read_json(request))
        await asyncio.to_thread(self._store.remove, share.id)
        self._end(share.id)
        return JSONResponse({})

    async def _data(self, request: Request) -> Response:
        share = await self._share(request)
        data = await asyncio.to_thread(share.data)
        return Response(data, media_type="application/json")

    async def _page(self, request: Request) -> Response:
        share = await self._share(request)
        nonce = secrets.token_urlsafe(16)
        live = Live(f"/share/{share.id}/events?from={share.version}", nonce)
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'nonce-{nonce}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        # a plain iterator: the pieces are made on threads, not on the event loop
        return StreamingResponse(
            render_page(share.items, live),
            media_type="text/html; charset=utf-8",
            headers={"content-security-policy": policy},
        )

    async def _events(self, request: Request) -> Response:
        share = await self._share(request)
        readers = self._readers.setdefault(share.id, set())
        if len(readers) >= READERS or sum(map(len, self._readers.values())) >= ALL_READERS:
            raise ShareRefused(503, "too many readers; reload later")
        given = request.headers.get("last-event-id") or request.query_params.get("from", "")
        since = int(given) if re.fullmatch(r"\d{1,15}", given) else 0
        return StreamingResponse(self._stream(share, since), media_type="text/event-stream")

    async def _stream(self, share: Share, since: int) -> AsyncGenerator[bytes]:
        reader = _Reader()
        readers = self._readers.setdefault(share.id, set())
        readers.add(reader)
        try:
            items, version = share.items, share.version
            missed = changed_since(items, since)
            if missed:
                yield _event("message", await asyncio.to_thread(render_updates, items, missed), version)
            else:
                yield b": connected\n\n"
            while not (reader.is_lost or self._is_closed):
                if not reader.waiting:
                    reader.has_more.clear()
                    try:
                        async with asyncio.timeout(PULSE_S):
                            await reader.has_more.wait()
                    except TimeoutError:
                        yield b": still here\n\n"
                    continue
                event = reader.waiting.popleft()
                reader.size -= len(event)
                yield event
                if event.startswith(b"event: end"):
                    return
        finally:
            readers.discard(reader)
            if not readers and self._readers.get(share.id) is readers:
                del self._readers[share.id]

    async def _publish(self, share: Share, changes: list[Change]) -> None:
        """Send what changed to the open pages; rendered once for all."""
        if not self._readers.get(share.id):
            return
        items, version = share.items, share.version
        touched = {change.key.split("/")[1] for change in changes if "/" in change.key}
        events: list[bytes] = []
        if touched:
            events.append(_event("message", await asyncio.to_thread(render_updates, items, touched), version))
        if any(not change.key.startswith("part/") for change in changes):
            events.append(_event("head", await asyncio.to_thread(render_head, items), version))
        for reader in tuple(self._readers.get(share.id, ())):
            for event in events:
                reader.put(event)

    def _end(self, share_id: str) -> None:
        self._syncing.pop(share_id, None)
        for reader in tuple(self._readers.get(share_id, ())):
            reader.put(_event("end", "{}", 0))

    async def _share(self, request: Request) -> Share:
        return await asyncio.to_thread(self._store.get, request.path_params["id"])


def _check(share: Share, given: dict[str, object]) -> None:
    if not share.admits(given.get("secret")):
        raise ShareRefused(403, "the secret is wrong")


def _event(name: str, data: str, version: int) -> bytes:
    return f"event: {name}\nid: {version}\ndata: {data}\n\n".encode()


async def _read_json(request: Request) -> dict[str, object]:
    """Return the body, a JSON object. Raises ShareRefused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise ShareRefused(415, "send application/json")
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in request.stream():
            size += len(piece)
            if size > BODY_LIMIT:
                raise ShareRefused(413, f"the body is larger than {BODY_LIMIT // 1_000_000} MB")
            pieces.append(piece)
    except ClientDisconnect:
        raise ShareRefused(400, "the body is incomplete") from None
    try:
        given: object = await asyncio.to_thread(decode_json, b"".join(pieces))
    except JsonError as error:
        raise ShareRefused(400, f"the body is not a JSON object ({error})") from error
    if not isinstance(given, dict):
        raise ShareRefused(400, "the body is not a JSON object")
    return cast("dict[str, object]", given)


def _origin(request: Request) -> str:
    """Return the address under which the client called the server."""
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise ShareRefused(400, "the Host header is missing or wrong")
    return f"{request.url.scheme}://{host}"


def _refusal(request: Request, status: int, message: str) -> Response:
    closing = {"connection": "close"} if request.method in ("POST", "DELETE") else {}
    if request.scope["path"].startswith("/api/"):
        return JSONResponse({"error": message}, status, headers=closing)
    page = "".join(_notice(message))
    policy = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
    return Response(page, status, policy, "text/html; charset=utf-8")


def _notice(message: str) -> Iterator[str]:
    yield "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    yield "<meta name=color-scheme content='dark light'><title>Not shared</title>"
    yield "<style>body{font:16px/1.6 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>"
    yield f"<h1>{escape(message.capitalize())}</h1><p>It is no longer shared, has expired, or the link is incomplete.</p>"


@asynccontextmanager
async def serving_shares(
    store: ShareStore, opened: socket.socket, *, listening: Listening, base: str | None = None
) -> AsyncGenerator[Address]:
    """Serve shares on an open socket during the context; yields the address with the actual port.

    `base` is the address by which others reach the server, by default the one that each of them used.
    """
    shares = ShareApp(store, base=base)
    server = make_server(shares.app)  # pyright: ignore[reportArgumentType] - one ASGI, two spellings
    async with task_group() as group, guarded_tasks() as tasks:
        sweeping = tasks.start(shares.sweep(), name="the end of expired shares")
        running = group.create_task(server.serve(sockets=[opened]), name="share server")
        try:
            await server.ready.wait()
            yield Address(listening.host, opened.getsockname()[1])
        finally:
            shares.close()
            server.stop()
            await asyncio.wait({running})
            sweeping.cancel()
