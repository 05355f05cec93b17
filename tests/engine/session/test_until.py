"""The check of a session runs after each turn, and while it fails its output starts the next turn."""

import asyncio
from typing import Any

import pytest

from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.engine.session.until import TAIL_CHARACTERS, tail_of
from opencode_tui.schema.api.until import RunCheck, SetCheck
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.event.event import PartProgress
from opencode_tui.schema.session.until import failure_of, until_of
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import MODEL, opened

SAY = Answer(text="tried")


def last_of(info) -> Any:
    """Return the last run of a session's check; a test knows that there is one."""
    until = until_of(info)
    assert until is not None
    return until.last


async def last_check(world, session) -> Any:
    return last_of(await world.client.sessions.get(session.id))


async def with_check(world, command, **fields):
    session = await world.new_session()
    await world.client.prompts.set_check(session.id, SetCheck(command=command, **fields))
    return session


async def test_a_failed_check_starts_the_next_turn_with_its_output(environ, tmp_path):
    write = Answer(calls=(Call("write", {"filePath": "done.txt", "content": "x"}),))
    async with opened(environ, tmp_path, SAY, write, SAY) as world:
        session = await with_check(world, "echo looked; test -e done.txt")
        await world.prompt("go", session=session)
        done = await last_check(world, session)
        assert (done.exit, done.end, done.turn) == (0, "passed", 1)
        sent = world.server.bodies[1]["messages"]
        assert "looked" in str(sent[-2]["content"])
        assert "exit code 1" in world.sent(1)
        assert len(world.server.bodies) == 3
        failures = [one for part in await world.parts(session) if (one := failure_of(part)) is not None]
        assert [(one.exit, one.turn, one.turns) for one in failures] == [(1, 1, 10)]


@pytest.mark.slow
async def test_a_check_that_has_passed_does_not_run_again(environ, tmp_path):
    async with opened(environ, tmp_path, SAY, SAY) as world:
        session = await with_check(world, "echo once >> ran; true")
        await world.prompt("go", session=session)
        await world.prompt("more", session=session)
        assert (tmp_path / "ran").read_text() == "once\n"


@pytest.mark.slow
async def test_no_more_turns_than_wanted_are_started_for_one_prompt(environ, tmp_path):
    async with opened(environ, tmp_path, *[SAY] * 3) as world:
        session = await with_check(world, "date +%N; echo $RANDOM$RANDOM; false", turns=2)
        await world.prompt("go", session=session)
        done = await last_check(world, session)
        assert (done.end, done.turn, len(world.server.bodies)) == ("turns", 2, 3)


@pytest.mark.slow
async def test_the_same_failure_three_times_in_a_row_ends_it(environ, tmp_path):
    async with opened(environ, tmp_path, *[SAY] * 4) as world:
        session = await with_check(world, 'echo "1 failed in 0.$(date +%N)s at 0x$(date +%N)"; exit 3')
        await world.prompt("go", session=session)
        done = await last_check(world, session)
        assert (done.exit, done.end, len(world.server.bodies)) == (3, "same", 3)
        await world.prompt("again", session=session)  # the next prompt counts anew
        assert len(world.server.bodies) == 6


async def test_a_check_that_a_rule_denies_ends_it_and_names_the_reason(environ, tmp_path):
    settings = {"permission": {"bash": "deny"}}
    async with opened(environ, tmp_path, SAY, settings=settings, policy=RefuseQuestions()) as world:
        session = await with_check(world, "make")
        await world.prompt("go", session=session)
        done = await last_check(world, session)
        assert (done.exit, done.end, len(world.server.bodies)) == (None, "refused", 1)
        (call,) = await world.calls(session)
        assert "denies bash" in call.state.error


@pytest.mark.slow
async def test_a_rule_that_asks_is_answered_by_the_user_having_typed_the_command(environ, tmp_path):
    settings = {"permission": {"bash": "ask"}}
    async with opened(environ, tmp_path, SAY, settings=settings, policy=RefuseQuestions()) as world:
        session = await with_check(world, "true")
        await world.prompt("go", session=session)
        assert (await last_check(world, session)).end == "passed"


@pytest.mark.slow
async def test_a_check_runs_without_the_model_and_sends_its_failure_only_when_asked_to(environ, tmp_path):
    async with opened(environ, tmp_path, SAY) as world:
        session = await with_check(world, "echo bad; exit 4", turns=1)
        info = await world.client.prompts.run_check(session.id, RunCheck(model=MODEL))
        assert last_of(info).exit == 4
        assert (last_of(info).end, world.server.bodies) == (None, [])
        assert info.title == "Until echo bad; exit 4"
        info = await world.client.prompts.run_check(session.id, RunCheck(goes_on=True))
        assert (last_of(info).end, len(world.server.bodies)) == ("turns", 1)
        await world.client.prompts.remove_check(session.id)
        with pytest.raises(SessionError, match="has no check"):
            await world.client.prompts.run_check(session.id, RunCheck())


@pytest.mark.slow
async def test_an_interruption_ends_the_command_and_the_turns(environ, tmp_path):
    async with opened(environ, tmp_path, SAY) as world:
        session = await with_check(world, "echo begun; sleep 4907")

        async def interrupt():
            with world.client.events() as events:
                async for envelope in events:
                    part: Any = envelope.event.record() if isinstance(envelope.event, PartProgress) else None
                    if part is not None and "begun" in part.state.metadata["output"]:
                        await world.client.prompts.abort(session.id)
                        return

        waiter = asyncio.create_task(interrupt())
        await asyncio.sleep(0)
        with pytest.raises(SessionError, match="interrupted"):
            await world.prompt("go", session=session)
        await waiter
        assert len(world.server.bodies) == 1
        (call,) = await world.calls(session)
        assert call.state.status == "error"


def test_the_model_reads_the_end_of_a_long_output():
    text = "\n".join(f"line {number}" for number in range(500))
    assert tail_of("short\n") == "short"
    assert tail_of(text).startswith("(380 lines before are left out)\nline 380\n")
    assert len(tail_of("x" * 50_000)) <= TAIL_CHARACTERS + 1


@pytest.mark.slow
async def test_a_check_holds_after_a_restart_and_until_it_is_removed(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        session = await with_check(world, "echo ran >> log; false", turns=1)
    async with opened(environ, tmp_path, SAY, SAY, SAY) as world:
        await world.prompt("go", session=session)
        assert ((await last_check(world, session)).end, len(world.server.bodies)) == ("turns", 2)
        info = await world.client.prompts.remove_check(session.id)
        assert until_of(info) is None
        assert until_of(info.changed(metadata={"until": {"turns": "many"}})) is None, "damaged data is no check"
        await world.prompt("more", session=session)
        assert (tmp_path / "log").read_text() == "ran\n" * 2 and len(world.server.bodies) == 3
