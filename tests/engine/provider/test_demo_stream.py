import subprocess
import sys
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.provider.demo import DEMO_MODEL
from opencode_tui.engine.provider.demo.llm import DemoLlm
from opencode_tui.engine.provider.llm import (
    FinishStep,
    LlmRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextBlock,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    UserEntry,
)
from tests.support.provider.scripted_tools import TOOLS, Conversation, Refused, numbered

REQUESTS = [
    "create hello.py that prints hello, then run it",
    "replace red with green in notes.txt, then show it",
    'add the line "x" to notes.txt',
    "find TODO and list the files and run the tests",
    "where is parse defined? show me the readme",
    "plan: create a.py, run it, list files",
    "do it",
    "run a; run b; run c; run d; run e; run f; run g; run h; run i; run j; run k; run l; run m; run n",
    "tell me a story",
    "run it",
]
ANSWERS = [
    "",
    "ok",
    "No files found",
    "/w/hello.py\n/w/notes.txt",
    numbered("red", "red"),
    numbered("x", more=True),
    numbered(),
]
WORDS = st.from_regex(
    r"create|read|run|find|replace|add|list|plan|it|a\.py|notes\.txt|red|with|to|in|then|and|`x`|[,.]|that|prints",
    fullmatch=True,
)


def check_grammar(events: list[StreamEvent]) -> None:
    """Fail unless blocks open and close one after the other, a call follows its input, and the last event alone finishes."""
    order = "".join(_SIGNS[type(event)] for event in events)
    while any(pair in order for pair in ("rR", "tT", "iIc", "dd")):
        for pair in ("rR", "tT", "iIc"):
            order = order.replace(pair, "")
    assert order == "F"


_SIGNS: dict[type, str] = {
    ReasoningStart: "r", ReasoningDelta: "", ReasoningEnd: "R", TextStart: "t", TextDelta: "", TextEnd: "T",
    ToolInputStart: "i", ToolInputDelta: "", ToolInputEnd: "I", ToolCall: "c", FinishStep: "F",
}  # fmt: skip


@settings(max_examples=50)
@given(
    texts=st.lists(st.sampled_from(REQUESTS) | st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=3),
    answers=st.lists(st.sampled_from(ANSWERS) | st.sampled_from(["no"]).map(Refused), min_size=1, max_size=6),
    tools=st.sets(st.sampled_from(TOOLS)),
)
async def test_any_conversation_ends_within_twelve_steps_and_only_calls_available_tools(
    texts: list[str], answers: list[Any], tools: set[str]
) -> None:
    talk = Conversation(lambda tool, arguments: answers[len(talk.messages) % len(answers)], tools=sorted(tools))
    for text in texts:
        assert await talk.say(text)
        assert {tool for tool, _ in talk.calls} <= tools
        assert talk.batches
        for events in talk.batches:
            check_grammar(events)


async def collect(text: str, delay_ms: float = 0) -> list[StreamEvent]:
    request = LlmRequest(DEMO_MODEL, ("system",), (UserEntry((TextBlock(text),)),), tool_choice="none")
    return [event async for batch in DemoLlm(delay_ms=delay_ms).stream(request) for event in batch]


async def test_text_arrives_word_by_word_and_usage_is_estimated() -> None:
    events = await collect("hello")
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    finish = events[-1]
    assert isinstance(finish, FinishStep)
    assert len(deltas) > 20
    assert (finish.reason, finish.usage.input, finish.usage.output) == ("stop", 3, -(-len("".join(deltas)) // 4))


async def test_call_input_is_streamed_as_the_json_that_the_call_carries() -> None:
    talk = Conversation()
    await talk.say("run `echo  two   spaces`")
    events = talk.batches[0]
    call = next(event for event in events if isinstance(event, ToolCall))
    assert "".join(event.text for event in events if isinstance(event, ToolInputDelta)) == call.raw
    assert call.input["command"] == "echo  two   spaces"


async def test_first_step_shows_a_thought() -> None:
    talk = Conversation()
    await talk.say("run ls")
    thoughts = ["".join(e.text for e in events if isinstance(e, ReasoningDelta)) for events in talk.batches]
    assert thoughts == ["The request has 1 part. First: Running `ls`.", ""]


def test_demo_imports_nothing_heavy() -> None:
    heavy = "{'httpx', 'litellm', 'git', 'click', 'textual'} & set(sys.modules)"
    code = f"import sys\nimport opencode_tui.engine.provider.demo.llm\nsys.exit(str({heavy}) if {heavy} else 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
