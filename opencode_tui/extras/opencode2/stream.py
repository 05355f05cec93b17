"""Event streams: `data: ` and one line of JSON, with a comment as heartbeat."""

import asyncio
from collections.abc import AsyncGenerator

from fastapi import Response
from starlette.types import Receive, Scope, Send

from opencode_tui.client.client import Client
from opencode_tui.extras.opencode2.feed import Feed, encode
from opencode_tui.extras.opencode2.journal import Journal
from opencode_tui.server.answer import until_disconnected

BEAT_S = 10.0
"""Seconds without events after which a comment is sent."""

TICK_S = 0.5
"""Seconds after which a stream looks whether the server ends."""

_BEAT = b": heartbeat\n\n"
_BATCH = 500


async def all_events(feed: Feed) -> AsyncGenerator[bytes]:
    """Return what all sessions and folders do from now on."""
    with feed.listen() as queue:
        yield _frame(feed.greeting())
        while True:
            lines = await queue.read(BEAT_S)
            if lines:
                yield b"".join(map(_frame, lines))
            elif queue.is_closed:
                return
            else:
                yield _BEAT


async def session_events(feed: Feed, client: Client, journal: Journal, after: int) -> AsyncGenerator[bytes]:
    """Return the durable events of a session from a number on, those that there are first."""
    waited = 0.0
    while not feed.is_closed or journal.after(after):
        events = await feed.render(client, journal, after, _BATCH)
        if events:
            after = events[-1]["durable"]["seq"]
            yield b"".join(_frame(encode(event)) for event in events)
            waited = 0.0
            continue
        if not await journal.wait(max(after, len(journal.entries)), TICK_S):
            waited += TICK_S
        if waited >= BEAT_S:
            waited = 0.0
            yield _BEAT


def _frame(line: bytes) -> bytes:
    return b"data: %b\n\n" % line


class Stream(Response):
    """Sends pieces until they end or the client disconnects."""

    media_type = "text/event-stream"

    def __init__(self, pieces: AsyncGenerator[bytes]) -> None:
        super().__init__(headers={"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head at once, then the pieces."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        tasks = {asyncio.create_task(self._send(send)), asyncio.create_task(until_disconnected(receive))}
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._pieces.aclose()

    async def _send(self, send: Send) -> None:
        async for piece in self._pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
