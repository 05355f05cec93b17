"""Permission requests and questions that wait for the user before a tool continues."""

from fastapi import Response

from opencode_tui.schema.api.question import QuestionAnswers, QuestionRequest
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.permission import PermissionReply, PermissionRequest, Reply
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_records, answer_value
from opencode_tui.server.request import FolderClient, PermissionId, QuestionId, RequestId, SessionId
from opencode_tui.server.router import new_router

permission_router = new_router("permission")


class PermissionResponse(Record):
    """The answer in its older form."""

    response: Reply


@permission_router.get("/permission", response_model=list[PermissionRequest])
async def list_permissions(client: FolderClient) -> Response:
    """List the questions that are open, oldest first."""
    return answer_records(await client.permissions.pending())


@permission_router.post("/permission/{requestID}/reply", response_model=bool)
async def reply_permission(client: FolderClient, request_id: RequestId, answer: PermissionReply) -> Response:
    """Answer a question; the first answer counts."""
    return await _reply_to_permission(client, request_id, answer)


@permission_router.post("/session/{sessionID}/permissions/{permissionID}", response_model=bool, deprecated=True)
async def respond_permission(
    client: FolderClient, session_id: SessionId, permission_id: PermissionId, answer: PermissionResponse
) -> Response:
    """Answer a question, as older clients do."""
    await client.sessions.get(session_id)
    return await _reply_to_permission(client, permission_id, PermissionReply(reply=answer.response))


async def _reply_to_permission(client: FolderClient, request_id: str, answer: PermissionReply) -> Response:
    host = answer.host is True
    if not await client.permissions.reply(request_id, answer.reply, answer.message, always=answer.always, host=host):
        raise NotFoundError(f"no open permission request {request_id}; it was answered, or its turn has ended")
    return answer_value(True)


question_router = new_router("question")


@question_router.get("/question", response_model=list[QuestionRequest])
async def list_questions(client: FolderClient) -> Response:
    """List the questions that are open, oldest first."""
    return answer_records(await client.questions.pending())


@question_router.post("/question/{requestID}/reply", response_model=bool)
async def reply_question(client: FolderClient, request_id: QuestionId, answer: QuestionAnswers) -> Response:
    """Answer; the first answer counts."""
    return _reply_to_question(request_id, await client.questions.reply(request_id, answer.answers))


@question_router.post("/question/{requestID}/reject", response_model=bool)
async def reject_question(client: FolderClient, request_id: QuestionId) -> Response:
    """Dismiss a question, which ends the turn."""
    return _reply_to_question(request_id, await client.questions.reject(request_id))


def _reply_to_question(request_id: str, was_open: bool) -> Response:
    if not was_open:
        raise NotFoundError(f"no open question {request_id}; it was answered, or its turn has ended")
    return answer_value(True)
