"""Answers that are none: the model refuses, a filter stops it, or it says nothing. Each is a sentence with a remedy."""

import json
from typing import Any

import pytest

from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.event.event import SessionFailed
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import RetryPart, TextPart, ToolPart
from opencode_tui.schema.session.stored_error import StoredApiError
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.conversation import to_markdown
from opencode_tui.text.export.html import message_html
from opencode_tui.tui.conversation.drawing import words_of
from opencode_tui.tui.state.message import ErrorItem, end_of
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.wire_prefix import FORMATS
from tests.support.world.engine import World, opened


def whole(body: dict[str, Any]) -> Answer:
    return Answer(body=json.dumps(body).encode(), headers=(("content-type", "application/json"),))


ANTHROPIC = {
    "type": "message",
    "content": [],
    "stop_reason": "refusal",
    "stop_details": {
        "type": "refusal",
        "category": "cyber",
        "explanation": "This could enable\nharm.",
        "recommended_model": "claude-careful-1",
    },
    "usage": {"input_tokens": 18, "output_tokens": 5},
}
GEMINI = {
    "candidates": [{"finishReason": "PROHIBITED_CONTENT", "finishMessage": "Violates the policy."}],
    "usageMetadata": {"promptTokenCount": 18, "candidatesTokenCount": 5},
}
RESPONSES = {
    "object": "response",
    "status": "incomplete",
    "incomplete_details": {"reason": "content_filter"},
    "output": [],
    "usage": {"input_tokens": 18, "output_tokens": 5},
}
CHAT = {
    "object": "chat.completion",
    "choices": [
        {
            "message": {"content": ""},
            "finish_reason": "content_filter",
            "content_filter_results": {"hate": {"filtered": True, "severity": "high"}, "sexual": {"filtered": False}},
        }
    ],
    "usage": {"prompt_tokens": 18, "completion_tokens": 5},
}
REFUSALS = {
    "anthropic": (ANTHROPIC, ["This could enable harm. (cyber)", "switch to fake-anthropic/claude-careful-1"]),
    "gemini": (GEMINI, ["Violates the policy."]),
    "responses": (RESPONSES, ["refused to answer; fix:"]),
    "openai": (CHAT, ["hate (severity high)"]),
}


async def ask(world: World, name: str = "openai", text: str = "go") -> AssistantMessage:
    """Return the last answer to a prompt of a new session."""
    session = await world.new_session()
    model = ModelRef(provider_id=FORMATS[name], model_id="fake-model")
    asked = PromptInput(model=model, parts=[TextInput(text=text)])
    info = (await world.client.prompts.prompt(session.id, asked)).info
    assert isinstance(info, AssistantMessage)
    return info


@pytest.mark.fast_cases("gemini")
@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refusal_is_a_sentence_with_the_providers_reason(environ, tmp_path, name):
    body, words = REFUSALS[name]
    async with opened(environ, tmp_path, whole(body), Answer(text="fine"), has_all=True) as world:
        info = await ask(world, name)
        stored = (await world.client.messages.list(info.session_id))[-1]
        assert (info.finish, info.tokens.input, info.tokens.output) == ("content-filter", 18, 5)
        assert isinstance(info.error, StoredApiError) and info.error.data.message.startswith(
            f"{FORMATS[name]}: the model refused to answer"
        )
        assert [word for word in (*words, "/undo", "/models") if word not in info.error.data.message] == []
        again = PromptInput(
            model=ModelRef(provider_id=FORMATS[name], model_id="fake-model"), parts=[TextInput(text="hm")]
        )
        after = await world.client.prompts.prompt(info.session_id, again)
        assert isinstance(after.info, AssistantMessage) and after.info.failure is None
        assert "refused to answer" in message_html(stored, str(tmp_path))
        assert "**Error:**" in "".join(to_markdown(await world.client.sessions.get(info.session_id), [stored]))
    item = end_of(info, [])
    assert isinstance(item, ErrorItem) and "refused to answer" in words_of(item.error, item.provider).title


async def test_a_refusal_in_the_middle_keeps_the_text_and_runs_no_call(environ, tmp_path):
    (tmp_path / "a.txt").write_text("inside")
    half = Answer(text="half of", calls=(Call("read", {"filePath": "a.txt"}),), finish="content_filter")
    async with opened(environ, tmp_path, half, Answer(text="never")) as world:
        with world.client.events() as events:
            info = await ask(world)
            failed = [one.event async for one in until_idle(events)]
        parts = (await world.client.messages.list(info.session_id))[-1].parts
        assert len(world.server.bodies) == 1
    assert (info.error, [part.text for part in parts if isinstance(part, TextPart)]) == (None, ["half of"])
    assert info.ending is not None and "refused to answer" in info.ending.data.message
    assert [event.error for event in failed if isinstance(event, SessionFailed)] == [info.ending]
    assert [isinstance(part.state, ToolStateError) for part in parts if isinstance(part, ToolPart)] == [True]


@pytest.mark.fast_cases("abort")
@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource", "abort"])
async def test_an_answer_that_ended_in_an_error_is_asked_for_again(environ, tmp_path, quick_retries, reason):
    (tmp_path / "a.txt").write_text("inside")
    broken = Answer(text="partial answ", calls=(Call("read", {"filePath": "a.txt"}),), finish=reason)
    async with opened(environ, tmp_path, broken, Answer(text="all of it")) as world:
        info = await ask(world)
        parts = (await world.client.messages.list(info.session_id))[-1].parts
        assert len(world.server.bodies) == 2
    assert (info.failure, [part.text for part in parts if isinstance(part, TextPart)]) == (None, ["all of it"])
    (retry,) = [part for part in parts if isinstance(part, RetryPart)]
    assert "ended the answer with an error" in retry.error.data.message


async def test_an_answer_that_always_ends_in_an_error_is_a_failure(environ, tmp_path, monkeypatch):
    monkeypatch.setattr("opencode_tui.engine.session.retry.FIRST_DELAY_MS", 1)
    monkeypatch.setattr("opencode_tui.engine.session.retry.MAX_DELAY_MS", 1)
    async with opened(environ, tmp_path, *[Answer(text="partial", finish="error")] * 8) as world:
        with pytest.raises(ProviderError, match="ended the answer with an error; still failing after 8 attempts"):
            await ask(world)
        assert len(world.server.bodies) == 8


def gemini(reason: str, message: str = "") -> Answer:
    said = {"finishReason": reason, "content": {"role": "model", "parts": [{"text": "half of"}]}}
    return whole({"candidates": [said | ({"finishMessage": message} if message else {})]})


@pytest.mark.fast_cases("gemini-answer0-OTHER")
@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("gemini", gemini("OTHER"), "OTHER"),
        ("gemini", gemini("TOO_MANY_TOOL_CALLS", "Too many calls."), "Too many calls."),
        ("responses", whole({**RESPONSES, "incomplete_details": {"reason": "new"}, "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "half of"}]}
        ]}), "new"),
    ],
)  # fmt: skip
async def test_an_answer_that_the_provider_stopped_keeps_its_text_and_says_so(environ, tmp_path, name, answer, said):
    async with opened(environ, tmp_path, answer, Answer(text="fine"), has_all=True) as world:
        info = await ask(world, name)
        assert (info.error, info.finish, len(world.server.bodies)) == (None, "other", 1)
        assert info.ending is not None
        text = info.ending.data.message
        assert text.startswith(f"{FORMATS[name]}: the provider stopped the answer before its end: {said}; fix:")
        model = ModelRef(provider_id=FORMATS[name], model_id="fake-model")
        again = PromptInput(model=model, parts=[TextInput(text="continue")])
        after = await world.client.prompts.prompt(info.session_id, again)
        assert isinstance(after.info, AssistantMessage) and after.info.failure is None
        assert "half of" in json.dumps(world.server.bodies[-1])


async def test_a_whole_answer_without_a_reason_is_one(environ, tmp_path):
    said = {"object": "chat.completion", "choices": [{"message": {"content": "all"}, "finish_reason": None}]}
    async with opened(environ, tmp_path, whole(said)) as world:
        info = await ask(world)
    assert (info.failure, info.finish) == (None, "other")


async def until_idle(events):
    async for envelope in events:
        yield envelope
        if isinstance(envelope.event, SessionFailed):
            return


@pytest.mark.fast_cases("-anthropic")
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("reasoning", ["", "hm"])
async def test_an_answer_without_a_text_is_said_to_be_empty(environ, tmp_path, name, reasoning):
    async with opened(environ, tmp_path, Answer(reasoning=reasoning, text=""), has_all=True) as world:
        info = await ask(world, name)
        assert (info.error, len(world.server.bodies)) == (None, 1)
    assert info.ending is not None
    assert info.ending.data.message.startswith(
        f"{FORMATS[name]}: the model ended without an answer; fix: send `continue`"
    )


async def test_an_empty_answer_stays_in_a_conversation_that_goes_on(environ, tmp_path):
    (tmp_path / "a.txt").write_text("inside")
    answers = (Answer(calls=(Call("read", {"filePath": "a.txt"}),)), Answer(text=""), Answer(text="all of it"))
    async with opened(environ, tmp_path, *answers) as world:
        info = await ask(world)
        assert info.ending is not None
        more = PromptInput(
            model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text="continue")]
        )
        after = await world.client.prompts.prompt(info.session_id, more)
        assert isinstance(after.info, AssistantMessage) and after.info.failure is None
        sent = world.server.bodies[-1]["messages"]
        assert [message["role"] for message in sent][-3:] == ["assistant", "tool", "user"]
        assert content_text(sent[-1]["content"]) == "continue"


async def test_an_empty_answer_of_an_agent_is_the_error_of_its_call(environ, tmp_path):
    task = Call("task", {"description": "look", "prompt": "look", "subagent_type": "general"})
    async with opened(environ, tmp_path, Answer(calls=(task,)), Answer(text=""), Answer(text="so")) as world:
        info = await ask(world)
        messages = await world.client.messages.list(info.session_id)
        (state,) = [part.state for one in messages for part in one.parts if isinstance(part, ToolPart)]
    assert not isinstance(state, ToolStateCompleted)
    assert isinstance(state, ToolStateError) and "the model ended without an answer" in state.error
