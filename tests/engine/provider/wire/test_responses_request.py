"""What is sent in the words of OpenAI's Responses API."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.responses_request import build, build_input, encode
from opencode_tui.engine.provider.llm import CallBlock, MediaBlock, TextBlock, ThinkingBlock, UserEntry
from opencode_tui.schema.model import Model
from tests.engine.provider.wire.conversation import PAPER, PICTURE, READ, SCHEMA, assistant, call, request, result, user
from tests.support.rows import each

REASONING = Model(provider_id="openai", model_id="gpt-5", reasoning=True)
SOUND = MediaBlock("audio/wav", "UklG", "z.wav")


def thought(text: str, **own: Any) -> ThinkingBlock:
    return ThinkingBlock(text, {"openai": own})


def kinds(*content: TextBlock | ThinkingBlock | CallBlock) -> list[str]:
    return [item["type"] for item in build_input(request(user("hi"), assistant(*content)))[1:]]


def test_a_request_holds_the_model_the_tools_and_the_limits() -> None:
    asked = request(user("hi"), system=("first", "second"), tools=(READ,), max_output=100, temperature=0.5, top_p=0.9)
    assert build(asked) == {
        "model": "m",
        "stream": True,
        "store": False,
        "max_output_tokens": 100,
        "instructions": "first\n\nsecond",
        "tools": [
            {"type": "function", "name": "read", "description": "Reads a file.", "parameters": SCHEMA, "strict": False}
        ],
        "temperature": 0.5,
        "top_p": 0.9,
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    }


def test_the_conversation_comes_last() -> None:
    body = build(request(user("hi"), tools=(READ,), options={"reasoningEffort": "low"}))
    assert list(body)[-1] == "input"


def test_a_turn_with_a_tool_is_sent_as_items() -> None:
    encrypted = thought("hm", itemId="rs_1", reasoningEncryptedContent="E")
    sent = build_input(
        request(user("hi"), assistant(encrypted, TextBlock("I look."), call()), result(), user("and now"))
    )
    assert sent[1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "E",
        },
        {"type": "message", "role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path":"a"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "inside"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and now"}]},
    ]


def test_the_summaries_of_one_item_are_one_item_again() -> None:
    first, second = thought("one", itemId="rs"), thought("two", itemId="rs", reasoningEncryptedContent="E")
    other = thought("", itemId="rs2", reasoningEncryptedContent="F")
    sent = build_input(request(user("hi"), assistant(first, second, other, TextBlock("a"))))[1:]
    assert [(item.get("id"), len(item.get("summary", "")), item.get("encrypted_content")) for item in sent] == [
        ("rs", 2, "E"),
        ("rs2", 0, "F"),
        (None, 0, None),
    ]


@pytest.mark.parametrize(
    "block",
    [
        ThinkingBlock("cut"),
        ThinkingBlock("x", {"anthropic": {"signature": "S"}}),
        ThinkingBlock("x", {"google": {"thoughtSignature": "S"}}),
        thought("x", field="reasoning_content"),
        thought("x", itemId="rs"),
    ],
)
def test_only_encrypted_reasoning_of_this_format_goes_back(block: ThinkingBlock) -> None:
    assert kinds(block, TextBlock("a")) == ["message"]


def test_reasoning_is_sent_directly_before_its_item_or_not_at_all() -> None:
    encrypted = thought("x", itemId="rs", reasoningEncryptedContent="E")
    assert kinds(encrypted, TextBlock("a")) == ["reasoning", "message"]
    assert kinds(encrypted, TextBlock(" "), call()) == ["reasoning", "function_call"]
    assert kinds(TextBlock("a"), encrypted) == ["message"]
    assert kinds(encrypted) == []
    without_id = thought("x", reasoningEncryptedContent="E")
    assert build_input(request(user("a"), assistant(without_id, call())))[1] == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "x"}],
        "encrypted_content": "E",
    }


def test_the_phase_of_a_text_goes_back_and_its_id_does_not() -> None:
    block = TextBlock("a", metadata={"openai": {"itemId": "m", "phase": "commentary"}})
    (sent,) = build_input(request(assistant(block)))
    assert sent == {"type": "message", "role": "assistant", "content": "a", "phase": "commentary"}


@pytest.mark.parametrize(
    ("model", "includes"),
    [
        (REASONING, True),
        (Model(provider_id="openai", model_id="o3-mini"), True),
        (Model(provider_id="mine", model_id="m", api_id="gpt-5.1-codex"), True),
        (Model(provider_id="mine", model_id="m", api_id="openai/gpt-5"), True),
        (Model(provider_id="openai", model_id="gpt-4o"), False),
    ],
)
def test_reasoning_is_encrypted_for_models_that_reason(model: Model, includes: bool) -> None:
    assert build(request(user("hi"), model=model)).get("include") == (
        ["reasoning.encrypted_content"] if includes else None
    )


def test_media_are_sent_in_the_format_of_each() -> None:
    (message,) = build_input(request(UserEntry((TextBlock("see"), PICTURE, PAPER, SOUND))))
    assert message["content"] == [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "data:image/png;base64,UE5H", "detail": "auto"},
        {"type": "input_file", "filename": "y.pdf", "file_data": "data:application/pdf;base64,UERG"},
        {"type": "input_text", "text": "[attachment z.wav of type audio/wav cannot be shown]"},
    ]
    output = build_input(request(user("a"), assistant(call()), result(media=(PICTURE,))))[2]["output"]
    assert [part["type"] for part in output] == ["input_text", "input_image"]


def test_no_message_is_empty() -> None:
    assert build_input(request(UserEntry(()), UserEntry((TextBlock(" "),)), assistant(TextBlock("\n")))) == []


@each(
    ("options", "sent"),
    [
        ({"reasoningEffort": "high"}, {"reasoning": {"effort": "high"}}),
        ({"reasoningEffort": "high", "reasoningSummary": "auto"}, {"reasoning": {"effort": "high", "summary": "auto"}}),
        (
            {"reasoning": {"effort": "low"}, "reasoningSummary": "auto"},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
        ({"textVerbosity": "low"}, {"text": {"verbosity": "low"}}),
        ({"promptCacheKey": "ses"}, {"prompt_cache_key": "ses"}),
        ({"parallelToolCalls": False}, {"parallel_tool_calls": False}),
        ({"serviceTier": "flex", "user": "u"}, {"service_tier": "flex", "user": "u"}),
        ({"include": ["message.output_text.logprobs"]}, {"include": ["message.output_text.logprobs"]}),
        ({"maxOutputTokens": 50}, {"max_output_tokens": 50}),
        ({"store": True}, {"store": True}),
        ({"input": [], "model": "x", "stream": False, "strictJsonSchema": True, "temperature": None}, {}),
    ],
)
def test_options_are_sent_where_the_format_has_them(options: dict[str, Any], sent: dict[str, Any]) -> None:
    plain, body = build(request(user("hi"))), build(request(user("hi"), options=options))
    assert {name: value for name, value in body.items() if plain.get(name) != value} == sent
    assert body["input"]


def test_the_options_of_a_request_win_over_those_of_its_model() -> None:
    model = Model(
        provider_id="openai", model_id="gpt-5", options={"reasoningEffort": "low", "include": ["x"]}, temperature=False
    )
    body = build(request(user("hi"), model=model, options={"reasoningEffort": "high"}, temperature=1.0, max_output=1))
    assert (body["reasoning"], body["include"], body["max_output_tokens"]) == (
        {"effort": "high"},
        ["reasoning.encrypted_content", "x"],
        16,
    )
    assert "temperature" not in body


def test_a_choice_of_tools_is_sent_only_with_tools() -> None:
    assert build(request(user("hi"), tools=(READ,), tool_choice="required"))["tool_choice"] == "required"
    assert "tool_choice" not in build(request(user("hi"), tool_choice="none"))


def test_what_is_sent_is_strict_json() -> None:
    body = encode(request(user("half \ud800"), assistant(call(path="\ud800 😀"))))
    assert json.loads(body.decode("utf-8"))["input"][0]["content"][0]["text"] == "half ?"
