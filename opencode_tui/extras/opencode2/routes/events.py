"""Health, the location, and the streams of events."""

from typing import Annotated

from fastapi import Query, Response

from opencode_tui.extras.opencode2.scope import EventFeed, LocatedClient, Session, location_of
from opencode_tui.extras.opencode2.stream import Stream, all_events, session_events
from opencode_tui.server.answer import answer_record, answer_value
from opencode_tui.server.router import new_router

router = new_router("opencode2-events", prefix="/api")

_PAGE = 50
After = Annotated[int, Query(ge=0, le=2**53)]


@router.get("/health")
async def get_health() -> Response:
    """Say that the server answers."""
    return answer_value({"healthy": True})


@router.get("/location")
async def get_location(client: LocatedClient) -> Response:
    """Return the folder and its project."""
    return answer_record(await location_of(client))


@router.get("/event")
async def stream_events(feed: EventFeed) -> Response:
    """Stream what all sessions and folders do."""
    return Stream(all_events(feed))


@router.get("/session/{sessionID}/event")
async def stream_session_events(feed: EventFeed, session: Session, after: After = 0) -> Response:
    """Stream the durable events of a session with greater numbers than `after`."""
    journal = await feed.journal(session.client, session.id)
    return Stream(session_events(feed, session.client, journal, after))


@router.get("/session/{sessionID}/history")
async def list_events(
    feed: EventFeed, session: Session, limit: Annotated[int, Query(ge=1, le=100)] = _PAGE, after: After = 0
) -> Response:
    """Return the durable events of a session with greater numbers than `after`, the first ones first."""
    journal = await feed.journal(session.client, session.id)
    events = await feed.render(session.client, journal, after, limit)
    has_more = bool(events) and bool(journal.after(events[-1]["durable"]["seq"]))
    return answer_value({"data": events, "hasMore": has_more})
