import asyncio
import io
import os
from pathlib import Path

import pytest

from opencode_tui.cli.run.permission_prompt import PermissionPrompt, Question, render_question
from opencode_tui.cli.run.terminal_lines import TerminalLines
from opencode_tui.cli.style import PLAIN
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.permission import OpenPermission, PermissionRequest, Rule, Verdict
from opencode_tui.storage.paths import find_paths
from opencode_tui.text.cells import width
from tests.support.hostile.strings import HOSTILE, steering
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.records import call
from tests.support.world.engine import opened
from tests.support.world.waiting import until

HERE = Path("/src/csvkit")
REMOVE = Rule(permission="bash", pattern="rm *", action="ask")
ALL = Rule(permission="*", pattern="*", action="allow")


def verdict(pattern: str, rule: Rule = REMOVE, source: str | None = "/src/csvkit/opencode.json") -> Verdict:
    return Verdict(permission="bash", pattern=pattern, action=rule.action, rule=rule, source=source)


def asked(permission: str, *patterns: str, always: list[str] | None = None, **metadata) -> PermissionRequest:
    return PermissionRequest(
        id="per_1",
        session_id="ses_1",
        permission=permission,
        patterns=list(patterns),
        always=always if always is not None else list(patterns),
        metadata=metadata,
    )


def shown(request: PermissionRequest, *verdicts: Verdict, call=None, style=PLAIN) -> list[str]:
    return render_question(Question(request, verdicts, HERE, call), style).splitlines()


def test_a_command_is_shown_with_the_rule_that_asks_and_the_keys():
    assert shown(asked("bash", "rm -rf build", always=["rm *"]), verdict("rm -rf build")) == [
        "! Run this command?",
        "    rm -rf build",
        "  Your settings require approval for this command (rm *,",
        "  /src/csvkit/opencode.json). Working directory: /src/csvkit",
        '  y run once   a always allow "rm *"   e edit the rule',
        "  n reject and tell the agent why",
    ]


def test_each_part_of_a_command_has_its_verdict():
    part = call("c", "bash")
    whole = part.changed(state=part.state.changed(input={"command": "rm -rf build && pip install ."}))
    verdicts = [verdict("rm -rf build"), verdict("pip install .", ALL, None)]
    assert shown(asked("bash", "rm -rf build", "pip install .", always=["rm *"]), *verdicts, call=whole)[:5] == [
        "! Run this command?",
        "    rm -rf build && pip install .",
        "  ! rm -rf build   needs approval  rm *, /src/csvkit/opencode.json",
        "  ✓ pip install .  allowed         default rule *",
        "  1 of 2 commands needs approval. Working directory: /src/csvkit",
    ]


def test_a_folder_outside_is_named_with_the_call_that_needs_it():
    lines = shown(asked("external_directory", "/etc/*"), call=call("c", "bash"))
    assert (lines[1], lines[3]) == ("    /etc", "  Needed by Bash: a")


def test_an_edit_shows_its_diff():
    diff = "--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"
    assert shown(asked("edit", "a.py", diff=diff))[:4] == [
        "! Edit this file?",
        "    a.py",
        "     1 − x = 1",
        "     1 + x = 2",
    ]


def test_a_call_that_cannot_always_be_allowed_has_no_key_for_it():
    assert shown(asked("bash", "rm x", always=[]))[-1] == "  y run once   n reject and tell the agent why"


def test_patterns_that_do_not_fit_are_listed_in_full_under_their_key(terminal):
    patterns = [f"rm -rf some/folder/number/{number} *" for number in range(3)]
    lines = shown(asked("bash", "rm x", always=patterns), style=terminal(60))
    assert lines[-6:] == [
        "  y run once",
        "  a always allow",
        *[f"      {pattern}" for pattern in patterns],
        "  e edit the rule   n reject and tell the agent why",
    ]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_question_steers_the_terminal_or_wraps(terminal, hostile):
    long = hostile + "漢字 " * 40
    request = asked("bash", long, "ls", always=[long], diff=f"@@ -1,0 +1,1 @@\n+{long}")
    verdicts = [verdict(long, source=long), verdict("ls", ALL)]
    assert steering("\n".join(shown(request, *verdicts, style=terminal(60, is_live=True)))) == []
    lines = shown(asked("external_directory", long), style=terminal(60))
    assert lines and all(width(line) < 60 for line in lines)


@pytest.mark.slow
async def test_a_typed_x_ends_the_suggestion_and_the_question_stays(environ: dict[str, str], tmp_path: Path) -> None:
    shown_text, (typed, keyboard) = io.StringIO(), os.pipe()
    calls = [Answer(calls=(Call("bash", {"command": f"touch a{at}"}),)) for at in range(5)]
    settings = {"permission": {"bash": {"*": "ask"}}}
    async with opened(environ, tmp_path, *calls, Answer(text="Made."), settings=settings) as world:
        permissions = world.client.permissions
        prompt = PermissionPrompt(TerminalLines(typed, err=shown_text), world.client, PLAIN)
        with world.client.events() as events:
            turn = asyncio.create_task(world.prompt("make them"))
            requests = (one.event async for one in events if isinstance(one.event, PermissionAsked))
            for lines in (b"y\n", b"y\n", b"y\n", b"x\n"):
                os.write(keyboard, lines)
                asking = asyncio.create_task(prompt.ask(await anext(requests)))
                await until(lambda asking=asking: asking.done() or "not suggested again" in shown_text.getvalue())
            assert "x no more suggestion" in shown_text.getvalue() and len(await permissions.pending()) == 1
            os.write(keyboard, b"y\n")
            await asking
            assert "Allowed once  touch a3" in shown_text.getvalue()
            last = await anext(requests)
            assert "allowedBefore" not in last.metadata
            await permissions.reply(last.id, "once")
            await turn
    os.close(typed)
    os.close(keyboard)


@pytest.mark.parametrize(("key", "said"), [("h", "not allowed"), ("a", "allowed this once"), ("y", "Allowed once")])
async def test_a_host_that_cannot_be_stored_is_not_said_to_be_allowed(
    environ: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, said: str
) -> None:
    shown_text, (typed, keyboard) = io.StringIO(), os.pipe()
    facts = {"kind": "refused", "runs": "host", "tier": "bubblewrap", "host": "db", "allows": "db"}
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        given = OpenPermission(
            session_id=session.id, permission="bash", patterns=["make"], always=["make *"], metadata={"sandbox": facts}
        )
        request = await world.client.permissions.open(given)
        (find_paths(environ).data / "storage/permission").write_text("no folder")
        os.write(keyboard, f"{key}\n".encode())
        await PermissionPrompt(TerminalLines(typed, err=shown_text), world.client, PLAIN).ask(request)
        assert await world.client.permissions.pending() == []
    text = shown_text.getvalue() + capsys.readouterr().err
    assert said in text and ("llowed once" in text) == (key != "h")
    os.close(typed)
    os.close(keyboard)
