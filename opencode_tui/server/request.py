"""Parameters of routes: the folder of a request, ids, and the server's services.

Folder: `?directory=`, else the header `x-opencode-directory` (percent-encoded), else that of the process.
Source: docs/internals/http.md#transport.
"""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Path, Query, Request
from msgspec import Struct

from opencode_tui.client.client import Client
from opencode_tui.server.event_hub import EventHub
from opencode_tui.server.screen_requests import ScreenRequests
from opencode_tui.server.turns import Turns

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClients
    from opencode_tui.server.terminals import Terminals


class Services(Struct, frozen=True):
    """The services of one server, in `app.state.services`; `terminals` is None where they are off."""

    clients: "LocalClients"
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
    return await services.clients.at(directory or unquote(x_opencode_directory or "", errors="surrogateescape") or None)


FolderClient = Annotated[Client, Depends(client_of)]


FORMS: dict[str, dict[str, Any]] = {
    "session_id": {"pattern": r"^ses_[0-9A-Za-z]{1,60}$"},
    "message_id": {"pattern": r"^msg_[0-9A-Za-z]{1,60}$"},
    "part_id": {"pattern": r"^prt_[0-9A-Za-z]{1,60}$"},
    "permission_id": {"pattern": r"^per_[0-9A-Za-z]{1,60}$"},
    "question_id": {"pattern": r"^que_[0-9A-Za-z]{1,60}$"},
    "request_id": {"pattern": r"^(per|que)_[0-9A-Za-z]{1,60}$"},
    "provider_id": {"pattern": r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$"},
    "command_id": {"pattern": r"^bg[0-9]{1,9}$"},
    "trash_id": {"pattern": r"^([0-9]{1,20}-)?ses_[0-9A-Za-z]{1,60}$"},
    "sign_in_id": {"pattern": r"^[0-9a-f]{16}$"},
    "account_id": {"pattern": r"^[0-9a-f]{12}$"},
    "limit": {"ge": 1, "le": 10_000},
    "since": {"ge": 0},
}
"""What a parameter of a path or a query may be, by its name."""

WORD: dict[str, Any] = {"max_length": 4_096, "pattern": r"^[^\x00]*$"}
"""What a text in a query may be: without NUL, which file names and arguments of programs cannot contain."""

SessionId = Annotated[str, Path(alias="sessionID", **FORMS["session_id"])]
MessageId = Annotated[str, Path(alias="messageID", **FORMS["message_id"])]
PartId = Annotated[str, Path(alias="partID", **FORMS["part_id"])]
RequestId = Annotated[str, Path(alias="requestID", **FORMS["permission_id"])]
QuestionId = Annotated[str, Path(alias="requestID", **FORMS["question_id"])]
PermissionId = Annotated[str, Path(alias="permissionID", **FORMS["permission_id"])]
ProviderId = Annotated[str, Path(alias="providerID", **FORMS["provider_id"])]
