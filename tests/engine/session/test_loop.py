"""Turns: how they continue, what they may do, when they end."""

import asyncio
from typing import Any

import pytest

from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.engine.session.step.tool_calls import NO_STEP_LEFT
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import ProviderError, RunAborted, SessionError
from opencode_tui.schema.event.event import PermissionAsked, SessionStatusChanged
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import StepStartPart, TextPart
from opencode_tui.schema.session.session import RetryStatus
from tests.support.provider.model_script import Answer, Call, content_text, failure
from tests.support.world.engine import MODEL, opened, react, while_reacting
from tests.support.world.settings import SettingsWorld
from tests.support.world.waiting import PATIENCE_S

READ = Call("read", {"filePath": "a.txt"})
SLEEP = Call("bash", {"command": "sleep 30", "description": "wait"})


def request(text, **fields):
    return PromptInput(model=MODEL, parts=[TextInput(text=text)], **fields)


def infos(messages) -> list[Any]:
    return [one.info for one in messages if isinstance(one.info, AssistantMessage)]


def tool_names(body):
    return {tool["function"]["name"] for tool in body.get("tools", [])}


async def test_an_answer_that_a_filter_cut_ends_the_turn_without_an_error(environ, tmp_path):
    async with opened(
        environ, tmp_path, Answer(text="half of", finish="content_filter"), Answer(text="never")
    ) as world:
        session = await world.prompt("go")
        (info,) = infos(await world.messages(session))
        assert (info.finish, info.error, await world.answer(session)) == ("content-filter", None, "half of")
        assert len(world.server.bodies) == 1


async def test_an_answer_that_the_output_limit_left_empty_has_the_error(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(reasoning="so much", finish="length"), Answer(text="ok")) as world:
        session = await world.prompt("go")
        (info,) = infos(await world.messages(session))
        assert (info.finish, len(world.server.bodies)) == ("length", 1)
        assert info.to_dict()["error"] == {"name": "MessageOutputLengthError", "data": {}}
        await world.prompt("continue", session=session)
        assert await world.answer(session) == "ok"


async def test_an_answer_that_the_output_limit_cut_is_shown_as_such_and_stays_in_the_conversation(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="half of", finish="length")) as world:
        session = await world.prompt("go")
        (info,) = infos(await world.messages(session))
        assert (info.finish, info.error, await world.answer(session)) == ("length", None, "half of")
        assert info.shown_error.name == "MessageOutputLengthError"
        assert len(world.server.bodies) == 1
        await world.prompt("continue", session=session)
        sent = [content_text(one["content"]) for one in world.server.bodies[-1]["messages"]]
        assert sent[-2:] == ["half of", "continue"]
        assert infos(await world.messages(session))[-1].error is None


async def test_calls_of_an_answer_at_the_output_limit_run_and_the_turn_ends(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(READ,), finish="length"), Answer(text="never")) as world:
        session = await world.prompt("go")
        assert [(info.finish, info.error) for info in infos(await world.messages(session))] == [("length", None)]
        assert len(world.server.bodies) == 1


async def test_an_end_for_an_unknown_reason_is_asked_on_once_more(environ, tmp_path):
    answers = [Answer(text=text, finish="because") for text in ("one", "two", "three")]
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("go")
        assert [info.finish for info in infos(await world.messages(session))] == ["unknown", "unknown"]


async def test_calls_with_an_unknown_reason_run_and_the_turn_goes_on(environ, tmp_path):
    calls = [Answer(calls=(Call("read", {"filePath": name}),), finish="because") for name in ("a", "b", "c")]
    async with opened(environ, tmp_path, *calls, Answer(text="done")) as world:
        session = await world.prompt("go")
        assert [info.finish for info in infos(await world.messages(session))] == [*["tool-calls"] * 3, "stop"]


async def test_only_ends_for_an_unknown_reason_in_a_row_are_counted(environ, tmp_path):
    end = Answer(text="half", finish="because")
    async with opened(environ, tmp_path, end, Answer(calls=(READ,)), end, Answer(text="done")) as world:
        session = await world.prompt("go")
        assert [info.finish for info in infos(await world.messages(session))] == [
            "unknown",
            "tool-calls",
            "unknown",
            "stop",
        ]


async def test_the_last_step_runs_no_tool_whatever_the_model_asks_for(environ, tmp_path):
    write = Call("write", {"filePath": "made.txt", "content": "x"})
    settings = {"agent": {"build": {"steps": 2}}}
    answers = [Answer(calls=(READ,)), Answer(text="I go on", calls=(write,)), Answer(text="never")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.prompt("go")
        first, last = await world.calls(session)
        assert (last.state.status, last.state.error) == ("error", NO_STEP_LEFT)
        assert first.state.error != NO_STEP_LEFT
        assert not (tmp_path / "made.txt").exists()
        assert [body.get("tool_choice") for body in world.server.bodies] == [None, "none"]
        assert "This is the last step" in str(world.server.bodies[1]["messages"])
        starts = [part.reminder for part in await world.parts(session) if isinstance(part, StepStartPart)]
        assert [bool(one) for one in starts] == [False, True]


async def test_tools_that_a_request_switches_off_are_not_sent_and_stay_denied(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request("go", tools={"bash": False}))
        await world.client.prompts.prompt(session.id, request("again"))
        rules = (await world.client.sessions.get(session.id)).permission
        assert rules == [Rule(permission="bash", pattern="*", action="deny")]
        assert ["bash" in tool_names(body) for body in world.server.bodies] == [False, False]


async def test_a_tool_that_is_switched_off_does_not_run_when_it_is_called_all_the_same(environ, tmp_path):
    write = Call("write", {"filePath": "made.txt", "content": "x"})
    async with opened(environ, tmp_path, Answer(calls=(write,)), Answer(text="ok")) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request("go", tools={"write": False}))
        (call,) = await world.calls(session)
        assert (call.state.status, (tmp_path / "made.txt").exists()) == ("error", False)
        assert "switched off" in call.state.error


@pytest.mark.slow
async def test_a_tool_that_is_switched_on_again_is_as_the_other_rules_say(environ, tmp_path):
    rules = [Rule(permission="edit", pattern="*", action="deny"), Rule(permission="bash", pattern="rm*", action="deny")]
    async with opened(environ, tmp_path) as world:
        session = await world.client.sessions.create(CreateSession(permission=rules))
        await world.client.prompts.prompt(session.id, request("go", tools={"bash": False, "read": False}))
        assert tool_names(world.server.bodies[0]) & {"edit", "bash", "read"} == set()
        await world.client.prompts.prompt(session.id, request("go", tools={"bash": True, "read": True}))
        assert tool_names(world.server.bodies[1]) & {"edit", "bash", "read"} == {"bash", "read"}
        assert (await world.client.sessions.get(session.id)).permission == rules


@pytest.mark.parametrize("side_by_side", [True, False])
async def test_the_third_equal_call_of_a_turn_is_asked_for(environ, tmp_path, side_by_side):
    (tmp_path / "a.txt").write_text("x")
    steps = [Answer(calls=(READ,) * 3)] if side_by_side else [Answer(calls=(READ,))] * 3
    async with opened(environ, tmp_path, *steps, Answer(text="ok")) as world:

        async def allow(event):
            await world.client.permissions.reply(event.id, "once")

        session, asked = await while_reacting(world, PermissionAsked, allow, world.prompt("go"))
        calls = await world.calls(session)
        assert (asked.permission, asked.patterns, asked.metadata["tool"]) == ("doom_loop", ["read"], "read")
        assert asked.tool.call_id == calls[2].call_id
        assert [call.state.status for call in calls] == ["completed"] * 3
        assert await world.answer(session) == "ok"


async def test_a_loop_that_the_user_stops_ends_the_turn_with_an_error(environ, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    async with opened(environ, tmp_path, Answer(calls=(READ,) * 3), Answer(text="never")) as world:

        async def refuse(event):
            await world.client.permissions.reply(event.id, "reject")

        session, _ = await while_reacting(world, PermissionAsked, refuse, world.prompt("go"))
        states = [call.state for call in await world.calls(session)]
        assert [state.status for state in states] == ["completed", "completed", "error"]
        assert (states[2].stop_reason, states[2].error) == (
            "rejected",
            "The user rejected permission to repeat read: the same calls were made 3 times in a row.",
        )
        assert len(world.server.bodies) == 1


WRONG = {
    "an unknown tool": Call("nosuch", {"a": 1}),
    "an argument of a wrong type": Call("read", {"filePath": 1}),
    "a missing argument": Call("edit", {}),
    "a name in capitals": Call("READ", {"filePath": "a.txt"}),
    "an unknown name in capitals": Call("NoSuch", {}),
    "an unknown argument alone": Call("glob", {"patern": "*"}),
    "a failure": Call("read", {"filePath": "gone.txt"}),
}


@pytest.mark.fast_cases("an unknown name in capitals", "a missing argument")
@pytest.mark.parametrize("name", WRONG)
async def test_a_call_that_is_repeated_is_asked_for_whatever_is_wrong_with_it(environ, tmp_path, name):
    (tmp_path / "a.txt").write_text("x")
    async with opened(environ, tmp_path, *[Answer(calls=(WRONG[name],))] * 12, Answer(text="never")) as world:

        async def refuse(event):
            await world.client.permissions.reply(event.id, "reject")

        session, asked = await while_reacting(world, PermissionAsked, refuse, world.prompt("go"))
        calls = await world.calls(session)
        assert (asked.permission, asked.tool.call_id, len(calls)) == ("doom_loop", calls[2].call_id, 3)
        assert calls[2].state.stop_reason == "rejected"
        assert "the same calls were made 3 times in a row" in calls[2].state.error
        assert len(world.server.bodies) == 3


PAIR = [Call("read", {"filePath": "a.txt"}), Call("glob", {"pattern": "*"})]


@pytest.mark.fast_cases("False-a failure", "False-a call")
@pytest.mark.parametrize(
    ("calls", "requests"),
    [([READ], 6), ([WRONG["a missing argument"]], 6), ([WRONG["a failure"]], 6), (PAIR, 12)],
    ids=["a call", "a wrong call", "a failure", "a cycle"],
)
@pytest.mark.parametrize("is_denied", [False, True])
async def test_a_loop_ends_the_turn_with_an_error_where_nobody_can_be_asked(
    environ, tmp_path, calls, requests, is_denied
):
    (tmp_path / "a.txt").write_text("x")
    steps = [Answer(calls=(calls[number % len(calls)],)) for number in range(requests)]
    settings = {"permission": {"doom_loop": "deny"}} if is_denied else {}
    policy = AutoApprove(RefuseQuestions())
    async with opened(environ, tmp_path, *steps, Answer(text="well"), settings=settings, policy=policy) as world:
        session = await world.new_session()
        with pytest.raises(SessionError, match="the model repeats the same calls"):
            await world.prompt("go", session=session)
        last = (await world.messages(session))[-1].info
        assert last.error is not None and "the model repeats the same calls" in last.error.data.message
        assert len(world.server.bodies) == requests
        await world.prompt("again", session=session)
        assert await world.answer(session) == "well"


@pytest.mark.slow
async def test_a_model_that_finds_another_way_after_a_refused_loop_goes_on(environ, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    steps = [Answer(calls=(READ,))] * 5 + [Answer(calls=(PAIR[1],))] + [Answer(calls=(READ,))] * 5
    async with opened(environ, tmp_path, *steps, Answer(text="ok"), policy=RefuseQuestions()) as world:
        assert await world.answer(await world.prompt("go")) == "ok"


async def test_a_wrong_call_that_may_be_repeated_fails_as_before(environ, tmp_path):
    wrong = WRONG["a missing argument"]
    settings = {"permission": {"doom_loop": "allow"}}
    async with opened(environ, tmp_path, *[Answer(calls=(wrong,))] * 4, Answer(text="ok"), settings=settings) as world:
        session = await world.prompt("go")
        errors = [call.state.error for call in await world.calls(session)]
        assert len(errors) == 4 and len(set(errors)) == 1 and "does not fit" in errors[0]
        assert await world.answer(session) == "ok"


@pytest.mark.slow
async def test_wrong_calls_that_differ_or_are_few_are_not_asked_for(environ, tmp_path):
    steps = [Answer(calls=(Call("nosuch", {"a": number % 5}),)) for number in range(9)]
    steps += [Answer(calls=(WRONG["a missing argument"],) * 2), Answer(text="ok")]
    async with opened(environ, tmp_path, *steps, policy=RefuseQuestions()) as world:
        session = await world.prompt("go")
        assert [call.state.status for call in await world.calls(session)] == ["error"] * 11
        assert await world.answer(session) == "ok"


async def test_the_turn_continues_after_a_rejection_where_the_settings_say_so(environ, tmp_path):
    call = Call("bash", {"command": "touch made", "description": "d"})
    settings = {"permission": {"bash": "ask"}, "experimental": {"continue_loop_on_deny": True}}
    async with opened(environ, tmp_path, Answer(calls=(call,)), Answer(text="another way"), settings=settings) as world:

        async def refuse(event):
            await world.client.permissions.reply(event.id, "reject")

        session, _ = await while_reacting(world, PermissionAsked, refuse, world.prompt("go"))
        assert await world.answer(session) == "another way"
        [refused] = await world.calls(session)
        assert refused.state.stop_reason == "rejected" and not (tmp_path / "made").exists()


async def test_a_loop_is_not_waved_through(environ, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    auto = AutoApprove(RefuseQuestions())
    async with opened(environ, tmp_path, Answer(calls=(READ,) * 3), Answer(text="ok"), policy=auto) as world:
        states = [call.state for call in await world.calls(await world.prompt("go"))]
        assert [state.status for state in states] == ["completed", "completed", "error"]
        assert "repeating the same calls" in states[2].error
        assert "--auto" not in states[2].error


async def test_a_plan_changes_no_file_and_its_reminder_stays_in_its_request(environ, tmp_path):
    write = Call("write", {"filePath": "a.py", "content": "x"})
    note = Call("write", {"filePath": ".opencode/plans/a.md", "content": "# Plan"})
    async with opened(environ, tmp_path, Answer(calls=(write, note)), Answer(text="planned")) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request("go", agent="plan"))
        refused, made = [call.state for call in await world.calls(session)]
        assert ("denies edit" in refused.error, made.status) == (True, "completed")
        assert [path.name for path in tmp_path.rglob("*") if path.suffix in (".py", ".md")] == ["a.md"]
        assert "Plan mode is on" in world.sent(0)
        await world.client.prompts.prompt(session.id, request("do it", agent="build"))
        assert "from plan to build" in world.sent()
        reminders = [part for part in await world.parts(session) if isinstance(part, TextPart) and part.synthetic]
        assert [(part.metadata or {})["announced"] for part in reminders] == [{"mode": "plan"}, {"mode": "build"}]
        first, second = world.server.bodies[-2]["messages"], world.server.bodies[-1]["messages"]
        assert second[: len(first)] == first


@pytest.mark.slow
async def test_a_request_that_comes_during_a_turn_is_answered_by_it_and_wrapped_for_the_model(environ, tmp_path):
    wait = Call("bash", {"command": "until test -e go; do sleep 0.02; done", "description": "wait"})
    async with opened(environ, tmp_path, Answer(calls=(wait,)), Answer(text="both done")) as world:
        session, stored = await world.new_session(), asyncio.Event()
        first = asyncio.create_task(world.client.prompts.prompt(session.id, request("one")))
        while not any(call.state.status == "running" for call in await world.calls(session)):
            await asyncio.sleep(0.01)
        prompt = world.client.prompts.prompt(session.id, request("two"), stored=lambda _: stored.set())
        second = asyncio.create_task(prompt)
        await stored.wait()
        (tmp_path / "go").touch()
        answers = await asyncio.gather(first, second)
        assert answers[0].info.id == answers[1].info.id
        assert "The user sent the following message:\ntwo" in world.sent()
        assert len(world.server.bodies) == 2


async def test_after_an_abort_the_model_gets_the_partial_answer(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="I try", calls=(SLEEP,)), Answer(text="ok")) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.client.prompts.prompt(session.id, request("go")))
        while not any(call.state.status == "running" for call in await world.calls(session)):
            await asyncio.sleep(0.01)
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await turn
        await world.client.prompts.prompt(session.id, request("and now?"))
        _, _, tried, result, _ = world.server.bodies[-1]["messages"]
        assert (tried["content"], content_text(result["content"])) == ("I try", "Tool execution aborted")


async def test_an_abort_ends_a_wait_for_the_provider_at_once(environ, tmp_path):
    async with opened(environ, tmp_path, failure(529, "busy", retry_after="200")) as world:
        session = await world.new_session()

        async def abort(event):
            if isinstance(event.status, RetryStatus):
                await world.client.prompts.abort(session.id)

        async def watch():
            event: Any = None
            while event is None or not isinstance(event.status, RetryStatus):
                event = await react(world, SessionStatusChanged, abort)

        turn = asyncio.create_task(world.client.prompts.prompt(session.id, request("go")))
        async with asyncio.timeout(PATIENCE_S):
            await watch()
            with pytest.raises(RunAborted):
                await turn
        (info,) = infos(await world.messages(session))
        assert info.error.name == "MessageAbortedError"


async def test_too_long_a_wait_for_the_provider_ends_the_turn_with_an_error(environ, tmp_path):
    async with opened(environ, tmp_path, failure(429, "later", retry_after="900")) as world:
        with pytest.raises(ProviderError, match=r"asks to wait 900 s \(limit: 5 min\)"):
            await world.prompt("go")
        assert len(world.server.bodies) == 1
        (session,) = await world.client.sessions.list()
        (info,) = infos(await world.messages(session))
        assert "900 s" in info.error.data.message


async def test_a_variant_adds_its_options_to_the_request(environ, tmp_path):
    given = {"fake": {"models": {"fake-model": {"variants": {"high": {"reasoningEffort": "high"}}}}}}
    SettingsWorld(tmp_path, environ).person({"provider": given})
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        await world.client.prompts.prompt(session.id, request("go", variant="high"))
        await world.client.prompts.prompt(session.id, request("go"))
        assert [body.get("reasoning_effort") for body in world.server.bodies] == ["high", None]
        assert [info.variant for info in infos(await world.messages(session))] == ["high", None]


async def test_rules_of_the_session_hide_what_they_deny(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        rules = [Rule(permission="edit", pattern="*", action="deny")]
        session = await world.client.sessions.create(CreateSession(permission=rules))
        await world.prompt("go", session=session)
        assert tool_names(world.server.bodies[0]) & {"edit", "write", "multiedit", "apply_patch", "bash"} == {"bash"}


@pytest.mark.slow
async def test_at_most_eight_calls_of_a_step_run_at_a_time(environ, tmp_path):
    commands = [f"sleep 0.{number + 10}" for number in range(20)]
    calls = tuple(Call("bash", {"command": command, "description": "wait"}) for command in commands)
    async with opened(environ, tmp_path, Answer(calls=calls), Answer(text="done")) as world:
        made = await world.calls(await world.prompt("go"))
        assert [call.state.status for call in made] == ["completed"] * 20
        assert [call.state.input["command"] for call in made] == commands
        spans = [(call.state.time.start, call.state.time.end) for call in made]
        running = [sum(start <= begun < end for start, end in spans) for begun, _ in spans]
        assert 2 <= max(running) <= 8


@pytest.mark.slow
async def test_calls_past_the_limit_of_a_step_get_an_error_and_the_turn_continues(environ, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    calls = tuple(Call("read", {"filePath": f"none-{number}.txt"}) for number in range(150))
    async with opened(environ, tmp_path, Answer(calls=calls), Answer(text="done")) as world:
        session = await world.prompt("go")
        refused = ["at most 128 calls" in call.state.error for call in await world.calls(session)]
        assert refused == [False] * 128 + [True] * 22
        assert await world.answer(session) == "done"
        sent = [entry["content"] for entry in world.server.bodies[1]["messages"] if entry["role"] == "tool"]
        assert len(sent) == 150
