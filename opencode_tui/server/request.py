"""Parameters of routes: the folder of a request, ids, and the server's services.

Folder: `?directory=`, else the header `x-opencode-directory` (percent-encoded), else that of the process. Source: `http.md` 2.
"""

from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request
from msgspec import Struct

from opencode_tui.client.client import Client, Clients
from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.screen_requests import ScreenRequests
from opencode_tui.server.turns import Turns

if TYPE_CHECKING:
    from opencode_tui.server.pty import Terminals


class Services(Struct, frozen=True):
    """The services of one server, in `app.state.services`; `terminals` is None where they are off."""

    clients: Clients
    hub: EventHub
    turns: Turns
    screens: ScreenRequests
    terminals: "Terminals | None" = None


def services_of(request: Request) -> Services:
    """Return the server's services."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services


ServerServices = Annotated[Services, Depends(services_of)]


async def client_of(
    services: ServerServices,
    directory: Annotated[str | None, Query(description="The folder to work in; an absolute path.")] = None,
    x_opencode_directory: Annotated[str | None, Header(description="The same, percent-encoded.")] = None,
) -> Client:
    """Return the client of the folder of a request."""
    return await services.clients.at(directory or unquote(x_opencode_directory or "") or None)


FolderClient = Annotated[Client, Depends(client_of)]


def _id(name: str, prefix: str) -> object:
    return Path(alias=name, pattern=rf"^{prefix}_[0-9A-Za-z]{{1,60}}$")


SessionId = Annotated[str, _id("sessionID", "ses")]
MessageId = Annotated[str, _id("messageID", "msg")]
PartId = Annotated[str, _id("partID", "prt")]
RequestId = Annotated[str, _id("requestID", "per")]
QuestionId = Annotated[str, _id("requestID", "que")]
PermissionId = Annotated[str, _id("permissionID", "per")]
ProviderId = Annotated[str, Path(alias="providerID", pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$")]
