"""What is sent in OpenAI's words."""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from opencode_tui.engine.provider.decode import anthropic_request, gemini_request, responses_request
from opencode_tui.engine.provider.decode.openai_request import build, build_messages, encode
from opencode_tui.engine.provider.llm import CallBlock, LlmRequest, TextBlock, ThinkingBlock, UserEntry
from opencode_tui.engine.provider.model_facts import with_facts
from opencode_tui.schema.model import Model
from tests.engine.provider.wire.conversation import PAPER, PICTURE, READ, SCHEMA, assistant, call, request, result, user
from tests.support.rows import each

CLAUDE = with_facts(Model(provider_id="openrouter", model_id="anthropic/claude-sonnet-4.5", adapter="openai"))


def test_a_request_holds_the_model_the_tools_and_the_limits() -> None:
    asked = request(user("hi"), system=("first", "second"), tools=(READ,), max_output=100, temperature=0.5, top_p=0.9)
    assert build(asked) == {
        "model": "m",
        "messages": [{"role": "system", "content": "first\n\nsecond"}, {"role": "user", "content": "hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
        "tools": [
            {"type": "function", "function": {"name": "read", "description": "Reads a file.", "parameters": SCHEMA}}
        ],
        "temperature": 0.5,
        "top_p": 0.9,
    }


def test_calls_and_results_are_paired_by_id() -> None:
    assert build_messages(request(user("hi"), assistant(TextBlock("I look."), call(path="ä")), result())) == [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"ä"}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "inside"},
    ]


def test_media_are_next_to_the_text() -> None:
    (message,) = build_messages(request(user("see", PICTURE, PAPER)))
    assert message["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
        {"type": "file", "file": {"filename": "y.pdf", "file_data": "data:application/pdf;base64,UERG"}},
    ]


def test_media_of_a_result_follow_in_a_message_of_the_user() -> None:
    sent = build_messages(request(user("hi"), assistant(call()), result(media=(PICTURE,))))
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[-1]["content"][1]["type"] == "image_url"
    assert sent[-1]["content"][0]["text"].startswith("<system-reminder>")


def test_thoughts_go_back_with_a_call_under_the_name_they_came_with() -> None:
    thought = ThinkingBlock("hm", {"openai": {"field": "reasoning_content"}})
    (with_call,) = build_messages(request(assistant(thought, call())))
    (without,) = build_messages(request(assistant(thought, TextBlock("a"))))
    assert (with_call["reasoning_content"], "reasoning_content" in without) == ("hm", False)


NEEDS_THOUGHTS = {
    "deepseek/deepseek-v4-pro": "",
    "deepseek/deepseek-chat": "",
    "elsewhere/deepseek-ai/DeepSeek-V4-Flash": "",
    "elsewhere/deepseek-reasoner": "",
    "moonshotai/kimi-k2.6": " ",
    "moonshotai/kimi-k3": " ",
    "kimi-for-coding/k3": " ",
    "elsewhere/Pro/moonshotai/Kimi-K2.5": " ",
    "elsewhere/mimo-v2.5-pro": " ",
    "elsewhere/deepseek-r1": None,
    "elsewhere/gpt-5.2": None,
    "elsewhere/glm-5.3": None,
    "elsewhere/qwen3-coder": None,
    "elsewhere/kimi-k2-instruct": None,
    "groq/moonshotai/kimi-k2.5": None,
    "mistral/deepseek-v4-pro": None,
}
"""What stands in `reasoning_content` of an answer without a thought, None for no field."""
OWN = {"openai": {"field": "reasoning_content"}}


@each("name", NEEDS_THOUGHTS)
def test_each_answer_has_a_thought_where_the_model_needs_it_and_only_there(name: str) -> None:
    provider_id, _, model_id = name.partition("/")
    model = with_facts(Model(provider_id=provider_id, model_id=model_id, adapter="openai"))
    empty = NEEDS_THOUGHTS[name]
    talk = (
        assistant(TextBlock("of another model"), call()),
        result(),
        assistant(ThinkingBlock("hm", OWN), call("c2")),
        result("c2"),
        assistant(ThinkingBlock("", OWN), call("c3")),
        result("c3"),
        assistant(ThinkingBlock("so", OWN), TextBlock("done")),
        user("next"),
        assistant(TextBlock("plain")),
    )
    sent = [one for one in build_messages(request(user("hi"), *talk, model=model)) if one["role"] == "assistant"]
    thoughts = [one.get("reasoning_content") for one in sent]
    if empty is not None:
        assert thoughts == [empty, "hm", empty, "so", empty]
    elif provider_id in ("groq", "mistral"):
        assert thoughts == [None] * 5
    else:
        assert thoughts == [None, "hm", "", None, None]


def test_a_thought_under_another_name_is_no_missing_one() -> None:
    model = with_facts(Model(provider_id="openrouter", model_id="deepseek/deepseek-v4-pro", adapter="openai"))
    details = [{"type": "reasoning.text", "text": "hm"}]
    thought = ThinkingBlock("hm", {"openai": {"field": "reasoning", "details": details}})
    (message,) = build_messages(request(assistant(thought, TextBlock("a")), model=model))
    assert (message["reasoning"], message["reasoning_details"]) == ("hm", details)
    assert "reasoning_content" not in message


def test_no_file_is_sent_to_servers_that_know_texts_and_images_only() -> None:
    for provider_id in ("ollama", "lmstudio", "llamacpp", "vllm", "zai", "xai"):
        model = with_facts(Model(provider_id=provider_id, model_id="gemma", adapter="openai"))
        (message,) = build_messages(request(user("see", PICTURE, PAPER), model=model))
        assert [part["type"] for part in message["content"]] == ["text", "image_url", "text"], provider_id
        assert "y.pdf" in message["content"][-1]["text"]


def test_signed_thoughts_go_back_whole() -> None:
    signed = ThinkingBlock("hm", {"openai": {"field": "reasoning_content", "signature": "S"}})
    hidden = ThinkingBlock("", {"openai": {"redactedData": "ENC"}})
    (message,) = build_messages(request(assistant(signed, hidden, call())))
    assert message["thinking_blocks"] == [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "redacted_thinking", "data": "ENC"},
    ]


def test_a_calls_signature_goes_back_with_it() -> None:
    extra = {"google": {"thought_signature": "T"}}
    block = CallBlock("c1", "read", {}, {"openai": {"extra_content": extra}})
    (message,) = build_messages(request(assistant(block)))
    assert message["tool_calls"][0]["extra_content"] == extra


def test_only_thoughts_are_no_message() -> None:
    assert build_messages(request(assistant(ThinkingBlock("hm")))) == []


def test_the_cache_is_marked_where_the_mark_is_passed_on() -> None:
    asked = UserEntry((TextBlock("hi", cache=True),))
    marked = build_messages(request(asked, model=CLAUDE, system=("first", "second")))
    mark = {"type": "ephemeral"}
    assert [part["cache_control"] for message in marked for part in message["content"]] == [mark, mark, mark]
    talk = (user("one"), assistant(call()), result(), assistant(TextBlock("done")), user("two"))
    ends = build_messages(request(*talk, model=CLAUDE, system=("first", "second")))
    assert [(message["role"], "cache_control" in json.dumps(message)) for message in ends] == [
        ("system", True), ("user", False), ("assistant", False), ("tool", True), ("assistant", False), ("user", True),
    ]  # fmt: skip
    assert ends[3]["content"] == [{"type": "text", "text": "inside", "cache_control": mark}]
    assert "cache_control" not in json.dumps(build(request(asked, system=("first", "second"))))


def test_options_of_model_and_request_are_written_as_the_format_writes_them() -> None:
    given: dict[str, Any] = {"reasoningEffort": "low", "user": "u"}
    model = with_facts(Model(provider_id="openai", model_id="gpt-5", api_id="gpt-5-2025", options=given))
    asked = {"reasoningEffort": "high", "textVerbosity": "low", "reasoningSummary": "auto", "messages": []}
    body = build(request(user("hi"), model=model, temperature=1.0, options=asked))
    kept = ("model", "reasoning_effort", "verbosity", "user", "temperature", "max_completion_tokens")
    assert [body.get(name) for name in kept] == ["gpt-5-2025", "high", "low", "u", None, 32_000]
    assert "reasoning_summary" not in body  # a field of the Responses format, which this one rejects
    assert body["messages"]


def test_a_reasoning_model_of_openai_is_told_by_its_developer_and_others_by_the_system() -> None:
    for provider_id, name, role in (
        ("openai", "gpt-5.2", "developer"),
        ("openai", "o3", "developer"),
        ("openai", "gpt-4.1", "system"),
        ("openai", "gpt-5-chat-latest", "system"),
        ("elsewhere", "gpt-5.2", "system"),
    ):
        model = with_facts(Model(provider_id=provider_id, model_id=name, adapter="openai"))
        assert build_messages(request(user("hi"), model=model, system=("s",)))[0]["role"] == role, name


def test_mistral_gets_ids_of_nine_characters() -> None:
    model = with_facts(Model(provider_id="elsewhere", model_id="mistralai/Mistral-Large-3"))
    own, foreign = build_messages(request(assistant(call("abcdef123"), call("call_0123456789")), model=model))[0][
        "tool_calls"
    ]
    answered = build_messages(request(result("call_0123456789"), model=model))[0]["tool_call_id"]
    assert (own["id"], len(foreign["id"]), foreign["id"]) == ("abcdef123", 9, answered)


def test_mistral_gets_an_answer_between_a_result_and_the_user() -> None:
    talk = (user("a"), assistant(call()), result(), user("b"), assistant(call(), call()), result(), result(), user("c"))
    for name, wants_answer in (("mistral.mistral-large-3", True), ("devstral-latest", True), ("glm-5", False)):
        sent = build_messages(request(*talk, model=with_facts(Model(provider_id="x", model_id=name))))
        roles = [message["role"] for message in sent]
        pairs = list(pairwise(roles))
        assert (("tool", "user") in pairs) is not wants_answer, name
        assert [text for message in sent if (text := message["content"]) == "OK."] == (
            ["OK."] * 2 if wants_answer else []
        )


def test_what_is_sent_is_strict_json() -> None:
    body = encode(request(user("half \ud800"), assistant(call(path="\ud800 😀"))))
    assert json.loads(body.decode("utf-8"))["messages"][0]["content"] == "half ?"


def test_a_field_that_the_provider_rejects_is_not_sent() -> None:
    for provider_id, is_sent in (("mistral", False), ("groq", False), ("perplexity", False), ("openrouter", True)):
        model = with_facts(Model(provider_id=provider_id, model_id="mistral-large", adapter="openai"))
        body = build(request(user("see", PICTURE, PAPER), model=model))
        assert ("stream_options" in body) is is_sent, provider_id
        kinds = [part["type"] for part in body["messages"][0]["content"]]
        assert kinds == ["text", "image_url", "file" if is_sent else "text"], provider_id
    assert model.parameters.rejects is None


@pytest.mark.parametrize(
    ("build_body", "removed", "body_names"),
    [
        (build, {"streamOptions": None, "max_tokens": None}, {"stream_options", "max_tokens"}),
        (responses_request.build, {"maxOutputTokens": None, "store": None}, {"max_output_tokens", "store"}),
        (anthropic_request.build, {"max_tokens": None}, {"max_tokens"}),
    ],
)
def test_null_removes_a_field_that_a_strict_server_rejects(
    build_body: Callable[[LlmRequest], dict[str, Any]], removed: dict[str, None], body_names: set[str]
) -> None:
    model = Model(provider_id="fake", model_id="m", adapter="openai")
    kept, without = (
        build_body(request(user("hi"), model=one)) for one in (model, model.changed(options=dict(removed)))
    )
    assert kept.keys() - without.keys() == body_names
    assert None not in without.values()


def test_null_removes_a_setting_of_gemini_too() -> None:
    model = Model(provider_id="fake", model_id="gemini-3", adapter="gemini", options={"maxOutputTokens": None})
    assert gemini_request.build(request(user("hi"), model=model))["generationConfig"] == {}


def test_null_does_not_remove_the_conversation() -> None:
    model = Model(provider_id="fake", model_id="m", options={"messages": None, "model": None, "stream": None})
    assert {"messages", "model", "stream"} <= build(request(user("hi"), model=model)).keys()
