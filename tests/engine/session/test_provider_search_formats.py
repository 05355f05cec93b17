"""Searches that OpenAI and Gemini make themselves: declared, heard, stored as calls with links, sent back as they came."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.decode.delta import WireUsage
from opencode_tui.engine.provider.decode.gemini_stream import GeminiDecoder
from opencode_tui.engine.provider.decode.responses_stream import ResponsesDecoder
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.support.provider import strict_gemini, strict_responses
from tests.support.provider.model_script import Answer
from tests.support.world.engine import opened

GPT = ModelRef(provider_id="fake-responses", model_id="gpt-5.2")
GEMINI = ModelRef(provider_id="fake-gemini", model_id="gemini-3-pro-preview")
OLD_GEMINI = ModelRef(provider_id="fake-gemini", model_id="gemini-2.5-pro")
MODEL = {"limit": {"context": 200_000, "output": 8_000}, "tool_call": True, "reasoning": True}
SETTINGS: dict[str, Any] = {"experimental": {"websearch": "provider"}}
SOURCES = [{"type": "url", "url": "https://a.example"}, {"type": "url", "url": "https://b.example"}]


def event(data: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def item(kind: str, identifier: str, **fields: object) -> dict[str, Any]:
    return {"type": kind, "id": identifier, "status": "completed", **fields}


LONG = "ws_" + "68a5" * 12
SEARCHED = item("web_search_call", LONG, action={"type": "search", "query": "x y", "sources": SOURCES})
OPENED = item("web_search_call", "ws_2", action={"type": "open_page", "url": "https://b.example"})
FOUND = item("web_search_call", "ws_3", action={"type": "find_in_page", "url": "https://b.example", "pattern": "z"})
THOUGHT = item("reasoning", "rs_1", summary=[], encrypted_content="ZW5j")
CITED = {"type": "url_citation", "url": "https://a.example", "title": "The A", "start_index": 0, "end_index": 2}
NEW = {**CITED, "url": "https://c.example", "title": "The C"}


def said(*annotations: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "output_text", "text": "It is A.", "annotations": list(annotations)}]
    return item("message", "msg_1", role="assistant", content=content)


def responses(*items: dict[str, Any]) -> Answer:
    """Return an answer of these items, each with its start and its end."""
    events: list[dict[str, Any]] = []
    for index, one in enumerate(items):
        begun = {name: value for name, value in one.items() if name not in ("action", "encrypted_content")}
        begun |= {"content": []} if "content" in one else {}
        events += (
            {"type": "response.output_item.added", "output_index": index, "item": {**begun, "status": "in_progress"}},
            {"type": f"response.{one['type']}.searching", "output_index": index, "item_id": one["id"]},
            {"type": "response.output_item.done", "output_index": index, "item": one},
        )
    usage = {"input_tokens": 10, "output_tokens": 20}
    events.append({"type": "response.completed", "response": {"output": list(items), "usage": usage}})
    return Answer(chunks=tuple(map(event, events)))


CALLED = {
    "toolCall": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x y", "z"]}},
    "thoughtSignature": "c2ln",
}
ANSWERED = {
    "toolResponse": {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB", "response": {"search_suggestions": "<b>x</b>"}},
    "thoughtSignature": "c2ln",
}
GROUNDED = {
    "webSearchQueries": ["x y", "z"],
    "groundingChunks": [{"web": {"uri": "https://a.example", "title": "The A"}}],
}


def gemini(*parts: dict[str, Any], grounding: dict[str, Any] = GROUNDED) -> Answer:
    """Return an answer with a chunk for each part, then what it is grounded on."""
    chunks: list[dict[str, Any]] = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in parts]
    chunks.append(
        {
            "responseId": "r1",
            "candidates": [{"finishReason": "STOP", "groundingMetadata": grounding}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 20},
        }
    )
    return Answer(chunks=tuple(map(event, chunks)))


def asked(environ, tmp_path, *answers: Answer, **more: Any):
    models: dict[str, dict[str, Any]] = {
        "fake-responses": {name: MODEL for name in ("gpt-5.2", "gpt-5-mini")},
        "fake-gemini": {name: MODEL for name in ("gemini-3-pro-preview", "gemini-2.5-pro")},
    }
    return opened(environ, tmp_path, *answers, settings={**SETTINGS, **more}, has_all=True, models=models)


async def ask(world, session, model: ModelRef, text: str = "what is x", variant: str | None = None) -> None:
    await world.client.prompts.prompt(
        session.id, PromptInput(model=model, variant=variant, parts=[TextInput(text=text)])
    )


def heard(parts: list[Any]) -> list[str]:
    kinds = [part for part in parts if isinstance(part, TextPart | ToolPart)][1:]
    return [part.text if isinstance(part, TextPart) else part.tool for part in kinds]


async def test_openai_searches_and_gets_its_items_back(environ, tmp_path):
    answer = responses(THOUGHT, SEARCHED, OPENED, FOUND, said(CITED, NEW))
    async with asked(environ, tmp_path, answer) as world:
        session = await world.new_session()
        await ask(world, session, GPT)
        body = world.server.bodies[0]
        assert strict_responses.violations(body) == []
        assert {"type": "web_search"} in body["tools"]
        assert "websearch" not in [tool.get("name") for tool in body["tools"]]
        assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]
        assert heard(await world.parts(session)) == ["websearch", "websearch", "websearch", "It is A."]
        calls = await world.calls(session)
        assert [call.state.title for call in calls] == ["x y", "https://b.example", "z in https://b.example"]
        assert calls[0].state.output == "1. The A\n   https://a.example\n\n2. https://b.example"
        assert "The C\n   https://c.example" in calls[2].state.output
        assert len(world.server.bodies) == 1

        await ask(world, session, GPT, "more")
        sent = world.server.bodies[-1]
        assert strict_responses.violations(sent) == []
        kept = [one for one in sent["input"] if one.get("role") != "user"]
        assert kept[1:4] == [SEARCHED, OPENED, FOUND]
        assert [one["type"] for one in kept] == ["reasoning", *["web_search_call"] * 3, "message"]


async def test_gemini_searches_and_gets_its_parts_back(environ, tmp_path):
    answer = gemini({"text": "I look."}, CALLED, ANSWERED, {"text": "It is A."})
    async with asked(environ, tmp_path, answer) as world:
        session = await world.new_session()
        await ask(world, session, GEMINI)
        body = world.server.bodies[0]
        assert strict_gemini.violations(body) == []
        assert {"googleSearch": {}} in body["tools"]
        assert "websearch" not in [one["name"] for one in body["tools"][0]["functionDeclarations"]]
        assert heard(await world.parts(session)) == ["I look.", "websearch", "It is A."]
        (call,) = await world.calls(session)
        assert (call.state.title, call.state.output) == ("x y, z", "1. The A\n   https://a.example")

        await ask(world, session, GEMINI, "more")
        sent = world.server.bodies[-1]
        assert strict_gemini.violations(sent) == []
        (model,) = [one for one in sent["contents"] if one["role"] == "model"]
        assert model["parts"] == [{"text": "I look."}, CALLED, ANSWERED, {"text": "It is A."}]


async def test_a_search_of_gemini_without_parts_is_shown_and_not_sent(environ, tmp_path):
    async with asked(environ, tmp_path, gemini({"text": "It is A."})) as world:
        session = await world.new_session()
        await ask(world, session, GEMINI)
        (call,) = await world.calls(session)
        assert isinstance(call.state, ToolStateCompleted) and "https://a.example" in call.state.output
        await ask(world, session, GEMINI, "more")
        sent = world.server.bodies[-1]
        assert strict_gemini.violations(sent) == []
        assert "a.example" not in json.dumps(sent)


@pytest.mark.fast_cases("gemini")
@pytest.mark.parametrize("model", [GPT, GEMINI], ids=["openai", "gemini"])
async def test_another_model_reads_the_search_as_a_call(environ, tmp_path, model):
    answer = responses(SEARCHED, said()) if model is GPT else gemini(CALLED, ANSWERED, {"text": "It is A."})
    async with asked(environ, tmp_path, answer) as world:
        session = await world.new_session()
        await ask(world, session, model)
        await ask(world, session, ModelRef(provider_id="fake", model_id="fake-model"), "more")
        (result,) = [message for message in world.server.bodies[-1]["messages"] if message["role"] == "tool"]
        assert "https://a.example" in json.dumps(result)
        assert "web_search_call" not in json.dumps(world.server.bodies[-1]["messages"])


async def test_a_search_of_openai_that_failed_is_shown_and_sent_back(environ, tmp_path):
    failed = {**SEARCHED, "status": "failed"}
    async with asked(environ, tmp_path, responses(failed, said())) as world:
        session = await world.new_session()
        await ask(world, session, GPT)
        (call,) = await world.calls(session)
        assert isinstance(call.state, ToolStateError) and "search failed" in call.state.error
        await ask(world, session, GPT, "more")
        assert failed in world.server.bodies[-1]["input"]


@pytest.mark.fast_cases("model0-more0")
@pytest.mark.parametrize(
    ("model", "more"),
    [
        (OLD_GEMINI, {}),
        (ModelRef(provider_id="fake-responses", model_id="fake-model"), {}),
        (GPT, {"permission": {"websearch": "ask"}}),
        (GEMINI, {"permission": {"websearch": {"secret *": "deny"}}}),
        (GPT, {"experimental": {}}),
        (GEMINI, {"experimental": {}}),
    ],
)
async def test_where_it_cannot_or_must_not_the_provider_does_not_search(environ, tmp_path, model, more):
    async with asked(environ, tmp_path, **more) as world:
        await ask(world, await world.new_session(), model, "hi")
        sent = json.dumps([world.server.bodies[0]["tools"], world.server.bodies[0].get("include")])
        assert "web_search" not in sent and "googleSearch" not in sent and '"websearch"' not in sent
        assert '"webfetch"' in sent


@pytest.mark.slow
async def test_openai_does_not_search_with_the_least_effort(environ, tmp_path):
    small = ModelRef(provider_id="fake-responses", model_id="gpt-5-mini")
    async with asked(environ, tmp_path) as world:
        for variant, searches in (("minimal", False), ("low", True)):
            await ask(world, await world.new_session(), small, variant=variant)
            body = world.server.bodies[-1]
            assert body["reasoning"]["effort"] == variant
            assert ({"type": "web_search"} in body["tools"]) is searches


@pytest.mark.parametrize(
    ("decoder", "answer", "searches"),
    [
        (ResponsesDecoder, responses(SEARCHED, OPENED, FOUND, said()), 1),
        (ResponsesDecoder, responses(OPENED, said()), 0),
        (GeminiDecoder, gemini(CALLED, ANSWERED, {"text": "A."}), 2),
        (GeminiDecoder, gemini({"text": "A."}), 2),
        (GeminiDecoder, gemini({"text": "A."}, grounding={}), 0),
    ],
)
def test_searches_are_counted(decoder, answer, searches):
    read = decoder()
    deltas = [delta for chunk in answer.chunks for delta in read.feed(chunk)]
    used = [delta.usage for delta in deltas if isinstance(delta, WireUsage)]
    assert (used[-1].input, used[-1].output, used[-1].searches) == (10, 20, searches)
