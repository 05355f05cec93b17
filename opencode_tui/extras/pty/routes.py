"""OpenCode's `/pty` routes: terminals of the server. Off unless the setting `server.pty` is on."""

import asyncio
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Response, WebSocket
from starlette.exceptions import HTTPException

from opencode_tui.schema.api.pty import Pty, PtyCreate, PtyUpdate
from opencode_tui.schema.error import NotFoundError
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient, ServerServices, Services
from opencode_tui.server.router import new_router
from opencode_tui.server.terminals import InputQueue

if TYPE_CHECKING:
    from opencode_tui.extras.pty.terminals import Connection, PtyTerminals

router: APIRouter = new_router("pty", prefix="/pty")

OFF = "this server has no terminals; set server.pty to true in your own settings and start it again"
_TOO_SLOW = 1013
_UNKNOWN = 4404

PtyId = Annotated[str, Path(alias="ptyID", pattern=r"^pty_[0-9A-Za-z]{1,60}$")]


def terminals_of(services: Services) -> "PtyTerminals":
    """Return the terminals of a server. Raises HTTPException where they are off."""
    if services.terminals is None:
        raise HTTPException(403, OFF)
    from opencode_tui.extras.pty.terminals import PtyTerminals  # few servers have terminals

    assert isinstance(services.terminals, PtyTerminals)
    return services.terminals


@router.get("", response_model=list[Pty])
async def list_pty(client: FolderClient, services: ServerServices) -> Response:
    """List the terminals of the folder."""
    return answer_records(terminals_of(services).list(str(client.directory)))


@router.post("", response_model=Pty)
async def create_pty(client: FolderClient, services: ServerServices, request: PtyCreate | None = None) -> Response:
    """Start a terminal: a login shell, or a command."""
    return answer_record(await terminals_of(services).create(str(client.directory), request or PtyCreate()))


@router.get("/{ptyID}", response_model=Pty)
async def get_pty(services: ServerServices, pty_id: PtyId) -> Response:
    """Read one terminal."""
    return answer_record(terminals_of(services).get(pty_id))


@router.put("/{ptyID}", response_model=Pty)
async def update_pty(services: ServerServices, pty_id: PtyId, request: PtyUpdate) -> Response:
    """Change the title or the size of a terminal."""
    return answer_record(terminals_of(services).update(pty_id, request))


@router.delete("/{ptyID}", response_model=bool)
async def remove_pty(services: ServerServices, pty_id: PtyId) -> Response:
    """End a terminal with all its processes, and remove it."""
    await terminals_of(services).remove(pty_id)
    return answer_value(True)


@router.get("/{ptyID}/connect", response_model=bool)
async def refuse_plain_connection(services: ServerServices, pty_id: PtyId) -> Response:
    """Connect to a terminal by WebSocket: text frames are its output from what it kept on, and its input."""
    terminals_of(services).get(pty_id)
    raise HTTPException(426, "connect by WebSocket")


@router.websocket("/{ptyID}/connect")
async def connect_pty(socket: WebSocket, pty_id: PtyId) -> None:
    """Exchange the output and the input of a terminal until either side ends."""
    services = socket.app.state.services
    assert isinstance(services, Services)
    await connect_terminal(socket, services, pty_id)


async def connect_terminal(socket: WebSocket, services: Services, pty_id: str) -> None:
    """Exchange the output and the input of a terminal until either side ends; an unknown one closes the socket."""
    terminals = terminals_of(services)
    try:
        with terminals.connect(pty_id) as connection:
            await socket.accept()
            await _exchange(socket, terminals, pty_id, connection)
    except NotFoundError as error:
        await socket.close(_UNKNOWN, str(error))


async def _exchange(socket: WebSocket, terminals: "PtyTerminals", pty_id: str, connection: "Connection") -> None:
    given = InputQueue()
    receiving = asyncio.create_task(_receive(socket, given))
    tasks = (
        receiving,
        asyncio.create_task(_send(socket, connection)),
        asyncio.create_task(_write(given, terminals, pty_id)),
    )
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if given.is_full or not receiving.done():
            await socket.close(_TOO_SLOW if given.is_full or connection.is_slow else 1000)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(socket: WebSocket, connection: "Connection") -> None:
    while (text := await connection.read()) is not None:
        await socket.send_text(text)


async def _receive(socket: WebSocket, given: InputQueue) -> None:
    """Read until the client disconnects, also while the program does not read, or has sent too much."""
    while not given.is_full:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        given.add(message.get("text") or message.get("bytes") or b"")


async def _write(given: InputQueue, terminals: "PtyTerminals", pty_id: str) -> None:
    while True:
        await terminals.write(pty_id, await given.next())
