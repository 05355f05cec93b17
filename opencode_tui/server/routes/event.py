"""The event streams: a listener's frames as `text/event-stream`, the open requests first.

A client that goes away, or is cut off because it does not read, ends its stream; a blocked write delays nothing else.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fastapi import Response
from starlette.types import Receive, Scope, Send

from opencode_tui.client.client import Client
from opencode_tui.schema.event.event import PermissionAsked, QuestionAsked, StructuralEvent
from opencode_tui.schema.http_headers import OWN
from opencode_tui.server.answer import until_disconnected
from opencode_tui.server.event_hub import EventHub, Listener
from opencode_tui.server.frame import Frame
from opencode_tui.server.request import FolderClient, ServerServices
from opencode_tui.server.router import new_router

router = new_router("event")
own_router = new_router("opencode-tui", prefix=OWN)

_STREAM: dict[int | str, dict[str, object]] = {
    200: {"description": "Events, one line of JSON each.", "content": {"text/event-stream": {}}}
}


@router.get("/event", response_class=Response, responses=_STREAM)
async def stream_events(client: FolderClient, services: ServerServices) -> Response:
    """Stream the events of one folder as `{type, properties}`, `server.connected` first, then the questions that are open."""
    return EventStream(services.hub, str(client.directory), partial(open_requests, client))


@router.get("/global/event", response_class=Response, responses=_STREAM)
async def stream_all_events(client: FolderClient, services: ServerServices) -> Response:
    """Stream the events of all folders as `{directory, payload}`; first the questions that are open in the asked one."""
    return EventStream(services.hub, None, partial(open_requests, client))


@own_router.get("/event", response_class=Response, responses=_STREAM)
async def stream_news(client: FolderClient, services: ServerServices) -> Response:
    """Stream the events of one folder from now on; read open requests by `/permission` and `/question`."""
    return EventStream(services.hub, str(client.directory))


Opening = Callable[[], Awaitable[Sequence[Frame]]]

FLUSH_S = 0.25
"""Seconds that a client has at the end of the stream to read the queued frames."""


class EventStream(Response):
    """Sends a listener's frames; `directory` None means all folders. `opening` returns frames for this listener only."""

    media_type = "text/event-stream"

    def __init__(self, hub: EventHub, directory: str | None, opening: Opening | None = None) -> None:
        super().__init__(headers={"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._hub = hub
        self._directory = directory
        self._opening = opening

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the client disconnects or the listener ends."""
        with self._hub.listen(self._directory) as listener:
            for frame in await self._opening() if self._opening is not None else ():
                listener.enqueue(frame)
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


async def open_requests(client: Client) -> list[Frame]:
    """Return the open questions of a folder, oldest first; with an engine in the process nothing happens in between."""
    permissions, questions = await client.permissions.pending(), await client.questions.pending()
    asked: list[StructuralEvent] = [PermissionAsked.model_validate(request.to_dict()) for request in permissions]
    asked += [QuestionAsked.model_validate(request.to_dict()) for request in questions]
    return [Frame.of(str(client.directory), event) for event in asked]
