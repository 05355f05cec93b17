"""Imported sessions continue: their next request is one that providers accept."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from opencode_tui.engine.provider.decode import anthropic_request, gemini_request, openai_request, responses_request
from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.session.request.model_message import SO_FAR, to_model_messages
from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from tests.support.importing.agent_sessions import unpack_sessions
from tests.support.importing.desk import Desk
from tests.support.importing.fixtures import unpack
from tests.support.provider import strict_anthropic, strict_gemini, strict_openai, strict_responses
from tests.support.sessions.records import MODEL, user

TOOLS = (ToolSpec("read", "Reads.", {"type": "object", "properties": {}}),)


def sessions(folder: Path) -> dict[str, list[MessageWithParts]]:
    """Return the messages of all sessions by their title."""
    sources = [
        maker(folder / tool / kind)
        for tool, maker in (("claude", ClaudeSource), ("codex", CodexSource))
        for kind in ("steps", "screen")
    ]
    return {
        f"{found.id} {found.title}": list(source.read(found).messages) for source in sources for found in source.list()
    }


def request(messages: Sequence[MessageWithParts], adapter: str) -> LlmRequest:
    """Return the request after one more prompt, to the model that answered."""
    named = next(one.info for one in messages if isinstance(one.info, AssistantMessage))
    model = MODEL.changed(attachment=True, adapter=adapter, provider_id=named.provider_id, model_id=named.model_id)
    history = filter_compacted([*messages, user("Go on.")])
    return LlmRequest(model=model, system=("You code.",), messages=to_model_messages(history, model), tools=TOOLS)


def check_next_request(title: str, messages: Sequence[MessageWithParts]) -> None:
    openai = request(messages, "openai")
    assert strict_openai.violations(openai_request.build(openai)) == [], title
    openai_request.encode(openai).decode("utf-8")
    anthropic = request(messages, "anthropic")
    assert strict_anthropic.violations(anthropic_request.build(anthropic)) == [], title
    responses = request(messages, "responses")
    assert strict_responses.violations(responses_request.build(responses)) == [], title
    gemini = request(messages, "gemini")
    assert strict_gemini.violations(gemini_request.build(gemini)) == [], title


@pytest.mark.slow
def test_each_next_request_passes_all_validators(tmp_path: Path):
    found = sessions(unpack_sessions(tmp_path))
    assert len(found) == 13
    for title, messages in found.items():
        check_next_request(title, messages)
        assert b"thinking" not in anthropic_request.encode(request(messages, "anthropic"))


@pytest.mark.parametrize("version", ["1.1.65", "1.18.33"])
def test_each_next_request_of_a_session_of_opencode_passes_all_validators(desk: Desk, tmp_path: Path, version: str):
    sources = desk.sources.open(None, unpack(version, tmp_path / "opencode"))
    found = {one.title: list(source.read(one).messages) for source in sources for one in source.list()}
    for source in sources:
        source.close()
    assert len(found) == 4
    for title, messages in found.items():
        check_next_request(title, messages)


@pytest.mark.fast_cases("01a1fbb5-d3f2-7371-8c0a-97818ddd89a4")
@pytest.mark.parametrize("title", ["11111111-2222-4333-8444-555555555555", "01a1fbb5-d3f2-7371-8c0a-97818ddd89a4"])
def test_the_next_request_begins_with_the_summary(tmp_path: Path, title: str):
    [messages] = [
        messages for name, messages in sessions(unpack_sessions(tmp_path)).items() if name.startswith(f"{title} ")
    ]
    body = openai_request.build(request(messages, "openai"))["messages"]
    texts = [one["content"] if isinstance(one["content"], str) else one["content"][0]["text"] for one in body[1:3]]
    assert texts[0].startswith(SO_FAR) and "Steps were run; step files exist." in texts[1]
    assert "Please run the steps one after another." not in str(body)
