"""OpenCode 2's `/api/pty` routes: the same terminals as behind `/pty`. A server without terminals has none of them."""

from typing import Annotated

from fastapi import APIRouter, Path, Response, WebSocket
from starlette.exceptions import HTTPException

from opencode_tui.extras.opencode2.errors import AnswerError, invalid
from opencode_tui.extras.opencode2.scope import LocatedClient, answer_located, done
from opencode_tui.extras.pty.routes import OFF, connect_terminal, terminals_of
from opencode_tui.extras.pty.terminals import PtyTerminals
from opencode_tui.schema.api.pty import Pty, PtyCreate, PtyUpdate
from opencode_tui.schema.error import NotFoundError
from opencode_tui.server.request import ServerServices, Services
from opencode_tui.server.router import new_router

router: APIRouter = new_router("opencode2-pty", prefix="/api/pty")

PtyName = Annotated[str, Path(alias="ptyID", pattern=r"^pty", max_length=200)]


def _unknown(name: str) -> AnswerError:
    return AnswerError(404, "PtyNotFoundError", f"PTY session not found: {name}", ptyID=name)


def _one(services: Services, name: str) -> tuple[PtyTerminals, Pty]:
    """Return the terminals and one of them. Raises AnswerError."""
    if services.terminals is None:
        raise _unknown(name)
    terminals = terminals_of(services)
    try:
        return terminals, terminals.get(name)
    except NotFoundError:
        raise _unknown(name) from None


@router.get("")
async def list_pty(client: LocatedClient, services: ServerServices) -> Response:
    """List the terminals of the folder."""
    found = terminals_of(services).list(str(client.directory)) if services.terminals is not None else list[Pty]()
    return await answer_located(client, found)


@router.post("")
async def create_pty(client: LocatedClient, services: ServerServices, request: PtyCreate | None = None) -> Response:
    """Start a terminal: a login shell, or a command."""
    if services.terminals is None:
        raise invalid(OFF)
    return await answer_located(
        client, await terminals_of(services).create(str(client.directory), request or PtyCreate())
    )


@router.get("/{ptyID}")
async def get_pty(client: LocatedClient, services: ServerServices, name: PtyName) -> Response:
    """Return one terminal."""
    return await answer_located(client, _one(services, name)[1])


@router.put("/{ptyID}")
async def update_pty(client: LocatedClient, services: ServerServices, name: PtyName, request: PtyUpdate) -> Response:
    """Change the title or the size of a terminal."""
    terminals, _ = _one(services, name)
    return await answer_located(client, terminals.update(name, request))


@router.delete("/{ptyID}", status_code=204)
async def remove_pty(services: ServerServices, name: PtyName) -> Response:
    """End a terminal with all its processes, and remove it."""
    terminals, _ = _one(services, name)
    await terminals.remove(name)
    return done()


@router.post("/{ptyID}/connect-token")
async def make_ticket(services: ServerServices, name: PtyName) -> Response:
    """Refuse a ticket: a socket has the password, as every request."""
    _one(services, name)
    raise HTTPException(403, "there are no tickets here; connect with the password, by basic or bearer authorization")


@router.get("/{ptyID}/connect")
async def refuse_plain_connection(services: ServerServices, name: PtyName) -> Response:
    """Connect to a terminal by WebSocket: text frames are its output from what it kept on, and its input."""
    _one(services, name)
    raise invalid("connect by WebSocket")


@router.websocket("/{ptyID}/connect")
async def connect_pty(socket: WebSocket, name: PtyName) -> None:
    """Exchange the output and the input of a terminal until either side ends."""
    services = socket.app.state.services
    assert isinstance(services, Services)
    await connect_terminal(socket, services, name)
