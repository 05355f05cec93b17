"""Permissions and questions that wait for the user, and permissions that were granted."""

import base64
import binascii
import json
from typing import Annotated

from fastapi import Path, Query, Response

from opencode_tui.extras.opencode2.errors import AnswerError
from opencode_tui.extras.opencode2.requests import permission_value, question_value
from opencode_tui.extras.opencode2.schema.session import (
    NewPermission,
    PermissionAnswer,
    QuestionAnswer,
    SavedPermission,
)
from opencode_tui.extras.opencode2.scope import (
    LocatedClient,
    Session,
    SessionScope,
    answer_data,
    answer_located,
    done,
)
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.permission import OpenPermission, PermissionRequest, Rule, ToolCallRef
from opencode_tui.server.request import ServerServices
from opencode_tui.server.router import new_router

router = new_router("opencode2-request", prefix="/api")

PermissionName = Annotated[str, Path(alias="requestID", pattern=r"^per", max_length=200)]
QuestionName = Annotated[str, Path(alias="requestID", pattern=r"^que", max_length=200)]

_SAVED = "psv_"
_IDS = Identifier()


def _no_permission(request_id: str) -> AnswerError:
    text = f"Permission request not found: {request_id}"
    return AnswerError(404, "PermissionNotFoundError", text, requestID=request_id)


def _no_question(request_id: str) -> AnswerError:
    text = f"Question request not found: {request_id}"
    return AnswerError(404, "QuestionNotFoundError", text, requestID=request_id)


@router.get("/permission/request")
async def list_permissions(client: LocatedClient) -> Response:
    """List the permissions that a folder's sessions ask for."""
    return await answer_located(client, [permission_value(one) for one in await client.permissions.pending()])


@router.get("/permission/saved")
async def list_saved(
    services: ServerServices, project: Annotated[str | None, Query(alias="projectID")] = None
) -> Response:
    """List the permissions that the user granted for good, in the server's own folder."""
    client = await services.clients.at()
    home = (await client.project.current()).id
    grants = [] if project not in (None, home) else (await client.rules.list(None)).grants
    return answer_data([_saved(rule, home) for rule in grants])


def _saved(rule: Rule, project: str) -> SavedPermission:
    name = base64.urlsafe_b64encode(json.dumps([rule.permission, rule.pattern]).encode()).decode().rstrip("=")
    return SavedPermission(id=_SAVED + name, project_id=project, action=rule.permission, resource=rule.pattern)


@router.delete("/permission/saved/{id}", status_code=204)
async def remove_saved(services: ServerServices, saved_id: Annotated[str, Path(alias="id")]) -> Response:
    """Ask the user again for a permission; one that is not there stays so."""
    word = saved_id.removeprefix(_SAVED)
    try:
        data = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        permission, pattern = map(str, load_json(data))
    except (binascii.Error, ValueError, TypeError):
        return done()
    await (await services.clients.at()).rules.revoke(permission, pattern)
    return done()


@router.post("/session/{sessionID}/permission")
async def ask_permission(session: Session, request: NewPermission) -> Response:
    """Decide about what a client wants to do, by the rules; if they say so, the user is asked."""
    client = session.client
    effects = {
        (await client.rules.explain(request.action, resource, agent=request.agent)).action
        for resource in request.resources
    }
    effect = next((one for one in ("deny", "ask") if one in effects), "allow")
    if effect != "ask":
        return answer_data({"id": request.id or _IDS.ascending("per"), "effect": effect})
    call = request.source
    asked = OpenPermission(
        session_id=session.id,
        permission=request.action,
        patterns=request.resources,
        always=request.save or [],
        metadata=request.metadata or {},
        tool=None if call is None else ToolCallRef(message_id=call.message_id, call_id=call.call_id),
    )
    return answer_data({"id": (await client.permissions.open(asked)).id, "effect": effect})


@router.get("/session/{sessionID}/permission")
async def list_session_permissions(session: Session) -> Response:
    """List the permissions that a session asks for."""
    return answer_data([permission_value(one) for one in await _pending(session)])


async def _pending(session: SessionScope) -> list[PermissionRequest]:
    return [one for one in await session.client.permissions.pending() if one.session_id == session.id]


@router.get("/session/{sessionID}/permission/{requestID}")
async def get_permission(session: Session, request_id: PermissionName) -> Response:
    """Return a permission that a session asks for."""
    found = next((one for one in await _pending(session) if one.id == request_id), None)
    if found is None:
        raise _no_permission(request_id)
    return answer_data(permission_value(found))


@router.post("/session/{sessionID}/permission/{requestID}/reply", status_code=204)
async def reply_permission(session: Session, request_id: PermissionName, answer: PermissionAnswer) -> Response:
    """Answer a session that asks for a permission."""
    is_known = any(one.id == request_id for one in await _pending(session))
    if not is_known or not await session.client.permissions.reply(request_id, answer.reply, answer.message):
        raise _no_permission(request_id)
    return done()


@router.get("/question/request")
async def list_questions(client: LocatedClient) -> Response:
    """List the questions that a folder's sessions ask."""
    return await answer_located(client, [question_value(one) for one in await client.questions.pending()])


@router.get("/session/{sessionID}/question")
async def list_session_questions(session: Session) -> Response:
    """List the questions that a session asks."""
    found = [one for one in await session.client.questions.pending() if one.session_id == session.id]
    return answer_data([question_value(one) for one in found])


async def _has_question(session: SessionScope, request_id: str) -> bool:
    pending = await session.client.questions.pending()
    return any(one.id == request_id and one.session_id == session.id for one in pending)


@router.post("/session/{sessionID}/question/{requestID}/reply", status_code=204)
async def reply_question(session: Session, request_id: QuestionName, answer: QuestionAnswer) -> Response:
    """Answer questions."""
    is_known = await _has_question(session, request_id)
    if not is_known or not await session.client.questions.reply(request_id, answer.answers):
        raise _no_question(request_id)
    return done()


@router.post("/session/{sessionID}/question/{requestID}/reject", status_code=204)
async def reject_question(session: Session, request_id: QuestionName) -> Response:
    """Dismiss questions, which ends the turn."""
    if not await _has_question(session, request_id) or not await session.client.questions.reject(request_id):
        raise _no_question(request_id)
    return done()
