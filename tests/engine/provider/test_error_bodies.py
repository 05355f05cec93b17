"""Bodies of errors that no provider documents: any bytes become a sentence, and no secret leaves."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.provider import failure
from opencode_tui.engine.provider.error.body import Reported, read_child, read_object, wait_in_text
from opencode_tui.schema.error import split_remedy
from tests.support.provider.error_corpus import error_lines
from tests.support.rows import each

_KEYS = st.sampled_from(
    ["error", "message", "detail", "details", "metadata", "raw", "code", "type", "errors", "response", "loc", "reasons"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)
_STATUSES = st.sampled_from([0, 200, 302, 400, 401, 402, 403, 404, 407, 413, 418, 429, 500, 502, 503, 529, 599, 999])


def is_sentence(text: str) -> bool:
    """Return whether a text has a reason of words and a remedy, in one line."""
    reason, remedy = split_remedy(text)
    return bool(reason.partition(":")[2].strip() and remedy) and "\n" not in text


@settings(max_examples=50, deadline=None)
@given(_STATUSES, st.binary(max_size=200))
def test_any_bytes_become_a_sentence(status: int, body: bytes) -> None:
    text = body.decode("utf-8", "replace")
    assert is_sentence(str(failure.from_response(Reported("p", status=status, body=text), now_ms=0)))
    assert is_sentence(str(failure.from_child(Reported("p", status=status, message=text), now_ms=0)))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(_STATUSES, st.dictionaries(_KEYS, _VALUES, max_size=4))
def test_any_object_becomes_a_sentence(status: int, body: dict[str, object]) -> None:
    assert is_sentence(str(failure.from_stream("p", body)))
    assert is_sentence(
        str(failure.from_response(Reported("p", status=status, body=json.dumps(body, default=str)), now_ms=0))
    )
    assert is_sentence(str(failure.from_child(Reported("p", message=f"XError - {body!r}"), now_ms=0)))


@pytest.mark.slow
def test_damaged_bodies_of_the_corpus_become_sentences() -> None:
    dice = random.Random(16)
    for line in error_lines():
        body = line["body"]
        at = dice.randrange(len(body) + 1)
        for damaged in (body[:at], body[at:], body[:at] + "\x00" + body[at:], body.replace('"', "'")):
            reported = Reported(line["provider"], status=line["status"], body=damaged, message=damaged)
            assert is_sentence(str(failure.from_response(reported, now_ms=0)))
            assert is_sentence(str(failure.from_child(reported, now_ms=0)))


@pytest.mark.parametrize("depth", [10, 200, 5000])
def test_nested_errors_end(depth: int) -> None:
    text = '{"error":' * depth + '{"message":"deep"}' + "}" * depth
    assert is_sentence(str(failure.from_response(Reported("p", status=400, body=text), now_ms=0)))
    inner: dict[str, object] = {"message": "deep"}
    for _ in range(min(depth, 200)):
        inner = {"error": inner}
    assert is_sentence(str(failure.from_stream("p", inner)))


SECRETS = {
    "sk-proj-abcdefgh12345678": "Incorrect API key provided: sk-proj-abcdefgh12345678.",
    "AIzaSyA1234567890abcdefgh": "for url 'https://x.example/v1?key=AIzaSyA1234567890abcdefgh'",
    "AKIAIOSFODNN7EXAMPLE": "Credential=AKIAIOSFODNN7EXAMPLE/20261120/us-east-1",
    "hunter2secret": "Authorization: Bearer hunter2secret",
    "0123456789abcdef0123456789abcdef": "api-key 0123456789abcdef0123456789abcdef is not valid here",
    "sig1234567": "https://b.example/x?X-Amz-Signature=sig1234567&y=1",
    "user:pa55word": "proxy http://user:pa55word@proxy.example:8080 refused",
}


@each("secret", SECRETS)
@each("way", ["http", "stream", "litellm"])
def test_no_secret_of_a_body_is_shown_or_stored(secret: str, way: str) -> None:
    text = SECRETS[secret]
    body = {"error": {"message": text, "code": text, "metadata": {"raw": text, "provider_name": "X"}}}
    known = ("0123456789abcdef0123456789abcdef",)
    match way:
        case "http":
            error = failure.from_response(
                Reported("p", status=401, body=json.dumps(body), headers={"authorization": text}, secrets=known),
                now_ms=0,
            )
        case "stream":
            error = failure.from_stream("p", body, secrets=known)
        case _:
            reported = Reported("p", status=401, message=f"litellm.AuthenticationError: {body!r}", secrets=known)
            error = failure.from_child(reported, now_ms=0)
    assert secret not in f"{error} {error.failure}"


@each(
    ("text", "wait"),
    [
        ("Please try again in 20s.", 20_000),
        ("Please try again in 341ms.", 341),
        ("Please try again in 7m12s. Visit", 432_000),
        ("try again in 1h2m3.5s", 3_723_500),
        ("Please retry after 60 seconds.", 60_000),
        ("Please retry your request after 2 minutes", 120_000),
        ("Please retry in 36.5s.", 36_500),
        ("try again in 2 hours", 7_200_000),
        ("try again in 1 day", 86_400_000),
        ("try again in a while", None),
        ("try again in 5 minutes and 3 seconds", 300_000),
        ("Retry 3 of 5 failed", None),
        ("wait 20s", None),
        ("try again in 0s", None),
    ],
)
def test_a_wait_in_words_is_read(text: str, wait: int | None) -> None:
    assert wait_in_text(text) == wait


def test_a_generic_message_is_replaced_by_the_one_inside() -> None:
    raw = {"error": {"message": "the cause"}}
    read = read_object(
        {"error": {"message": "Provider returned error", "metadata": {"raw": raw, "provider_name": "Z"}}}
    )
    assert read.message == "Z: the cause"
    assert read_child("litellm.APIError: APIError: X - {'error': 'the cause'}").message == "the cause"


@pytest.mark.parametrize(
    "text",
    [
        'litellm.BadRequestError: AnthropicException - b\'{"error": {"message": "it\\\'s the cause"}}\'',
        'litellm.BadRequestError: VertexAIException BadRequestError - b"{\\"error\\": {\\"message\\": \\"it\'s the cause\\"}}"',
        'litellm.RateLimitError: BedrockException: Rate Limit Error - {"message":"it\'s the cause"}',
        "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': \"it's the cause\", 'code': None}}",
        "litellm.InternalServerError: AnthropicException - it's the cause. Handle with `litellm.InternalServerError`.",
        'litellm.APIError: APIError: OpenrouterException - {"error":{"message":"it\'s the cause","code":502}}',
        "An error occurred (ValidationException) when calling the ConverseStream operation: it's the cause",
        "it's the cause\nReceived Model Group=x\nAvailable Model Group Fallbacks=None",
    ],
)
def test_the_words_of_libraries_are_left_out(text: str) -> None:
    assert read_child(text).message == "it's the cause"
