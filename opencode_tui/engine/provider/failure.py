"""Converts every failure of a model call to one of our errors."""

import json
import math
import re
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urljoin, urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from opencode_tui.config.redact import redact_text, safe_headers
from opencode_tui.engine.provider.decode.response import as_list, as_object, describe_text, read_json
from opencode_tui.schema.error import AuthError, ContextOverflowError, Failure, ProviderError
from opencode_tui.schema.record import JsonObject


class Reported(Struct, frozen=True):
    """The data of a failure. `status` is 0 without one; `code` contains every reported type, code and class name.

    `headers` have lower-case names; `secrets` are values that must not appear in any text.
    """

    provider_id: str
    status: int = 0
    body: str = ""
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    key_setting: str = ""
    """The setting that the key is from; empty for a stored one or that of a variable."""


class Row(Struct, frozen=True):
    """A kind of failure; matches when one of its tests does. `code` and `text` are patterns for lower-case texts."""

    kind: str
    is_retryable: bool
    statuses: frozenset[int] = frozenset()
    code: str | None = None
    text: str | None = None
    never_with: frozenset[int] = frozenset()

    def fits(self, reported: Reported) -> bool:
        """Return whether a failure is of this kind."""
        if reported.status in self.never_with:
            return False
        if reported.status in self.statuses:
            return True
        if self.code is not None and re.search(self.code, reported.code):
            return True
        return self.text is not None and re.search(self.text, reported.message.lower()) is not None


def _any(*patterns: str) -> str:
    """Return one pattern; it is compiled for the first failure, not when the program starts."""
    return "|".join(patterns)


_CLEAR_STATUSES = frozenset({401, 403, 404, 429})
"""Unambiguous statuses; the texts of such failures are not searched for size, media and history problems."""

ROWS = (
    Row(
        "rate_limit",
        True,
        code=_any(r"(?:^|\W)\d+\.429\b"),
        text=_any(r"tokens per min", r"requests per min", r"\btpm\b", r"\brpm\b"),
    ),
    Row(
        "overflow",
        False,
        code=_any(
            "context_length_exceeded", "contextwindowexceeded", "model_context_window_exceeded", "request_too_large"
        ),
        text=_any(
            r"prompt (?:is )?too long",
            r"input is too long",
            r"exceeds? (?:the |this |your )?(?:model'?s? )?(?:maximum |available )?context",
            r"exceed context (?:limit|length|window)",
            r"input token count.*exceeds the maximum",
            r"input length.*exceeds?",
            r"(?:maximum|max) prompt length is",
            r"reduce the length of (?:the|your) (?:messages|prompt|input)",
            r"maximum context length",
            r"maximum model length",
            r"exceeds the limit of \d+(?! ?(?:[km]i?b|bytes|images|pages))",
            r"greater than the context (?:length|size)",
            r"larger than the (?:maximum )?context",
            r"context window exceeds limit",
            r"context size (?:has been )?exceeded",
            r"exceeded (?:the )?(?:model'?s? )?(?:token|context) limit",
            r"context[ _](?:length|window)[ _](?:is )?exceeded",
            r"too many (?:input )?tokens",
            r"too large for model with \d+ maximum context",
            r"request_too_large|request entity too large",
            r"\b(?:400|413)\b(?: status code)? ?\(no body\)",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row(
        "media",
        False,
        code=_any("image_parse_error", "invalid_image", "image_too_large", "unsupported_image", "unsupported_media"),
        text=_any(
            r"(?:image|document|pdf|file|media|audio)\b.{0,80}(?:exceed|too (?:large|big|many)|unsupported)",
            r"(?:image|document|pdf|file|media|audio)\b.{0,80}(?:could|can)not be",
            r"(?:image|document|pdf|file|media|audio)\b.{0,80}(?:could|can) not be",
            r"(?:could not|unable to|failed to|cannot) (?:process|decode|load|read|download).{0,20}(?:image|pdf|document|file)",
            r"(?:does not|doesn't|not) support.{0,20}\b(?:image|vision|audio|pdf|file|multimodal)",
            r"(?:unsupported|invalid|unrecognized).{0,20}(?:image|media|pdf|mime)",
            r"image_url.{0,40}(?:not|only|expected)",
            r"maximum of \d+ (?:pdf )?(?:pages|images)",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row(
        "history",
        False,
        text=_any(
            r"tool_use.{0,60}without.{0,20}tool_result",
            r"tool_result.{0,80}(?:tool_use|corresponding|previous message)",
            r"unexpected.{0,10}tool_use_id",
            r"tool_call_id",
            r"tool_calls.{0,80}(?:followed|preceding|response)",
            r"role.{0,10}'?tool'?.{0,40}must",
            r"roles must alternate",
            r"(?:text )?content blocks? must (?:be non-empty|contain)",
            r"text content.{0,20}non-?empty",
            r"messages?.{0,40}must (?:have|be) non-?empty",
            r"thinking.{0,80}(?:signature|cannot be modified|must start|expected)",
            r"final assistant content cannot end",
            r"ids must be unique",
            r"no tool (?:output|call) found for",
            r"function (?:call|response) (?:turn|parts)",
            r"reasoning_content.{0,60}(?:must|missing)",
            r"assistant message prefill",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row("rate_limit", True, text=_any(r"retrydelay"), never_with=frozenset({401, 402, 403})),
    Row(
        "quota",
        False,
        statuses=frozenset({402}),
        code=_any(
            "insufficient_quota",
            "usage_not_included",
            "billing",
            "insufficient_credits",
            "freeusagelimit",
            "quota_exceeded",
            "payment",
        ),
        text=_any(
            r"exceeded your current quota",
            r"insufficient[ _](?:quota|balance|credit|funds)",
            r"credit balance is too low",
            r"(?:out of|not enough|no remaining) credits",
            r"requires more credits",
            r"billing (?:hard )?limit",
            r"account is not active",
            r"payment required",
            r"monthly (?:usage|spend)",
        ),
    ),
    Row(
        "auth",
        False,
        statuses=frozenset({401, 403}),
        code=_any(
            "authentication",
            "permissiondenied",
            "permission_error",
            "invalid_api_key",
            "unauthorized",
            "unauthenticated",
        ),
        text=_any(
            r"api[ _-]?key (?:is )?(?:not valid|invalid|missing|expired)",
            r"(?:invalid|incorrect|missing|no) api[ _-]?key",
            "unauthorized",
        ),
        never_with=frozenset({429}),
    ),
    Row("overloaded", True, statuses=frozenset({529}), code=_any("overloaded")),
    Row(
        "rate_limit",
        True,
        statuses=frozenset({429}),
        code=_any("rate_?limit", "too_many_requests", "throttl"),
        text=_any("too many requests", "rate limit", "throttl"),
        never_with=frozenset({400, 404, 422}),
    ),
    Row("timeout", True, statuses=frozenset({408, 504, 524}), code=_any("timeout")),
    Row(
        "stream_truncated",
        True,
        text=_any(
            r"payload is not completed",
            r"incomplete chunked read",
            r"connection reset",
            r"server disconnected",
            r"peer closed",
        ),
    ),
    Row(
        "model",
        False,
        code=_any("model_not_found", "model_not_supported"),
        text=_any(r"model.{0,80}(?:does not exist|not found|not supported)"),
    ),
    Row("invalid_prompt", False, code=_any("invalid_prompt", "content_?policy", "content_filter")),
    Row(
        "api",
        True,
        statuses=frozenset({409, 425, *range(500, 600)}),
        code=_any(
            "server_error",
            "internal",
            "api_error",
            "serviceunavailable",
            "badgateway",
            "apiconnection",
            "unavailable",
            "exhausted",
        ),
    ),
    Row(
        "overloaded",
        True,
        text=_any("overloaded", "no_kv_space", "capacity"),
        never_with=frozenset({400, 401, 403, 404, 422}),
    ),
    Row("protocol", False, statuses=frozenset(range(300, 400))),
    Row(
        "invalid_request",
        False,
        statuses=frozenset(range(400, 500)),
        code=_any("invalid_request", "badrequest", "bad_request", "unprocessable"),
    ),
)
UNKNOWN_IN_STREAM = Row("api", True)
"""An error object inside a stream without any known kind."""

UNKNOWN = Row("unknown", False)
"""Any other failure without a known kind."""


def find_row(reported: Reported, *, fallback: Row) -> Row:
    """Return the first matching row."""
    return next((row for row in ROWS if row.fits(reported)), fallback)


_MAX_BODY = 4096
_MAX_MESSAGE = 600
_NEEDS_USER = frozenset({"auth", "overflow", "quota"})
_NAMES_KEY = re.compile(r"key|token|credential|authenticat|unauthori", re.IGNORECASE)
"""Words of a 403 that is about the key; any other one is about the account, the model or the country."""

_CHILD_PREFIX = re.compile(r"^(?:litellm\.)?(?:\w+(?:Error|Exception)\s*(?::|-)\s*)+")
"""litellm's prefix of a provider's message, as in `litellm.RateLimitError: RateLimitError: OpenAIException - slow down`."""


def from_response(reported: Reported, *, now_ms: int) -> ProviderError:
    """Return the error for a response with an error status."""
    value = _json_object(reported.body)
    message, code = read_error_object(value) if value else ("", "")
    if not message and reported.body.strip():
        message = describe_text(reported.body)
    if not message and not reported.body.strip() and reported.status in (400, 413):
        message = f"{reported.status} (no body)"
    return _classified(replace(reported, message=message, code=code), fallback=UNKNOWN, now_ms=now_ms)


def from_stream(provider_id: str, body: JsonObject, *, secrets: tuple[str, ...] = (), now_ms: int = 0) -> ProviderError:
    """Return the error for an error object inside a stream; one of unknown kind can be retried."""
    message, code = read_error_object(body)
    reported = Reported(
        provider_id,
        status=_status_in(body),
        body=json.dumps(body, ensure_ascii=False),
        message=message,
        code=code,
        secrets=secrets,
    )
    return _classified(reported, fallback=UNKNOWN_IN_STREAM, now_ms=now_ms)


def from_child(reported: Reported, *, now_ms: int) -> ProviderError:
    """Return the error for an exception of litellm; `code` has its class name, `message` its text."""
    text = _CHILD_PREFIX.sub("", reported.message)
    body = text[text.find("{") : text.rfind("}") + 1] if "{" in text else ""
    message, code = read_error_object(value) if (value := _json_object(body)) else ("", "")
    whole = replace(reported, message=message or text, code=f"{reported.code.lower()} {code}", body=body)
    return _classified(whole, fallback=UNKNOWN, now_ms=now_ms)


def truncated(provider_id: str, detail: str = "the response was cut off") -> ProviderError:
    """Return the error for a stream that ended without a finish reason from the model."""
    error = _plain(provider_id, detail, kind="stream_truncated", is_retryable=True)
    error.failure = replace(error.failure, metadata={"code": "ECONNRESET"})
    return error


def unreachable(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a connection that failed or was lost."""
    return _plain(provider_id, detail, kind="network", is_retryable=True)


def timed_out(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a provider that sends nothing."""
    return _plain(provider_id, detail, kind="timeout", is_retryable=True)


def invalid_response(provider_id: str, detail: str) -> ProviderError:
    """Return the error for a response that is not in the provider's wire format; it can't be retried."""
    text = f"not a model response: {detail}; check provider.{provider_id}.options.baseURL"
    return _plain(provider_id, text, kind="protocol", is_retryable=False)


def redirected(provider_id: str, origin: str, location: str) -> ProviderError:
    """Return the error for a redirect of `origin` to a location, which may be relative."""
    try:
        target = host(urljoin(origin, location))
    except ValueError:
        target = "an invalid address"
    return invalid_response(
        provider_id, f"{host(origin) or 'the server'} redirects to {target}; the key is not sent there"
    )


def host(url: str) -> str:
    """Return host and port of an address, without credentials."""
    return urlsplit(url).netloc.rpartition("@")[2] or url


def missing_key(provider_id: str, variable: str | None = None) -> AuthError:
    """Return the error for a provider without the required key."""
    place = f" or set {variable}" if variable else ""
    text = f"no API key for {provider_id}; run `opencode-tui auth login {provider_id}`{place}"
    return AuthError(text, provider_id=provider_id, failure=Failure(kind="auth"))


def read_error_object(body: JsonObject) -> tuple[str, str]:
    """Return (message, every type and code in lower case) of a provider's error object in any known shape."""
    error = body.get("error", body)
    if isinstance(error, str):
        return error, f"{body.get('type') or ''} {body.get('code') or ''}".lower()
    found = as_object(error)
    named = (found.get(key) for key in ("message", "error_msg", "msg", "detail", "error"))
    message = next((text for text in named if isinstance(text, str) and text), "")
    metadata = as_object(found.get("metadata"))
    if isinstance(raw := metadata.get("raw"), str) and raw:
        message = f"{message}: {raw}" if message else raw
    for detail in as_list(found.get("details")):
        if delay := as_object(detail).get("retryDelay"):
            message += f" (retryDelay {delay})"
    codes = [str(found[key]) for key in ("type", "code", "status", "error_code") if found.get(key)]
    return message, " ".join(codes).lower()


def retry_after_ms(headers: Mapping[str, str], *, now_ms: int) -> int | None:
    """Return the requested retry delay in ms: `retry-after-ms`, else `retry-after` in seconds or as a future date."""
    precise = _number(headers.get("retry-after-ms"))
    if precise is not None:
        return math.ceil(precise)
    asked = headers.get("retry-after", "").strip()
    seconds = _number(asked)
    if seconds is not None:
        return math.ceil(seconds * 1000)
    from email.utils import parsedate_to_datetime  # imported only for a provider that asks to wait

    try:
        wait = int(parsedate_to_datetime(asked).timestamp() * 1000) - now_ms
    except (ValueError, OverflowError):
        return None
    return wait if wait > 0 else None


def _classified(reported: Reported, *, fallback: Row, now_ms: int) -> ProviderError:
    row = find_row(reported, fallback=fallback)
    wait = retry_after_ms(reported.headers, now_ms=now_ms)
    failure = Failure(
        kind=row.kind,
        retryable=_is_retryable(row, reported),
        status=reported.status or None,
        retry_after_ms=_retry_delay(reported.message) if wait is None else wait,
        body=redact_text(reported.body, reported.secrets)[:_MAX_BODY] or None,
        headers=safe_headers(reported.headers) or None,
    )
    return _error(reported, failure)


def _is_retryable(row: Row, reported: Reported) -> bool:
    """Return whether a retry may help: as the provider says, else as the row says; never if only the user can fix it."""
    should_retry = reported.headers.get("x-should-retry")
    if should_retry in ("true", "false") and row.kind not in _NEEDS_USER:
        return should_retry == "true"
    # OpenAI's 404 can be transient. Source: reference, section 12.
    is_openai = reported.provider_id.startswith("openai")
    return row.is_retryable or (is_openai and reported.status == 404 and row.kind == "invalid_request")


def _error(reported: Reported, failure: Failure) -> ProviderError:
    provider_id = reported.provider_id
    detail = " ".join(redact_text(reported.message, reported.secrets).split())[:_MAX_MESSAGE] or _phrase(
        reported.status
    )
    status = f" (HTTP {reported.status})" if reported.status else ""
    match failure.kind:
        case "auth" if reported.status != 403 or _NAMES_KEY.search(f"{reported.code} {detail}"):
            remedy = f"run `opencode-tui auth login {provider_id}`"
            if reported.key_setting:
                remedy = f"change {reported.key_setting} in your settings, which comes before a stored key"
            text = f"{provider_id} rejected the API key: {detail}{status}; {remedy}"
            return AuthError(text, provider_id=provider_id, failure=failure)
        case "overflow":
            text = f"{provider_id}: the request exceeds the model's context window: {detail}{status}"
            return ContextOverflowError(text, provider_id=provider_id, failure=failure)
        case "quota":
            text = f"{provider_id}: quota exceeded: {detail}{status}; check billing with {provider_id}"
            return ProviderError(text, provider_id=provider_id, failure=failure)
        case _:
            return ProviderError(f"{provider_id}: {detail}{status}", provider_id=provider_id, failure=failure)


def _plain(provider_id: str, detail: str, *, kind: str, is_retryable: bool) -> ProviderError:
    failure = Failure(kind=kind, retryable=is_retryable)
    return ProviderError(f"{provider_id}: {detail}", provider_id=provider_id, failure=failure)


def _json_object(text: str) -> JsonObject:
    try:
        value = read_json(text.encode("utf-8", "replace"))
    except ValueError:
        return {}
    return as_object(next(iter(as_list(value)), value))


def _status_in(body: JsonObject) -> int:
    error = as_object(body.get("error"))
    for key in ("status_code", "code", "status"):
        number = error.get(key, body.get(key))
        if isinstance(number, str) and number.isdigit():
            number = int(number)
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return number
    return 0


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "the provider reported an error without a message"


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _retry_delay(message: str) -> int | None:
    found = re.search(r"retryDelay (\d+(?:\.\d+)?)s", message)
    return math.ceil(float(found.group(1)) * 1000) if found else None
