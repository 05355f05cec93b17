"""The answer that never ends: a listener's frames as `text/event-stream`.

A client that goes away, or is cut off because it does not read, ends it; a write that the client blocks holds up nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from opencode_tui.server.disconnect import until_disconnected
from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.frame import Frame
from opencode_tui.server.listener import Listener

Opening = Callable[[], Awaitable[Sequence[Frame]]]

FLUSH_S = 0.25
"""Seconds that a client has at the end of the stream to take what waits for it."""


class EventStream(Response):
    """Sends what a listener gets; `directory` None means everything. `opening` brings what is told to this listener first."""

    media_type = "text/event-stream"

    def __init__(self, hub: EventHub, directory: str | None, opening: Opening | None = None) -> None:
        super().__init__(headers={"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub
        self._directory = directory
        self._opening = opening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client goes away or the listener ends."""
        with self._hub.listen(self._directory) as listener:
            for frame in await self._opening() if self._opening is not None else ():
                listener.offer(frame)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            sending = asyncio.create_task(_send_frames(listener, send))
            watching = asyncio.create_task(until_disconnected(receive))
            ending = asyncio.create_task(listener.ended())
            tasks = {sending, watching, ending}
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                if not watching.done():
                    await asyncio.wait({sending, watching}, timeout=FLUSH_S, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def _send_frames(listener: Listener, send: Send) -> None:
    while frames := await listener.read():
        await send({"type": "http.response.body", "body": frames, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
