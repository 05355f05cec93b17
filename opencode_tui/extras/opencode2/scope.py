"""Parameters of routes: the folder of a request, its session, and how answers are put together."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request, Response
from msgspec import Struct

from opencode_tui.client.client import Client
from opencode_tui.extras.opencode2.errors import no_session
from opencode_tui.extras.opencode2.feed import Feed
from opencode_tui.extras.opencode2.schema.location import LocatedProject, Location
from opencode_tui.schema.error import ConfigError, NotFoundError
from opencode_tui.schema.ids import is_identifier
from opencode_tui.schema.record import JsonObject, Record
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import ServerServices

Value = Record | Sequence[Record] | Mapping[str, Any] | None


def feed_of(request: Request) -> Feed:
    """Return the server's feed."""
    feed = request.app.state.feed
    assert isinstance(feed, Feed)
    return feed


EventFeed = Annotated[Feed, Depends(feed_of)]

Word = Annotated[str, Query(max_length=4_096, pattern=r"^[^\x00]*$")]


async def located_client(
    services: ServerServices,
    directory: Annotated[
        str | None,
        Query(
            alias="location[directory]", max_length=4_096, pattern=r"^[^\x00]*$", description="The folder, absolute."
        ),
    ] = None,
    x_opencode_directory: Annotated[str | None, Header(description="The same, percent-encoded.")] = None,
) -> Client:
    """Return the client of the folder of a request. Raises ConfigError."""
    return await services.clients.at(directory or unquote(x_opencode_directory or "") or None)


LocatedClient = Annotated[Client, Depends(located_client)]

SessionName = Annotated[str, Path(alias="sessionID", pattern=r"^ses", max_length=200)]
MessageName = Annotated[str, Path(alias="messageID", pattern=r"^msg_", max_length=200)]


class SessionScope(Struct, frozen=True):
    """A session, and the client of its folder."""

    client: Client
    info: SessionInfo

    @property
    def id(self) -> str:
        """The session's ID."""
        return self.info.id


async def session_scope(services: ServerServices, session_id: SessionName) -> SessionScope:
    """Return the session of the path, in its own folder; a session whose folder is gone in that of the server."""
    here = await services.clients.at()
    if not is_identifier(session_id, "ses"):
        raise no_session(session_id)
    try:
        info = await here.sessions.get(session_id)
    except NotFoundError:
        raise no_session(session_id) from None
    try:
        client = await services.clients.at(info.directory)
    except ConfigError:
        client = here
    return SessionScope(client, info)


Session = Annotated[SessionScope, Depends(session_scope)]


async def location_of(client: Client) -> Location:
    """Return the folder of a client and its project."""
    project = await client.project.current()
    home = LocatedProject(id=project.id, directory=project.worktree)
    return Location(directory=str(client.directory), project=home)


def plain(value: Value) -> Any:
    """Return a value as plain JSON data."""
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping) or value is None:
        return value
    return [one.to_dict() for one in value]


def answer_data(value: Value, **fields: object) -> Response:
    """Return the answer `{data}`."""
    return answer_value({"data": plain(value), **fields})


async def answer_located(client: Client, value: Value) -> Response:
    """Return the answer `{location, data}`."""
    body: JsonObject = {"location": (await location_of(client)).to_dict(), "data": plain(value)}
    return answer_value(body)


def done() -> Response:
    """Return the answer to what has no result."""
    return Response(status_code=204)
