"""The event streams."""

from fastapi import APIRouter, Response

from opencode_tui.server.event_stream import EventStream
from opencode_tui.server.request import FolderClient, ServerServices

router = APIRouter(tags=["event"])

_STREAM: dict[int | str, dict[str, object]] = {
    200: {"description": "Events, one line of JSON each.", "content": {"text/event-stream": {}}}
}


@router.get("/event", response_class=Response, responses=_STREAM)
async def stream_events(client: FolderClient, services: ServerServices) -> Response:
    """Stream the events of one folder as `{type, properties}`, `server.connected` first."""
    return EventStream(services.hub, str(client.directory))


@router.get("/global/event", response_class=Response, responses=_STREAM)
async def stream_all_events(services: ServerServices) -> Response:
    """Stream the events of all folders as `{directory, payload}`."""
    return EventStream(services.hub, None)
