"""Sessions that Claude Code 2.1.197 wrote with a scripted model: all messages and calls are there, as ours."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.source import FoundSession, ImportedSession
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from tests.support.importing.agent_sessions import unpack_sessions
from tests.support.importing.desk import Desk

STEPS = "11111111-2222-4333-8444-555555555555"
SCREEN = "85c71560-c552-49e1-8dea-1f7e467c01bc"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack_sessions(tmp_path / "sessions") / "claude"


def read_all(path: Path) -> dict[str, tuple[FoundSession, ImportedSession, list[MessageWithParts]]]:
    """Return the sessions of a folder by their id there."""
    source = ClaudeSource(path)
    read = [(found, source.read(found)) for found in source.list()]
    return {found.id: (found, session, list(session.messages)) for found, session in read}


def calls_of(messages: list[MessageWithParts]) -> list[ToolPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolPart)]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def blocks_of(rows: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the blocks of one type in the messages of all rows."""
    contents = (row.get("message", {}).get("content") for row in rows)
    return [block for content in contents if isinstance(content, list) for block in content if block["type"] == kind]


@pytest.mark.slow
def test_every_call_and_its_result_is_there(folder: Path):
    found = read_all(folder / "steps")
    rows = rows_of(next((folder / "steps").glob(f"*/{STEPS}.jsonl")))
    used, results = blocks_of(rows, "tool_use"), blocks_of(rows, "tool_result")
    calls = calls_of(found[STEPS][2])
    assert len(used) == len(results) == len(calls) == 104
    assert [call.call_id for call in calls] == [block["id"] for block in used]
    errors = {block["tool_use_id"] for block in results if block.get("is_error")}
    failed = {call.call_id for call in calls if isinstance(call.state, ToolStateError)}
    commands = {call.call_id for call in calls if call.tool == "bash" and isinstance(call.state, ToolStateCompleted)}
    assert failed and errors - failed <= commands  # a command with another exit code has an output, not an error


@pytest.mark.slow
def test_texts_and_thoughts_are_there(folder: Path):
    found = read_all(folder / "steps")
    rows = rows_of(next((folder / "steps").glob(f"*/{STEPS}.jsonl")))
    wanted = [b["text"] for row in rows if row["type"] == "assistant" for b in blocks_of([row], "text")]
    wanted.remove("No response requested.")  # the program wrote it
    answers = [one for one in found[STEPS][2] if isinstance(one.info, AssistantMessage) and not one.info.summary]
    parts = [part for answer in answers for part in answer.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]
    assert Counter(wanted) == Counter(texts)
    [thought] = [part for part in parts if isinstance(part, ReasoningPart)]
    assert thought.text.startswith("The user wants steps") and thought.metadata is None


def test_subagents_are_child_sessions(folder: Path):
    found = read_all(folder / "steps")
    children = [one for one in found.values() if one[0].parent == STEPS]
    linked = {
        call.state.metadata["sessionId"]
        for call in calls_of(found[STEPS][2])
        if call.tool == "task" and isinstance(call.state, ToolStateCompleted)
    }
    assert len(children) == 3 and linked == {one[0].session_id for one in children}
    assert {one[1].info.parent_id for one in children} == {found[STEPS][0].session_id}
    assert {one[0].title for one in children} == {
        "Count files (@general subagent)",
        "Explore A (@explore subagent)",
        "Explore B (@explore subagent)",
    }


def test_a_rewind_makes_two_conversations(folder: Path):
    found = read_all(folder / "screen")
    branches = [one for one in found.values() if one[0].id.startswith(SCREEN) and not one[0].parent]
    texts = [
        [p.text for m in one[2] for p in m.parts if isinstance(p, TextPart) and not p.synthetic] for one in branches
    ]
    assert [one[0].title for one in branches] == ["My own title", "My own title (fork #1)"]
    assert "Make a plan" in texts[0] and "Another way instead" not in texts[0]
    assert "Make a plan" not in texts[1] and "After the summary." in texts[1]
    assert texts[0][0] == texts[1][0] == "Write a file please"


def test_a_compaction_is_a_marker_with_its_summary(folder: Path):
    messages = read_all(folder / "steps")[STEPS][2]
    [at] = [at for at, one in enumerate(messages) if any(isinstance(part, CompactionPart) for part in one.parts)]
    [marker] = [part for part in messages[at].parts if isinstance(part, CompactionPart)]
    tail = next(one for one in messages if one.info.id == marker.tail_id)
    assert [part.text for part in tail.parts if isinstance(part, TextPart) and not part.synthetic] == [
        "The first part is done."
    ]
    [summary] = [part.text for part in messages[at + 1].parts if isinstance(part, TextPart)]
    assert summary == "1. The user wants the steps run.\n2. Steps were run; step files exist.\nNext: go on."


@pytest.mark.slow
def test_a_second_import_changes_nothing(folder: Path, desk: Desk):
    first = desk.run_from([ClaudeSource(folder / "steps"), ClaudeSource(folder / "screen")])
    before = desk.records()
    assert first.new == 9
    again = desk.run_from([ClaudeSource(folder / "steps"), ClaudeSource(folder / "screen")])
    assert (again.new, again.newer, again.same, again.records) == (0, 0, 9, 0)
    assert desk.records() == before


@pytest.mark.slow
def test_task_tools_are_one_todo_list(folder: Path):
    _, session, messages = read_all(folder / "steps")[STEPS]
    plans = [call for call in calls_of(messages) if call.tool in ("todowrite", "todoread")]
    states = [[todo["status"] for todo in call.state.input["todos"]] for call in plans]
    assert states == [
        ["pending"],
        ["pending", "pending"],
        ["in_progress", "pending"],
        ["completed", "pending"],
        ["completed", "pending"],
    ]
    assert [(todo.content, todo.status) for todo in session.todos] == [("Look", "completed"), ("Change", "pending")]


def test_rejected_and_interrupted_calls_are_told_apart(folder: Path):
    messages = next(one[2] for one in read_all(folder / "screen").values() if one[0].title == "My own title")
    failed = [
        (call.state.input.get("command"), call.state.stop_reason)
        for call in calls_of(messages)
        if isinstance(call.state, ToolStateError)
    ]
    assert failed == [(None, "rejected"), ("rm a.txt", "rejected"), ("sleep 30", "interrupted")]


@pytest.mark.slow
def test_one_file_is_read_with_its_subagents(folder: Path, desk: Desk):
    path = next((folder / "steps").glob(f"*/{STEPS}.jsonl"))
    report = desk.run_from(desk.sources.open("claude", path))
    assert (report.new, report.sessions[0].title) == (4, "Please run the steps one after another.")
