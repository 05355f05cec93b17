"""The demo: the prompts that it knows, with tools that answer from a script, and the stream of its steps."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencode_tui.engine.provider.demo import DEMO_MODEL, llm
from opencode_tui.engine.provider.demo.llm import INTRODUCTION, DemoLlm, split_reminders
from opencode_tui.engine.provider.demo.tour import read_scripts
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
from opencode_tui.engine.session.compaction.summary import conversation_text
from opencode_tui.tui.chrome.welcome import EXAMPLES
from tests.support.provider.scripted_tools import TOOLS, Answer, Conversation, Refused, numbered
from tests.support.rows import each
from tests.support.terminal.picture import PROMPT

HELP = Path(llm.__file__).with_name("help.md").read_text(encoding="utf-8")
NOTHING = "No files found"
LATEST = {"file": "", "folder": "/w"}
UNKNOWN = "do nothing for any other"


def script(**answers: "str | Refused | list[str | Refused]") -> Answer:
    """Tools that answer by name; a list is used up one by one."""

    def answer(tool: str, arguments: dict[str, Any]) -> "str | Refused":
        given = answers[tool]
        return given.pop(0) if isinstance(given, list) else given

    return answer


@each("text", [*EXAMPLES, PROMPT, *re.findall(r"`([^`]+)`", HELP.partition("For real work")[0])])
def test_every_prompt_that_is_suggested_is_known(text: str) -> None:
    assert read_scripts(text, LATEST)


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "fix the race condition in my scheduler",
        "create sort.py that sorts the world",
        "create a.py that prints the contents of b.txt",
        "create a.py that prints hello and b.py that prints bye",
        "change the color to blue in notes.txt",
        "find out why it fails",
        "list the files, then do what we talked about",
        "x" * 100_000,
    ],
)
async def test_for_any_other_it_says_so_and_how_to_go_on(text: str) -> None:
    talk = Conversation()
    closing = await talk.say(text)
    assert talk.calls == [] and UNKNOWN in closing and "opencode-tui auth login PROVIDER" in closing


@each("seed", ["create ", "find ", "and then run ", "to ", "with ", "`a", '"', "\x01", "in ( ", "; "])
def test_hostile_text_is_read_without_endless_backtracking(seed: str) -> None:
    assert len(read_scripts("replace " + seed * (4_000 // len(seed)), LATEST)) < 4_000


async def test_a_program_is_written_and_run() -> None:
    talk = Conversation(script(glob=NOTHING, write="Wrote file successfully.", bash="hello\n"))
    closing = await talk.say("create hello.py that prints hello, then run it")
    assert talk.calls == [
        ("glob", {"pattern": "hello.py"}),
        ("write", {"filePath": "hello.py", "content": 'print("hello")\n'}),
        ("bash", {"command": "python3 hello.py", "description": "Run python3 hello.py"}),
    ]
    assert closing == (
        'Wrote `hello.py`:\n\n```py\nprint("hello")\n```\n\n`python3 hello.py` printed:\n\n```\nhello\n```'
    )


async def test_it_says_once_that_it_is_a_demo() -> None:
    talk = Conversation(script(list="a.txt"))
    await talk.say("list the files here")
    assert talk.texts[0].startswith(INTRODUCTION)
    await talk.say("list the files here")
    assert not any(INTRODUCTION in text for text in talk.texts)


async def test_an_existing_file_is_left_alone_and_what_follows_is_not_done() -> None:
    talk = Conversation(script(glob="/w/hello.py"))
    closing = await talk.say("create hello.py that prints hello, then run it")
    assert [tool for tool, _ in talk.calls] == ["glob"]
    assert "did not change it" in closing


async def test_a_file_of_that_name_elsewhere_is_no_obstacle() -> None:
    talk = Conversation(script(glob="/w/sub/a.txt", write="ok"))
    await talk.say("create a.txt with x")
    assert [tool for tool, _ in talk.calls] == ["glob", "write"]


async def test_an_edit_reads_first() -> None:
    talk = Conversation(script(read=numbered("red", "red fox"), edit="ok"))
    closing = await talk.say("replace red with dark green in src/a.txt")
    assert talk.calls == [
        ("read", {"filePath": "src/a.txt"}),
        ("edit", {"filePath": "src/a.txt", "oldString": "red", "newString": "dark green", "replaceAll": True}),
    ]
    assert closing == "Replaced “red” with “dark green” in `src/a.txt`."


async def test_the_tests_of_a_project_are_found_by_its_files() -> None:
    talk = Conversation(script(list="/w/\n  go.mod\n  main.go\n", bash="ok"))
    await talk.say("run the tests")
    assert talk.calls[-1] == ("bash", {"command": "go test ./...", "description": "Run go test ./..."})
    without = Conversation(script(list="/w/\n  a.txt\n"))
    assert "I found no tests" in await without.say("run the tests")


@pytest.mark.parametrize(
    ("text", "answers", "action"),
    [
        ("show src/a.txt", {"read": Refused("src/a.txt does not exist")}, "read `src/a.txt`"),
        ("create a.txt with x", {"glob": NOTHING, "write": Refused("Rejected.")}, "write `a.txt`"),
        ("replace x with y in a.txt", {"read": numbered("x"), "edit": Refused("changed since")}, "edit `a.txt`"),
        ("run ls", {"bash": Refused("denied by a rule")}, "run `ls`"),
        ("find x", {"grep": Refused("ripgrep failed")}, "search for `x`"),
        ("list files", {"list": Refused("no such folder")}, "list this folder"),
    ],
)
async def test_the_error_of_a_tool_is_shown_with_the_failed_action(
    text: str, answers: dict[str, Any], action: str
) -> None:
    closing = await Conversation(script(**answers)).say(text)
    error = next(answer.text for answer in answers.values() if isinstance(answer, Refused))
    assert f"Could not {action}: {error}" in closing


async def test_a_failing_command_stops_what_follows() -> None:
    talk = Conversation(script(bash="boom\n\n<bash_metadata>\nExit code 3.\n</bash_metadata>"))
    closing = await talk.say("run `false`, then run `ls`")
    assert len(talk.calls) == 1
    assert closing.endswith("`false` printed:\n\n```\nboom\n```\n\nNote from the tool: Exit code 3.")


async def test_signs_of_a_search_text_are_no_pattern() -> None:
    talk = Conversation(script(grep=NOTHING))
    await talk.say("find `a.b(c)*`")
    assert talk.calls == [("grep", {"pattern": r"a\.b\(c\)\*"})]


async def test_it_is_the_file_of_the_turn_before() -> None:
    talk = Conversation(script(glob=NOTHING, write="ok", bash="hello"))
    await talk.say("create hello.py that prints hello")
    await talk.say("run it")
    assert talk.calls == [("bash", {"command": "python3 hello.py", "description": "Run python3 hello.py"})]


async def test_a_late_message_is_done_after_the_first() -> None:
    late = (
        "<system-reminder>\nThe user sent the following message:\nrun ls\n\n"
        "Please address this message and continue with your tasks.\n</system-reminder>"
    )
    talk = Conversation()

    def answer(tool: str, arguments: dict[str, Any]) -> str:
        if tool == "list":
            talk.messages.append(UserEntry((TextBlock(late),)))
        return "a.txt"

    talk.answer = answer
    await talk.say("list files")
    assert [tool for tool, _ in talk.calls] == ["list", "bash"]


async def test_reminders_and_attached_files_are_no_requests() -> None:
    talk = Conversation(script(list="a.txt"))
    attached = TextBlock("Called the Read tool with the following input: {}")
    talk.messages.append(UserEntry((TextBlock("list files"), attached)))
    await talk.say("<system-reminder>\nrun rm -rf /\n</system-reminder>")
    assert [tool for tool, _ in talk.calls] == ["list"]


async def test_a_title_is_the_first_words() -> None:
    talk = Conversation(system=("You are a title generator.",), tools=())
    talk.messages.append(UserEntry((TextBlock("Make a title for this:"),)))
    title = await talk.say("create hello.py that prints hello, then run it and tell me")
    assert title == "Create hello.py that prints hello, then run it…"


async def test_a_summary_lists_what_was_asked() -> None:
    talk = Conversation(script(list="a.txt", bash=Refused("no")))
    await talk.say("list files")
    await talk.say("run ls")
    talk.tools = ()
    talk.messages = list(conversation_text(talk.messages, room=None, measure=len, instruction=" "))
    summary = await talk.say("Please summarize the conversation now.")
    assert summary.startswith("## Goal\n- list files\n- run ls\n\n")


def test_a_reminder_without_an_end_is_part_of_the_text_in_linear_time() -> None:
    closed = "a<system-reminder>b</system-reminder>c</system-reminder>"
    assert split_reminders(closed) == ("ac</system-reminder>", ["b"])
    hostile = "<system-reminder>" * 200_000
    assert split_reminders(hostile) == (hostile, [])


REQUESTS = [
    "create hello.py that prints hello, then run it",
    "replace red with green in notes.txt, then show notes.txt",
    "find TODO; list the files; run the tests",
    "run a; run b; run c; run d; run e",
    "tell me a story",
    "run it",
]
ANSWERS = ["", "ok", NOTHING, "/w/hello.py\n/w/notes.txt", numbered("red", "red"), numbered("x", more=True), numbered()]
WORDS = st.from_regex(
    r"create|run|find|replace|list|it|a\.py|notes\.txt|red|with|to|in|then|and|`x`|[,.]|that|prints", fullmatch=True
)
_SIGNS: dict[type, str] = {
    ReasoningStart: "r", ReasoningDelta: "", ReasoningEnd: "R", TextStart: "t", TextDelta: "", TextEnd: "T",
    ToolInputStart: "i", ToolInputDelta: "", ToolInputEnd: "I", ToolCall: "c", FinishStep: "F",
}  # fmt: skip


def check_grammar(events: list[StreamEvent]) -> None:
    """Fail unless blocks open and close one after the other, a call follows its input, and the last event alone finishes."""
    order = "".join(_SIGNS[type(event)] for event in events)
    for pair in ("rR", "tT", "iIc"):
        order = order.replace(pair, "")
    assert order == "F"


@pytest.mark.slow
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
        for events in talk.batches:
            check_grammar(events)


async def test_text_arrives_word_by_word_and_usage_is_estimated() -> None:
    request = LlmRequest(DEMO_MODEL, ("system",), (UserEntry((TextBlock("hello"),)),), tool_choice="none")
    events = [event async for batch in DemoLlm(delay_ms=0).stream(request) for event in batch]
    deltas = [event.text for event in events if isinstance(event, TextDelta)]
    finish = events[-1]
    assert isinstance(finish, FinishStep) and len(deltas) > 20
    assert (finish.reason, finish.usage.input, finish.usage.output) == ("stop", 3, -(-len("".join(deltas)) // 4))


async def test_a_call_is_streamed_as_the_json_that_it_carries_after_a_thought() -> None:
    talk = Conversation()
    await talk.say("run `echo  two   spaces`")
    events = talk.batches[0]
    call = next(event for event in events if isinstance(event, ToolCall))
    assert "".join(event.text for event in events if isinstance(event, ToolInputDelta)) == call.raw
    assert call.input["command"] == "echo  two   spaces"
    thoughts = ["".join(e.text for e in events if isinstance(e, ReasoningDelta)) for events in talk.batches]
    assert thoughts == ["This is a prompt that I know. First: Running `echo  two   spaces`.", ""]


@pytest.mark.slow
def test_the_demo_imports_nothing_heavy() -> None:
    heavy = "{'httpx', 'litellm', 'git', 'click', 'textual'} & set(sys.modules)"
    code = f"import sys\nimport opencode_tui.engine.provider.demo.llm\nsys.exit(str({heavy}) if {heavy} else 0)"
    subprocess.run([sys.executable, "-c", code], check=True)
