"""The table of failures: which kind a failed model call is of, and whether it can be tried again.

The rows are tried in order; the first that fits decides. Sources: reference, sections 12 and 13; reliability, section 0.
"""

import re
from collections.abc import Mapping

from msgspec import Struct, field


class Reported(Struct, frozen=True):
    """What is known of a failure. `status` is 0 without one; `code` is every type, code and class name that was given.

    `headers` have lower-case names; `secrets` are values that must not appear in any text.
    """

    provider_id: str
    status: int = 0
    body: str = ""
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()


class Row(Struct, frozen=True):
    """A kind of failure: fits when one of the given tests does. `code` and `text` are patterns for lower-case texts."""

    kind: str
    is_retryable: bool
    statuses: frozenset[int] = frozenset()
    code: str | None = None
    text: str | None = None
    never_with: frozenset[int] = frozenset()

    def fits(self, reported: Reported) -> bool:
        """Tell whether a failure is of this kind."""
        if reported.status in self.never_with:
            return False
        if reported.status in self.statuses:
            return True
        if self.code is not None and re.search(self.code, reported.code):
            return True
        return self.text is not None and re.search(self.text, reported.message.lower()) is not None


def _any(*patterns: str) -> str:
    """Return one pattern; it is compiled when a failure is looked up, not when the program starts."""
    return "|".join(patterns)


_CLEAR_STATUSES = frozenset({401, 403, 404, 429})
"""Statuses that say what they mean; the wording of their texts decides nothing about size, media and history."""

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
    """Return the first row that fits."""
    return next((row for row in ROWS if row.fits(reported)), fallback)
