"""The table of failures, and what is kept and told of one."""

import json

import pytest

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.engine.provider.error.plain import missing_key
from opencode_tui.schema.error import AuthError, ContextOverflowError, split_remedy
from tests.support.rows import each

NOW_MS = 1_795_132_800_000
"""Fri, 20 Nov 2026 00:00:00 GMT."""


def of(status: int, message: str = "", code: str = "", **headers: str) -> tuple[str, bool]:
    body = json.dumps({"error": {"message": message, "type": code}}) if message or code else ""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    kept = failure.from_response(Reported("fake", status=status, body=body, headers=named), now_ms=NOW_MS).failure
    return kept.kind, kept.retryable


@each(
    "wording",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens",
        "prompt token count of 135000 exceeds the limit of 128000",
        "the request exceeds the available context size, try increasing it",
        "The number of tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit (2013)",
        "Your request exceeded model token limit: 262144",
        "Context length exceeded",
        "context_length_exceeded",
        "The attached file exceeds the model's maximum context length of 8192 tokens",
        "Your document and images exceed the context window",
        "input length and `max_tokens` exceed context limit: 195000 + 20000 > 200000",
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        "400 status code (no body)",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "The total length of all messages is too long.",
        "The length of the conversation is too long for this model.",
        "length of prompt_tokens (57535) must be less than max_seq_len (32768).",
        "Input validation error: `inputs` must have less than 2048 tokens. Given: 2222",
        "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
        "prompt token count (5120) cannot exceed 4096. Please decrease it.",
        "Prompt length (9000) exceeds maximum input length (8192).",
        "prompt tokens too long",
    ],
)
def test_every_wording_of_too_much_is_an_overflow(wording: str) -> None:
    assert of(400, wording) == ("overflow", False)


@each(
    ("status", "message", "code", "expected"),
    [
        (400, "", "", ("overflow", False)),
        (413, "", "", ("overflow", False)),
        (413, "Request exceeds the maximum allowed number of bytes.", "request_too_large", ("overflow", False)),
        (400, "image exceeds 5 MB maximum: 6123456 bytes > 5242880 bytes", "", ("media", False)),
        (400, "Could not process image", "invalid_request_error", ("media", False)),
        (400, "This model does not support image input", "", ("media", False)),
        (400, "The file type you uploaded is not supported. Please try again with a pdf", "", ("media", False)),
        (400, "This image format is not accepted.", "", ("media", False)),
        (400, "The file", "unsupported_file", ("media", False)),
        (400, "The response format is not supported by this model", "", ("invalid_request", False)),
        (400, "Too much of it", "too_many_prompt_tokens", ("overflow", False)),
        (
            400,
            "Tool call validation failed: parameters for tool x did not match",
            "tool_use_failed",
            ("bad_call", True),
        ),
        (400, "attempted to call tool 'x' which was not in request.tools", "", ("bad_call", True)),
        (500, "error parsing tool call: raw='{', err=unexpected end of JSON input", "", ("bad_call", True)),
        (424, "The model produced invalid sequence as part of ToolUse.", "", ("bad_call", True)),
        (429, "Failed to call a function", "", ("rate_limit", True)),
        (
            400,
            "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
            "",
            ("history", False),
        ),
        (400, "An assistant message with 'tool_calls' must be followed by tool messages", "", ("history", False)),
        (400, "messages.1.content.0.thinking.signature: Field required", "", ("thoughts", False)),
        (400, "Unknown parameter: 'foo'", "invalid_request_error", ("parameter", False)),
        (401, "Incorrect API key provided", "invalid_request_error", ("auth", False)),
        (403, "Country not supported", "", ("permission", False)),
        (400, "API key not valid. Please pass a valid API key.", "", ("auth", False)),
        (402, "Insufficient balance", "", ("quota", False)),
        (400, "Your credit balance is too low to access the Anthropic API", "invalid_request_error", ("quota", False)),
        (429, "You exceeded your current quota", "insufficient_quota", ("quota", False)),
        (
            429,
            "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000",
            "tokens",
            ("rate_limit", True),
        ),
        (404, "The model `gpt-9` does not exist", "model_not_found", ("model", False)),
        (408, "", "", ("timeout", True)),
        (409, "conflict", "", ("api", True)),
        (500, "boom", "", ("api", True)),
        (503, "", "", ("api", True)),
        (529, "Overloaded", "overloaded_error", ("overloaded", True)),
        (302, "", "", ("protocol", False)),
        (418, "teapot", "", ("invalid_request", False)),
        (404, "Your account balance is too low to use paid models", "", ("quota", False)),
        (
            400,
            "messages.0.content.1.image.source.base64.data: it appears to be a image/png image",
            "",
            ("media", False),
        ),
        (400, "This model's maximum completion tokens is 8192", "", ("output_limit", False)),
        (403, "Project does not have access to model gpt-5", "", ("model", False)),
        (429, "The service may be temporarily overloaded, please try again later", "", ("overloaded", True)),
        (404, "404 page not found", "", ("address", False)),
    ],
)
def test_a_status_and_its_words_decide_the_kind(
    status: int, message: str, code: str, expected: tuple[str, bool]
) -> None:
    assert of(status, message, code) == expected


def test_a_provider_that_says_whether_to_retry_is_believed() -> None:
    assert of(500, "no", x_should_retry="false") == ("api", False)
    assert of(400, "yes", x_should_retry="true") == ("invalid_request", True)
    assert of(401, "no key", x_should_retry="true") == ("auth", False)


@each(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2000),
        ({"retry-after": "1.5"}, 1500),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1500),
        ({"retry-after-ms": "700000"}, 700_000),
        ({"retry-after": "Invalid Date String"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 00:00:20 GMT"}, 20_000),
        ({"retry-after": "Thu, 19 Nov 2026 00:00:00 GMT"}, None),
        ({"retry-after": "not-a-number"}, None),
        ({"retry-after-ms": "nan", "retry-after": "-3"}, None),
    ],
)
def test_the_wait_is_read_in_every_form(headers: dict[str, str], wait: int | None) -> None:
    assert failure.retry_after_ms(headers, now_ms=NOW_MS) == wait


def test_a_wait_inside_the_body_counts_too() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12.5s"}]
    error = {
        "code": 429,
        "message": "You exceeded your current quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": details,
    }
    kept = failure.from_response(
        Reported("google", status=429, body=json.dumps([{"error": error}])), now_ms=NOW_MS
    ).failure
    assert (kept.kind, kept.retryable, kept.retry_after_ms) == ("rate_limit", True, 12_500)


@each(
    ("body", "expected"),
    [
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}, ("rate_limit", True)),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, ("overloaded", True)),
        ({"type": "error", "error": {"code": "context_length_exceeded", "message": "too long"}}, ("overflow", False)),
        ({"type": "error", "error": {"code": "insufficient_quota"}}, ("quota", False)),
        ({"type": "error", "error": {"code": "usage_not_included"}}, ("quota", False)),
        ({"type": "error", "error": {"code": "invalid_prompt", "message": "no"}}, ("invalid_prompt", False)),
        ({"error": {"message": "Provider returned error", "code": 502}}, ("api", True)),
        (
            {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "prompt is too long"}}},
            ("overflow", False),
        ),
        ({"error": "something odd"}, ("api", True)),
        ({"error": {"message": "no_kv_space"}}, ("overloaded", True)),
        ({"type": "error", "error": {"type": "too_many_requests"}}, ("rate_limit", True)),
        ({"error": {"code": "resource_exhausted"}}, ("api", True)),
        ({"type": "error", "error": {"code": 123}}, ("api", True)),
        ({"error": {"type": "authentication_error", "message": "invalid x-api-key"}}, ("auth", False)),
    ],
)
def test_an_error_inside_a_stream_is_sorted_alike(body: dict[str, object], expected: tuple[str, bool]) -> None:
    kept = failure.from_stream("fake", body).failure
    assert (kept.kind, kept.retryable) == expected


@pytest.mark.parametrize(
    ("name", "status", "message", "kind"),
    [
        ("RateLimitError", 429, "litellm.RateLimitError: RateLimitError: OpenAIException - slow down", "rate_limit"),
        ("ContextWindowExceededError BadRequestError", 400, "litellm.BadRequestError: too much", "overflow"),
        ("AuthenticationError", 401, "litellm.AuthenticationError: no", "auth"),
        ("APIConnectionError", 500, "litellm.APIConnectionError: Connection reset by peer", "stream_truncated"),
        ("Timeout", 408, "litellm.Timeout: Connection timed out", "timeout"),
        (
            "BadRequestError",
            400,
            'litellm.BadRequestError: AnthropicException - b\'{"error": {"message": "prompt is too long"}}\'',
            "overflow",
        ),
        ("KeyError", 0, "'choices'", "unknown"),
    ],
)
def test_litellms_exceptions_are_sorted_alike(name: str, status: int, message: str, kind: str) -> None:
    reported = Reported("fake", status=status, message=message, code=name)
    assert failure.from_child(reported, now_ms=NOW_MS).failure.kind == kind


def test_litellms_words_before_the_providers_are_left_out() -> None:
    reported = Reported(
        "fake",
        status=429,
        message="litellm.RateLimitError: RateLimitError: OpenAIException - slow down",
        code="RateLimitError",
    )
    assert str(failure.from_child(reported, now_ms=NOW_MS)).startswith("fake: slow down (HTTP 429); fix: ")


def test_a_message_is_one_line_that_names_provider_and_remedy() -> None:
    refused = failure.from_response(
        Reported("openai", status=401, body='{"error": {"message": "bad\\nkey"}}'), now_ms=0
    )
    assert isinstance(refused, AuthError)
    assert str(refused) == "openai rejected the API key: bad key (HTTP 401); fix: run `opencode-tui auth login openai`"
    body, setting = '{"error": {"message": "bad"}}', "provider.openai.options.apiKey"
    own = failure.from_response(Reported("openai", status=401, body=body, key_setting=setting), now_ms=0)
    assert str(own).endswith(
        f"; fix: correct {setting} in your settings (it overrides keys saved by `opencode-tui auth login`)"
    )
    missing = missing_key("groq", "GROQ_API_KEY")
    assert str(missing) == "no API key for groq; fix: run `opencode-tui auth login groq` or set GROQ_API_KEY"


@each(
    ("message", "named"),
    [
        ("tools.0.custom.name: too long", "a_b"),
        ("tools.2.custom.name: too long", ""),
        ("tools.1 and tools.0 have the same name", "c"),
        ("Invalid 'tools[1].function.name'", "c"),
        ("Value at 'toolConfig.tools.1.member.toolSpec.name' failed", "a_b"),
        ("Value at 'toolConfig.tools.0.member.toolSpec.name' failed", ""),
        ("tools[0].function_declarations[1].name: bad function_declarations", "c"),
        ("invalid schema for function 'c' (tools[1])", ""),
        ("tool names must be unique", ""),
    ],
)
def test_a_rejected_tool_is_named_only_where_its_place_is_known(message: str, named: str) -> None:
    body = json.dumps({"error": {"message": message}})
    error = failure.from_response(Reported("fake", status=400, body=body, tools=("a_b", "c")), now_ms=NOW_MS)
    assert error.failure.kind == "tools"
    reason, remedy = split_remedy(str(error))
    assert ("the tool is" in reason, f"tools.{named or 'NAME'}: false" in str(remedy)) == (bool(named), True)
    assert f"(the tool is {named})" in reason or not named
    child = failure.from_child(Reported("fake", status=400, message=message, tools=("a_b", "c")), now_ms=NOW_MS)
    assert named in str(child)


def test_a_web_page_is_described_by_its_title() -> None:
    page = f"<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head>{'<p>x</p>' * 5000}</html>"
    error = failure.from_response(Reported("fake", status=502, body=page), now_ms=0)
    assert split_remedy(str(error))[0] == "fake: a web page (502 Bad Gateway) (HTTP 502)"
    assert len(error.failure.body or "") <= 4096


def test_no_secret_is_reported_or_stored() -> None:
    body = (
        '{"error": {"message": "Bad key sk-proj-abcdef123456, header Authorization: Bearer qwertyuiop and MYKEY12345"}}'
    )
    headers = {"set-cookie": "session=1", "retry-after": "1", "authorization": "Bearer x", "x-request-id": "r1"}
    error = failure.from_response(
        Reported("fake", status=500, body=body, headers=headers, secrets=("MYKEY12345",)), now_ms=0
    )
    told = f"{error} {error.failure}"
    assert not any(secret in told for secret in ("abcdef123456", "qwertyuiop", "MYKEY12345", "session=1"))
    assert error.failure.headers == {"retry-after": "1", "x-request-id": "r1"}


def test_openais_404_can_be_tried_again_and_a_missing_model_cannot() -> None:
    def kept(provider: str, code: str) -> bool:
        body = json.dumps({"error": {"message": "nothing here", "code": code}})
        return failure.from_response(Reported(provider, status=404, body=body), now_ms=0).failure.retryable

    assert (kept("openai", ""), kept("openai", "model_not_found"), kept("groq", "")) == (True, False, False)


def test_an_overflow_is_an_error_of_its_own() -> None:
    error = failure.from_response(
        Reported("fake", status=400, body='{"error": {"message": "prompt is too long"}}'), now_ms=0
    )
    assert isinstance(error, ContextOverflowError)
