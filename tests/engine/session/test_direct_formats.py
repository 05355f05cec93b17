"""Sessions with models of OpenAI's Responses format and of Gemini's: turns with tools, reasoning that goes back, aborts, errors."""

import asyncio
import json
from typing import Any

import pytest

from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import ProviderError, RunAborted
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import ReasoningPart, RetryPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.support.provider import strict_anthropic, strict_gemini, strict_openai, strict_responses
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.wire_prefix import FORMATS
from tests.support.world.engine import World, opened
from tests.support.world.waiting import PATIENCE_S

READ = Call("read", {"filePath": "a.txt"})
STRICT = {
    "openai": strict_openai.violations,
    "responses": strict_responses.violations,
    "anthropic": strict_anthropic.violations,
    "gemini": strict_gemini.violations,
}
new_formats = pytest.mark.parametrize("name", ["responses", "gemini"])


def ref(name: str) -> ModelRef:
    return ModelRef(provider_id=FORMATS[name], model_id="fake-model")


async def ask(world: World, session: SessionInfo, name: str, text: str = "go on") -> None:
    await world.client.prompts.prompt(session.id, PromptInput(model=ref(name), parts=[TextInput(text=text)]))


def check_requests(world: World) -> None:
    """Fail for a request that its API would reject."""
    assert world.server.requests
    for sent in world.server.requests:
        assert (sent.api, STRICT[sent.api](sent.body)) == (sent.api, [])


def reasoning_of(body: dict[str, Any]) -> str:
    """Return what of a request is about reasoning."""
    marks = ("encrypted_content", "thoughtSignature", "reasoning_content", "signature", "summary_text")
    return ", ".join(mark for mark in marks if f'"{mark}"' in json.dumps(body))


@pytest.mark.fast_cases("responses")
@new_formats
async def test_a_turn_with_tools_and_reasoning_is_stored_and_goes_back(environ, tmp_path, name):
    (tmp_path / "a.txt").write_text("inside")
    answers = (
        Answer(reasoning="I look.", text="Reading.", calls=(READ, READ)),
        Answer(reasoning="So.", text="It says inside."),
    )
    async with opened(environ, tmp_path, *answers, has_all=True) as world:
        session = await world.new_session()
        await ask(world, session, name, "what is in a.txt?")
        await ask(world, session, name, "and now?")
        stored = await world.parts(session)
        check_requests(world)
        second, third = world.server.bodies[1], world.server.bodies[2]
    calls = [part for part in stored if isinstance(part, ToolPart)]
    assert [(call.tool, isinstance(call.state, ToolStateCompleted)) for call in calls] == [("read", True)] * 2
    thoughts = [part for part in stored if isinstance(part, ReasoningPart)]
    assert [part.text for part in thoughts] == ["I look.", "So."]
    if name == "responses":
        own = (thoughts[0].metadata or {})["openai"]
        assert set(own) == {"itemId", "reasoningEncryptedContent"}
        kinds = [item["type"] for item in second["input"]]
        assert kinds == ["message", "reasoning", "message", *["function_call"] * 2, *["function_call_output"] * 2]
        assert second["input"][1]["id"] == own["itemId"]
        assert [item["type"] for item in third["input"]].count("reasoning") == 2
        assert all((call.metadata or {})["openai"]["itemId"] for call in calls)
    else:
        model = second["contents"][1]["parts"]
        assert [part.get("thoughtSignature") for part in model] == [None, "c2lnbmVk", None]
        assert calls[0].metadata == {"google": {"thoughtSignature": "c2lnbmVk"}}
        texts = [part for part in stored if isinstance(part, TextPart)]
        assert [text.text for text in texts[:3]] == ["what is in a.txt?", "Reading.", "It says inside."]
        assert texts[2].metadata == {"google": {"thoughtSignature": "c2lnbmVk"}}
        assert third["contents"][3]["parts"] == [{"text": "It says inside.", "thoughtSignature": "c2lnbmVk"}]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("other", FORMATS)
async def test_reasoning_never_reaches_another_provider(environ, tmp_path, name, other):
    (tmp_path / "a.txt").write_text("inside")
    answers = (Answer(reasoning="I look.", calls=(READ,)), Answer(reasoning="So.", text="It says inside."))
    async with opened(environ, tmp_path, *answers, has_all=True) as world:
        session = await world.new_session()
        await ask(world, session, name)
        await ask(world, session, other)
        check_requests(world)
        assert bool(reasoning_of(world.server.bodies[2])) == (name == other)


@pytest.mark.slow
@new_formats
@pytest.mark.parametrize(
    "broken",
    [
        failure(429, "slow down", retry_after="0.01"),
        Answer(text="half of it", fault="drop", fault_after=3),
        Answer(text="half of it", reasoning="hm", fault="reset", fault_after=3),
        Answer(
            chunks=(
                b'data: {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}\n\n',
            )
        ),
        Answer(body=b"[]"),
        Answer(body=b""),
    ],
    ids=["retry-after", "drop", "reset", "error in the stream", "no response", "nothing"],
)
async def test_a_failed_answer_is_asked_for_again(environ, tmp_path, quick_retries, name, broken):
    async with opened(environ, tmp_path, broken, Answer(text="all of it"), has_all=True) as world:
        session = await world.new_session()
        await ask(world, session, name)
        stored = await world.parts(session)
        check_requests(world)
    assert [part.text for part in stored if isinstance(part, TextPart)][1:] == ["all of it"]
    assert sum(isinstance(part, RetryPart) for part in stored) == 1


@new_formats
async def test_a_call_that_cannot_be_read_is_answered_with_what_is_wrong(environ, tmp_path, name):
    broken = Answer(calls=(Call("read", '{"filePath": "a'),))
    async with opened(environ, tmp_path, broken, Answer(text="sorry"), has_all=True) as world:
        session = await world.new_session()
        await ask(world, session, name)
        (call,) = await world.calls(session)
        check_requests(world)
    assert isinstance(call.state, ToolStateError) and "not valid JSON" in call.state.error


@new_formats
async def test_a_refused_prompt_is_an_error_with_its_reason(environ, tmp_path, name):
    blocked = {
        "responses": b'data: {"type": "error", "code": "invalid_prompt", "message": "It was flagged."}\n\n',
        "gemini": b'data: {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}\n\n',
    }
    async with opened(environ, tmp_path, Answer(chunks=(blocked[name],)), has_all=True) as world:
        session = await world.new_session()
        with pytest.raises(ProviderError, match={"responses": "It was flagged", "gemini": "PROHIBITED_CONTENT"}[name]):
            await ask(world, session, name)
        assert len(world.server.bodies) == 1


@new_formats
async def test_an_aborted_answer_ends_and_the_next_request_is_valid(environ, tmp_path, name):
    slow = Answer(reasoning="Let me see.", text="word " * 500, delay_ms=5)
    async with opened(environ, tmp_path, slow, Answer(text="again"), has_all=True) as world:
        session = await world.new_session()
        turn = asyncio.create_task(ask(world, session, name))
        while not any(isinstance(part, TextPart) and "word word" in part.text for part in await world.parts(session)):
            await asyncio.sleep(0.02)
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await turn
        assert await asyncio.to_thread(world.server.disconnects.acquire, timeout=PATIENCE_S)
        await ask(world, session, name, "go on")
        check_requests(world)
        sent = world.server.bodies[-1]
    assert "word word" in json.dumps(sent)
