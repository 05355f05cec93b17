"""Messages of a session: read them, send one."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from opencode_tui.schema.error import SessionError
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.part import Part
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.request import CommandInput, PromptInput, ShellInput
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.late_answer import LateAnswer
from opencode_tui.server.mentioned import with_files_of
from opencode_tui.server.older_prompt import in_present_names
from opencode_tui.server.request import FolderClient, MessageId, PartId, ServerServices, SessionId

router = APIRouter(tags=["message"])


class InitInput(Record):
    """The id of the request to be made, and the model that is to answer it."""

    message_id: str | None = absent()
    provider_id: str
    model_id: str


@router.get("/session/{sessionID}/message", response_model=list[MessageWithParts])
async def list_messages(
    client: FolderClient, session_id: SessionId, limit: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """Return the newest `limit` messages with their parts, oldest first."""
    await client.sessions.get(session_id)
    return answer_records(await client.messages.list(session_id, limit))


@router.get("/session/{sessionID}/message/{messageID}", response_model=MessageWithParts)
async def get_message(client: FolderClient, session_id: SessionId, message_id: MessageId) -> Response:
    """Return one message with its parts."""
    await client.sessions.get(session_id)
    return answer_record(await client.messages.get(session_id, message_id))


@router.post("/session/{sessionID}/message", response_model=MessageWithParts)
async def send_message(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: PromptInput
) -> Response:
    """Send a request: the head of the answer tells that it is stored, the body is the last message when the turn is over."""
    await client.sessions.get(session_id)
    turn = await services.turns.prompt(client, session_id, await _read(client, request))
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/prompt_async", status_code=204, response_class=Response)
async def send_message_later(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: PromptInput
) -> Response:
    """Send a request and wait only until it is stored."""
    await client.sessions.get(session_id)
    await services.turns.prompt(client, session_id, await _read(client, request))
    return Response(status_code=204)


@router.post("/session/{sessionID}/command", response_model=MessageWithParts)
async def send_command(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: CommandInput
) -> Response:
    """Send the prompt that a slash command stands for, and answer as a message is answered."""
    await client.sessions.get(session_id)
    turn = await services.turns.command(client, session_id, request)
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/shell", response_model=MessageWithParts)
async def run_shell(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: ShellInput
) -> Response:
    """Run a command line of the person's; answers with the message that holds its call when it has ended."""
    await client.sessions.get(session_id)
    turn = await services.turns.shell(client, session_id, request)
    return LateAnswer(turn.answer(), turn.request_id)


@router.post("/session/{sessionID}/init", response_model=bool)
async def send_init(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: InitInput
) -> Response:
    """Have this project's AGENTS.md written or renewed; answers when the turn is over."""
    await client.sessions.get(session_id)
    model = f"{request.provider_id}/{request.model_id}"
    command = CommandInput(command="init", message_id=request.message_id, model=model)
    turn = await services.turns.command(client, session_id, command)
    return LateAnswer(turn.success())


@router.patch("/session/{sessionID}/message/{messageID}/part/{partID}", response_model=Part)
async def update_part(
    client: FolderClient, session_id: SessionId, message_id: MessageId, part_id: PartId, part: Part
) -> Response:
    """Put a part in the place of the one with its id; the ids inside must be those of the address."""
    if (part.session_id, part.message_id, part.id) != (session_id, message_id, part_id):
        raise SessionError(f"the part's ids are not those of the address {part_id}; send the part that was read there")
    await client.sessions.get(session_id)
    return answer_record(await client.messages.update_part(part))


@router.delete("/session/{sessionID}/message/{messageID}/part/{partID}", response_model=bool)
async def remove_part(client: FolderClient, session_id: SessionId, message_id: MessageId, part_id: PartId) -> Response:
    """Delete a part."""
    await client.sessions.get(session_id)
    await client.messages.remove_part(session_id, message_id, part_id)
    return answer_value(True)


async def _read(client: FolderClient, request: PromptInput) -> PromptInput:
    """Return a request as it is meant: in today's names, its files where this server has them."""
    return await with_files_of(client.directory, in_present_names(request))
