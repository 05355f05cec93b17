"""Converts what a provider says of a failed call to one of our errors; `error/plain.py` has those that need no such text.

The text of each is one line: the provider's own reason, then the remedy. `error/body.py` reads what a body says, `error/cause.py`
finds its kind, `error/remedy.py` has the remedies. Imported when a call has failed: compiling the patterns takes 4 ms.
"""

from msgspec.structs import replace

from opencode_tui.config.redact import redact_address, redact_text, safe_headers
from opencode_tui.engine.provider.error.body import (
    ErrorBody,
    Reported,
    as_json,
    is_generic,
    read_body,
    read_child,
    read_object,
    retry_after_ms,
    status_in,
    wait_in_text,
)
from opencode_tui.engine.provider.error.cause import PAGE, UNKNOWN, UNKNOWN_IN_STREAM, Row, find_row
from opencode_tui.engine.provider.error.rejected_tool import rejected_tool
from opencode_tui.engine.provider.error.remedy import phrase_for, remedy_for, sentence, title_for
from opencode_tui.schema.error import AuthError, ContextOverflowError, Failure, FailureWords, ProviderError, with_remedy
from opencode_tui.schema.record import JsonObject

_MAX_BODY = 4096
_MAX_MESSAGE = 600
_NEEDS_USER = frozenset({"auth", "overflow", "quota", "permission", "daily_limit"})
_WAITS = frozenset({"rate_limit", "daily_limit", "overloaded", "api", "timeout"})
"""Kinds whose messages may say how long to wait."""


def from_response(reported: Reported, *, now_ms: int) -> ProviderError:
    """Return the error for a response with an error status."""
    read = read_body(reported.body)
    message = read.message
    if not message and not reported.body.strip() and reported.status in (400, 413):
        message = f"{reported.status} (no body)"
    code = f"{read.code} {reported.headers.get('x-amzn-errortype', '').partition(':')[0].lower()}".strip()
    found = replace(reported, message=message, code=code)
    is_foreign = read.is_page and 400 <= reported.status < 500 and reported.status not in (408, 413, 429)
    return _classified(found, read, row=PAGE if is_foreign else find_row(found, fallback=UNKNOWN), now_ms=now_ms)


def from_stream(
    provider_id: str, body: JsonObject, *, secrets: tuple[str, ...] = (), now_ms: int = 0, has_media: bool = True
) -> ProviderError:
    """Return the error for an error object inside a stream; one of unknown kind can be retried."""
    read = read_object(body)
    reported = Reported(
        provider_id,
        status=status_in(body),
        body=as_json(body),
        message=read.message,
        code=read.code,
        secrets=secrets,
        has_media=has_media,
    )
    return _classified(reported, read, row=find_row(reported, fallback=UNKNOWN_IN_STREAM), now_ms=now_ms)


def from_child(reported: Reported, *, now_ms: int) -> ProviderError:
    """Return the error for an exception of litellm; `code` has its class name, `message` its text."""
    read = read_child(reported.message)
    code = f"{reported.code.lower()} {read.code}".strip()
    found = replace(reported, message=read.message, code=code, body=reported.message)
    return _classified(found, read, row=find_row(found, fallback=UNKNOWN), now_ms=now_ms)


def _classified(reported: Reported, read: ErrorBody, *, row: Row, now_ms: int) -> ProviderError:
    wait = retry_after_ms(reported.headers, now_ms=now_ms)
    if wait is None:
        wait = read.wait_ms
    if wait is None and row.kind in _WAITS:
        wait = wait_in_text(reported.message)
    failure = Failure(
        kind=row.kind,
        retryable=_is_retryable(row, reported, wait),
        status=reported.status or None,
        retry_after_ms=wait,
        body=redact_address(redact_text(reported.body, reported.secrets))[:_MAX_BODY] or None,
        headers=safe_headers(reported.headers) or None,
    )
    return _error(reported, row, failure)


def _is_retryable(row: Row, reported: Reported, wait_ms: int | None) -> bool:
    """Return whether a retry may help: as the provider says, else as the row says; never if only the user can fix it."""
    if row.kind == "daily_limit":  # a limit per day that is regained within minutes; Google sends a wait without one
        return wait_ms is not None and "perday" not in reported.code
    should_retry = reported.headers.get("x-should-retry")
    if should_retry in ("true", "false") and row.kind not in _NEEDS_USER:
        return should_retry == "true"
    # OpenAI's 404 can be transient. Source: docs/internals/loop.md#errors.
    is_openai = reported.provider_id.startswith("openai")
    return row.is_retryable or (is_openai and reported.status == 404 and row.kind == "address")


def _error(reported: Reported, row: Row, failure: Failure) -> ProviderError:
    provider_id, cause = reported.provider_id, row.cause or row.kind
    message = redact_address(redact_text(reported.message, reported.secrets))
    detail = " ".join(message.split())[:_MAX_MESSAGE]
    if is_generic(detail):
        detail = phrase_for(cause, detail or _phrase(reported.status))
    tool = rejected_tool(detail, reported.tools) if cause == "tools" else ""
    detail = f"{detail} (the tool is {tool})" if tool else detail
    remedy = remedy_for(cause, provider_id, key_setting=reported.key_setting, model_id=reported.model_id, tool=tool)
    text = with_remedy(sentence(cause, provider_id, detail, status=reported.status), remedy)
    failure = replace(failure, words=FailureWords(title_for(cause, provider_id), detail, remedy))
    match failure.kind:
        case "auth":
            return AuthError(text, provider_id=provider_id, failure=failure)
        case "overflow":
            return ContextOverflowError(text, provider_id=provider_id, failure=failure)
        case _:
            return ProviderError(text, provider_id=provider_id, failure=failure)


def _phrase(status: int) -> str:
    from http import HTTPStatus  # few requests fail

    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
