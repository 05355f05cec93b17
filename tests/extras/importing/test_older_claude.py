"""Formats of Claude Code 1.x and 2.0, and of rows that only some versions write. The shapes are those of public readers' tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.source import FoundSession, ImportedSession
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError

Read = tuple[FoundSession, ImportedSession, list[MessageWithParts]]
CWD = "/home/user/project"


class Log:
    """Writes rows of a session that follow each other."""

    def __init__(self, folder: Path, name: str = "s1") -> None:
        self.path = folder / "-home-user-project" / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.rows: list[dict[str, Any]] = []
        self.name = name

    def add(self, kind: str, content: object, **fields: Any) -> str:
        number = len(self.rows)
        role = "assistant" if kind == "assistant" else "user"
        message: dict[str, Any] = {"role": role, "content": content}
        if kind == "assistant":
            message |= {
                "id": fields.pop("answer", f"m{number}"),
                "model": "claude-sonnet-4",
                "usage": {"input_tokens": 5, "output_tokens": 2},
            }
        last = next((row["uuid"] for row in reversed(self.rows) if "uuid" in row), None)
        row = {
            "type": kind, "uuid": f"{self.name}-{number}", "parentUuid": last, "sessionId": self.name, "cwd": CWD,
            "version": "1.0.83", "timestamp": f"2025-08-01T10:{number // 60:02d}:{number % 60:02d}.000Z",
            "message": message, **fields,
        }  # fmt: skip
        self.rows.append(row)
        return str(row["uuid"])

    def call(self, name: str, given: dict[str, Any], result: object, *, is_error: bool = False, **fields: Any) -> None:
        call_id = f"toolu_{len(self.rows)}"
        self.add("assistant", [{"type": "tool_use", "id": call_id, "name": name, "input": given}])
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": is_error}
        self.add("user", [block], **fields)

    def read(self) -> Read:
        self.save()
        source = ClaudeSource(self.path.parents[1])
        found = next(one for one in source.list() if one.id == self.name)
        session = source.read(found)
        return found, session, list(session.messages)

    def save(self) -> None:
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))


def texts(messages: list[MessageWithParts]) -> list[str]:
    return [part.text for one in messages for part in one.parts if isinstance(part, TextPart) and not part.synthetic]


def calls(messages: list[MessageWithParts]) -> list[ToolPart]:
    return [part for one in messages for part in one.parts if isinstance(part, ToolPart)]


def only_call(log: Log) -> ToolPart:
    [call] = calls(log.read()[2])
    return call


def test_a_summary_row_names_the_session_that_its_leaf_is_in(tmp_path: Path):
    first, second = Log(tmp_path, "a"), Log(tmp_path, "b")
    first.add("user", "The first prompt")
    leaf = first.add("assistant", [{"type": "text", "text": "Done."}])
    first.save()
    second.rows.append({"type": "summary", "summary": "What the first was about", "leafUuid": leaf})
    second.add("user", "The second prompt")
    second.add("assistant", [{"type": "text", "text": "Done too."}])
    second.save()
    titles = {found.id: found.title for found in ClaudeSource(tmp_path).list()}
    assert titles == {"a": "What the first was about", "b": "The second prompt"}


def test_rows_without_ids_follow_each_other(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "One")
    log.add("assistant", [{"type": "text", "text": "Two"}])
    log.add("user", "Three")
    for row in log.rows:
        del row["uuid"], row["parentUuid"]
    assert texts(log.read()[2]) == ["One", "Two", "Three"]


def test_an_edit_without_a_tool_result_object_shows_its_texts(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Edit")
    log.call("Edit", {"file_path": f"{CWD}/a.py", "old_string": "one\n", "new_string": "two\n"}, "Updated.")
    call = only_call(log)
    assert call.tool == "edit" and call.state.input["oldString"] == "one\n"
    assert isinstance(call.state, ToolStateCompleted)
    assert "-one\n+two\n" in call.state.metadata["diff"] and call.state.metadata["filediff"]["additions"] == 1


def test_a_multi_edit_is_one_edit_with_its_changes(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Edit")
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": True}]
    patch = [{"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": ["-a", "-c", "+b", "+d"]}]
    found = {"filePath": f"{CWD}/a.py", "originalFileContents": "a\nc\n", "structuredPatch": patch, "edits": edits}
    log.call("MultiEdit", {"file_path": f"{CWD}/a.py", "edits": edits}, "Applied 2 edits", toolUseResult=found)
    call = only_call(log)
    assert isinstance(call.state, ToolStateCompleted) and call.tool == "multiedit"
    assert call.state.input["edits"][1] == {"oldString": "c", "newString": "d", "replaceAll": True}
    assert call.state.metadata["filediff"] == {
        "file": f"{CWD}/a.py",
        "before": "a\nc\n",
        "after": "b\nd\n",
        "additions": 2,
        "deletions": 2,
    }


def test_the_todo_list_is_the_last_one_written(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Plan")
    for status in ("pending", "completed"):
        todo = {"content": "Look", "status": status, "activeForm": "Looking"}
        log.call("TodoWrite", {"todos": [todo]}, "Todos have been modified", toolUseResult={"newTodos": [todo]})
    _, session, messages = log.read()
    assert [(todo.content, todo.status) for todo in session.todos] == [("Look", "completed")]
    last = calls(messages)[-1].state
    assert isinstance(last, ToolStateCompleted) and last.metadata["todos"][0]["status"] == "completed"


def test_sidechain_rows_of_the_same_file_are_a_child_session(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Look around")
    log.add(
        "assistant",
        [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Count", "description": "Count"}}],
    )
    log.add("user", "Count", isSidechain=True, parentUuid=None)
    log.add("assistant", [{"type": "text", "text": "Seven."}], isSidechain=True)
    log.add(
        "user",
        [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "Seven."}]}],
        parentUuid="s1-1",
    )
    log.add("assistant", [{"type": "text", "text": "There are seven."}])
    found, _, messages = log.read()
    source = ClaudeSource(tmp_path)
    [child] = [one for one in source.list() if one.parent]
    [task] = calls(messages)
    assert texts(messages) == ["Look around", "There are seven."]
    assert texts(list(source.read(child).messages)) == ["Count", "Seven."]
    assert isinstance(task.state, ToolStateCompleted) and task.state.metadata["sessionId"] == child.session_id
    assert source.read(child).info.parent_id == found.session_id


def test_an_agent_file_beside_its_session_is_a_child(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Look around")
    details = {"agentId": "abc", "status": "completed"}
    log.call(
        "Task", {"prompt": "Count", "description": "Count"}, [{"type": "text", "text": "Seven."}], toolUseResult=details
    )
    agent = Log(tmp_path, "agent-abc")
    agent.add("user", "Count", isSidechain=True, sessionId="s1")
    agent.add("assistant", [{"type": "text", "text": "Seven."}], isSidechain=True, sessionId="s1")
    agent.save()
    _, _, messages = log.read()
    [child] = [one for one in ClaudeSource(tmp_path).list() if one.parent == "s1"]
    [task] = calls(messages)
    assert isinstance(task.state, ToolStateCompleted) and task.state.metadata["sessionId"] == child.session_id


_CONTINUED = "This session is being continued from a previous conversation that ran out.\n"
_TOOLS_USED = "<system-reminder>\n<tools-used-before-summary>Bash</tools-used-before-summary>\n</system-reminder>\n"
_READ_MORE = "\n\nIf you need specific details from before compaction, read the full transcript."


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (_CONTINUED + "We did it.", "We did it."),
        (_CONTINUED + "\nSummary:\nWe did it." + _READ_MORE, "We did it."),
        (_CONTINUED + "\n" + _TOOLS_USED + "Summary:\nWe did it." + _READ_MORE, "We did it."),  # 2.1.332
        (
            _CONTINUED + "We quoted <system-reminder>a</system-reminder>.",
            "We quoted <system-reminder>a</system-reminder>.",
        ),
        (_CONTINUED + "<system-reminder>\nWe did it.", "<system-reminder>\nWe did it."),
        ("We did it.", "We did it."),
    ],
)
def test_a_compaction_without_a_boundary_row_is_one(tmp_path: Path, text: str, summary: str):
    log = Log(tmp_path)
    log.add("user", text, isCompactSummary=True)
    log.add("assistant", [{"type": "text", "text": "On it."}])
    messages = log.read()[2]
    assert isinstance(messages[0].parts[0], CompactionPart)
    assert isinstance(messages[1].info, AssistantMessage) and messages[1].info.summary
    assert texts(messages[1:2]) == [summary]


_NOTICE = '<task-notification>\n<summary>Agent "Count" finished</summary>\n<result>Seven files.</result>\n</task-notification>'


@pytest.mark.parametrize("during", ["a turn", "a turn, queued", "no turn"])
def test_what_the_program_tells_of_an_agent_that_ended_is_sent_but_nobody_typed_it(tmp_path: Path, during: str):
    log = Log(tmp_path)
    if during == "no turn":  # a conversation whose beginning is lost
        log.add("user", _NOTICE, origin={"kind": "task-notification"})
    log.add("user", "Count them")
    log.call("Bash", {"command": "echo 1"}, "1")
    if during == "a turn":
        log.add("user", _NOTICE, origin={"kind": "task-notification"})
    if during == "a turn, queued":
        queued = {"type": "queued_command", "prompt": _NOTICE, "commandMode": "task-notification"}
        log.add("attachment", "", attachment=queued)
    log.add("assistant", [{"type": "text", "text": "Seven."}])
    found, _, messages = log.read()
    assert found.title == "Count them" and texts(messages) == ["Count them", "Seven."]
    [told] = [part for one in messages for part in one.parts if isinstance(part, TextPart) and part.text == _NOTICE]
    assert told.synthetic and not told.ignored
    if during != "no turn":  # the model got it before its next answer
        asked, answer = next(one for one in messages if told in one.parts), messages[-1]
        assert isinstance(answer.info, AssistantMessage) and answer.info.parent_id == asked.info.id


def test_an_api_error_is_the_error_of_its_answer(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Hello")
    log.add("assistant", [{"type": "text", "text": "API Error: 529 Overloaded"}], isApiErrorMessage=True)
    [_, answer] = log.read()[2]
    assert isinstance(answer.info, AssistantMessage) and answer.info.error is not None
    assert answer.info.error.to_dict()["data"]["message"] == "API Error: 529 Overloaded"


def test_the_cost_that_version_1_wrote_is_kept(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Hello")
    log.add("assistant", [{"type": "text", "text": "Hi"}], costUSD=0.25, durationMs=12)
    [_, answer] = log.read()[2]
    assert isinstance(answer.info, AssistantMessage) and answer.info.cost == 0.25 and answer.info.tokens.input == 5


def test_a_thought_with_a_signature_is_text_only(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Hello")
    log.add("assistant", [{"type": "thinking", "thinking": "Hm", "signature": "Eq=="}], answer="m")
    log.add("assistant", [{"type": "text", "text": "Hi"}], answer="m")
    [_, answer] = log.read()[2]
    [thought] = [part for part in answer.parts if isinstance(part, ReasoningPart)]
    assert (thought.text, thought.metadata) == ("Hm", None)


def test_a_string_result_and_an_unknown_tool_are_kept(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Use it")
    log.call("mcp__server__do", {"a": [1, None]}, "plain text")
    call = only_call(log)
    assert call.tool == "mcp__server__do" and call.state.input == {"a": [1, None]}
    assert isinstance(call.state, ToolStateCompleted) and call.state.output == "plain text"


def test_a_call_without_a_result_was_interrupted(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Run")
    log.add("assistant", [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "sleep 9"}}])
    state = only_call(log).state
    assert isinstance(state, ToolStateError) and state.stop_reason == "interrupted"


def test_a_rejection_keeps_what_the_user_said(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Run")
    said = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot that"
    log.call("Bash", {"command": "rm x"}, said, is_error=True)
    state = only_call(log).state
    assert (
        isinstance(state, ToolStateError)
        and state.stop_reason == "rejected"
        and state.error.endswith("and said: not that")
    )


def test_a_grep_counts_its_matches(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "Search")
    found = {"mode": "content", "numFiles": 1, "numLines": 3, "content": "a\nb\nc"}
    log.call("Grep", {"pattern": "x", "glob": "*.py"}, "a\nb\nc", toolUseResult=found)
    call = only_call(log)
    assert isinstance(call.state, ToolStateCompleted) and call.state.metadata == {"matches": 3}
    assert call.state.input == {"pattern": "x", "include": "*.py"}


def test_progress_rows_between_messages_keep_the_conversation_together(tmp_path: Path):
    log = Log(tmp_path)
    log.add("user", "One")
    log.rows.append(
        {"type": "progress", "uuid": "p", "parentUuid": "s1-0", "timestamp": "2025-08-01T10:00:01Z", "data": {}}
    )
    log.add("assistant", [{"type": "text", "text": "Two"}])
    assert texts(log.read()[2]) == ["One", "Two"]


def test_a_file_with_titles_only_is_no_session(tmp_path: Path):
    log = Log(tmp_path)
    log.rows.append({"type": "summary", "summary": "Nothing", "leafUuid": "elsewhere"})
    log.save()
    assert list(ClaudeSource(tmp_path).list()) == []
