"""Errors in the form of OpenCode 2: `{_tag, message, …}`. An error of the engine that no route names is an invalid request."""

import logging
from collections.abc import Sequence
from typing import cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from opencode_tui.schema.error import LockTimeoutError, NotFoundError, OpencodeError, StorageError
from opencode_tui.schema.json_text import JsonError
from opencode_tui.schema.record import JsonObject
from opencode_tui.server.answer import answer_value

_logger = logging.getLogger(__name__)

_PLACES = {"body": "Payload", "query": "Query", "path": "Params", "header": "Headers"}
_MALFORMED = "the body is not valid JSON"


class AnswerError(Exception):
    """An answer that is an error: its status and its body."""

    def __init__(self, status: int, tag: str, message: str, **fields: object) -> None:
        super().__init__(message)
        self.status = status
        self.body: JsonObject = {"_tag": tag, "message": message, **fields}


def invalid(message: str, **fields: object) -> AnswerError:
    """Return the error of a request that cannot be carried out."""
    return AnswerError(400, "InvalidRequestError", message, **fields)


def no_session(session_id: str) -> AnswerError:
    """Return the error of a session that does not exist."""
    return AnswerError(404, "SessionNotFoundError", f"Session not found: {session_id}", sessionID=session_id)


def no_message(session_id: str, message_id: str) -> AnswerError:
    """Return the error of a message that does not exist."""
    text = f"Message not found: {message_id}"
    return AnswerError(404, "MessageNotFoundError", text, sessionID=session_id, messageID=message_id)


def wrong_cursor() -> AnswerError:
    """Return the error of a cursor that no answer had."""
    return AnswerError(400, "InvalidCursorError", "Invalid cursor")


def install_answers(app: FastAPI) -> None:
    """Install handlers that return every error in these forms."""
    app.add_exception_handler(AnswerError, _answer_named)
    app.add_exception_handler(OpencodeError, _answer_failure)
    app.add_exception_handler(JsonError, _answer_malformed)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_refusal)
    app.add_exception_handler(Exception, _answer_unexpected)


async def _answer_named(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AnswerError)
    return answer_value(error.body, status=error.status)


async def _answer_failure(request: Request, error: Exception) -> Response:
    if isinstance(error, StorageError | LockTimeoutError) and not isinstance(error, NotFoundError):
        _logger.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
        return answer_value({"_tag": "UnknownError", "message": str(error)}, status=500)
    return answer_value(invalid(str(error)).body, status=400)


async def _answer_malformed(_request: Request, _error: Exception) -> Response:
    return answer_value(invalid(_MALFORMED, kind="Payload").body, status=400)


async def _answer_invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    issues = cast("Sequence[JsonObject]", error.errors())
    issue = issues[0]
    place, *path = issue["loc"]
    if issue["type"] == "json_invalid":
        return answer_value(invalid(_MALFORMED, kind="Payload").body, status=400)
    text = issue["msg"] + (f" at {'.'.join(map(str, path))}" if path else "")
    fields: JsonObject = {"field": "sessionID"} if path == ["sessionID"] else {"kind": _PLACES.get(place, place)}
    return answer_value(invalid(text, **fields).body, status=400)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        text = f"no route {request.method} {request.scope['path']}"
        return answer_value({"_tag": "NotFoundError", "message": text}, status=404)
    tag = "ForbiddenError" if error.status_code == 403 else "InvalidRequestError"
    answer = answer_value({"_tag": tag, "message": str(error.detail)}, status=error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def _answer_unexpected(_request: Request, error: Exception) -> Response:
    text = f"{type(error).__name__} in the server; see its log"
    return answer_value({"_tag": "UnknownError", "message": text}, status=500)
