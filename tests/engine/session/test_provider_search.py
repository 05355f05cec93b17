"""A search that Anthropic makes itself: declared, heard, stored as a call, sent back as it came."""

import json
from typing import Any

import pytest

from opencode_tui.engine.session.request.builder import RequestTask
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.support.provider.model_script import Answer
from tests.support.provider.strict_anthropic import violations
from tests.support.world.engine import opened

CLAUDE = ModelRef(provider_id="fake-anthropic", model_id="fake-model")
PROVIDER = {"experimental": {"websearch": "provider"}}
FOUND = [
    {
        "type": "web_search_result",
        "url": "https://a.example",
        "title": "A",
        "encrypted_content": "EqgfCioIARgB",
        "page_age": None,
    }
]


def searched(result: object, stop: str = "end_turn") -> Answer:
    """Return an answer with text, a search, its result, and text."""
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    usage = {"input_tokens": 10, "output_tokens": 20, "server_tool_use": {"web_search_requests": 1}}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "I look."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"que'}},
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": 'ry": "x y"}'},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": result},
        },
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "It is A."}},
        {"type": "content_block_stop", "index": 3},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events]
    return Answer(chunks=tuple(lines))


async def ask(world, session, text: str, model: ModelRef = CLAUDE) -> None:
    await world.client.prompts.prompt(session.id, PromptInput(model=model, parts=[TextInput(text=text)]))


async def test_a_search_is_declared_stored_and_sent_back(environ, tmp_path):
    async with opened(environ, tmp_path, searched(FOUND), settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        tools = world.server.bodies[0]["tools"]
        assert {"type": "web_search_20250305", "name": "web_search", "max_uses": 8} in tools
        assert "websearch" not in [tool["name"] for tool in tools]
        kinds = [part for part in await world.parts(session) if isinstance(part, TextPart | ToolPart)][1:]
        assert [getattr(part, "text", None) or getattr(part, "tool", "") for part in kinds] == [
            "I look.",
            "websearch",
            "It is A.",
        ]
        (call,) = await world.calls(session)
        assert isinstance(call.state, ToolStateCompleted)
        assert (call.state.title, call.state.output) == ("x y", "1. A\n   https://a.example")
        assert call.state.metadata["results"] == [{"title": "A", "url": "https://a.example"}]
        assert len(world.server.bodies) == 1

        await ask(world, session, "more")
        body = world.server.bodies[-1]
        assert violations(body) == []
        (sent,) = [message for message in body["messages"] if message["role"] == "assistant"]
        assert [block["type"] for block in sent["content"]] == [
            "text",
            "server_tool_use",
            "web_search_tool_result",
            "text",
        ]
        assert sent["content"][1] == {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "x y"},
        }
        assert sent["content"][2]["content"] == FOUND


@pytest.mark.slow
async def test_another_model_reads_the_search_as_a_call(environ, tmp_path):
    async with opened(environ, tmp_path, searched(FOUND), settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        await ask(world, session, "more", ModelRef(provider_id="fake", model_id="fake-model"))
        body = world.server.bodies[-1]
        assert "EqgfCioIARgB" not in json.dumps(body)
        (result,) = [message for message in body["messages"] if message["role"] == "tool"]
        assert "https://a.example" in json.dumps(result)
        assert "websearch" not in [tool["function"]["name"] for tool in body["tools"]]


async def test_a_search_that_failed_is_shown_and_sent_back(environ, tmp_path):
    error = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    async with opened(environ, tmp_path, searched(error), settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        (call,) = await world.calls(session)
        assert isinstance(call.state, ToolStateError) and "max_uses_exceeded" in call.state.error
        await ask(world, session, "more")
        assert violations(world.server.bodies[-1]) == []
        assert error in [
            block.get("content") for one in world.server.bodies[-1]["messages"] for block in one["content"]
        ]


@pytest.mark.slow
async def test_a_rule_that_asks_or_denies_keeps_the_provider_from_searching(environ, tmp_path):
    for rule in ("ask", "deny", {"secret *": "deny"}):
        async with opened(environ, tmp_path, settings={**PROVIDER, "permission": {"websearch": rule}}) as world:
            await ask(world, await world.new_session(), "hi")
            names = [tool["name"] for tool in world.server.bodies[0]["tools"]]
            assert "web_search" not in names and "websearch" not in names and "webfetch" in names


async def test_without_the_setting_no_provider_searches(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        await ask(world, await world.new_session(), "hi")
        assert "web_search" not in json.dumps(world.server.bodies[0]["tools"])


async def test_a_paused_turn_goes_on_with_what_was_found(environ, tmp_path):
    answers = (searched(FOUND, "pause_turn"), Answer(text="All done."))
    async with opened(environ, tmp_path, *answers, settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        assert (len(world.server.bodies), await world.answer(session)) == (2, "All done.")
        body = world.server.bodies[1]
        assert violations(body) == []
        (sent,) = [message for message in body["messages"] if message["role"] == "assistant"]
        kinds = [block["type"] for block in sent["content"]]
        assert kinds == ["text", "server_tool_use", "web_search_tool_result", "text"]
        assert sent["content"][2]["content"] == FOUND


def pieces(stop: str, *blocks: dict[str, Any]) -> Answer:
    """Return an answer of whole blocks."""
    body = {
        "type": "message",
        "content": blocks,
        "stop_reason": stop,
        "usage": {"input_tokens": 10, "output_tokens": 20},
    }
    return Answer(body=json.dumps(body).encode(), headers=(("content-type", "application/json"),))


CALLED = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x y"}}
ANSWERED = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}


async def test_a_search_that_a_pause_left_open_is_answered_by_the_next_response(environ, tmp_path):
    answers = (
        pieces("pause_turn", {"type": "text", "text": "I look."}, CALLED),
        pieces("end_turn", ANSWERED, {"type": "text", "text": "It is A."}),
        Answer(text="Bye."),
    )
    async with opened(environ, tmp_path, *answers, settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        assert await world.answer(session) == "It is A."
        await ask(world, session, "and now?")
        going_on, later = world.server.bodies[1:]
    assert going_on["messages"][-1]["role"] == "assistant"
    assert [{**block, "cache_control": None} for block in going_on["messages"][-1]["content"][1:]] == [
        {**CALLED, "cache_control": None}
    ]
    (sent,) = [message for message in later["messages"] if message["role"] == "assistant"]
    assert sent["content"][1:3] == [CALLED, ANSWERED]
    assert violations(later) == []


async def test_a_search_that_nothing_answered_is_left_out_of_later_requests(environ, tmp_path):
    paused = pieces("pause_turn", {"type": "text", "text": "I look."}, CALLED)
    answers = (paused, Answer(text="I stop."), Answer(text="Bye."))
    async with opened(environ, tmp_path, *answers, settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        await ask(world, session, "and now?")
        later = world.server.bodies[-1]
    assert "srvtoolu_1" not in json.dumps(later) and violations(later) == []


async def test_a_turn_that_is_paused_again_and_again_ends(environ, tmp_path):
    pauses = (searched(FOUND, "pause_turn") for _ in range(20))
    async with opened(environ, tmp_path, *pauses, settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "what is x")
        assert 2 <= len(world.server.bodies) < 20


async def test_a_message_that_switches_the_tool_off_keeps_the_provider_from_searching(environ, tmp_path):
    async with opened(environ, tmp_path, settings=PROVIDER) as world:
        session = await world.new_session()
        await ask(world, session, "hi")
        request = PromptInput(model=CLAUDE, tools={"websearch": False}, parts=[TextInput(text="no search")])
        await world.client.prompts.prompt(session.id, request)
        assert ["web_search" in json.dumps(body["tools"]) for body in world.server.bodies] == [True, False]

        # A message that a running turn reads: the turn's rules are older than the message.
        instance, history = world.client._instance, await world.messages(session)
        agent, model = instance.folder.agents.get("build"), instance.folder.catalog.resolve(CLAUDE)
        assert agent is not None
        for count, searches in ((1, True), (3, False)):
            task = RequestTask(messages=history[:count], agent=agent, model=model, rules=[agent.permission])
            assert (await instance.session._requests.build(task)).request.searches is searches
