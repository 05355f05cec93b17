"""The table of failures: which kind an error is, from its status, its codes and its words.

The kind decides what happens: whether it is retried, compacted, or a key is needed; the cause inside a kind decides the remedy.
Sources of the words: tests/engine/provider/data/errors.jsonl, and the reference, section 12.
"""

import re

from msgspec import Struct

from opencode_tui.engine.provider.error.body import Reported


class Row(Struct, frozen=True):
    """A cause of failures; matches when one of its tests does. `code` and `text` are patterns for lower-case texts."""

    kind: str
    is_retryable: bool
    statuses: frozenset[int] = frozenset()
    code: str | None = None
    text: str | None = None
    never_with: frozenset[int] = frozenset()
    cause: str = ""
    """The name of the remedy; that of the kind by default."""

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

_OPTION = r"(?:temperature|top_?p|top_?k|reasoning|thinking|effort|verbosity|stream\w*)"
_FILES = r"\b(?:images?|documents?|pdfs?|files?|media|audio)\b"
_SERVER = frozenset(range(500, 600))

_OVERLOADED = _any(
    r"overloaded",
    r"tier capacity exceeded",
    r"out of capacity",
    r"high demand",
    r"no capacity",
    r"temporarily rate-limited upstream",
)

_ACCOUNT = (
    Row(
        "auth",
        False,
        code=_any(
            "expiredtoken", "unrecognizedclient", "invalidsignature", "incompletesignature", "missingauthentication"
        ),
        text=_any(
            r"security token included in the request is (?:expired|invalid)",
            r"unable to locate credentials",
            r"could not load credentials",
            r"request signature we calculated",
            r"signature expired",
            r"token has expired and refresh failed",
            r"bearer token has expired",
        ),
        cause="aws",
    ),
    Row(
        "auth",
        False,
        code=_any("access_token_expired", "access_token_type_unsupported", "credentials_missing"),
        text=_any(
            r"default credentials were not found",
            r"could not automatically determine credentials",
            r"reauthentication is needed",
            r"expected oauth ?2 access token",
        ),
        cause="google_login",
    ),
    Row("permission", False, text=_any(r"organization must be verified", r"verify organization"), cause="verification"),
    Row(
        "permission",
        False,
        code=_any("unsupported_country", "location_policy", "data_residency_mismatch"),
        text=_any(
            r"(?:country|region|territory|location)\b.{0,60}(?:not|isn't|unsupported).{0,12}(?:supported|available|allowed)",
            r"access to anthropic models is not allowed from unsupported",
            r"not available in your (?:country|region|location)",
            r"unsupported (?:country|region|location)",
        ),
        cause="region",
    ),
    Row(
        "permission",
        False,
        statuses=frozenset({407}),
        text=_any("proxy authentication required"),
        cause="proxy",
    ),
)

_MODEL = (
    Row(
        "model",
        False,
        text=_any(
            r"on-demand throughput is(?:n.t| not) supported",
            r"doesn.t support on-demand throughput",
            r"inference profile",
        ),
        cause="profile",
    ),
    Row(
        "model",
        False,
        code=_any("deploymentnotfound", "unavailablemodel", "unknown_model"),
        text=_any(
            r"api deployment for this resource does not exist", r"deployment .{0,80}(?:not found|does not exist)"
        ),
        cause="deployment",
    ),
    Row(
        "model",
        False,
        text=_any(
            r"(?:don.t|do not|doesn.t|does not) have access to (?:the )?model",
            r"not authorized to perform: bedrock",
            r"model access is denied",
            r"use case details have not been submitted",
            r"access to (?:the )?model .{0,60}denied",
            r"marketplace subscription",
        ),
        cause="access",
    ),
    Row(
        "model",
        False,
        text=_any(r"matching your (?:data policy|guardrail|privacy)", r"data policy", r"guardrail restrictions"),
        cause="privacy",
    ),
    Row(
        "model",
        False,
        text=_any(
            r"no endpoints found that support tool",
            r"(?:does not|doesn.t|not) support (?:tools?\b|tool (?:use|call)|function|parallel tool)",
            r"tools? (?:use|call\w*) (?:is|are)?\s?not supported",
            r"function calling is not (?:enabled|supported)",
            r"tool choice requires --enable-auto-tool-choice",
            r"tools? is not supported in this model",
        ),
        cause="no_tools",
    ),
)

_LIMITS = (
    Row(
        "overflow",
        False,
        text=_any(
            r"request too large.{0,160}(?:tokens? per min|tpm)",
            r"extra usage is required for long context",
            r"long context (?:beta|requests?).{0,40}(?:not|required|available)",
        ),
        cause="overflow_account",
    ),
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
            "spend_limit",
            "usage_limit_reached",
            "organization_on_hold",
        ),
        text=_any(
            r"insufficient[ _](?:quota|balance|credit|funds)",
            r"(?:credit|account) balance is too low",
            r"(?:out of|not enough|no remaining|never purchased) (?:credits|extra usage)",
            r"requires (?:more|at least .{0,20}) credits",
            r"billing (?:hard )?limit",
            r"account is not active",
            r"payment required",
            r"monthly (?:usage|spend|quota)",
            r"(?:usage|spend(?:ing)?|budget) limits?\b.{0,40}(?:reached|exceeded|regain)",
            r"reached your specified .{0,30}usage limit",
            r"key limit exceeded",
            r"requires billing|enable billing|billing to be enabled|billing account",
            r"quota exceeded for metric.{0,200}limit: 0\b(?!\.)",
            r"inactive subscription|no active subscription",
        ),
    ),
    Row(
        "daily_limit",
        False,
        code=_any("perday"),
        text=_any(
            r"(?:requests|tokens) per day",
            r"\b[rt]pd\b",
            r"free-models-per-day",
            r"per-day",
            r"daily (?:limit|quota|usage)",
            r"too many tokens per day",
        ),
        never_with=frozenset({400, 401, 404}),
    ),
    Row(
        "rate_limit",
        True,
        code=_any(r"(?:^|\W)\d+\.429\b", "ramp_limit"),
        text=_any(r"tokens per min", r"requests per min", r"\btpm\b", r"\brpm\b", r"rate increased too quickly"),
    ),
)

_BAD_CALL = Row(
    "bad_call",
    True,
    code=_any("tool_use_failed", "malformed_function_call", "unexpected_tool_call"),
    text=_any(
        r"failed to call a function",
        r"tool call validation failed",
        r"attempted to call tool .{0,80}not in request",
        r"error parsing tool call",
        r"failed to parse tool call",
        r"invalid sequence as part of tool ?use",
    ),
    never_with=_CLEAR_STATUSES,
)
"""The model wrote a call that the provider rejects before we see it: Groq, Gemini, Ollama, llama.cpp, Bedrock."""

_REFUSED = (
    Row(
        "invalid_prompt",
        False,
        code=_any(
            "invalid_prompt",
            "content_?policy",
            r"content_?filter(?!_results)",
            "responsibleaipolicy",
            "moderation",
            "bio_policy",
            "policy_violation",
            "prohibited_content",
            "blocklist",
            "recitation",
        ),
        text=_any(
            r"content (?:filter|management|policy|moderation)",
            r"(?:usage|safety) polic(?:y|ies)",
            r"safety (?:system|filter|settings)",
            r"flagged (?:as|for|by)",
            r"requires moderation",
            r"(?:response|prompt|request|output|input) was (?:blocked|filtered)",
            r"blocked (?:by|due to)",
            r"prohibited_content|prohibited content",
            r"guardrail (?:intervened|blocked)",
        ),
        never_with=frozenset({401, 402, 404, 429, *_SERVER}),
    ),
)

_REQUEST = (
    Row(
        "output_limit",
        False,
        text=_any(
            r"maximum allowed number of output tokens",
            r"maximum (?:completion|output) tokens is",
            r"at most \d+ (?:completion|output) tokens",
            r"max_?(?:completion_|output_|new_)?_?tokens['`\" ]*(?:: ?\d+ ?>|is too (?:large|high)|cannot exceed)",
            r"max_?(?:completion_|output_|new_)?_?tokens['`\" ]*value .{0,40}exceed",
            r"max_?(?:completion_|output_|new_)?_?tokens['`\" ]*must be (?:less|at most|<|smaller|lower|in)",
            r"max_?output_?tokens.{0,80}(?:range|exceed|supported)",
            r"maximum tokens you requested exceeds",
            r"the maximum (?:value|number) (?:of|for) `?(?:max_tokens|output)",
            r"integer_(?:below|above).{0,40}max_.{0,10}tokens",
            r"max_output_tokens['`\" ]*: (?:integer|expected)",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row(
        "history",
        False,
        code=_any("invalid_encrypted_content", "invalid_request_message_order", r"\b3230\b"),
        text=_any(
            r"tool_use.{0,60}without.{0,20}tool_result",
            r"tool_result.{0,80}(?:tool_use|corresponding|previous message)",
            r"unexpected.{0,10}tool_use_id",
            r"tool_call_id",
            r"tool_calls.{0,80}(?:followed|preceding|response)",
            r"role.{0,10}'?tool'?.{0,40}must",
            r"expected last role|unexpected role|roles must alternate",
            r"(?:text )?content blocks? must (?:be non-empty|contain)",
            r"text content.{0,20}non-?empty",
            r"messages?.{0,60}must (?:have|be) non-?empty",
            r"thinking.{0,80}(?:signature|cannot be modified|must start|expected)",
            r"thought_?signature",
            r"final assistant content cannot end",
            r"ids must be unique",
            r"no tool (?:output|call) found for",
            r"function (?:call|response) (?:turn|parts)",
            r"reasoning_content.{0,60}(?:must|missing)",
            r"assistant message prefill",
            r"tooluse blocks|toolresult blocks|tooluseids?\b",
            r"conversation must (?:start|end|alternate)|must start with a user message",
            r"not the same number of function calls",
            r"encrypted content.{0,60}could not be (?:verified|decrypted)",
            r"item .{0,60}of type 'reasoning' was provided without",
            r"items? (?:with id )?.{0,80}not found",
            r"tool call id was .{0,40}but must be",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row(
        "tools",
        False,
        code=_any("invalid_function_parameters", "tool_name_conflict"),
        text=_any(
            r"tools?[.\[]\d+\]?.{0,60}(?:name|input_schema|function|parameters|custom)",
            r"function_?declarations",
            r"invalid schema for function",
            r"tool(?:spec)?s?\b.{0,60}name.{0,80}(?:pattern|unique|length|characters|constraint)",
            r"tool names must be unique",
            r"duplicate (?:function|tool)",
            r"input_?schema",
            r"json schema is invalid|schema.{0,40}(?:not valid|must be of type)",
            r"too many tools|tools'?: array too long|maximum (?:number|length) .{0,20}(?:tools|functions)",
            r"toolconfig",
            r"failed to (?:parse|compile) (?:grammar|tool)|parse grammar",
        ),
        never_with=frozenset({*_CLEAR_STATUSES, 429, *_SERVER}),
    ),
    Row(
        "parameter",
        False,
        code=_any(
            "unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden", "unsupportedparams"
        ),
        text=_any(
            r"unsupported (?:parameter|value)",
            r"unknown parameter|unknown name .{0,80}cannot find field",
            r"unrecognized request argument|invalid parameter",
            r"extra inputs are not permitted|extraneous key|additional properties",
            _OPTION + r"\b.{0,80}(?:not (?:supported|permitted|allowed|available)|unsupported|deprecated)",
            _OPTION + r"\b.{0,80}(?:may only|must be|cannot|is invalid|only the default)",
            r"(?:does not|doesn.t|not) support.{0,30}(?:system|developer|parameter|adaptive|service_tier|"
            + _OPTION
            + ")",
            r"unsupported for this model",
            r"reasoning is mandatory",
            r"budget_tokens|thinking budget",
            r"not supported with this model",
            r"does not support (?:the )?parameters",
            r"this model only supports .{0,40}temperature",
            r"developer instruction is not enabled",
            r"invalid value: '\w+'",
        ),
        never_with=frozenset({*_CLEAR_STATUSES, *_SERVER}),
    ),
    Row(
        "overflow",
        False,
        code=_any(
            "context_length_exceeded",
            "contextwindowexceeded",
            "model_context_window_exceeded",
            "request_too_large",
            "string_above_max_length",
            "too_many_(?:prompt|input)_tokens",
        ),
        text=_any(
            r"prompt (?:is )?too long",
            r"prompt is longer than",
            r"input is too long",
            r"(?:total )?length of (?:all |the )?(?:messages|conversation|input|prompt)\b.{0,20}(?:is )?too long",
            r"exceeds? (?:the |this |your )?(?:model'?s? )?(?:maximum |available )?context",
            r"exceed context (?:limit|length|window)",
            r"input token count.*exceeds the maximum",
            r"input length.*exceeds?",
            r"input tokens exceed",
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
            r"too many (?:input )?tokens(?! per)",
            r"too large for model with \d+ maximum context",
            r"request_too_large|request entity too large|payload too large|request payload size exceeds",
            r"expected maxlength: \d|string too long",
            r"tokens in request more than max",
            r"input (?:and|\+) output tokens exceed|total number of tokens",
            r"\b(?:400|413)\b(?: status code)? ?\(no body\)",
        ),
        never_with=_CLEAR_STATUSES,
    ),
    Row("overflow", False, statuses=frozenset({413})),
)

_CONTEXT = Row(
    "overflow",
    False,
    code=_any("context_length_exceeded", "contextwindowexceeded", "model_context_window_exceeded"),
    text=_any(
        r"context[ _](?:length|window|limit|size)",
        r"prompt (?:is )?too long",
        r"input is too long",
        r"input token count",
    ),
    never_with=_CLEAR_STATUSES,
)
"""Words that leave no doubt; the weaker ones of `overflow` come after media, options and tools."""

_MEDIA = Row(
    "media",
    False,
    code=_any(
        "image_parse_error",
        "invalid_image",
        "image_too_large",
        "image_file_too_large",
        "unsupported_image",
        "unsupported_media",
        "unsupported_file",
        "invalid_base64_image",
        "empty_image_file",
        "failed_to_download_image",
        "image_file_not_found",
        "image_too_small",
    ),
    text=_any(
        _FILES + r".{0,80}(?:exceed|too (?:large|big|many)|unsupported|at most|invalid|password)",
        r"too (?:many|much|large).{0,30}(?:image|document|pdf|file|media)",
        r"at most \d+ (?:image|document|pdf|page|media)",
        _FILES + r".{0,80}(?:could|can)(?:not| not) be",
        r"(?:could not|unable to|failed to|cannot) (?:process|decode|load|read|download).{0,20}(?:image|pdf|document|file)",
        r"(?:does not|doesn't|not) support.{0,20}\b(?:image|vision|audio|pdf|file|multimodal|document)",
        r"no endpoints found that support (?:image|audio|file|pdf)",
        r"(?:unsupported|invalid|unrecognized).{0,20}(?:image|media|pdf|mime|file)",
        r"\.(?:image|document|pdf)\.source",
        r"image_url.{0,40}(?:not|only|expected)",
        r"maximum of \d+ (?:pdf )?(?:pages|images|documents)",
        r"model (?:is )?not (?:a )?multimodal|not a multimodal model",
        r"content\.str: input should be a valid string",
        r"the document has no pages|media_type|mime ?type",
        r"\b(?:file|image|media|document) (?:type|format)\b.{0,40}\bnot (?:supported|allowed|accepted)",
        _FILES + r".{0,40}\b(?:you )?(?:uploaded|attached|provided)\b.{0,20}\bnot (?:supported|allowed|accepted)",
    ),
    never_with=frozenset({401, 403, 429, *_SERVER}),
)
"""Media come before the sizes: `image exceeds 5 MB` is not a context that is too long."""

_MEDIA_OF_SERVER = Row("media", False, text=_any(r"(?:image|audio) input is not supported"))
"""llama.cpp's server answers 500 for a model without a projector. Source: tools/server in github.com/ggml-org/llama.cpp."""

_STATUS = (
    Row("rate_limit", True, code="retrydelay", never_with=frozenset({401, 402, 403})),
    Row("quota", False, text=_any(r"exceeded your current quota"), never_with=frozenset({503})),
    Row(
        "auth",
        False,
        statuses=frozenset({401}),
        code=_any("authentication", "invalid_api_key", "api_key_invalid", "unauthorized", "unauthenticated"),
        text=_any(
            r"api[ _-]?key (?:is )?(?:not valid|not found|invalid|missing|expired|required|provided is invalid)",
            r"(?:invalid|incorrect|missing|no|expired|wrong) (?:x-)?api[ _-]?(?:key|token)",
            r"(?:invalid|missing|expired) (?:subscription key|access token|bearer token|authentication)",
            r"no auth credentials found|no cookie auth credentials",
            r"must include your api ?key|provide an api ?key|api[ _]?key was reported as leaked",
            "unauthorized",
        ),
        never_with=frozenset({403, 404, 429, *_SERVER}),
    ),
    Row(
        "auth",
        False,
        text=_any(
            r"(?:api[ _-]?key|token|credential|subscription key)\b.{0,60}(?:invalid|expired|missing|leaked|disabled|revoked)",
            r"(?:api[ _-]?key|token|credential|\bkey)\b.{0,60}(?:not valid|unusable|no access)",
        ),
        never_with=frozenset({*range(404, 600), 400}),
    ),
    Row(
        "permission",
        False,
        statuses=frozenset({403}),
        code=_any("permission", "accessdenied", "access_denied", "forbidden"),
    ),
    Row("api", True, text=_OVERLOADED, never_with=frozenset({*range(500), 529}), cause="overloaded"),
    Row(
        "overloaded",
        True,
        statuses=frozenset({529}),
        code=_any("overloaded", "modelnotready", "slow_down", "service_tier_capacity", r"\b3505\b"),
        text=_OVERLOADED,
        never_with=frozenset({400, 401, 403, 404, 422}),
    ),
    Row(
        "rate_limit",
        True,
        statuses=frozenset({429}),
        code=_any("rate_?limit", "too_?many_?requests", "throttl", "servicequotaexceeded", "requestlimitexceeded"),
        text=_any("too many requests", "rate limit", "throttl"),
        never_with=frozenset({404, 422}),
    ),
    Row(
        "timeout",
        True,
        statuses=frozenset({408, 504, 522, 524}),
        code=_any("timeout", "deadline_exceeded"),
        text=_any(r"timed out", r"deadline exceeded", r"took too long"),
        never_with=frozenset({400, 404, 422}),
    ),
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
        code=_any("model_not_found", "model_not_supported", "model_not_available", "invalid_model", "model_deprecated"),
        text=_any(
            r"model.{0,80}(?:does not exist|doesn.t exist|not found|not supported|is not available|is invalid|not enabled)",
            r"model.{0,80}(?:no longer (?:available|supported)|deprecated|retired|been removed)",
            r"model.{0,80}(?:decommissioned|end of (?:its )?life)",
            r"(?:invalid|unknown|no such|unsupported|not a valid) model",
            r"(?:not a valid|invalid) model id|model identifier",
            r"no (?:endpoints|allowed providers).{0,20}(?:found|available)",
            r"does not work with the specified model",
            r"^model: \S+$|only supported in (?:v1/)?(?:responses|chat|completions)|not a chat model",
            r"project .{0,80}does not have access to model",
        ),
        never_with=frozenset({401, 429, *_SERVER}),
    ),
    Row(
        "api",
        True,
        statuses=frozenset({409, 424, 425, *_SERVER}),
        code=_any(
            "server_error",
            "internal",
            "api_error",
            "serviceunavailable",
            "badgateway",
            "apiconnection",
            "unavailable",
            "exhausted",
            "modelstreamerror",
            "modelerror",
        ),
        never_with=frozenset({400, 404, 422}),
    ),
    Row(
        "overloaded",
        True,
        text=_any("overloaded", "no_kv_space", "capacity"),
        never_with=frozenset({400, 401, 403, 404, 422}),
    ),
    Row("address", False, statuses=frozenset({404, 405, 410})),
    Row("protocol", False, statuses=frozenset(range(300, 400))),
    Row(
        "invalid_request",
        False,
        statuses=frozenset(range(400, 500)),
        code=_any("invalid_request", "badrequest", "bad_request", "unprocessable", "validation"),
    ),
)

ROWS = (
    _BAD_CALL,
    *_ACCOUNT,
    *_LIMITS[:1],
    *_MODEL,
    *_LIMITS[1:],
    *_REFUSED,
    *_REQUEST[:1],
    _CONTEXT,
    _MEDIA,
    _MEDIA_OF_SERVER,
    *_REQUEST[1:],
    *_STATUS,
)

UNKNOWN_IN_STREAM = Row("api", True)
"""An error object inside a stream without any known kind."""

UNKNOWN = Row("unknown", False)
"""Any other failure without a known kind."""

PAGE = Row("page", False, cause="page")
"""A web page with a status of the client: a proxy, a login page or another server answered."""


def find_row(reported: Reported, *, fallback: Row) -> Row:
    """Return the first matching row."""
    return next((row for row in ROWS if row.fits(reported)), fallback)
