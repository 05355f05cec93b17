"""The mapping of exceptions to status codes and OpenCode's error shapes. Source: docs/internals/http.md#errors."""

import logging
from collections.abc import Sequence
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from opencode_tui.schema.error import (
    BusyError,
    ConfigError,
    IdInUseError,
    LockTimeoutError,
    ModelNotFoundError,
    NoSuchMessageError,
    NotFoundError,
    NothingToRevertError,
    OpencodeError,
    PermissionRefused,
    SessionError,
    SignInError,
    ToolError,
    TrustError,
)
from opencode_tui.schema.http_headers import KIND_HEADER
from opencode_tui.schema.record import JsonObject
from opencode_tui.server.answer import answer_value, error_body, value_bytes

logger = logging.getLogger(__name__)

STATUS: Sequence[tuple[type[OpencodeError], int, str]] = (
    (NotFoundError, 404, "NotFoundError"),
    (NoSuchMessageError, 404, "NotFoundError"),
    (BusyError, 409, "BusyError"),
    (IdInUseError, 409, "ConflictError"),
    (NothingToRevertError, 400, "NothingToRevertError"),
    (SessionError, 400, "BadRequest"),
    (ModelNotFoundError, 400, "ProviderModelNotFoundError"),
    (ConfigError, 400, "ConfigInvalidError"),
    (ToolError, 400, "BadRequest"),
    (TrustError, 400, "BadRequest"),
    (SignInError, 400, "BadRequest"),
    (PermissionRefused, 403, "PermissionRefusedError"),
    (LockTimeoutError, 503, "LockTimeoutError"),
)
"""The first matching class decides; other exceptions are 500 `UnknownError`."""

ECHO_LIMIT = 64 * 1024
"""Most bytes of an invalid input that an error response quotes."""

_SECRET = "/auth/"
"""The path prefix whose bodies contain keys, which no response quotes."""

_MALFORMED = "Malformed JSON in request body"


def describe_error(error: Exception) -> tuple[int, JsonObject]:
    """Return the status and the body for an exception; an unexpected one is not described to the client."""
    if not isinstance(error, OpencodeError):
        return 500, error_body("UnknownError", f"{type(error).__name__} in the server; see its log")
    for kind, status, name in STATUS:
        if isinstance(error, kind):
            return status, error_body(name, str(error), **_details(error))
    return 500, error_body("UnknownError", str(error))


def install_error_answers(app: FastAPI) -> None:
    """Install handlers that return every error in our shapes."""
    app.add_exception_handler(OpencodeError, _answer_failure)
    app.add_exception_handler(Exception, _answer_failure)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_refusal)


def _details(error: OpencodeError) -> JsonObject:
    if isinstance(error, ModelNotFoundError):
        return {"providerID": error.provider_id, "modelID": error.model_id, "suggestions": error.suggestions}
    return {}


async def _answer_failure(request: Request, error: Exception) -> Response:
    status, body = describe_error(error)
    if status >= 500 and isinstance(error, OpencodeError):  # the guard logs unexpected errors
        logger.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    answer = answer_value(body, status=status)
    if isinstance(error, OpencodeError):
        answer.headers[KIND_HEADER] = type(error).__name__
    return answer


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    issues = cast("Sequence[JsonObject]", error.errors())
    if any(issue["type"] == "json_invalid" for issue in issues):
        return answer_value(error_body("BadRequest", _MALFORMED), status=400)
    listed = [_issue(issue) for issue in issues]
    echo: Any = {} if request.scope["path"].startswith(_SECRET) else _echo(error.body)
    return answer_value({"data": echo, "error": listed, "success": False}, status=400)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        message = f"no route {request.method} {request.scope['path']}"
        return answer_value(error_body("NotFoundError", message), status=404)
    if error.status_code == 400:
        return answer_value(error_body("BadRequest", _MALFORMED), status=400)
    answer = answer_value(error_body("BadRequest", str(error.detail)), status=error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def _issue(issue: JsonObject) -> JsonObject:
    """Return one error of the input: its location and message."""
    path = [part for part in issue["loc"] if part not in ("body", "query", "path", "header")]
    return {"path": path, "code": issue["type"], "message": issue["msg"]}


def _echo(body: Any) -> Any:
    """Return the input as JSON data, or nothing when it is large or not JSON."""
    try:
        text = value_bytes(body)
    except (TypeError, ValueError, RecursionError):
        return {}
    return body if body is not None and len(text) <= ECHO_LIMIT else {}
