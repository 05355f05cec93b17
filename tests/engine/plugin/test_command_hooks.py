"""Shell commands on events, in Claude Code's format, through real turns."""

import asyncio
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

import pytest

from opencode_tui.config.settings.settings import CommandHook, HookGroup
from opencode_tui.engine.mcp.names import claude_name
from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.engine.plugin.command_hooks import (
    CommandHooks,
    HookError,
    _matches,
    _run_shell,
    run_notify_command,
)
from opencode_tui.engine.plugin.hooks import HookBlocked
from opencode_tui.schema.api.catalog import Notification
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.ids import Identifier
from tests.engine.mcp.conftest import COMMAND
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened, while_reacting
from tests.support.world.processes import is_running
from tests.support.world.repo import make_repo
from tests.support.world.waiting import until

WRITE = Answer(calls=(Call("write", {"filePath": "a.txt", "content": "hello"}),))


def hooks(trigger: str, command: str, *, matcher: str | None = None, timeout: float | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "command", "command": command}
    group: dict[str, Any] = {"hooks": [entry if timeout is None else {**entry, "timeout": timeout}]}
    return {"hooks": {trigger: [group if matcher is None else {**group, "matcher": matcher}]}}


@pytest.mark.slow
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


@pytest.mark.fast_cases("answer3-True")
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


def printed(answer: dict[str, Any], before: str = "") -> str:
    """Return a command that prints JSON, however long it is."""
    return f"cat <<'END'\n{before}{json.dumps(answer)}\nEND"


def endless(answer: str, pad: int) -> str:
    """Return a command that prints a text of JSON in which PAD is long."""
    return f"python3 -c \"print('{answer}'.replace('PAD', 'x' * {pad}))\""


DENY = {"permissionDecision": "deny", "permissionDecisionReason": "another day"}


@pytest.mark.fast_cases("another wrong member", "half a character")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (
            endless('{\\"pad\\": \\"PAD\\", \\"decision\\": \\"block\\", \\"reason\\": \\"another day\\"}', 200_000),
            "another day",
        ),
        (endless('{\\"decision\\": \\"block\\", \\"reason\\": \\"another day PAD\\"}', 200_000), "another day"),
        (printed({"decision": "block", "reason": "another day", "hookSpecificOutput": "no object"}), "another day"),
        (printed({"decision": "block", "reason": "another day", "hookSpecificOutput": [1]}), "another day"),
        (printed({"decision": "block", "reason": "another day"}, before="\ufeff"), "another day"),
        (printed({"decision": "block", "reason": "another day"}, before="\n \n"), "another day"),
        (printed({"decision": "block", "reason": "another day \ud83d"}), "another day \\ufffd"),
        (r"""printf '{"decision":"block","reason":"another \377 day"}'""", "another \\ufffd day"),
        (r"printf 'another \377 day' >&2; exit 2", "another \\ufffd day"),
        ("echo another day >&2; sleep 30 & exit 2", "another day"),
        ("echo another day >&2; setsid sleep 1 & exit 2", "another day"),
        (f"{endless('PAD', 200_000)}; exit 2", "xxx"),
    ],
    ids=[
        "long JSON",
        "long reason",
        "wrong member",
        "another wrong member",
        "byte order mark",
        "empty lines",
        "half a character",
        "no UTF-8",
        "no UTF-8 and a code",
        "a child that goes on",
        "a child in another session",
        "long text and a code",
    ],
)
async def test_a_command_that_blocks_does_so_whatever_it_writes_and_leaves_behind(
    environ: dict[str, str], tmp_path: Path, command: str, reason: str
) -> None:
    settings = hooks("PreToolUse", command, timeout=0.5 if "sleep" in command else None)
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("write")
        assert not (tmp_path / "a.txt").exists()
        assert reason in json.dumps(world.server.bodies[1])
        assert await world.answer(session) == "ok"


ASK = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "is it Monday?"}}


@pytest.mark.fast_cases("normal-reject")
@pytest.mark.parametrize("reply", ["once", "reject"])
@pytest.mark.parametrize("approvals", ["normal", "auto"])
async def test_a_command_can_have_the_user_asked_about_a_call_that_needs_no_approval(
    environ: dict[str, str], tmp_path: Path, reply: Literal["once", "reject"], approvals: str
) -> None:
    """`ask` prompts the user: github.com/xsyetopz/claudetto/wiki/Claude-Code-Hooks-Events-Tool, 2026-10-19."""
    settings = {
        **hooks("PreToolUse", printed(ASK), matcher="Write"),
        "permission": {"edit": "allow", "hook": "allow"},
        "experimental": {"approvals": approvals},
    }
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:

        async def answer(event: PermissionAsked) -> None:
            assert not (tmp_path / "a.txt").exists()
            await world.client.permissions.reply(event.id, reply)

        session, asked = await while_reacting(world, PermissionAsked, answer, world.prompt("write"))
        assert (asked.permission, asked.patterns, asked.always) == ("hook", ["write"], [])
        assert asked.metadata["reason"] == "is it Monday?"
        assert (tmp_path / "a.txt").exists() == (reply == "once")
        [call] = await world.calls(session)
        assert ("to run write: a hook asked (is it Monday?)" in str(call.state)) == (reply == "reject")


@pytest.mark.fast_cases("allows")
@pytest.mark.parametrize(
    "second",
    ["exit 1", "sleep 30", printed({"hookSpecificOutput": {"permissionDecision": "allow"}}), "echo text"],
    ids=["fails", "late", "allows", "text"],
)
async def test_a_question_of_a_command_counts_whatever_another_says(
    environ: dict[str, str], tmp_path: Path, second: str
) -> None:
    commands = [{"type": "command", "command": one, "timeout": 0.5} for one in (second, printed(ASK))]
    settings = {"hooks": {"PreToolUse": [{"hooks": commands}]}}
    async with opened(
        environ, tmp_path, WRITE, Answer(text="ok"), settings=settings, policy=RefuseQuestions()
    ) as world:
        [call] = await world.calls(await world.prompt("write"))
        assert "a hook wants approval for this call of 'write', but no terminal is attached" in call.state.error
        assert not (tmp_path / "a.txt").exists()


async def test_a_command_that_blocks_goes_before_one_that_asks(environ: dict[str, str], tmp_path: Path) -> None:
    commands = [{"type": "command", "command": one} for one in (printed(ASK), "echo never >&2; exit 2")]
    settings = {"hooks": {"PreToolUse": [{"hooks": commands}]}}
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        [call] = await world.calls(await world.prompt("write"))
        assert "blocked this call: never" in call.state.error


@pytest.mark.parametrize("outside", [False, True])
async def test_without_a_user_a_call_that_a_command_asks_about_does_not_run(
    environ: dict[str, str], tmp_path: Path, *, outside: bool
) -> None:
    settings, policy = hooks("PreToolUse", printed(ASK)), AutoApprove(RefuseQuestions(), outside=outside)
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings, policy=policy) as world:
        await world.prompt("write")
        assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize(
    ("matcher", "names", "runs"),
    [
        ("Edit|Write", ("write", "Write"), True),
        ("Edit, Write", ("write", "Write"), True),
        ("bash|edit", ("bash", "Bash"), True),
        ("Edit", ("multiedit", "MultiEdit"), False),
        ("Edi", ("edit", "Edit"), False),
        ("^Multi", ("multiedit", "MultiEdit"), True),
        ("^Multi", ("edit", "Edit"), False),
        ("Web.*", ("webfetch", "WebFetch"), True),
        ("mcp__memory__create", ("memory_create", "mcp__memory__create"), True),
        ("mcp__memory", ("memory_create", "mcp__memory__create"), False),
        ("mcp__memory__.*", ("memory_create", "mcp__memory__create"), True),
        ("^mcp__", ("memory_create", "mcp__memory__create"), True),
        ("mcp__.*__create", ("memory_create", "mcp__memory__create"), True),
        ("memory_create", ("memory_create", "mcp__memory__create"), True),
        ("memory_.*", ("memory_create", "mcp__memory__create"), True),
        ("mcp__other__.*", ("memory_create", "mcp__memory__create"), False),
        ("*", ("memory_create", "mcp__memory__create"), True),
    ],
)
def test_a_matcher_lists_names_or_is_searched_for_in_them(matcher: str, names: tuple[str, ...], *, runs: bool) -> None:
    """Letters, digits, `_` and `|` list names, any other character makes a regular expression.

    Source: https://brewpirate.github.io/claude-code-docs/hooks/matcher-semantics/, 2026.
    """
    assert _matches(HookGroup(matcher=matcher, hooks=[]), names) == runs


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("memory", "create", "mcp__memory__create"),
        ("my memory", "create.it", "mcp__my_memory__create_it"),
        ("reports:db", "query", "mcp__plugin_reports_db__query"),
    ],
)
def test_a_tool_of_a_server_has_the_name_of_claude_code(server: str, tool: str, name: str) -> None:
    assert claude_name(server, tool) == name


@pytest.mark.fast_cases("one_echo")
@pytest.mark.parametrize("matcher", ["mcp__one__echo", "mcp__one__.*", "one_echo", "mcp__other__.*"])
async def test_a_command_for_tools_of_a_server_blocks_them(
    environ: dict[str, str], tmp_path: Path, matcher: str
) -> None:
    server = {"mcp": {"one": {"type": "local", "command": COMMAND}}}
    async with opened(environ, tmp_path, settings=server) as world:
        await world.client.mcp.connect("one")
    settings = {**server, **hooks("PreToolUse", "cat > given.json; echo not this >&2; exit 2", matcher=matcher)}
    echo = Answer(calls=(Call("one_echo", {"text": "hello"}),))
    behind = Answer(calls=(Call("mcp_call", {"tool": "one_echo", "arguments": {"text": "hello"}}),))
    async with opened(environ, tmp_path, echo, behind, Answer(text="ok"), settings=settings) as world:
        calls = await world.calls(await world.prompt("echo"))
        states = [one.state.status for one in calls]
        if "other" in matcher:
            assert states == ["completed", "completed"]
            return
        assert states == ["error", "error"]
        assert ["not this" in one.state.error for one in calls] == [True, True]
    assert json.loads((tmp_path / "given.json").read_text())["tool_name"] == "mcp__one__echo"


@pytest.mark.parametrize(
    ("tool", "before", "changed", "after"),
    [
        ("bash", {"command": "rm a"}, {"command": "trash a"}, {"command": "trash a"}),
        (
            "write",
            {"filePath": "a", "content": "x"},
            {"file_path": "b", "filePath": "a", "content": "x"},
            {"filePath": "b", "content": "x"},
        ),
        (
            "write",
            {"filePath": "a", "content": "x"},
            {"file_path": "a", "filePath": "b", "content": "x"},
            {"filePath": "b", "content": "x"},
        ),
        (
            "write",
            {"filePath": "a", "content": "x"},
            {"file_path": "b", "content": "x"},
            {"filePath": "b", "content": "x"},
        ),
        ("edit", {"filePath": "a"}, {"file_path": "a", "replace_all": True}, {"filePath": "a", "replaceAll": True}),
        ("bash", {"command": "a", "timeout": 5}, {"command": "a"}, {"command": "a"}),
        ("one_echo", {"my_text": "a"}, {"my_text": "b", "more_text": "c"}, {"my_text": "b", "more_text": "c"}),
        ("bash", {"command": "a"}, "no object", {"command": "a"}),
    ],
    ids=["plain", "by its name", "by ours", "its name alone", "a new one", "left out", "of a server", "no object"],
)
async def test_a_command_changes_the_input_of_a_call(
    tmp_path: Path, tool: str, before: dict[str, Any], changed: Any, after: dict[str, Any]
) -> None:
    """Source: Claude Code's `updatedInput`, which replaces the whole input."""
    command = printed({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": changed}})
    groups = [HookGroup(hooks=[CommandHook(type="command", command=command)])]
    made = CommandHooks({"PreToolUse": groups}, folder=tmp_path, environ={"PATH": "/usr/bin:/bin"}, ids=Identifier())
    output = {"args": before}
    await made.before_tool({"tool": tool, "sessionID": "ses_1"}, output)
    assert output == {"args": after}


async def test_the_call_runs_with_the_changed_input(environ: dict[str, str], tmp_path: Path) -> None:
    changed = {"file_path": "b.txt", "content": "HELLO"}
    settings = hooks("PreToolUse", printed({"hookSpecificOutput": {"updatedInput": changed}}), matcher="Write")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        [call] = await world.calls(await world.prompt("write"))
        assert (tmp_path / "b.txt").read_text() == "HELLO" and not (tmp_path / "a.txt").exists()
        assert call.state.input == {"filePath": "b.txt", "content": "HELLO"}


@pytest.mark.parametrize(
    ("tool", "matcher", "runs"),
    [
        ("apply_patch", "Edit|Write", True),
        ("apply_patch", "Write", True),
        ("apply_patch", "apply_patch", True),
        ("apply_patch", "Bash", False),
        ("multiedit", "Edit|Write", True),
        ("multiedit", "MultiEdit", True),
        ("multiedit", "Write", False),
        ("edit", "Write", False),
        ("read", "Edit|Write", False),
    ],
)
async def test_a_matcher_for_edits_means_each_tool_that_edits(
    tmp_path: Path, tool: str, matcher: str, *, runs: bool
) -> None:
    """Codex accepts `Edit` and `Write` for `apply_patch`: core/src/tools/hook_names.rs, in typeduck-codex-execpolicy 0.6.0."""
    groups = [HookGroup(matcher=matcher, hooks=[CommandHook(type="command", command="echo no >&2; exit 2")])]
    made = CommandHooks(
        {"PreToolUse": groups}, folder=tmp_path, environ={"PATH": "/usr/bin:/bin"}, ids=Identifier(clock=lambda: 1)
    )
    with pytest.raises(HookBlocked, match="no") if runs else nullcontext():
        await made.before_tool({"tool": tool, "sessionID": "ses_1"}, {"args": {}})


@pytest.mark.slow
async def test_other_tools_are_not_concerned(environ: dict[str, str], tmp_path: Path) -> None:
    settings = hooks("PreToolUse", "exit 2", matcher="Bash|Task")
    async with opened(environ, tmp_path, WRITE, Answer(text="ok"), settings=settings) as world:
        await world.prompt("write")
        assert (tmp_path / "a.txt").read_text() == "hello"


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_late_command_is_killed_with_the_children_that_it_left(environ: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(HookError, match=r"longer than 0\.5 s"):
        await _run_shell("sleep 1000 & echo $! > pid", b"", folder=tmp_path, environ=environ, limit_s=0.5)
    await until(lambda: not is_running(int((tmp_path / "pid").read_text())))


@pytest.mark.fast_cases("exit 3-None-exit code 3")
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
