import asyncio
from contextlib import asynccontextmanager

import pytest

from opencode_tui.engine.session.repair import is_unfinished
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import ShellInput
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.storage.paths import find_paths
from tests.support.faults.abort import abort_after, open_aborting
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.stored import read_store
from tests.support.world.engine import opened
from tests.support.world.waiting import PATIENCE_S

EVENTS = 14
"""More events than a turn publishes before its tool runs."""


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.0, 0.02, 0.1, 0.3, 0.6, 1.0])
async def test_abort_wins_at_any_moment(environ, tmp_path, moment):
    async with open_aborting(environ, tmp_path) as client:
        ended = await abort_after(client, moment)
    assert ended.problems == []


async def abort_at(world, number):
    """Abort a turn at its event of this number; return the records that are unfinished afterwards."""
    session = await world.new_session()
    with world.client.events() as events:
        turn = asyncio.create_task(world.prompt("go", session=session))
        async for _ in events:
            number -= 1
            if number == 0:
                await world.client.prompts.abort(session.id)
                break
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RunAborted):
            await turn
    return [message.info.id for message in await world.messages(session) if is_unfinished(message)]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, EVENTS + 1))
async def test_an_answer_that_came_at_once_is_closed_wherever_it_is_cut(environ, tmp_path, number):
    wait = Call("bash", {"command": "sleep 300", "description": "wait"})
    answer = Answer(reasoning="hm hm", text="one two", calls=(wait, wait), is_burst=True)
    async with opened(environ, tmp_path, *[answer] * 2) as world:
        assert await abort_at(world, number) == []
    assert read_store(find_paths(environ).storage).unfinished == []


@asynccontextmanager
async def interrupted(environ, folder, answer=None):
    """Open a world whose session was just interrupted: its run has not ended yet."""
    wait = Call("bash", {"command": "sleep 300", "description": "wait"})
    async with opened(environ, folder, Answer(text="one two", calls=(wait,)), *([answer] if answer else ())) as world:
        session = await world.new_session()
        with world.client.events() as events:
            turn = asyncio.create_task(world.prompt("go", session=session))
            async for envelope in events:
                if "sleep 300" in str(envelope.event):
                    break
        await world.client.prompts.abort(session.id)
        yield world, session
        with pytest.raises(RunAborted):
            await turn


@pytest.mark.slow
async def test_an_undo_directly_after_the_interruption_waits_for_the_end_of_the_run(environ, tmp_path):
    async with interrupted(environ, tmp_path) as (world, session):
        preview = await world.client.undo.preview(session.id)
        assert preview.scope is not None and preview.scope.requests == 1
        assert (await world.client.undo.revert(session.id)).failed == []


async def test_a_shell_command_directly_after_the_interruption_waits_for_the_end_of_the_run(environ, tmp_path):
    async with interrupted(environ, tmp_path) as (world, session):
        given = ShellInput(agent="build", command="echo again")
        message = await world.client.prompts.shell(session.id, given)
        states = [part.state for part in message.parts if isinstance(part, ToolPart)]
        assert [state.output for state in states if isinstance(state, ToolStateCompleted)] == ["again\n"]


@pytest.mark.slow
async def test_a_compaction_directly_after_the_interruption_waits_for_the_end_of_the_run(environ, tmp_path):
    async with interrupted(environ, tmp_path, Answer(text="what was said")) as (world, session):
        report = await world.client.context.compact(session.id, CompactSession())
        assert report.summary == "what was said"


@pytest.mark.slow
async def test_a_deletion_directly_after_the_interruption_waits_for_the_end_of_the_run(environ, tmp_path):
    async with interrupted(environ, tmp_path) as (world, session):
        await world.client.sessions.remove(session.id)
        assert [one.session_ids for one in await world.client.trash.list()] == [[session.id]]
