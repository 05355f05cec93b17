"""The plan agent asks whether its plan shall be built; a yes lets the build agent continue in the same turn."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.session.message import UserMessage
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


PLAN = Call("write", {"filePath": ".opencode/plans/fix.md", "content": "1. Fix `a.py`\n"})
EXIT = Call("plan_exit", {})
EDIT = Call("write", {"filePath": "b.py", "content": "y = 1\n"})


@pytest.fixture
def project(tmp_path: Any) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return repo


async def plan(world: World, answers: Sequence[Sequence[str]] | None) -> tuple[Any, list[QuestionAsked]]:
    """Let the plan agent work; its question gets these answers, None dismisses it."""
    session, asked = await world.new_session(), list[QuestionAsked]()

    async def answer() -> None:
        with world.client.events() as events:
            async for envelope in events:
                if isinstance(envelope.event, QuestionAsked):
                    asked.append(envelope.event)
                    if answers is None:
                        await world.client.questions.reject(envelope.event.id)
                    else:
                        await world.client.questions.reply(envelope.event.id, answers)

    answering = asyncio.create_task(answer())
    await asyncio.sleep(0)
    request = PromptInput(model=MODEL, agent="plan", parts=[TextInput(text="fix it")])
    await world.client.prompts.prompt(session.id, request)
    answering.cancel()
    return session, asked


async def test_a_yes_lets_the_build_agent_continue(environ: dict[str, str], project: Repo) -> None:
    script = (Answer(calls=(PLAN,)), Answer(calls=(EXIT,)), Answer(calls=(EDIT,)), Answer(text="built"))
    async with opened(environ, project.path, *script) as world:
        session, asked = await plan(world, [["Yes"]])
        users = [one for one in await world.messages(session) if isinstance(one.info, UserMessage)]
        [question] = asked[0].to_dict()["questions"]
        assert question["plan"] == ".opencode/plans/fix.md" and question["plan"] in question["question"]
        assert [one.info.agent for one in users] == ["plan", "build"]
        handed, switched = users[1].parts
        assert handed.synthetic and ".opencode/plans/fix.md" in handed.text
        assert switched.synthetic and "from plan to build" in switched.text
        assert users[1].info.model == MODEL
        assert await world.answer(session) == "built"
    assert (project.path / "b.py").read_text() == "y = 1\n"


@pytest.mark.parametrize("answers", [[["No"]], None])
async def test_a_no_ends_the_turn_in_plan_mode(
    environ: dict[str, str], project: Repo, answers: list[list[str]] | None
) -> None:
    async with opened(environ, project.path, Answer(calls=(EXIT,)), Answer(text="never")) as world:
        session, _ = await plan(world, answers)
        assert [one.info.agent for one in await world.messages(session)] == ["plan", "plan"]
        assert (await world.calls(session))[-1].state.metadata["stopReason"] == "rejected"


async def test_own_words_go_to_the_plan_agent(environ: dict[str, str], project: Repo) -> None:
    async with opened(environ, project.path, Answer(calls=(EXIT,)), Answer(text="ok")) as world:
        session, _ = await plan(world, [["add a test first"]])
        assert "add a test first" in (await world.calls(session))[-1].state.output
        assert await world.answer(session) == "ok"


async def test_the_tool_works_in_plan_mode_only_and_needs_a_user(environ: dict[str, str], project: Repo) -> None:
    async with opened(environ, project.path, Answer(calls=(EXIT,)), policy=RefuseQuestions()) as world:
        session = await world.prompt("hello")
        (refused,) = await world.calls(session)
        assert refused.state.status == "error" and "no plan mode is on" in refused.state.error
        tools = [[tool["function"]["name"] for tool in body.get("tools", [])] for body in world.server.bodies]
        assert {"plan_exit" in names for names in tools} == {True}, "a switch to plan mode must not change the tools"
        world.server.script(Answer(calls=(EXIT,)), Answer(text="the plan"))
        session, asked = await plan(world, None)
        assert asked == [] and "no user is present" in (await world.calls(session))[-1].state.error
        assert any("plan_exit" in str(body.get("tools")) for body in world.server.bodies)
