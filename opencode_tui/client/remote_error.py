"""Errors that a server reported, as the exceptions that the engine raises in the process."""

import json
from typing import Any, cast

from opencode_tui.schema.error import (
    AuthError,
    BusyError,
    ConfigError,
    ContextOverflowError,
    Failure,
    LockTimeoutError,
    ModelNotFoundError,
    NoSuchMessageError,
    NotFoundError,
    NothingToRevertError,
    OpencodeError,
    PermissionRefused,
    ProviderError,
    RunAborted,
    SessionError,
    SnapshotError,
    StoredAbortedError,
    StoredApiError,
    StoredAuthError,
    StoredError,
    StoredOverflowError,
    StoredUnknownError,
    ToolError,
    TrustError,
)
from opencode_tui.schema.record import JsonObject

_KINDS: dict[str, type[OpencodeError]] = {
    kind.__name__: kind
    for kind in (
        BusyError,
        ConfigError,
        LockTimeoutError,
        NoSuchMessageError,
        NotFoundError,
        NothingToRevertError,
        OpencodeError,
        PermissionRefused,
        SessionError,
        SnapshotError,
        ToolError,
        TrustError,
    )
}
_REFUSED = "the server refuses this password; set OPENCODE_SERVER_PASSWORD to the one that it was started with"


def status_error(status: int, kind: str | None, body: bytes) -> OpencodeError:
    """Return the exception for an answer whose status is not a success."""
    if status == 401:
        return OpencodeError(_REFUSED)
    return body_error(_parsed(body), kind, status=status)


def body_error(body: JsonObject, kind: str | None = None, *, status: int = 500) -> OpencodeError:
    """Return the exception for an error body."""
    data = body.get("data")
    details = cast("JsonObject", data) if isinstance(data, dict) else {}
    message = details.get("message")
    if not isinstance(message, str):
        message = _defects(body) or f"the server answered {status}"
    if body.get("name") == "ProviderModelNotFoundError":
        return ModelNotFoundError(
            str(details.get("providerID")), str(details.get("modelID")), list(details.get("suggestions") or [])
        )
    return _KINDS.get(kind or "", SessionError if status == 400 else OpencodeError)(message)


def answer_failure(stored: StoredError) -> OpencodeError | None:
    """Return the exception that a turn with this error raises in the process; None if the error is part of its answer."""
    match stored:
        case StoredAbortedError():
            return RunAborted(stored.data.message)
        case StoredAuthError():
            return AuthError(stored.data.message, provider_id=stored.data.provider_id)
        case StoredOverflowError():
            return ContextOverflowError(stored.data.message, provider_id="", failure=Failure(kind="overflow"))
        case StoredApiError(data=data):
            failure = Failure(status=data.status_code, retryable=data.is_retryable, body=data.response_body)
            return ProviderError(data.message, provider_id="", failure=failure)
        case StoredUnknownError():
            return OpencodeError(stored.data.message)
        case _:
            return None


def _parsed(body: bytes) -> JsonObject:
    try:
        parsed: Any = json.loads(body)
    except ValueError:
        return {}
    return cast("JsonObject", parsed) if isinstance(parsed, dict) else {}


def _defects(body: JsonObject) -> str:
    """Return the defects of an input as one line."""
    listed = body.get("error")
    if not isinstance(listed, list):
        return ""
    issues = cast("list[JsonObject]", listed)
    return "; ".join(f"{'.'.join(map(str, issue.get('path', [])))}: {issue.get('message')}" for issue in issues)
