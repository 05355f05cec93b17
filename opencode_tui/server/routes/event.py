"""The event streams."""

from functools import partial

from fastapi import APIRouter, Response

from opencode_tui.schema.header import OWN
from opencode_tui.server.event_stream import EventStream
from opencode_tui.server.open_requests import open_requests
from opencode_tui.server.request import FolderClient, ServerServices

router = APIRouter(tags=["event"])
own_router = APIRouter(prefix=OWN, tags=["opencode-tui"])

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
    """Stream the events of one folder from now on: who listens here reads the open questions by `/permission` and `/question`."""
    return EventStream(services.hub, str(client.directory))
