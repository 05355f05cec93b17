"""What Gemini, and those who bend its format, say."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.gemini_stream import FINISH_REASONS, read_usage
from opencode_tui.engine.provider.llm import TextEnd, ToolCall, Usage
from tests.engine.provider.reading import Heard, decode, gather
from tests.support.rows import each

SIGNED = {"google": {"thoughtSignature": "S"}}


def response(*parts: Any, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}], **fields}


END = response(finish="STOP")


def hear(*events: Any) -> Heard:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return gather(*decode("gemini", [f"data: {text}\r\n\r\n".encode() for text in texts]))


def text(value: Any, **fields: Any) -> dict[str, Any]:
    return {"text": value, **fields}


def call(name: Any = "read", args: Any = None, identifier: str | None = None) -> dict[str, Any]:
    own = {"id": identifier} if identifier else {}
    return {"functionCall": {**own, "name": name, **({} if args is None else {"args": args})}}


BLOCKS: dict[str, tuple[list[Any], list[tuple[str, str]]]] = {
    "texts are joined": ([response(text("a")), response(text("b"))], [("text", "ab")]),
    "texts of one response": ([response(text("a"), text("b"))], [("text", "ab")]),
    "reasoning, then text": (
        [response(text("h", thought=True)), response(text("m", thought=True)), response(text("a"))],
        [("reasoning", "hm"), ("text", "a")],
    ),
    "reasoning again": (
        [response(text("a"), text("h", thought=True), text("b"))],
        [("text", "a"), ("reasoning", "h"), ("text", "b")],
    ),
    "no thought": ([response(text("a", thought=False))], [("text", "a")]),
    "empty texts": ([response(text(""), text("a"), text(""))], [("text", "a")]),
    "a text that is none": ([response(text(7), text(None), text("a"))], [("text", "a")]),
    "parts that are none": ([response(None, [], "x", 1, text("a"))], [("text", "a")]),
    "parts that nobody asked for": (
        [response({"executableCode": {"code": "1"}}, {"inlineData": {"data": "x"}}, {"new": 1}, text("a"))],
        [("text", "a")],
    ),
    "candidates that are none": (
        [{"candidates": None}, {"candidates": [None]}, {}, response(text("a"))],
        [("text", "a")],
    ),
    "content that is none": ([{"candidates": [{"content": None}]}, response(text("a"))], [("text", "a")]),
    "only the first candidate": (
        [{"candidates": [*response(text("a"))["candidates"], *response(text("zz"))["candidates"]]}],
        [("text", "a")],
    ),
    "a finish reason in every response": (
        [response(text("a"), finish="STOP"), response(text("b"), finish="STOP")],
        [("text", "ab")],
    ),
    "an unspecified finish reason": ([response(text("a"), finish="FINISH_REASON_UNSPECIFIED")], [("text", "a")]),
    "text after a call": (
        [response(text("a"), call(args={}), text("b"))],
        [("text", "a"), ("tool", "read"), ("text", "b")],
    ),
    "an end marker of chat completions": ([response(text("a")), END, "[DONE]"], [("text", "a")]),
    "feedback without a block": ([response(text("a"), promptFeedback={"safetyRatings": []})], [("text", "a")]),
}


@each("name", BLOCKS)
def test_parts_are_heard_in_order(name: str) -> None:
    events, blocks = BLOCKS[name]
    heard = hear(*events, END)
    assert (heard.blocks, heard.error) == (blocks, None)


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([call(args={"path": "a"}, identifier="c1")], [("c1", "read", {"path": "a"})]),
        ([call(identifier="c1")], [("c1", "read", {})]),
        ([call(args={}, identifier="c1"), call(args={}, identifier="c2")], [("c1", "read", {}), ("c2", "read", {})]),
        ([call(args={"path": "a"}, identifier="c1")] * 2, [("c1", "read", {"path": "a"})]),
        ([call(args='{"path": "a"}', identifier="c1")], [("c1", "read", {"path": "a"})]),
        ([call("write", {"path": "ü\n"}, "c1")], [("c1", "write", {"path": "ü\n"})]),
    ],
)
def test_calls_are_heard_whole(parts: list[Any], calls: list[tuple[str, str, Any]]) -> None:
    heard = hear(*(response(part) for part in parts), END)
    assert [(one.id, one.tool, one.input) for one in heard.calls] == calls
    assert heard.finish is not None and heard.finish.reason == "tool-calls"


def test_equal_calls_without_ids_are_two_calls() -> None:
    heard = hear(response(call(args={"path": "a"}), call(args={"path": "a"})), END)
    assert [one.input for one in heard.calls] == [{"path": "a"}] * 2
    assert all(one.id for one in heard.calls)


@pytest.mark.parametrize(
    "part", [call(name=None, args={}), call(args=[1]), call(args="{oops"), call(args=7), {"functionCall": None}]
)
def test_a_call_that_is_none_is_not_to_be_run(part: dict[str, Any]) -> None:
    (found,) = hear(response(part), END).calls
    assert found.error


def test_the_signature_of_a_call_is_stored_with_it() -> None:
    heard = hear(
        response({**call(args={}, identifier="c1"), "thoughtSignature": "S"}, call(args={}, identifier="c2")), END
    )
    assert heard.calls == [ToolCall("c1", "read", {}, metadata=SIGNED), ToolCall("c2", "read", {})]


@pytest.mark.parametrize(
    "parts",
    [
        [text("a", thoughtSignature="S")],
        [text("a"), text("b", thoughtSignature="S")],
        [text("a"), text("", thoughtSignature="S")],
        [text("a", thoughtSignature="R"), text("b", thoughtSignature="S")],
        [text("<"), text("", thoughtSignature="S")],
    ],
)
def test_the_signature_of_a_text_is_stored_with_it(parts: list[Any]) -> None:
    events, _ = decode("gemini", [f"data: {json.dumps(one)}\n\n".encode() for one in (*map(response, parts), END)])
    assert [one.metadata for one in events if isinstance(one, TextEnd)] == [SIGNED]


def test_the_signature_of_reasoning_is_stored_with_it() -> None:
    thoughts = (response(text("hm", thought=True)), response(text("", thought=True, thoughtSignature="S")))
    assert hear(*thoughts, response(text("a")), END).metadata == [SIGNED]


def test_a_signature_without_anything_to_sign_is_dropped() -> None:
    heard = hear(response(text("", thoughtSignature="S")), response(text("a")), END)
    assert (heard.blocks, heard.metadata) == ([("text", "a")], [])


@each(("reason", "finish"), [*FINISH_REASONS.items(), ("SOMETHING_NEW", "unknown")])
def test_why_a_response_ended(reason: str, finish: str) -> None:
    heard = hear(response(text("a"), finish=reason))
    assert heard.finish is not None and heard.finish.reason == finish


@each(
    ("last", "kind", "retryable", "words"),
    [
        (
            response(finish="MALFORMED_FUNCTION_CALL"),
            "bad_call",
            True,
            "an invalid tool call (MALFORMED_FUNCTION_CALL)",
        ),
        (response(finish="UNEXPECTED_TOOL_CALL"), "bad_call", True, "a tool that it was not given"),
        (response(finish="MALFORMED_RESPONSE"), "api", True, "an invalid response"),
        (response(finish="MISSING_THOUGHT_SIGNATURE"), "thoughts", False, "a thought signature is missing"),
        (
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
            "invalid_prompt",
            False,
            "blocked (PROHIBITED_CONTENT)",
        ),
        (
            {"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "language"}},
            "invalid_prompt",
            False,
            "blocked (OTHER: language); change it",
        ),
        (
            {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}},
            "api",
            True,
            "overloaded",
        ),
        ({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}, "rate_limit", True, "quota"),
        (
            {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}},
            "auth",
            False,
            "API key",
        ),
        (
            {"error": {"code": 400, "message": "The input token count (2) exceeds the maximum (1)."}},
            "overflow",
            False,
            "token",
        ),
        ({"error": {"code": 500, "message": "Internal", "status": "INTERNAL"}}, "api", True, "Internal"),
        ({}, "stream_truncated", True, "cut off"),
    ],
)
def test_a_failure_is_reported_as_what_it_is(last: dict[str, Any], kind: str, retryable: bool, words: str) -> None:
    heard = hear(response(text("a")), last)
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == (kind, retryable)
    assert words in str(heard.error)


def test_a_list_of_responses_is_heard_as_well() -> None:
    whole = [response(text("a")), response(text("b"), call(args={}, identifier="c1")), END]
    heard = gather(*decode("gemini", [json.dumps(whole, indent=1).encode()]))
    assert heard.blocks == [("text", "ab"), ("tool", "read")]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, Usage(10, 5, total=15)),
        (
            {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 7},
            Usage(6, 12, 7, cache_read=4),
        ),
        ({"promptTokenCount": 10, "toolUsePromptTokenCount": 3}, Usage(13)),
        ({"promptTokenCount": 1, "cachedContentTokenCount": 9}, Usage(1, cache_read=9)),
        ({"promptTokenCount": None, "candidatesTokenCount": -3, "totalTokenCount": True}, Usage()),
        ({"promptTokenCount": 1e400, "candidatesTokenCount": "5"}, Usage()),
    ],
)
def test_usage_is_read_without_what_is_no_number(usage: dict[str, Any], expected: Usage) -> None:
    assert read_usage(usage) == expected


def test_the_last_usage_counts() -> None:
    counted = [response(text("a"), usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": n}) for n in (1, 2)]
    heard = hear(*counted, END)
    assert heard.finish is not None and heard.finish.usage == Usage(4, 2)
