"""What OpenAI's format, and those who bend it, say."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.delta import (
    WireCall,
    WireDelta,
    WireError,
    WireFinish,
    WireReasoning,
    WireText,
    WireUsage,
)
from opencode_tui.engine.provider.decode.openai_chat import OpenAiChatDecoder, read_usage
from opencode_tui.engine.provider.llm import FinishReason, Usage
from tests.support.rows import each


def read(**choice: Any) -> list[WireDelta]:
    chunk = {"choices": [{"index": 0, **choice}]}
    return OpenAiChatDecoder().feed(f"data: {json.dumps(chunk)}\n\n".encode())


@each(
    ("delta", "read_as"),
    [
        ({"content": "a"}, [WireText("a")]),
        ({"content": [{"type": "text", "text": "a"}, "b"]}, [WireText("a"), WireText("b")]),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, [WireReasoning("hm")]),
        ({"refusal": "no"}, [WireText("no")]),
        ({"reasoning_text": "hm"}, [WireReasoning("hm", None, {"field": "reasoning_text"})]),
        ({"function_call": {"name": "read", "arguments": "{}"}}, [WireCall(None, None, "read", "{}")]),
        ({"tool_calls": [{"index": "1", "id": 7, "function": None}]}, [WireCall(1, "7")]),
        (
            {"tool_calls": [{"index": 0, "extra_content": {"a": 1}}]},
            [WireCall(0, metadata={"extra_content": {"a": 1}})],
        ),
        ({"tool_calls": [{"index": 0, "function": {"arguments": {}}}]}, [WireCall(0, arguments={})]),
        ({"content": None, "tool_calls": None}, []),
        # an entry that says nothing is no call: it would be one without a name, which the model did not make
        ({"content": "a", "tool_calls": [None]}, [WireText("a")]),
        ({"content": "a", "tool_calls": [{}, {"index": 0}]}, [WireText("a")]),
        ({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}]}, []),
        (None, []),
        ([], []),
    ],
)
def test_a_delta_is_read_in_every_form(delta: object, read_as: list[WireDelta]) -> None:
    assert read(delta=delta) == read_as


def test_a_summary_in_the_details_of_thoughts_is_shown_where_no_other_field_has_it() -> None:
    # Source: github.com/crmne/ruby_llm at 2026-08, chat_web_search_with_openrouter_openai_gpt-5_2_searches_… of its recordings.
    detail = {"type": "reasoning.summary", "summary": "hm", "index": 0}
    metadata = {"field": "reasoning", "details": [detail]}
    assert read(delta={"reasoning": None, "reasoning_details": [detail]}) == [WireReasoning("hm", None, metadata)]
    assert read(delta={"reasoning": "hm", "reasoning_details": [detail]}) == [WireReasoning("hm", None, metadata)]


def test_details_of_thoughts_are_kept_once_and_joined() -> None:
    decoder = OpenAiChatDecoder()
    deltas: list[WireDelta] = []
    for piece in ("a", "b"):
        detail = {"type": "reasoning.text", "text": piece, "index": 0}
        decoder.read_event({"choices": [{"delta": {"reasoning": piece, "reasoning_details": [detail]}}]}, deltas)
    decoder.read_event(
        {"choices": [{"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E"}]}}]}, deltas
    )
    details = [{"type": "reasoning.text", "text": "ab", "index": 0}, {"type": "reasoning.encrypted", "data": "E"}]
    metadata = {"field": "reasoning", "details": details}
    assert deltas == [
        WireReasoning("a", None, metadata),
        WireReasoning("b", None, metadata),
        WireReasoning("", None, metadata),
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, Usage(10, 5, total=15)),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3}},
            Usage(3, cache_read=4, cache_write=3),
        ),
        ({"prompt_tokens": 10, "prompt_cache_hit_tokens": 8}, Usage(2, cache_read=8)),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}}, Usage(0, 9, 4)),
        (
            {
                "prompt_tokens": 1,
                "completion_tokens": 2,
                "total_tokens": 7,
                "completion_tokens_details": {"reasoning_tokens": 4},
            },
            Usage(1, 6, 4, total=7),
        ),
        ({"prompt_tokens": None, "completion_tokens": -3, "total_tokens": True}, Usage()),
        ({"prompt_tokens": 1e400, "completion_tokens": "5"}, Usage()),
    ],
)
def test_usage_is_read_without_what_is_no_number(usage: dict[str, Any], expected: Usage) -> None:
    assert read_usage(usage) == expected


def test_usage_is_found_where_some_providers_hide_it() -> None:
    assert read(usage={"prompt_tokens": 1}) == [WireUsage(Usage(1))]
    assert OpenAiChatDecoder().feed(b'data: {"choices": [], "x_groq": {"usage": {"prompt_tokens": 1}}}\n\n') == [
        WireUsage(Usage(1))
    ]


def test_an_error_object_is_an_error() -> None:
    assert OpenAiChatDecoder().feed(b'data: {"error": {"message": "no"}}\n\n') == [
        WireError({"error": {"message": "no"}})
    ]


def test_only_the_first_choice_counts() -> None:
    assert read(index=1, delta={"content": "zz"}, finish_reason="stop") == []
    assert read(delta={}, finish_reason="STOP") == [WireFinish("stop")]


def whole(**choice: Any) -> list[WireDelta]:
    decoder = OpenAiChatDecoder()
    body = {"object": "chat.completion", "choices": [{"index": 0, **choice}]}
    return decoder.feed(json.dumps(body).encode()) + decoder.end()


@pytest.mark.parametrize("delta", [{}, None, {"role": "assistant", "content": ""}], ids=str)
def test_the_message_of_a_complete_answer_counts_beside_an_empty_delta(delta: object) -> None:
    said = whole(delta=delta, message={"content": "all"}, finish_reason="stop")
    assert said == [WireText("all"), WireFinish("stop")]


def test_a_message_that_repeats_what_was_said_does_not_count() -> None:
    decoder = OpenAiChatDecoder()
    deltas: list[WireDelta] = []
    for delta, message in (("a", "a"), ("b", "ab"), ("", "ab")):
        decoder.read_event({"choices": [{"delta": {"content": delta}, "message": {"content": message}}]}, deltas)
    assert deltas == [WireText("a"), WireText("b")]


@each(
    ("reason", "read_as"),
    [
        ("error", "error"),
        ("abort", "error"),
        ("network_error", "error"),
        ("insufficient_system_resource", "error"),
        ("sensitive", "content-filter"),
        ("content_filter", "content-filter"),
        ("stop", "stop"),
        ("length", "length"),
        ("something_new", "unknown"),
    ],
)
def test_the_reason_of_an_end_is_read(reason: str, read_as: FinishReason) -> None:
    assert read(delta={}, finish_reason=reason) == [WireFinish(read_as)]


def test_thoughts_around_a_text_have_details_of_their_own() -> None:
    decoder = OpenAiChatDecoder()
    deltas: list[WireDelta] = []
    for delta in (
        {"reasoning": "a", "reasoning_details": [{"type": "reasoning.text", "text": "a", "index": 0}]},
        {"content": "between"},
        {"reasoning": "b", "reasoning_details": [{"type": "reasoning.text", "text": "b", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "E"}], "content": ""},
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "F"}]},
    ):
        decoder.read_event({"choices": [{"delta": delta}]}, deltas)
    found = [delta.metadata["details"] for delta in deltas if isinstance(delta, WireReasoning) and delta.metadata]
    first, second, again, last = found
    assert first == [{"type": "reasoning.text", "text": "a", "index": 0}]
    assert (
        second
        == again
        == [{"type": "reasoning.text", "text": "b", "index": 0}, {"type": "reasoning.encrypted", "data": "E"}]
    )
    assert last == [{"type": "reasoning.encrypted", "data": "F"}]


@pytest.mark.parametrize("reason", ["", None])
def test_a_complete_answer_without_a_reason_is_whole(reason: str | None) -> None:
    assert whole(message={"content": "all"}, finish_reason=reason) == [WireText("all"), WireFinish("other")]


def test_an_empty_function_call_is_none() -> None:
    message = {"content": "all", "function_call": {"name": "", "arguments": ""}, "tool_calls": None}
    assert whole(message=message, finish_reason="stop") == [WireText("all"), WireFinish("stop")]


@pytest.mark.parametrize(
    ("cached", "written", "expected"),
    [
        (161, 0, Usage(10, 5, cache_read=161)),
        (4, 3, Usage(3, 5, cache_read=4, cache_write=3)),
        (10, 10, Usage(0, 5, cache_read=10)),
        (6, 6, Usage(0, 5, cache_read=6, cache_write=4)),
    ],
)
def test_a_token_of_the_prompt_is_counted_once(cached: int, written: int, expected: Usage) -> None:
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    assert read_usage({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": details}) == expected
