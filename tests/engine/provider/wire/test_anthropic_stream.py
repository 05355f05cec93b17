"""What the stream of Anthropic's messages says."""

import json
from typing import Any

from opencode_tui.engine.provider.decode.anthropic_messages import AnthropicMessagesDecoder
from opencode_tui.engine.provider.decode.delta import WireDelta, WireSearch
from tests.engine.provider.reading import Heard, decode, gather
from tests.support.rows import each

Event = dict[str, Any]
STOP: Event = {"type": "message_stop"}


def started(identifier: str = "m1", *content: Event, **more: object) -> Event:
    return {"type": "message_start", "message": {"id": identifier, "content": list(content), **more}}


def ended(reason: str) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def text(value: str) -> list[Event]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": value}},
        {"type": "content_block_stop", "index": 0},
    ]


def called(given: object, *pieces: object) -> list[Event]:
    block = {"type": "tool_use", "id": "t1", "name": "read", "input": given}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


def hear(*events: Event) -> Heard:
    return gather(*decode("anthropic", [f"data: {json.dumps(event)}\n\n".encode() for event in events]))


def test_the_results_of_a_search_that_come_twice_are_one_search() -> None:
    found = [{"type": "web_search_result", "title": "A", "url": "https://a.example"}]
    block: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
    decoder, deltas = AnthropicMessagesDecoder(), list[WireDelta]()
    for index in (0, 1):
        decoder.read_event({"type": "content_block_start", "index": index, "content_block": block}, deltas)
        decoder.read_event({"type": "content_block_stop", "index": index}, deltas)
    searches = [one for one in deltas if isinstance(one, WireSearch)]
    assert [one.pages for one in searches] == [[{"title": "A", "url": "https://a.example"}]]


# The API may send a whole message in its start event, as the package anthropic 2.14.0 reads it. Source: github.com/vercel/ai at
# 2026-11, packages/anthropic/src/__fixtures__/anthropic-programmatic-tool-calling.1.chunks.txt.
GIVEN_TEXT: Event = {"type": "text", "text": "a"}
GIVEN_CALL: Event = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}


@each(
    ("events", "said", "inputs", "finish"),
    [
        ([started("m1", GIVEN_TEXT, stop_reason="end_turn"), STOP], "a", [], "stop"),
        ([started("m1", GIVEN_TEXT, stop_reason="max_tokens"), STOP], "a", [], "length"),
        ([started("m1", GIVEN_CALL, stop_reason="tool_use"), STOP], "", [{"path": "a"}], "tool-calls"),
        ([started("m1", GIVEN_TEXT), ended("end_turn"), STOP], "a", [], "stop"),
        ([started("m1", GIVEN_TEXT), *text("a"), ended("end_turn"), STOP], "a", [], "stop"),
        ([started("m1", {"type": "text", "text": ""}), *text("a"), ended("end_turn"), STOP], "a", [], "stop"),
        ([started("m1", stop_reason="refusal"), STOP], "", [], "content-filter"),
    ],
)
def test_the_content_of_the_start_event_counts_where_no_block_follows(
    events: list[Event], said: str, inputs: list[object], finish: str
) -> None:
    heard = hear(*events)
    assert heard.error is None
    assert heard.joined("text") == said
    assert [call.input for call in heard.calls] == inputs
    assert heard.finish is not None
    assert heard.finish.reason == finish


@each(
    "events",
    [
        [started("m1"), *text("ab")[:2], started("m2"), *text("abc"), ended("end_turn"), STOP],
        [
            started("m1"),
            *called({}, '{"path": "a"}'),
            started("m2"),
            *called({}, '{"path": "a"}'),
            ended("tool_use"),
            STOP,
        ],
    ],
)
def test_another_answer_inside_of_an_answer_is_an_error_that_is_tried_again(events: list[Event]) -> None:
    # A gateway asked again in the middle of an answer: all of it would be said, and run, twice. Source: github.com/vercel/ai at
    # 2026-11, packages/anthropic/src/anthropic-message-lifecycle.test.ts, "fails when a different message starts".
    heard = hear(*events)
    assert heard.error is not None
    assert heard.error.failure.retryable
    assert heard.calls == []


@each(
    "events",
    [
        [started("m1"), started("m2"), *text("a"), ended("end_turn"), STOP],
        [started("m1"), started("m1"), *text("a"), ended("end_turn"), STOP],
        [started("m1"), *text("a")[:2], started("m1"), *text("a")[2:], ended("end_turn"), STOP],
        [started(""), *text("a"), started(""), ended("end_turn"), STOP],
    ],
)
def test_a_start_that_comes_again_for_the_same_answer_changes_nothing(events: list[Event]) -> None:
    heard = hear(*events)
    assert heard.error is None
    assert heard.joined("text") == "a"


@each(
    ("events", "error"),
    [
        (called({"path": "a"}), None),
        (called('{"path": "a"}'), None),
        (called("", '{"path": "a"}'), None),
        (called({}, {"path": "a"}), None),
        (called({"path": "b"}, '{"path": "a"}'), None),
        (called(["a"]), "not an object"),
        (called({}, ["a"]), "not an object"),
    ],
)
def test_the_input_of_a_call_is_read_in_every_form(events: list[Event], error: str | None) -> None:
    [call] = hear(started(), *events, ended("tool_use"), STOP).calls
    assert call.input == ({} if error else {"path": "a"})
    assert (call.error is None) is (error is None)
    assert (error or "") in (call.error or "")
