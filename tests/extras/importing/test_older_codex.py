"""Formats of Codex in 2025: one JSON file, lines without payloads, and events that later versions no longer write."""

import json
from pathlib import Path
from typing import Any

from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.extras.importing.source import FoundSession, ImportedSession
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError

Read = tuple[FoundSession, ImportedSession, list[MessageWithParts]]
ID = "0198a3f0-1111-7222-8333-444444444444"
NAME = f"rollout-2025-08-01T10-00-00-{ID}"


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def called(name: str, arguments: object, output: object, call_id: str = "call_1") -> list[dict[str, Any]]:
    return [
        {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call_id},
        {"type": "function_call_output", "call_id": call_id, "output": output},
    ]


def wrapped(*items: dict[str, Any], kind: str = "response_item") -> list[dict[str, Any]]:
    return [{"timestamp": "2025-10-01T10:00:00.000Z", "type": kind, "payload": item} for item in items]


def meta(**fields: Any) -> list[dict[str, Any]]:
    return wrapped(
        {
            "id": ID,
            "timestamp": "2025-10-01T10:00:00.000Z",
            "cwd": "/home/user/project",
            "cli_version": "0.46.0",
            **fields,
        },
        kind="session_meta",
    )


def event(kind: str, **fields: Any) -> list[dict[str, Any]]:
    return wrapped({"type": kind, **fields}, kind="event_msg")


def write(folder: Path, rows: list[dict[str, Any]], name: str = NAME) -> None:
    path = folder / "2025" / "10" / "01" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def read(folder: Path) -> list[Read]:
    source = CodexSource(folder)
    return [(found, session := source.read(found), list(session.messages)) for found in source.list()]


def texts(messages: list[MessageWithParts]) -> list[str]:
    return [part.text for one in messages for part in one.parts if isinstance(part, TextPart) and not part.synthetic]


def only_call(folder: Path, *items: dict[str, Any]) -> ToolPart:
    write(folder, [*meta(), *wrapped(said("user", "Do it"), *items)])
    [(_, _, messages)] = read(folder)
    [call] = [part for one in messages for part in one.parts if isinstance(part, ToolPart)]
    return call


def test_one_json_file_of_the_first_versions(tmp_path: Path):
    output = json.dumps({"output": "a\n", "metadata": {"exit_code": 1, "duration_seconds": 0.1}})
    session = {"timestamp": "2025-05-07T17:24:21.597Z", "id": ID, "instructions": ""}
    items = [
        said("user", "List it"),
        *called("shell", {"command": ["bash", "-lc", "ls"]}, output),
        said("assistant", "Done."),
    ]
    (tmp_path / f"rollout-2025-05-07-{ID}.json").write_text(json.dumps({"session": session, "items": items}))
    [(found, _, messages)] = read(tmp_path)
    [call] = [part for one in messages for part in one.parts if isinstance(part, ToolPart)]
    assert (found.title, texts(messages)) == ("List it", ["List it", "Done."])
    assert call.tool == "bash" and call.state.input["command"] == "ls"
    assert isinstance(call.state, ToolStateCompleted) and (call.state.output, call.state.metadata["exit"]) == ("a\n", 1)


def test_lines_without_payloads(tmp_path: Path):
    head = {"id": ID, "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None, "git": {"branch": "main"}}
    context = said("user", "<environment_context>\n  <cwd>/home/user/early</cwd>\n</environment_context>")
    thought = {
        "type": "reasoning",
        "id": "rs",
        "summary": [{"type": "summary_text", "text": "Hm"}],
        "encrypted_content": "gAAA",
    }
    rows = [
        head,
        {"record_type": "state"},
        context,
        said("user", "Hello"),
        thought,
        said("assistant", "Hi"),
        {"record_type": "state"},
    ]
    write(tmp_path, rows)
    [(found, session, messages)] = read(tmp_path)
    assert (found.directory, found.created, found.title) == ("/home/user/early", 1754042400000, "Hello")
    assert texts(messages) == ["Hello", "Hi"] and len(session.problems) == 1
    [shown] = [part for one in messages for part in one.parts if isinstance(part, ReasoningPart)]
    assert (shown.text, shown.metadata) == ("Hm", None)


def test_a_local_shell_call(tmp_path: Path):
    action = {"type": "exec", "command": ["ls", "my file"], "timeout_ms": 1000}
    made = {"type": "local_shell_call", "call_id": "call_1", "status": "completed", "action": action}
    call = only_call(
        tmp_path,
        made,
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": "Exit code: 0\nWall time: 0 seconds\nOutput:\nx",
        },
    )
    assert call.tool == "bash" and call.state.input == {"command": "ls 'my file'", "timeout": 1000}
    assert isinstance(call.state, ToolStateCompleted) and call.state.metadata["output"] == "x"


def test_a_patch_with_its_event(tmp_path: Path):
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-one\n+two\n*** End Patch"
    change = {"/home/user/project/a.py": {"update": {"unified_diff": "@@ -7 +7 @@\n-one\n+two\n", "move_path": None}}}
    begun = event("patch_apply_begin", call_id="call_1", auto_approved=True, changes=change)
    items = called("apply_patch", {"input": patch}, "Success. Updated the following files:\nM a.py\n")
    write(tmp_path, [*meta(), *wrapped(said("user", "Edit"), items[0]), *begun, *wrapped(items[1])])
    [(_, _, messages)] = read(tmp_path)
    [call] = [part for one in messages for part in one.parts if isinstance(part, ToolPart)]
    assert isinstance(call.state, ToolStateCompleted) and call.state.input["patchText"] == patch
    assert "@@ -7 +7 @@\n-one\n+two\n" in call.state.metadata["diff"]


def test_a_patch_without_an_event_shows_its_own_lines(tmp_path: Path):
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n keep\n-one\n+two\n*** Add File: b.py\n+new\n*** End Patch"
    made = {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": patch}
    done = {
        "type": "custom_tool_call_output",
        "call_id": "call_1",
        "output": json.dumps({"output": "Success.", "metadata": {"exit_code": 0}}),
    }
    state = only_call(tmp_path, made, done).state
    assert isinstance(state, ToolStateCompleted)
    assert [(one["relativePath"], one["type"], one["additions"]) for one in state.metadata["files"]] == [
        ("a.py", "update", 1),
        ("b.py", "add", 1),
    ]


def test_a_plan_is_a_todo_list(tmp_path: Path):
    plan = [{"step": "Look", "status": "completed"}, {"step": "Change", "status": "in_progress"}]
    call = only_call(tmp_path, *called("update_plan", {"plan": plan}, "Plan updated"))
    [(_, session, _)] = read(tmp_path)
    assert call.tool == "todowrite" and isinstance(call.state, ToolStateCompleted)
    assert [todo["content"] for todo in call.state.metadata["todos"]] == ["Look", "Change"]
    assert [todo.status for todo in session.todos] == ["completed", "in_progress"]


def test_going_back_in_one_file_makes_two_conversations(tmp_path: Path):
    count = event(
        "token_count", info={"last_token_usage": {"input_tokens": 9, "cached_input_tokens": 4, "output_tokens": 2}}
    )
    rows = [
        *meta(), *wrapped(said("user", "One"), said("assistant", "1")), *count,
        *wrapped(said("user", "Two"), said("assistant", "2")), *count, *event("thread_rolled_back", num_turns=1),
        *wrapped(said("user", "Three"), said("assistant", "3")), *count,
    ]  # fmt: skip
    write(tmp_path, rows)
    first, second = read(tmp_path)
    assert (texts(first[2]), texts(second[2])) == (["One", "1", "Two", "2"], ["One", "1", "Three", "3"])
    assert (first[0].title, second[0].title) == ("One", "One (fork #1)")
    answer = first[2][1].info
    assert isinstance(answer, AssistantMessage) and (answer.tokens.input, answer.tokens.cache.read) == (5, 4)


def test_a_compaction_with_only_a_message(tmp_path: Path):
    summary = wrapped({"message": "What was done."}, kind="compacted")
    write(
        tmp_path,
        [*meta(), *wrapped(said("user", "One"), said("assistant", "1")), *summary, *wrapped(said("user", "Two"))],
    )
    [(_, _, messages)] = read(tmp_path)
    [at] = [at for at, one in enumerate(messages) if any(isinstance(part, CompactionPart) for part in one.parts)]
    assert texts(messages[at + 1 : at + 2]) == ["What was done."]


def test_an_encrypted_compaction_is_named_and_left_out(tmp_path: Path):
    hidden = wrapped(
        {"message": "", "replacement_history": [{"type": "compaction", "encrypted_content": "gAAA"}]}, kind="compacted"
    )
    write(
        tmp_path,
        [*meta(), *wrapped(said("user", "One"), said("assistant", "1")), *hidden, *wrapped(said("user", "Two"))],
    )
    [(_, session, messages)] = read(tmp_path)
    assert texts(messages) == ["One", "1", "Two"]
    assert [problem.reason for problem in session.problems] == [
        "an encrypted summary is left out; the messages before it are sent in full"
    ]


def test_the_description_of_a_parent_in_a_fork_is_not_its_own(tmp_path: Path):
    parent = wrapped({"id": "other", "cwd": "/elsewhere", "cli_version": "0.1"}, kind="session_meta")
    write(tmp_path, [*meta(forked_from_id="other"), *parent, *wrapped(said("user", "One"), said("assistant", "1"))])
    [(found, _, _)] = read(tmp_path)
    assert (found.directory, found.version) == ("/home/user/project", "0.46.0")


def test_a_name_in_the_index_is_the_title(tmp_path: Path):
    write(tmp_path / "sessions", [*meta(), *wrapped(said("user", "One"), said("assistant", "1"))])
    (tmp_path / "session_index.jsonl").write_text(json.dumps({"id": ID, "thread_name": "My name"}) + "\n")
    [(found, _, _)] = read(tmp_path)
    assert found.title == "My name"


def test_a_rejected_command(tmp_path: Path):
    state = only_call(tmp_path, *called("shell", {"command": ["rm", "x"]}, "exec command rejected by user")).state
    assert isinstance(state, ToolStateError) and state.stop_reason == "rejected"


def test_an_unknown_tool_and_broken_arguments_are_kept(tmp_path: Path):
    made = {"type": "function_call", "name": "server__do", "arguments": "{broken", "call_id": "call_1"}
    call = only_call(
        tmp_path,
        made,
        {"type": "function_call_output", "call_id": "call_1", "output": {"content": "no", "success": False}},
    )
    assert (call.tool, call.state.input) == ("server__do", {"arguments": "{broken"})
    assert isinstance(call.state, ToolStateError) and call.state.error == "no"


def test_an_archived_session_is_archived_here(tmp_path: Path):
    write(tmp_path / "sessions", [*meta(), *wrapped(said("user", "One"), said("assistant", "1"))])
    archive = tmp_path / "archived_sessions"
    archive.mkdir()
    other = "0198a3f0-2222-7222-8333-444444444444"
    rows = [*meta(id=other), *wrapped(said("user", "Old"), said("assistant", "1"))]
    (archive / f"rollout-2025-09-01T10-00-00-{other}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    archived = {found.title: session.info.time.archived is not None for found, session, _ in read(tmp_path)}
    assert archived == {"Old": True, "One": False}


def test_one_file_is_read_alone(tmp_path: Path):
    write(tmp_path, [*meta(), *wrapped(said("user", "One"), said("assistant", "1"))])
    write(tmp_path, [*meta(), *wrapped(said("user", "Two"), said("assistant", "2"))], NAME.replace("4444", "5555"))
    [path] = tmp_path.rglob(f"{NAME}.jsonl")
    assert [found.title for found, _, _ in read(path)] == ["One"]


def test_a_beginning_that_cannot_be_read_costs_the_session_that_continues_it(tmp_path: Path):
    gone, later = ID.replace("1111", "1112"), ID.replace("1111", "1113")
    (tmp_path / "2025" / "10" / "01" / f"rollout-2025-08-01T09-00-00-{gone}.jsonl").mkdir(parents=True)
    base = {"thread_id": gone, "end_ordinal_exclusive": 3}
    talk = wrapped(said("user", "hello"), said("assistant", "hi"))
    write(tmp_path, [*meta(id=later, history_base=base), *talk], NAME.replace(ID, later))
    write(tmp_path, [*meta(), *talk])
    source = CodexSource(tmp_path)
    assert [found.id for found in source.list()] == [ID]
    assert [Path(problem.path).name.count(later) for problem in source.problems] == [0, 1]
    assert all("cannot be read" in problem.reason for problem in source.problems)
