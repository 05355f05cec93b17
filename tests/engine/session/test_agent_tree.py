"""Agents that one prompt starts: side by side, in the background, below one limit for all of them."""

import asyncio
import json
import os
import shlex
from contextlib import suppress
from typing import Any

import psutil
import pytest

from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.engine.session.agent_tree import PARALLEL, AgentLimits, AgentTree
from opencode_tui.schema.error import BudgetError, RunAborted, ToolError
from opencode_tui.schema.event.event import SessionStatusChanged
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened
from tests.support.world.waiting import PATIENCE_S, until

FIND = {"description": "find it", "prompt": "look for x", "subagent_type": "general"}
OK = Answer(text="ok")
SPAWNER = {"agent": {"spawner": {"mode": "subagent", "description": "starts others", "permission": {"task": "allow"}}}}


def task(**fields: Any) -> Call:
    return Call("task", {**FIND, **fields})


def spawn(count: int) -> Answer:
    calls = [task(subagent_type="spawner", description=f"number {n}", prompt=f"start two, {n}") for n in range(count)]
    return Answer(calls=tuple(calls))


async def outputs(world: World, session: Any) -> list[str]:
    return [getattr(part.state, "output", "") or part.state.error for part in await world.calls(session)]


async def outputs_of_all(world: World) -> list[str]:
    """Return the outputs of all sessions: any of them may be the first that a limit ends."""
    return [one for session in await world.client.sessions.list() for one in await outputs(world, session)]


async def wait_for_jobs(world: World, state: str, *, count: int = 1) -> Any:
    """Return the background agents once there are so many, and all of them are in this state if it is not empty."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            jobs = await world.client.background.list()
            if len(jobs) >= count and all(one.state == state for one in jobs if state):
                return jobs
            await asyncio.sleep(0.02)


def in_background(prompt: str) -> str:
    """Return a prompt that lets the model start an agent in the background, whose prompt may have directives too."""
    call = json.dumps({**FIND, "prompt": prompt, "background": True})
    hidden = call.replace("<", r"\u003c").replace(">", r"\u003e")
    return f"<<tool task {hidden}>>"


@pytest.mark.slow
async def test_an_agent_in_the_background_lets_its_caller_go_on_and_its_report_joins_the_next_request(
    environ, tmp_path
):
    async with opened(environ, tmp_path) as world:
        session = await world.prompt(in_background("<<words 30>> <<slow 10>>"))
        (started,) = await outputs(world, session)
        (child,) = await world.client.sessions.children(session.id)
        assert started.startswith(f"Started in the background as bg1 (task_id: {child.id}).")
        (job,) = await world.client.background.list(session.id)
        assert (job.noun, job.command) == ("background agent", "general: find it")
        await wait_for_jobs(world, "exited")
        await world.prompt("and now?", session=session)
        sent = str(world.server.bodies[-1]["messages"])
        assert "The background agent bg1 (general: find it) has ended." in sent and "word29" in sent


@pytest.mark.slow
async def test_the_caller_waits_for_a_report_with_bash_output(environ, tmp_path):
    wait = '<<tool bash_output {"id": "bg1", "wait": 600}>>'
    async with opened(environ, tmp_path) as world:
        session = await world.prompt(f"{in_background('<<words 5>>')} {wait}")
        _, report = await outputs(world, session)
        assert report.startswith("word1 word2") and "bg1 has ended." in report


async def test_undo_reverts_what_an_agent_in_the_background_did_for_the_turn(environ, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    made = folder / "made.txt"
    async with opened(environ, folder, settings={"permission": "allow"}) as world:
        given = json.dumps({"filePath": str(made), "content": "by the agent"})
        session = await world.prompt(in_background(f"<<tool write {given}>>"))
        await wait_for_jobs(world, "exited")
        assert made.exists()
        report = await world.client.undo.revert(session.id)
        assert [file.path for file in report.deleted] == [str(made)] and not made.exists()
        await world.client.undo.unrevert(session.id)
        assert made.read_text() == "by the agent"


@pytest.mark.slow
async def test_undo_of_a_later_turn_names_the_agent_whose_command_ran_meanwhile(environ, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    bash = '<<tool bash {{"command": "{}", "description": "x"}}>>'
    async with opened(environ, folder, settings={"permission": "allow"}) as world:
        waits = bash.format("echo a > agent.txt; until test -e go.txt; do sleep 0.05; done")
        session = await world.prompt(in_background(waits))
        async with asyncio.timeout(PATIENCE_S):
            while not (folder / "agent.txt").exists():
                await asyncio.sleep(0.02)
        await world.prompt(bash.format("echo m > mine.txt"), session=session)
        preview = await world.client.undo.preview(session.id)
        (folder / "go.txt").touch()
        await wait_for_jobs(world, "exited")
        await world.prompt(bash.format("echo l > later.txt"), session=session)
        later = await world.client.undo.preview(session.id)
    assert (preview.beside, later.beside) == (["bg1 (general: find it)"], [])


@pytest.mark.slow
async def test_an_interruption_stops_the_agents_in_the_background_and_what_they_started(environ, tmp_path):
    serve = json.dumps({"command": "sleep 4909", "description": "serve", "background": True})
    slow = "<<words 4000>> <<slow 100>>"
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        prompt = f"{in_background(f'<<tool bash {serve}>> {slow}')} {slow}"
        running = asyncio.create_task(world.prompt(prompt, session=session))
        async with asyncio.timeout(PATIENCE_S):
            while [one.state for one in await world.client.background.list()] != ["running"] * 2:
                await asyncio.sleep(0.02)
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await running
        await wait_for_jobs(world, "stopped")
        async with asyncio.timeout(PATIENCE_S):
            while await world.client.prompts.status():
                await asyncio.sleep(0.02)
        (child,) = await world.client.sessions.children(session.id)
        assert (await world.messages(child))[-1].info.time.completed, "nothing of it is left open"


@pytest.mark.slow
async def test_agents_that_always_start_two_more_send_no_more_requests_than_allowed(environ, tmp_path):
    settings = {**SPAWNER, "limits": {"agents": {"requests": 10, "parallel": 2, "depth": 2}}}
    async with opened(
        environ, tmp_path, spawn(3), *[spawn(2)] * 10, settings=settings, policy=RefuseQuestions()
    ) as world:
        session = await world.prompt("go")
        assert len(world.server.bodies) == 12, "two of the session, ten of all agents"
        said = await outputs(world, session)
        assert len(said) == 3
        assert all("have sent 10 requests, the most (limits.agents.requests)" in one for one in said)


@pytest.mark.slow
async def test_a_stop_ends_all_of_a_tree_in_which_every_agent_starts_two_more_and_runs_a_command(environ, tmp_path):
    command = ["sleep", f"{80_000 + os.getpid() / 1_000_000:.6f}"]
    work = Call("bash", {"command": shlex.join(command), "description": "works"})
    starts = [
        task(subagent_type="spawner", description=f"number {n}", prompt=f"start two, {n}", background=True)
        for n in range(2)
    ]
    answer = Answer(calls=(*starts, work))

    def sleeping() -> int:
        found = 0
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                found += process.cmdline() == command
        return found

    async with opened(environ, tmp_path, *[answer] * 60, settings=SPAWNER) as world:
        session = await world.new_session()
        running = asyncio.create_task(world.prompt("go", session=session))
        await until(lambda: sleeping() >= 1 + PARALLEL)
        # A command may run before the agents that the same answer starts are listed.
        await wait_for_jobs(world, "", count=2 * (1 + PARALLEL))
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await running
        await until(lambda: sleeping() == 0)
        asked = len(world.server.bodies)
        jobs = await wait_for_jobs(world, "stopped")
        async with asyncio.timeout(PATIENCE_S):
            while await world.client.prompts.status():
                await asyncio.sleep(0.02)
        assert len(jobs) == 2 * (1 + PARALLEL), "two of the session and of each agent that worked"
        assert len(world.server.bodies) == asked == 1 + PARALLEL, "nothing was asked after the stop"
        assert sleeping() == 0


@pytest.mark.slow
async def test_agents_pass_no_limit_of_tokens_together(environ, tmp_path):
    settings = {**SPAWNER, "limits": {"agents": {"tokens": 12_000}}}
    async with opened(
        environ, tmp_path, spawn(3), *[spawn(2)] * 20, settings=settings, policy=RefuseQuestions()
    ) as world:
        await world.prompt("go")
        children = [info for info in await world.client.sessions.list() if info.parent_id]
        tokens = 0
        for child in children:
            messages = await world.messages(child)
            tokens += sum(one.info.tokens.context for one in messages if one.info.role == "assistant")
        assert 2_000 <= tokens <= 12_000
        assert any("limits.agents.tokens" in one for one in await outputs_of_all(world))


@pytest.mark.slow
async def test_agents_pass_no_budget_together(environ, tmp_path):
    settings = {**SPAWNER, "limits": {"cost": {"session": 0.015}}}
    async with opened(
        environ, tmp_path, spawn(3), *[spawn(2)] * 20, settings=settings, policy=RefuseQuestions()
    ) as world:
        session = await world.new_session()
        with suppress(BudgetError):  # the session itself may have too little left
            await world.prompt("go", session=session)
        costs = await world.client.sessions.costs()
        assert 0.005 <= sum(cost for name, cost in costs.items() if name != session.id) <= 0.015
        assert any("The budget of this session" in one for one in await outputs_of_all(world))


@pytest.mark.slow
async def test_no_more_agents_work_at_once_than_allowed(environ, tmp_path):
    settings = {"limits": {"agents": {"parallel": 2}}}
    calls = tuple(task(prompt=f"look {n}") for n in range(5))
    busy: set[str] = set()
    most = 0
    async with opened(environ, tmp_path, Answer(calls=calls), *[OK] * 6, settings=settings) as world:

        async def follow() -> None:
            nonlocal most
            with world.client.events() as events:
                async for envelope in events:
                    event = envelope.event
                    if isinstance(event, SessionStatusChanged):
                        (busy.discard if event.status.type == "idle" else busy.add)(event.session_id)
                        most = max(most, len(busy))

        follower = asyncio.create_task(follow())
        await asyncio.sleep(0)
        session = await world.prompt("go")
        follower.cancel()
        assert len(await outputs(world, session)) == 5
        assert most == 3, "the session and two agents"


@pytest.mark.slow
async def test_an_agent_that_may_not_start_others_deeper_is_refused(environ, tmp_path):
    settings = {**SPAWNER, "limits": {"agents": {"depth": 1}}}
    async with opened(environ, tmp_path, spawn(1), spawn(1), OK, OK, settings=settings) as world:
        session = await world.prompt("go")
        (child,) = await world.client.sessions.children(session.id)
        (said,) = await outputs(world, child)
        assert "agents start others 1 deep at most (limits.agents.depth)" in said


async def test_a_caller_that_waits_needs_no_place_and_gets_one_again() -> None:
    tree = AgentTree(AgentLimits(parallel=1), "msg_1")
    order: list[str] = []

    async def inner() -> None:
        async with tree.working("ses_b", "ses_a", is_awaited=True):
            order.append("b")

    async with asyncio.timeout(PATIENCE_S), tree.working("ses_a", "ses_root", is_awaited=True):
        order.append("a")
        await asyncio.gather(inner(), inner())
        order.append("a")
    assert order == ["a", "b", "b", "a"] and not tree.is_active
    assert tree.below("ses_root") == {"ses_a", "ses_b"} and tree.below("ses_a") == {"ses_b"}


def test_a_request_counts_before_it_is_sent_and_with_what_it_used_afterwards() -> None:
    tree = AgentTree(AgentLimits(tokens=1_000, count=1), "msg_1")
    with tree.reserved(600) as use:
        with pytest.raises(BudgetError, match="600 are used or being used, the next request needs about 500"):
            tree.reserved(500).__enter__()
        use.tokens = 100
    with tree.reserved(900):
        assert tree.tokens == 100
    tree.admit(1)
    with pytest.raises(ToolError, match=r"limits\.agents\.depth"):
        tree.admit(4)


@pytest.mark.slow
async def test_an_agent_that_works_too_long_is_stopped_and_its_caller_learns_why(environ, tmp_path):
    call = json.dumps({**FIND, "prompt": "<<words 4000>> <<slow 100>>"}).replace("<", r"\u003c").replace(">", r"\u003e")
    async with opened(environ, tmp_path, settings={"limits": {"agents": {"minutes": 0.005}}}) as world:
        session = await world.prompt(f"<<tool task {call}>>")
        (said,) = await outputs(world, session)
        assert "have worked for 0.005 minutes, the most (limits.agents.minutes)" in said
