"""What OpenAI's Responses API, and those who bend it, say."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.responses_stream import read_usage
from opencode_tui.engine.provider.llm import ToolCall, Usage
from tests.engine.provider.reading import Heard, decode, gather
from tests.support.rows import each

END: dict[str, Any] = {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 3}}}
OWN = {"openai": {"itemId": "fc_1"}}


def hear(*events: Any) -> Heard:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in events]
    return gather(*decode("responses", [f"data: {text}\n\n".encode() for text in texts]))


def event(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "output_index": index, **fields}


def say(text: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return event("output_text.delta", index, delta=text, content_index=0, **fields)


def call_item(**fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "read", "arguments": "", **fields}


def added(index: int = 0, **item: Any) -> dict[str, Any]:
    return event("output_item.added", index, item=item)


def done(index: int = 0, **item: Any) -> dict[str, Any]:
    return event("output_item.done", index, item=item)


def message(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "id": "m", "content": [{"type": "output_text", "text": text}], **fields}


def thought(*texts: str, **fields: Any) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return {"type": "reasoning", "id": "rs", "summary": summary, **fields}


def numbered(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "sequence_number": number} for number, one in enumerate(events)]


TEXTS = {
    "deltas": ([say("a"), say("b"), END], "ab"),
    "only the complete text": ([event("output_text.done", text="ab", content_index=0), END], "ab"),
    "the end of a text is missing": ([say("a"), event("output_text.done", text="ab", content_index=0), END], "ab"),
    "only the complete item": ([done(**message("ab")), END], "ab"),
    "the item completes its text": ([added(**message("")), say("a"), done(**message("ab")), END], "ab"),
    "only the complete response": ([{**END, "response": {"output": [message("ab")]}}], "ab"),
    "the complete response repeats what was heard": (
        [say("ab"), {**END, "response": {"output": [message("ab"), message("ab")]}}],
        "ab",
    ),
    "the pieces have other numbers than the texts of the item": (
        [
            added(**message("")),
            {**say("a"), "content_index": 1},
            {**say("b"), "content_index": 1},
            done(**message("ab")),
            END,
        ],
        "ab",
    ),
    "the pieces of two texts have one number": (
        [
            *(added(**message("")), say("a"), say("b")),
            *(done(type="message", id="m", content=[{"type": "output_text", "text": text} for text in "ab"]), END),
        ],
        "ab",
    ),
    "a refusal": ([event("refusal.delta", delta="no"), event("refusal.done", refusal="no"), END], "no"),
    "two parts of one message": ([say("a"), {**say("b"), "content_index": 1}, END], "ab"),
    "two messages under one index": (
        [
            *(added(**message("", id="m1")), say("a"), done(**message("a", id="m1"))),
            *(added(**message("", id="m2")), say("b"), done(**message("b", id="m2")), END),
        ],
        "ab",
    ),
    "an item that ends twice": ([say("a"), done(**message("a")), done(**message("a")), END], "a"),
    "an item that starts twice": ([added(**message("")), added(**message("")), say("a"), END], "a"),
    "the same delta twice": ([*(numbered(say("x"), say("y"))), *numbered(say("x"), say("y")), END], "xy"),
    "equal deltas that are counted": ([*numbered(say("ha"), say("ha"), say("ha")), END], "hahaha"),
    "equal deltas with one number": ([{**say("ha"), "sequence_number": 0}] * 3 + [END], "hahaha"),
    "numbers that are no numbers": (
        [{**say("a"), "sequence_number": "x"}, {**say("b"), "sequence_number": True}, END],
        "ab",
    ),
    "tools of the provider": (
        [added(type="web_search_call", id="ws"), done(type="web_search_call", id="ws"), say("a", 1), END],
        "a",
    ),
    "events of other kinds": (
        [event("content_part.added"), event("queued"), {"type": "keepalive"}, say("a"), END],
        "a",
    ),
    "an index that is none": ([{**say("a"), "output_index": None}, {**say("b"), "output_index": "x"}, END], "ab"),
    "an end marker of chat completions": ([say("a"), END, "[DONE]"], "a"),
    "a text that is none": ([say("a"), {**say(""), "delta": 7}, END], "a"),
}


@each("name", TEXTS)
def test_a_text_is_heard_once(name: str) -> None:
    events, text = TEXTS[name]
    heard = hear(*events)
    assert (heard.joined("text"), heard.error) == (text, None)


ARGUMENTS = '{"path": "a"}'
CALLS = {
    "deltas": [
        added(**call_item()),
        *(event("function_call_arguments.delta", delta=one) for one in ('{"path"', ': "a"}')),
    ],
    "deltas and the complete value": [
        added(**call_item()),
        event("function_call_arguments.delta", delta='{"path"'),
        event("function_call_arguments.delta", delta=': "a"}'),
        event("function_call_arguments.done", arguments=ARGUMENTS),
        done(**call_item(arguments=ARGUMENTS)),
    ],
    "only the complete arguments": [added(**call_item()), event("function_call_arguments.done", arguments=ARGUMENTS)],
    "only the complete item": [done(**call_item(arguments=ARGUMENTS))],
    "the item has what is missing": [
        added(**call_item()),
        event("function_call_arguments.delta", delta='{"path"'),
        done(**call_item(arguments=ARGUMENTS)),
    ],
    "the end twice": [done(**call_item(arguments=ARGUMENTS)), done(**call_item(arguments=ARGUMENTS))],
    "the start twice": [added(**call_item()), added(**call_item()), done(**call_item(arguments=ARGUMENTS))],
    "another ID of the item at its end": [added(**call_item()), done(**call_item(id="fc_1", arguments=ARGUMENTS))],
    "only in the complete response": [{**END, "response": {"output": [call_item(arguments=ARGUMENTS)]}}],
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_heard_once(name: str) -> None:
    heard = hear(*CALLS[name], END)
    assert [(call.id, call.tool, call.input, call.error) for call in heard.calls] == [
        ("c1", "read", {"path": "a"}, None)
    ]
    assert heard.finish is not None and heard.finish.reason == "tool-calls"


def test_a_call_whose_start_is_missing_is_heard() -> None:
    heard = hear(event("function_call_arguments.delta", delta=ARGUMENTS), done(**call_item(arguments=ARGUMENTS)), END)
    assert [(call.tool, call.input, call.error) for call in heard.calls] == [("read", {"path": "a"}, None)]


def test_calls_are_stored_with_the_id_of_their_item() -> None:
    assert hear(done(**call_item(arguments="{}")), END).calls == [ToolCall("c1", "read", {}, metadata=OWN)]


def test_calls_next_to_each_other_do_not_mix() -> None:
    second = call_item(id="fc_2", call_id="c2", name="write")
    deltas = [(0, '{"path":'), (1, '{"path"'), (0, '"a"}'), (1, ':"b"}')]
    pieces = [event("function_call_arguments.delta", index, delta=piece) for index, piece in deltas]
    heard = hear(added(0, **call_item()), added(1, **second), *pieces, END)
    assert [(call.id, call.input) for call in heard.calls] == [("c1", {"path": "a"}), ("c2", {"path": "b"})]


@pytest.mark.parametrize(
    "events",
    [
        [event("function_call_arguments.delta", delta='{"path": "b"}'), done(**call_item(arguments=ARGUMENTS))],
        [
            event("function_call_arguments.delta", delta=ARGUMENTS),
            event("function_call_arguments.done", arguments='{"path"'),
        ],
        [done(**call_item(arguments=ARGUMENTS)), event("function_call_arguments.delta", delta="x")],
        ["{oops", done(**call_item(arguments=ARGUMENTS))],
    ],
)
def test_a_call_that_arrived_in_two_versions_is_not_to_be_run(events: list[Any]) -> None:
    (call,) = hear(added(**call_item()), *events, END).calls
    assert call.error and not call.input


def test_every_summary_of_reasoning_is_a_block_and_the_last_is_encrypted() -> None:
    first = event("reasoning_summary_text.delta", item_id="rs", summary_index=0, delta="one")
    second = event("reasoning_summary_text.delta", item_id="rs", summary_index=1, delta="tw")
    heard = hear(
        added(**thought()), first, second, done(**thought("one", "two", encrypted_content="E")), say("a", 1), END
    )
    assert heard.blocks == [("reasoning", "one"), ("reasoning", "two"), ("text", "a")]
    encrypted = {"itemId": "rs", "reasoningEncryptedContent": "E"}
    assert heard.metadata == [{"openai": {"itemId": "rs"}}, {"openai": encrypted}]


def test_reasoning_without_a_summary_is_kept_for_the_next_request() -> None:
    heard = hear(added(**thought()), done(**thought(encrypted_content="E")), say("a", 1), END)
    assert (heard.blocks[0], heard.metadata) == (
        ("reasoning", ""),
        [{"openai": {"itemId": "rs", "reasoningEncryptedContent": "E"}}],
    )
    assert hear(added(**thought()), done(**thought()), say("a", 1), END).blocks == [("text", "a")]


def test_reasoning_of_open_models_is_heard() -> None:
    heard = hear(
        event("reasoning_text.delta", delta="h", content_index=0),
        event("reasoning_text.done", text="hm", content_index=0),
        say("a", 1),
        END,
    )
    assert heard.blocks == [("reasoning", "hm"), ("text", "a")]


def test_the_phase_of_a_text_is_stored() -> None:
    events, _ = decode(
        "responses",
        [f"data: {json.dumps(one)}\n\n".encode() for one in (done(**message("a", phase="commentary")), END)],
    )
    assert [getattr(one, "metadata", None) for one in events][2] == {"openai": {"itemId": "m", "phase": "commentary"}}


@pytest.mark.parametrize(
    ("end", "finish"),
    [
        (END, "stop"),
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}},
            "length",
        ),
        (
            {"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}},
            "content-filter",
        ),
        ({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "new"}}}, "other"),
        ({"type": "response.incomplete", "response": None}, "other"),
        ({"type": "response.failed", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}, "length"),
    ],
)
def test_why_a_response_ended(end: dict[str, Any], finish: str) -> None:
    heard = hear(say("a"), end)
    assert heard.finish is not None and heard.finish.reason == finish


@each(
    ("last", "kind", "retryable"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, "rate_limit", True),
        ({"type": "error", "code": None, "message": "odd"}, "api", True),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "bad"}}, "invalid_request", False),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "oops"}}}, "api", True),
        (
            {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "s"}}},
            "rate_limit",
            True,
        ),
        (
            {"type": "response.failed", "response": {"error": {"code": "image_parse_error", "message": "i"}}},
            "media",
            False,
        ),
        (
            {"type": "response.failed", "response": {"error": {"code": "invalid_prompt", "message": "p"}}},
            "invalid_prompt",
            False,
        ),
        ({"type": "response.failed", "response": {}}, "api", True),
        (
            {
                "error": {
                    "message": "Your input exceeds the context window of this model",
                    "code": "context_length_exceeded",
                }
            },
            "overflow",
            False,
        ),
        ({"object": "chat.completion.chunk", "choices": []}, "protocol", False),
        ({"type": "response.in_progress"}, "stream_truncated", True),
    ],
)
def test_a_failure_is_reported_as_what_it_is(last: dict[str, Any], kind: str, retryable: bool) -> None:
    heard = hear(say("a"), last)
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == (kind, retryable)


def test_a_response_that_is_not_streamed_is_heard() -> None:
    output = [thought("hm"), message("a"), call_item(arguments=ARGUMENTS)]
    body = {"object": "response", "status": "completed", "output": output, "usage": {"input_tokens": 1}}
    heard = gather(*decode("responses", [json.dumps(body, indent=1).encode()]))
    assert heard.blocks == [("reasoning", "hm"), ("text", "a"), ("tool", "read")]
    assert [call.input for call in heard.calls] == [{"path": "a"}]
    assert heard.finish is not None and heard.finish.usage == Usage(1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}, Usage(10, 5, total=15)),
        (
            {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "output_tokens": 1,
            },
            Usage(3, 1, cache_read=4, cache_write=3),
        ),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 4}}, Usage(0, 9, 4)),
        ({"input_tokens": 1, "input_tokens_details": {"cached_tokens": 9}}, Usage(1, cache_read=9)),
        ({"input_tokens": None, "output_tokens": -3, "total_tokens": True}, Usage()),
        ({"input_tokens": 1e400, "output_tokens": "5", "input_tokens_details": []}, Usage()),
    ],
)
def test_usage_is_read_without_what_is_no_number(usage: dict[str, Any], expected: Usage) -> None:
    assert read_usage(usage) == expected


def test_reasoning_that_the_item_repeats_under_another_name_is_read_once() -> None:
    pieces = (event("reasoning_text.delta", delta=piece, content_index=1) for piece in ("h", "m"))
    heard = hear(added(type="reasoning", id="rs"), *pieces, done(**thought("hm")), say("a", 1), END)
    assert heard.blocks == [("reasoning", "hm"), ("text", "a")]
