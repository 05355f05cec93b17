import os

from hypothesis import assume, given, settings

from opencode_tui.engine.provider.decode import anthropic_request, openai_request
from opencode_tui.engine.provider.llm import LlmRequest, ToolSpec
from opencode_tui.engine.session.request.history import filter_compacted, position
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.reminder import remind_of_mode, wrap_late
from tests.support.provider import strict_anthropic, strict_openai
from tests.support.sessions.histories import HISTORIES
from tests.support.sessions.records import MODEL, assistant, call, user

EXAMPLES = int(os.environ.get("OPENCODE_TUI_EXAMPLES", "300"))
TOOLS = (ToolSpec("read", "Reads.", {"type": "object", "properties": {}}),)
MODELS = {
    "openai": MODEL.changed(attachment=True),
    "anthropic": MODEL.changed(attachment=True, adapter="anthropic"),
}


def request(messages, adapter):
    """Return the request for a history as a later step of a turn in plan mode would send it, with all additions."""
    model = MODELS[adapter]
    history = filter_compacted(messages)
    sent = remind_of_mode(wrap_late(history, position(history).last_finished), "plan")
    return LlmRequest(model=model, system=("You code.", "Here."), messages=to_model_messages(sent, model), tools=TOOLS)


@settings(max_examples=EXAMPLES)
@given(HISTORIES)
def test_every_history_gives_a_request_that_strict_openai_accepts(messages):
    built = request(messages, "openai")
    assume(built.messages)
    assert strict_openai.violations(openai_request.build(built)) == []
    openai_request.encode(built).decode("utf-8")


@settings(max_examples=EXAMPLES)
@given(HISTORIES)
def test_every_history_gives_a_request_that_strict_anthropic_accepts(messages):
    built = request(messages, "anthropic")
    assume(built.messages)
    assert strict_anthropic.violations(anthropic_request.build(built)) == []
    anthropic_request.encode(built).decode("utf-8")


def test_the_strict_readers_refuse_what_providers_refuse():
    orphan = {"role": "tool", "tool_call_id": "c", "content": "x"}
    assert strict_openai.violations({"model": "m", "messages": [{"role": "user", "content": "x"}, orphan]})
    lone = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "n", "input": {}}]}
    start = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    assert strict_anthropic.violations({"model": "m", "max_tokens": 1, "messages": [start, lone], "tools": []})
    assert strict_anthropic.violations({"model": "m", "max_tokens": 1, "messages": [start, start]})


def test_a_plain_history_passes_both():
    messages = [user("x"), assistant(call("c1"), finish="tool-calls"), user("y")]
    assert strict_openai.violations(openai_request.build(request(messages, "openai"))) == []
    assert strict_anthropic.violations(anthropic_request.build(request(messages, "anthropic"))) == []
