"""Whatever a session went through, its next request is one that the strictest provider of each format accepts."""

import json
import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from opencode_tui.engine.provider.decode import anthropic_request, gemini_request, openai_request, responses_request
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.provider.model_facts import with_facts
from opencode_tui.engine.session.request.history import filter_compacted, position
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.reminder import wrap_late
from opencode_tui.schema.model import Adapter
from opencode_tui.schema.session.history import MessageWithParts
from tests.support.provider import strict_anthropic, strict_gemini, strict_openai, strict_responses
from tests.support.rows import each
from tests.support.sessions.histories import HISTORIES
from tests.support.sessions.records import MODEL, assistant, call, user
from tests.support.sessions.reminders import marked, reminded

EXAMPLES = int(os.environ.get("OPENCODE_TUI_EXAMPLES", "100"))
SCHEMA = {"type": "object", "properties": {"path": {"type": ["string", "null"]}, "any": {"enum": ["", "a"]}}}
TOOLS = (ToolSpec("read", "Reads.", SCHEMA), ToolSpec("1up_play", "Plays.", {"type": "object", "properties": {}}))
Body = dict[str, Any]
FORMATS: dict[Adapter, tuple[str, Callable[[LlmRequest], Body], Callable[[Body], list[str]]]] = {
    "openai": ("gpt-4o", openai_request.build, strict_openai.violations),
    "responses": ("gpt-5", responses_request.build, strict_responses.violations),
    "anthropic": ("claude-sonnet-4-5", anthropic_request.build, strict_anthropic.violations),
    "gemini": (
        "gemini-3-pro",
        gemini_request.build,
        lambda body: strict_gemini.violations(body, needs_signature=True),
    ),
}


def request(messages: list[MessageWithParts], adapter: Adapter) -> LlmRequest:
    """Return the request for a history as a later step of a turn in plan mode would send it, with all additions."""
    model = MODEL.changed(attachment=True, adapter=adapter, api_id=FORMATS[adapter][0])
    history = filter_compacted(messages)
    sent = wrap_late(reminded(marked(history, position(history).last_finished), "plan"))
    return LlmRequest(model=model, system=("You code.", "Here."), messages=to_model_messages(sent, model), tools=TOOLS)


def check_requests(messages: list[MessageWithParts]) -> None:
    """Fail for a request that a strict reader refuses, or whose bytes are no text; a history without messages has none."""
    for adapter, (_, build, violations) in FORMATS.items():
        built = request(messages, adapter)
        if not built.messages:
            return
        assert (adapter, violations(build(built))) == (adapter, [])
        find_format(adapter).encode(built).decode("utf-8")


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(HISTORIES)
def test_every_history_gives_a_request_that_every_format_accepts(messages: list[MessageWithParts]) -> None:
    check_requests(messages)


def mistral_violations(body: Body) -> list[str]:
    """Return what Mistral refuses besides what OpenAI does. Source: mistral-common 1.8, `protocol/instruct/validator.py`."""
    messages: list[Body] = body["messages"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    ids += [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    wrong = [f"the ID {one}" for one in ids if not (len(one) == 9 and one.isalnum() and one.isascii())]
    roles = [message["role"] for message in messages]
    return wrong + ["a user after a result" for pair in pairwise(roles) if pair == ("tool", "user")]


@pytest.mark.slow
@settings(max_examples=EXAMPLES // 3)
@given(HISTORIES)
def test_every_history_gives_a_request_that_mistral_and_marked_models_accept(messages: list[MessageWithParts]) -> None:
    for provider_id, name in (("mistral", "devstral-latest"), ("openrouter", "anthropic/claude-opus-4.6")):
        model = MODEL.changed(provider_id=provider_id, api_id=name, adapter="openai", attachment=True)
        built = replace(request(messages, "openai"), model=with_facts(model))
        if not built.messages:
            return
        body = openai_request.build(built)
        assert (name, strict_openai.violations(body)) == (name, [])
        assert provider_id != "mistral" or mistral_violations(body) == []
        marks = json.dumps(body["messages"]).count("cache_control")
        assert marks == 0 if provider_id == "mistral" else 1 <= marks <= 4


def test_the_strict_readers_refuse_what_providers_refuse():
    orphan = {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert strict_openai.violations({"model": "m", "messages": [{"role": "user", "content": "x"}, orphan]})
    lone = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {}}]}
    start = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    assert strict_anthropic.violations({"model": "m", "max_tokens": 1, "messages": [start, lone], "tools": []})
    assert strict_anthropic.violations({"model": "m", "max_tokens": 1, "messages": [start, start]})


CALL = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": "x"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]}
THOUGHT = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"}
ANSWER = {"type": "message", "role": "assistant", "content": "x"}


@each(
    ("items", "refused"),
    [
        ([SAID, CALL, OUTPUT], ""),
        ([SAID, THOUGHT, CALL, OUTPUT, THOUGHT | {"id": "2"}, ANSWER], ""),
        ([SAID, THOUGHT, THOUGHT | {"id": "2"}, ANSWER], ""),
        ([SAID, CALL], "never answered"),
        ([SAID, OUTPUT], "no tool call found"),
        ([SAID, CALL, SAID, OUTPUT], "not answered before"),
        ([SAID, CALL, CALL, OUTPUT, OUTPUT], "used twice"),
        ([SAID, THOUGHT], "without its required"),
        ([SAID, THOUGHT, SAID], "without its required"),
        ([SAID, THOUGHT, ANSWER, THOUGHT, ANSWER], "duplicate item"),
        ([SAID, THOUGHT | {"encrypted_content": ""}, ANSWER], "cannot be read again"),
        ([SAID, ANSWER | {"content": " "}], "message"),
        ([SAID, CALL | {"arguments": "[]"}, OUTPUT], "no object"),
        ([SAID, CALL | {"name": "a b"}, OUTPUT], "call name"),
        ([SAID | {"content": []}], "content is empty"),
        ([{"role": "system", "type": "message"}], "an item"),
        ([], "input is empty"),
    ],
)
def test_the_strict_reader_of_responses_refuses_what_the_api_refuses(items: list[Body], refused: str) -> None:
    found = strict_responses.violations({"model": "m", "store": False, "input": items})
    assert refused in "; ".join(found) and bool(found) == bool(refused)


G_USER = {"role": "user", "parts": [{"text": "x"}]}
G_CALL = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "n", "args": {}}, "thoughtSignature": "S"}]}
G_ANSWER = {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "n", "response": {"output": "x"}}}]}
G_MODEL = {"role": "model", "parts": [{"text": "x"}]}


def part(role: str, **fields: Any) -> Body:
    return {"role": role, "parts": [fields]}


@each(
    ("contents", "refused"),
    [
        ([G_USER, G_CALL, G_ANSWER], ""),
        ([G_USER, G_CALL, G_ANSWER, G_MODEL, G_USER], ""),
        ([G_USER, G_CALL], "1 function calls are followed by 0"),
        ([G_USER, G_CALL, G_USER], "1 function calls are followed by 0"),
        ([G_USER, G_MODEL, G_ANSWER], "0 function calls are followed by 1"),
        ([G_ANSWER], "without a call"),
        ([G_MODEL], "the first content"),
        ([G_USER, G_USER], "in a row"),
        ([G_USER, {"role": "model", "parts": []}], "no parts"),
        ([part("user", text=" ")], "an empty text"),
        ([part("user", text="x", thought=True)], "a thought of the user"),
        ([part("user", text="x", thoughtSignature="S")], "a signature"),
        ([part("user", text="x", functionCall={})], "a part with"),
        ([part("user", inlineData={"mimeType": "image/png"})], "media without data"),
        ([G_USER, part("model", functionCall={"id": "c", "name": "1n", "args": {}}), G_ANSWER], "call {"),
        (
            [G_USER, part("model", functionCall={"id": "c", "name": "n", "args": {}}), G_ANSWER],
            "missing a thought_signature",
        ),
        ([], "contents is empty"),
    ],
)
def test_the_strict_reader_of_gemini_refuses_what_the_api_refuses(contents: list[Body], refused: str) -> None:
    found = strict_gemini.violations({"contents": contents}, needs_signature=True)
    assert refused in "; ".join(found) and bool(found) == bool(refused)


@each(
    ("schema", "refused"),
    [
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING", "enum": ["x"]}}, "required": ["a"]}, ""),
        ({"type": "STRING"}, "the root"),
        ({"type": "OBJECT", "additionalProperties": False}, "unknown name"),
        ({"type": "OBJECT", "properties": {}}, "non-empty"),
        ({"type": "OBJECT", "properties": {"a": {"type": "ARRAY"}}}, "missing field"),
        ({"type": "OBJECT", "properties": {"a": {"type": "string"}}}, "type 'string'"),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING", "enum": [""]}}}, "enum"),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING", "format": "uri"}}}, "format"),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING", "anyOf": [{"type": "STRING"}]}}}, "beside anyOf"),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["b"]}, "not defined"),
    ],
)
def test_the_strict_reader_of_schemas_refuses_what_the_api_refuses(schema: Body, refused: str) -> None:
    found = strict_gemini.schema_violations(schema)
    assert refused in "; ".join(found) and bool(found) == bool(refused)


def test_a_plain_history_passes_all() -> None:
    check_requests([user("x"), assistant(call("c1"), finish="tool-calls"), user("y")])
