"""What is sent in Anthropic's words."""

from opencode_tui.engine.provider.decode.anthropic_request import build
from opencode_tui.engine.provider.llm import TextBlock, ThinkingBlock, UserEntry
from tests.engine.provider.wire.conversation import PAPER, PICTURE, READ, SCHEMA, assistant, call, request, result, user

MARK = {"cache_control": {"type": "ephemeral"}}


def test_a_request_holds_the_model_the_tools_and_the_limits() -> None:
    asked = request(
        user("hi"), system=("first", "second"), tools=(READ,), tool_choice="required", max_output=100, temperature=0.5
    )
    assert build(asked) == {
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "first", **MARK}, {"type": "text", "text": "second", **MARK}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi", **MARK}]}],
        "stream": True,
        "tools": [{"name": "read", "description": "Reads a file.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any"},
        "temperature": 0.5,
    }


def test_results_come_first_in_the_next_message_of_the_user() -> None:
    sent = build(request(user("hi"), assistant(TextBlock("I look."), call()), result(is_error=True), user("and now")))[
        "messages"
    ]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"][1] == {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}, **MARK}
    answer = {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": "inside",
        "is_error": True,
    }
    assert sent[2]["content"] == [answer, {"type": "text", "text": "and now", **MARK}]


def test_two_messages_of_one_role_become_one_with_its_results_first() -> None:
    sent = build(request(assistant(call()), user("late word"), result()))["messages"]
    assert [block["type"] for block in sent[1]["content"]] == ["tool_result", "text"]


def test_only_signed_thoughts_go_back() -> None:
    signed = ThinkingBlock("hm", {"anthropic": {"signature": "S"}})
    hidden = ThinkingBlock("", {"anthropic": {"redactedData": "ENC"}})
    unsigned, foreign = ThinkingBlock("cut"), ThinkingBlock("x", {"openai": {"field": "reasoning"}})
    sent = build(request(user("hi"), assistant(signed, hidden, unsigned, foreign, TextBlock("a")), user("b")))[
        "messages"
    ]
    assert sent[1]["content"][:2] == [
        {"type": "thinking", "thinking": "hm", "signature": "S"},
        {"type": "redacted_thinking", "data": "ENC"},
    ]
    assert len(sent[1]["content"]) == 3


def test_media_stand_where_they_are_and_what_cannot_be_shown_is_said() -> None:
    (message,) = build(request(UserEntry((TextBlock("see"), PICTURE, PAPER))))["messages"]
    kinds = [
        (block["type"], block.get("title"), block.get("source", {}).get("media_type")) for block in message["content"]
    ]
    assert kinds == [("text", None, None), ("image", None, "image/png"), ("document", "y.pdf", "application/pdf")]
    (message,) = build(request(assistant(call()), result(media=(PICTURE,))))["messages"][1:]
    assert [block["type"] for block in message["content"][0]["content"]] == ["text", "image"]


def test_no_block_is_empty_and_no_last_answer_ends_in_blanks() -> None:
    sent = build(request(user("hi", "  "), assistant(TextBlock(" \n"), TextBlock("a \n"))))["messages"]
    assert [[block["text"] for block in message["content"]] for message in sent] == [["hi"], ["a"]]


def test_never_more_than_four_places_are_marked_for_the_cache() -> None:
    asked = [UserEntry((TextBlock(str(number), cache=True),)) for number in range(6)]
    body = build(request(*asked, system=("first", "second")))
    marked = [block["text"] for block in body["messages"][0]["content"] if "cache_control" in block]
    assert marked == ["4", "5"]


def test_thinking_gets_what_it_demands() -> None:
    options = {"thinking": {"type": "enabled", "budgetTokens": 64_000}}
    body = build(
        request(user("hi"), tools=(READ,), tool_choice="required", temperature=0.5, max_output=8_000, options=options)
    )
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 6_000}
    assert not {"temperature", "tool_choice"} & body.keys()


def test_an_effort_and_calls_one_at_a_time_are_written_where_this_format_has_them() -> None:
    options = {"thinking": {"type": "adaptive"}, "effort": "max", "parallelToolCalls": False, "promptCacheKey": "ses_1"}
    body = build(request(user("hi"), tools=(READ,), temperature=0.5, options=options))
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": "max"})
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert not {"temperature", "effort", "parallel_tool_calls", "prompt_cache_key"} & body.keys()
    plain = build(request(user("hi"), options={"parallelToolCalls": False, "reasoningEffort": "low"}))
    assert plain["output_config"] == {"effort": "low"} and "tool_choice" not in plain
