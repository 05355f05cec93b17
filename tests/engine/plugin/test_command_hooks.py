"""Shell commands on events, in Claude Code's format, through real turns."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.plugin.command_hooks import HookError, _run_shell, run_notify_command
from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.error import OpencodeError
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened
from tests.support.world.processes import is_running
from tests.support.world.repo import make_repo
from tests.support.world.waiting import until

WRITE = Answer(calls=(Call("write", {"filePath": "a.txt", "content": "hello"}),))


def hooks(trigger: str, command: str, *, matcher: str | None = None, timeout: float | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "command", "command": command}
    group: dict[str, Any] = {"hooks": [entry if timeout is None else {**entry, "timeout": timeout}]}
    return {"hooks": {trigger: [group if matcher is None else {**group, "matcher": matcher}]}}


async def test_a_call_is_described_and_can_be_blocked(environ: dict[str, str], tmp_path: Path) -> None:
    command = "cat > given.json; echo no writing here >&2; exit 2"
    settings = hooks("PreToolUse", command, matcher="Edit|Write")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("write")
        assert not (tmp_path / "a.txt").exists()
        call = next(one for one in await world.parts(session) if one.type == "tool")
        assert call.state.status == "error" and "no writing here" in call.state.error
        assert "no writing here" in json.dumps(world.server.bodies[1])
    given = json.loads((tmp_path / "given.json").read_text())
    assert (given["hook_event_name"], given["tool_name"], given["session_id"]) == ("PreToolUse", "Write", session.id)
    assert given["tool_input"]["file_path"] == given["tool_input"]["filePath"] == "a.txt"
    assert given["cwd"] == str(tmp_path)


@pytest.mark.parametrize(
    ("answer", "is_written"),
    [
        ({"decision": "block", "reason": "another day"}, False),
        ({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "another day"}}, False),
        ({"continue": False, "stopReason": "another day"}, False),
        ({"hookSpecificOutput": {"permissionDecision": "allow"}}, True),
        ({}, True),
    ],
)
async def test_an_answer_in_json_decides(
    environ: dict[str, str], tmp_path: Path, answer: dict[str, Any], is_written: bool
) -> None:
    settings = hooks("PreToolUse", f"echo '{json.dumps(answer)}'", matcher="write")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").exists() == is_written
        assert ("another day" in json.dumps(world.server.bodies[1])) == (not is_written)


async def test_other_tools_are_not_concerned(environ: dict[str, str], tmp_path: Path) -> None:
    settings = hooks("PreToolUse", "exit 2", matcher="Bash|Task")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").read_text() == "hello"


async def test_feedback_after_a_call_reaches_the_model(environ: dict[str, str], tmp_path: Path) -> None:
    settings = hooks("PostToolUse", "cat > after.json; echo line 1 is too long >&2; exit 2", matcher="*")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").exists()
        assert "line 1 is too long" in json.dumps(world.server.bodies[1])
    assert "a.txt" in json.loads((tmp_path / "after.json").read_text())["tool_response"]["output"]


async def test_undo_covers_what_a_command_after_a_call_changes(environ: dict[str, str], tmp_path: Path) -> None:
    project = make_repo(tmp_path / "project")
    project.write("old.txt", "old\n")
    project.commit("begin")
    settings = hooks(
        "PostToolUse", "sed -i s/hello/HELLO/ a.txt; echo formatted > old.txt; echo > new.txt", matcher="Write"
    )
    read = Answer(calls=(Call("read", {"filePath": "a.txt"}),))
    async with opened(environ, project.path, WRITE, read, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("write")
        patches = [part for part in await world.parts(session) if part.type == "patch"]
        assert [sorted(Path(file).name for file in patch.files) for patch in patches] == [
            ["a.txt", "new.txt", "old.txt"]
        ]
        (project.path / "mine.txt").write_text("mine")
        await world.client.undo.revert(session.id)
    assert (project.path / "old.txt").read_text() == "old\n"
    assert [(project.path / name).exists() for name in ("a.txt", "new.txt", "mine.txt")] == [False, False, True]


async def test_a_prompt_gets_context_or_is_blocked(environ: dict[str, str], tmp_path: Path) -> None:
    settings = hooks(
        "UserPromptSubmit", "if grep -q secret; then echo 'not this' >&2; exit 2; fi; echo today is Monday"
    )
    async with opened(environ, tmp_path, Answer(text="ok"), settings=settings) as world:
        await world.prompt("hello")
        assert "today is Monday" in json.dumps(world.server.bodies[0])
        session = await world.new_session()
        with pytest.raises(OpencodeError, match="not this"):
            await world.prompt("the secret", session=session)
        assert await world.messages(session) == []


async def test_the_end_of_a_turn_and_a_new_session_run_commands(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {
        "hooks": {
            name: [{"hooks": [{"type": "command", "command": f"cat > {name}.json"}]}]
            for name in ("Stop", "SessionStart")
        }
    }
    async with opened(environ, tmp_path, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("hello")
        while not all((tmp_path / f"{name}.json").exists() for name in ("Stop", "SessionStart")):
            await asyncio.sleep(0.01)
    for name in ("Stop", "SessionStart"):
        assert json.loads((tmp_path / f"{name}.json").read_text())["session_id"] == session.id


async def test_a_late_command_is_killed_with_the_children_that_it_left(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(HookError, match=r"longer than 0\.5 s"):
        await _run_shell("sleep 1000 & echo $! > pid", b"", folder=tmp_path, environ=environ, limit_s=0.5)
    await until(lambda: not is_running(int((tmp_path / "pid").read_text())))


@pytest.mark.parametrize(
    ("command", "timeout", "reason"),
    [
        ("exit 3", None, "exit code 3"),
        ("sleep 30 & sleep 30", 0.2, "longer than 0.2 s"),
        ("echo broken >&2; exit 1", None, "broken"),
    ],
)
async def test_a_failing_command_is_reported_and_has_no_effect(
    environ: dict[str, str], tmp_path: Path, command: str, timeout: float | None, reason: str
) -> None:
    settings = hooks("PreToolUse", command, timeout=timeout)
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").exists()
        (warning,) = [one for one in (await world.client.settings.notices()).warnings if "hooks of the settings" in one]
        assert reason in warning


async def test_a_repository_runs_no_command_before_it_is_trusted(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "opencode.json").write_text(json.dumps(hooks("PreToolUse", "touch ran", matcher="*")))
    async with opened(environ, tmp_path, WRITE, Answer(text="ok")) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").exists() and not (tmp_path / "ran").exists()
        assert any("hooks" in str(one) for one in (await world.client.settings.notices()).ignored)


async def test_the_command_of_a_notification_gets_its_text_as_data_only(tmp_path: Path):
    message = "$(touch a) `touch b`; touch c '\" \x00end"
    facts = Notification(event="end", message=message, title="a\nb")
    command = 'printf "%s" "$OPENCODE_TUI_MESSAGE" > message; cat > facts'
    await run_notify_command(command, facts, folder=tmp_path, environ={"PATH": "/usr/bin:/bin"})
    assert (tmp_path / "message").read_text() == message.replace("\0", "")
    assert json.loads((tmp_path / "facts").read_text()) == {
        "cwd": str(tmp_path),
        "event": "end",
        "message": message,
        "title": "a\nb",
    }
    assert sorted(one.name for one in tmp_path.iterdir()) == ["facts", "message"]
    with pytest.raises(OpencodeError, match=r"tui\.notify: `exit 3` failed with exit code 3"):
        await run_notify_command("exit 3", facts, folder=tmp_path, environ={"PATH": "/usr/bin:/bin"})
