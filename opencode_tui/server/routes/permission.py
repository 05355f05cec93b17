"""Questions that wait for the person's word before a tool goes on."""

from fastapi import APIRouter, Response

from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.permission import PermissionReply, PermissionRequest, Reply
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_records, answer_value
from opencode_tui.server.request import FolderClient, PermissionId, RequestId, SessionId

router = APIRouter(tags=["permission"])


class PermissionResponse(Record):
    """The answer in its older form."""

    response: Reply


@router.get("/permission", response_model=list[PermissionRequest])
async def list_permissions(client: FolderClient) -> Response:
    """List the questions that are open, oldest first."""
    return answer_records(await client.permissions.pending())


@router.post("/permission/{requestID}/reply", response_model=bool)
async def reply_permission(client: FolderClient, request_id: RequestId, answer: PermissionReply) -> Response:
    """Answer a question; the first answer counts."""
    return await _reply(client, request_id, answer)


@router.post("/session/{sessionID}/permissions/{permissionID}", response_model=bool, deprecated=True)
async def respond_permission(
    client: FolderClient, session_id: SessionId, permission_id: PermissionId, answer: PermissionResponse
) -> Response:
    """Answer a question, as older clients do."""
    await client.sessions.get(session_id)
    return await _reply(client, permission_id, PermissionReply(reply=answer.response))


async def _reply(client: FolderClient, request_id: str, answer: PermissionReply) -> Response:
    if not await client.permissions.reply(request_id, answer.reply, answer.message):
        raise NotFoundError(f"no open permission request {request_id}; it was answered, or its turn has ended")
    return answer_value(True)
