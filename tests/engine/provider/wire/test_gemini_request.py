"""What is sent in Gemini's words."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.gemini_request import NO_SIGNATURE, build, build_contents, encode, path
from opencode_tui.engine.provider.llm import (
    CallBlock,
    MediaBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolEntry,
    ToolSpec,
    UserEntry,
)
from opencode_tui.schema.model import Model
from tests.engine.provider.wire.conversation import PAPER, PICTURE, READ, assistant, call, request, result, user

NEW = Model(provider_id="google", model_id="gemini-3.1-pro-preview")
OLD = Model(provider_id="google", model_id="gemini-2.5-pro")
SIGNED = {"google": {"thoughtSignature": "S"}}


def test_a_request_holds_the_tools_and_the_limits() -> None:
    asked = request(
        user("hi"),
        system=("first", "second"),
        tools=(READ,),
        tool_choice="required",
        max_output=100,
        temperature=0.5,
        top_p=0.9,
    )
    assert build(asked) == {
        "generationConfig": {"maxOutputTokens": 100, "temperature": 0.5, "topP": 0.9},
        "systemInstruction": {"parts": [{"text": "first"}, {"text": "second"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "read",
                        "description": "Reads a file.",
                        "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}},
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ({"model_id": "gemini-2.5-pro"}, "/models/gemini-2.5-pro:streamGenerateContent?alt=sse"),
        ({"model_id": "alias", "api_id": "gemini-3"}, "/models/gemini-3:streamGenerateContent?alt=sse"),
        ({"model_id": "tunedModels/mine"}, "/tunedModels/mine:streamGenerateContent?alt=sse"),
        ({"model_id": "a b?key=x#y"}, "/models/a%20b%3Fkey%3Dx%23y:streamGenerateContent?alt=sse"),
    ],
)
def test_the_path_names_the_model(model: dict[str, Any], sent: str) -> None:
    assert path(request(user("hi"), model=Model(provider_id="google", **model))) == sent


def test_the_conversation_comes_last() -> None:
    body = build(request(user("hi"), tools=(READ,), options={"safetySettings": [], "topK": 1}))
    assert list(body)[-1] == "contents"


def test_a_turn_with_a_tool_is_sent_in_turns() -> None:
    signed = CallBlock("c1", "read", {"path": "a"}, SIGNED)
    sent = build_contents(request(user("hi"), assistant(TextBlock("I look."), signed), result(), user("and now")))
    assert sent == [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "S"},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "inside"}}},
                {"text": "and now"},
            ],
        },
    ]


def test_a_failed_call_is_an_error() -> None:
    (part,) = build_contents(request(user("a"), assistant(call()), result(is_error=True)))[2]["parts"]
    assert part["functionResponse"]["response"] == {"error": "inside"}


def test_only_signed_reasoning_of_this_format_goes_back() -> None:
    blocks = (
        ThinkingBlock("cut"),
        ThinkingBlock("x", {"anthropic": {"signature": "S"}}),
        ThinkingBlock("x", {"openai": {"reasoningEncryptedContent": "E"}}),
        ThinkingBlock("", SIGNED),
        ThinkingBlock("hm", SIGNED),
        TextBlock("a", metadata=SIGNED),
        TextBlock("b", metadata={"openai": {"itemId": "m"}}),
    )
    (sent,) = build_contents(request(assistant(*blocks)))
    assert sent["parts"] == [
        {"text": "hm", "thought": True, "thoughtSignature": "S"},
        {"text": "a", "thoughtSignature": "S"},
        {"text": "b"},
    ]


@pytest.mark.parametrize(
    ("model", "signatures"),
    [
        ("gemini-3.1-pro-preview", [NO_SIGNATURE, None]),
        ("gemini-flash-latest", [NO_SIGNATURE, None]),
        ("gemini-2.5-pro", [None, None]),
        ("gemini-2.0-flash", [None, None]),
        ("gemini-1.5-pro", [None, None]),
        ("gemini-pro", [None, None]),
        ("gemini-20-pro", [NO_SIGNATURE, None]),
        ("gemma-3-27b-it", [None, None]),
        ("other", [None, None]),
    ],
)
def test_the_first_call_of_a_turn_has_a_signature_where_it_must(model: str, signatures: list[str | None]) -> None:
    asked = request(assistant(call("c1"), call("c2")), model=Model(provider_id="google", model_id=model))
    (sent,) = build_contents(asked)
    assert [part.get("thoughtSignature") for part in sent["parts"]] == signatures
    own = request(assistant(CallBlock("c1", "read", {}, SIGNED), call("c2")), model=asked.model)
    assert [part.get("thoughtSignature") for part in build_contents(own)[0]["parts"]] == ["S", None]


def test_media_are_sent_where_the_model_reads_them() -> None:
    word = MediaBlock("application/msword", "RE9D", "z.doc")
    (sent,) = build_contents(request(UserEntry((TextBlock("see"), PICTURE, PAPER, word))))
    assert sent["parts"][1:] == [
        {"inlineData": {"mimeType": "image/png", "data": "UE5H"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "UERG"}},
        {"text": "[attachment z.doc of type application/msword cannot be shown]"},
    ]
    results = ToolEntry((ResultBlock("c1", "read", "a", media=(PICTURE,)), ResultBlock("c2", "read", "b")))
    talk = (user("a"), assistant(call("c1"), call("c2")), results)
    new = build_contents(request(*talk, model=NEW))[2]["parts"]
    old = build_contents(request(*talk, model=OLD))[2]["parts"]
    assert [list(part) for part in new] == [["functionResponse"]] * 2
    assert new[0]["functionResponse"]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "UE5H"}}]
    assert [next(iter(part)) for part in old] == ["functionResponse", "functionResponse", "text", "inlineData"]


def test_a_model_without_a_system_prompt_gets_it_from_the_user() -> None:
    gemma = Model(provider_id="google", model_id="gemma-3-27b-it")
    body = build(request(user("hi"), system=("be brief",), model=gemma))
    assert "systemInstruction" not in body
    assert body["contents"] == [{"role": "user", "parts": [{"text": "be brief"}, {"text": "hi"}]}]


def test_no_content_is_empty_and_roles_alternate() -> None:
    sent = build_contents(
        request(user(" "), user("a"), user("b"), assistant(TextBlock("\n")), assistant(TextBlock("c")))
    )
    assert sent == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}]},
    ]


@pytest.mark.parametrize(
    ("options", "generation", "top"),
    [
        ({"thinkingConfig": {"includeThoughts": True}}, {"thinkingConfig": {"includeThoughts": True}}, {}),
        ({"topK": 40, "seed": 1}, {"topK": 40, "seed": 1}, {}),
        ({"generationConfig": {"mediaResolution": "LOW"}}, {"mediaResolution": "LOW"}, {}),
        ({"safetySettings": [{"category": "x"}]}, {}, {"safetySettings": [{"category": "x"}]}),
        ({"cachedContent": "c", "labels": {"a": "b"}}, {}, {"cachedContent": "c", "labels": {"a": "b"}}),
        ({"contents": [], "tools": [], "systemInstruction": "x", "seed": None}, {}, {}),
        ({"promptCacheKey": "ses", "parallelToolCalls": False, "reasoningEffort": "low", "store": False}, {}, {}),
    ],
)
def test_options_are_sent_where_the_format_has_them(
    options: dict[str, Any], generation: dict[str, Any], top: dict[str, Any]
) -> None:
    plain, body = build(request(user("hi"))), build(request(user("hi"), options=options))
    assert body == {**plain, **top, "generationConfig": {**plain["generationConfig"], **generation}}


def test_a_schema_that_cannot_be_expressed_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"any": {}}}
    (tool,) = build(request(user("hi"), tools=(ToolSpec("any", "", schema),)))["tools"]
    assert tool["functionDeclarations"] == [{"name": "any", "description": "", "parametersJsonSchema": schema}]


def test_a_tool_without_parameters_has_none() -> None:
    (tool,) = build(request(user("hi"), tools=(ToolSpec("now", "Time.", {"type": "object", "properties": {}}),)))[
        "tools"
    ]
    assert tool["functionDeclarations"] == [{"name": "now", "description": "Time."}]


def test_what_is_sent_is_strict_json() -> None:
    body = encode(request(user("half \ud800"), assistant(call(path="\ud800 😀"))))
    assert json.loads(body.decode("utf-8"))["contents"][0]["parts"][0]["text"] == "half ?"
