"""Sessions that Codex 0.169.0 wrote with a scripted model: all messages and calls are there, as ours."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.extras.importing.source import FoundSession, ImportedSession
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, FilePart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.support.importing.agent_sessions import unpack_sessions
from tests.support.importing.desk import Desk

STEPS = "01a1fbb5-d3f2-7371-8c0a-97818ddd89a4"
CALLS = ("function_call", "custom_tool_call", "web_search_call")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack_sessions(tmp_path / "sessions") / "codex"


def read_all(path: Path) -> dict[str, tuple[FoundSession, ImportedSession, list[MessageWithParts]]]:
    """Return the sessions of a folder by their id there."""
    source = CodexSource(path)
    read = [(found, source.read(found)) for found in source.list()]
    return {found.id: (found, session, list(session.messages)) for found, session in read}


def calls_of(messages: list[MessageWithParts]) -> list[ToolPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolPart)]


def items_of(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [row["payload"] for row in rows if row["type"] == "response_item"]


def test_every_call_and_answer_is_there(folder: Path):
    items = items_of(next((folder / "steps").rglob(f"*{STEPS}.jsonl")))
    messages = read_all(folder / "steps")[STEPS][2]
    calls = [item for item in items if item["type"] in CALLS]
    assert len(calls) == len(calls_of(messages)) == 102
    named = [item["call_id"] for item in calls if "call_id" in item]
    assert named == [call.call_id for call in calls_of(messages) if call.call_id in named]
    said = [item["content"][0]["text"] for item in items if item["type"] == "message" and item["role"] == "assistant"]
    answers = [one for one in messages if isinstance(one.info, AssistantMessage)]
    texts = [part.text for one in answers for part in one.parts if isinstance(part, TextPart) and not part.synthetic]
    assert Counter(texts) == Counter(said)  # the summary among them


def test_patches_are_edits_with_their_lines(folder: Path):
    calls = calls_of(read_all(folder / "steps")[STEPS][2])
    patches = [call for call in calls if call.tool == "apply_patch"]
    done = [call.state for call in patches if isinstance(call.state, ToolStateCompleted)]
    kinds = [[file["type"] for file in state.metadata["files"]] for state in done]
    assert kinds == [["update"], ["add"], ["add", "update"], ["delete"], ["move"], ["add"]]
    assert "-    return 3\n+    value = 3\n+    return value\n" in done[0].metadata["diff"]
    assert done[-1].input["patchText"].startswith("*** Begin Patch")  # it was in a command
    [failed] = [call.state for call in patches if isinstance(call.state, ToolStateError)]
    assert "Failed to find expected lines" in failed.error


def test_a_compaction_is_a_marker_with_its_summary(folder: Path):
    messages = read_all(folder / "steps")[STEPS][2]
    [at] = [at for at, one in enumerate(messages) if any(isinstance(part, CompactionPart) for part in one.parts)]
    [summary] = [part.text for part in messages[at + 1].parts if isinstance(part, TextPart)]
    assert summary.startswith("<analysis>All steps") and "Another language model" not in summary


def test_usage_is_that_of_the_step(folder: Path):
    path = next((folder / "steps").rglob(f"*{STEPS}.jsonl"))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    usage = [row["payload"]["usage"] for row in rows if row["type"] == "token_usage_record"]
    steps = [
        one.info
        for one in read_all(folder / "steps")[STEPS][2]
        if isinstance(one.info, AssistantMessage) and not one.info.summary
    ]
    first = usage[0]
    assert steps[0].tokens.prompt == first["input_tokens"] and steps[0].tokens.output == first["output_tokens"]
    assert steps[0].tokens.cache.read == first["cached_input_tokens"]
    assert {step.model_id for step in steps} == {"gpt-5.5"} and {step.provider_id for step in steps} == {"fake"}


def test_what_needs_a_screen(folder: Path):
    found = read_all(folder / "screen")
    older, newer = found.values()
    assert (older[0].title, newer[0].title) == ("Touch a file", "Touch a file (fork #1)")
    texts = [
        [p.text for m in one[2] for p in m.parts if isinstance(p, TextPart) and not p.synthetic]
        for one in (older, newer)
    ]
    assert "And after it" in texts[0] and "Another way instead" not in texts[0]
    assert "And after it" not in texts[1] and texts[1][-2:] == ["Another way instead", "Rolled back."]
    assert [p.mime for m in older[2] for p in m.parts if isinstance(p, FilePart)] == ["image/png"]
    rejected, own = calls_of(older[2])[:2]
    assert isinstance(rejected.state, ToolStateError) and rejected.state.stop_reason == "interrupted"
    assert own.state.input["command"] == "echo from the shell"


def test_the_subagent_is_a_child_session(folder: Path):
    found = read_all(folder / "steps")
    [child] = [one for one in found.values() if one[0].parent]
    [task] = [call for call in calls_of(found[STEPS][2]) if call.tool == "task"]
    assert isinstance(task.state, ToolStateCompleted)
    assert task.state.metadata == {"sessionId": child[0].session_id, "tools": ["exec_command"]}
    assert child[1].info.parent_id == found[STEPS][0].session_id


@pytest.mark.slow
def test_encrypted_thoughts_are_named(folder: Path):
    problems = read_all(folder / "steps")[STEPS][1].problems
    assert [problem.reason for problem in problems] == [
        "encrypted thoughts are left out, only their program can read them: 9"
    ]


@pytest.mark.slow
def test_a_second_import_changes_nothing(folder: Path, desk: Desk):
    first = desk.run_from([CodexSource(folder / "steps"), CodexSource(folder / "screen")])
    before = desk.records()
    assert first.new == 4
    again = desk.run_from([CodexSource(folder / "steps"), CodexSource(folder / "screen")])
    assert (again.new, again.newer, again.same, again.records) == (0, 0, 4, 0)
    assert desk.records() == before
