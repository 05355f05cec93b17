"""Responses whose body comes later than their head, and the detection of clients that disconnect meanwhile.

Clients with a limit on the time to the first byte stay connected however long a turn runs; for those with a limit on the time
between two bytes a blank is sent now and then, which JSON allows before a value. Source: reference, `http.md` 1.
"""

import asyncio
from collections.abc import Awaitable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from opencode_tui.schema.http_headers import MESSAGE_HEADER
from opencode_tui.server.answer import JSON_TYPE


async def until_disconnected(receive: Receive) -> None:
    """Wait until the client has disconnected; discards what it sends."""
    while (await receive())["type"] != "http.disconnect":
        pass


BLANK_S = 30.0
"""Seconds without data after which a space is sent."""


class LateAnswer(Response):
    """Sends the id of the request at once, and the bytes of `body` later; a disconnecting client does not end the work."""

    media_type = JSON_TYPE

    def __init__(self, body: Awaitable[bytes], request_id: str | None = None) -> None:
        super().__init__(headers={MESSAGE_HEADER: request_id} if request_id else None)
        del self.headers["content-length"]
        self._late = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the head, wait, send the body."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        working = asyncio.ensure_future(self._late)
        watching = asyncio.create_task(until_disconnected(receive))
        try:
            while not (working.done() or watching.done()):
                await asyncio.wait({working, watching}, timeout=BLANK_S, return_when=asyncio.FIRST_COMPLETED)
                if not (working.done() or watching.done()):
                    await send({"type": "http.response.body", "body": b" ", "more_body": True})
            if working.done():
                await send({"type": "http.response.body", "body": working.result(), "more_body": False})
        finally:
            working.cancel()
            watching.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)
