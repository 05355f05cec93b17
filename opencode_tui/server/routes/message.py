"""Messages of a session: read them, send one."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.request import PromptInput
from opencode_tui.server.answer import answer_record, answer_records
from opencode_tui.server.late_answer import LateAnswer
from opencode_tui.server.request import FolderClient, MessageId, ServerServices, SessionId

router = APIRouter(tags=["message"])


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
    turn = await services.turns.begin(client, session_id, request)
    return LateAnswer(turn.answer())


@router.post("/session/{sessionID}/prompt_async", status_code=204, response_class=Response)
async def send_message_later(
    client: FolderClient, services: ServerServices, session_id: SessionId, request: PromptInput
) -> Response:
    """Send a request and wait only until it is stored."""
    await client.sessions.get(session_id)
    await services.turns.begin(client, session_id, request)
    return Response(status_code=204)
