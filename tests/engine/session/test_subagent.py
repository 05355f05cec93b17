import asyncio
import json
import threading
from contextlib import asynccontextmanager
from typing import Any

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import CommandInput, CreateSession, PromptInput, ShellInput, TextInput
from opencode_tui.schema.event.event import PartProgress
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
FIND = {"description": "find it", "prompt": "look for x", "subagent_type": "explore"}
TASK = Call("task", FIND)


@asynccontextmanager
async def opened(environ, folder, *answers, permission=None, experimental=None):
    with ModelServer() as server:
        environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(
            {
                "provider": provider_config(server.base_url),
                "permission": permission or {},
                "experimental": experimental or {},
            }
        )
        server.script(*answers)
        async with open_client(environ, folder, policy=RefuseQuestions()) as client:
            yield server, client


async def prompt(client, text, *, permission=None):
    session = await client.sessions.create(CreateSession(title="named", permission=permission))
    request = PromptInput(model=MODEL, parts=[TextInput(text=text)])
    await client.prompts.prompt(session.id, request)
    return session


async def tool_parts(client, session_id) -> list[Any]:
    return [
        part
        for message in await client.messages.list(session_id)
        for part in message.parts
        if isinstance(part, ToolPart)
    ]


async def test_an_agent_works_in_a_child_session_and_its_report_comes_back(environ, tmp_path):
    answers = [Answer(calls=(TASK,)), Answer(text="x is in a.py"), Answer(text="Found.")]
    async with opened(environ, tmp_path, *answers) as (server, client):
        session = await prompt(client, "where is x?")
        (child,) = await client.sessions.children(session.id)
        (part,) = await tool_parts(client, session.id)
        assert child.title == "find it (@explore subagent)"
        assert part.state.metadata["sessionId"] == child.id
        assert "<task_result>\nx is in a.py\n</task_result>" in part.state.output
        assert server.bodies[1]["messages"][-1]["content"] in ("look for x", [{"type": "text", "text": "look for x"}])


@pytest.mark.slow
async def test_an_earlier_task_is_continued(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(TASK,)), Answer(text="one"), Answer(text="ok")) as (
        server,
        client,
    ):
        session = await prompt(client, "go")
        (child,) = await client.sessions.children(session.id)
        again = Call("task", {**FIND, "prompt": "and y?", "task_id": child.id})
        server.script(Answer(calls=(again,)), Answer(text="two"), Answer(text="ok"))
        await client.prompts.prompt(session.id, PromptInput(parts=[TextInput(text="more")]))
        assert [info.id for info in await client.sessions.children(session.id)] == [child.id]
        assert len(await client.messages.list(child.id)) == 4


@pytest.mark.fast_cases("prompt")
@pytest.mark.parametrize("form", ["prompt", "command", "shell"])
async def test_a_request_in_its_session_that_names_no_agent_is_for_it(environ, tmp_path, form):
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "config")
    (tmp_path / "config/opencode-tui/command").mkdir(parents=True)
    (tmp_path / "config/opencode-tui/command/greet.md").write_text("Greet them.")
    async with opened(environ, tmp_path, Answer(calls=(TASK,)), Answer(text="one"), Answer(text="ok")) as (
        server,
        client,
    ):
        session = await prompt(client, "go")
        (child,) = await client.sessions.children(session.id)
        server.script(Answer(text="hello"), Answer(text="hello"))
        for one in (child, session):
            if form == "prompt":
                await client.prompts.prompt(one.id, PromptInput(parts=[TextInput(text="more")]))
            elif form == "command":
                await client.prompts.command(one.id, CommandInput(command="greet"))
            else:
                await client.prompts.shell(one.id, ShellInput(command="true"))
        asked = [await client.messages.list(one.id) for one in (child, session)]
        agents = [[one.info.agent for one in messages if isinstance(one.info, UserMessage)] for messages in asked]
        assert agents == [["explore", "explore"], ["build", "build"]]


async def test_a_parents_denial_holds_in_the_child(environ, tmp_path):
    (tmp_path / "a.txt").write_text("secret")
    answers = [
        Answer(calls=(TASK,)),
        Answer(calls=(Call("read", {"filePath": "a.txt"}),)),
        Answer(text="no"),
        Answer(text="no"),
    ]
    async with opened(environ, tmp_path, *answers) as (_, client):
        rules = [Rule(permission="read", pattern="*a.txt", action="deny")]
        session = await prompt(client, "go", permission=rules)
        (child,) = await client.sessions.children(session.id)
        (part,) = await tool_parts(client, child.id)
        assert part.state.status == "error"
        assert "denies read" in part.state.error


@pytest.mark.slow
async def test_while_an_agent_works_its_caller_shows_where_and_with_which_tools(environ, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    read = Answer(calls=(Call("read", {"filePath": "a.txt"}),))
    was_shown = threading.Event()
    answer = Answer(text="begun ended", holds=(("ended", was_shown),))
    async with opened(environ, tmp_path, Answer(calls=(TASK,)), read, answer) as (_, client):
        shown: list[Any] = []
        with client.events() as events:
            running = asyncio.create_task(prompt(client, "go"))
            async for envelope in events:
                event = envelope.event
                part: Any = event.record() if isinstance(event, PartProgress) else None
                if part is not None and part.tool == "task":
                    shown.append(part.state.metadata)
                if shown and shown[-1].get("tools"):
                    break
            was_shown.set()
            session = await running
        (child,) = await client.sessions.children(session.id)
        work = {"after": ""}  # all of the agent's session: it is new
        assert shown[-1] == {"sessionId": child.id, "model": str(MODEL), "tools": ["read"], "work": work}
        (part,) = await tool_parts(client, session.id)
        assert part.state.metadata["tools"] == ["read"]


@pytest.mark.slow
async def test_a_denial_holds_in_the_childs_child_too(environ, tmp_path):
    (tmp_path / "a.txt").write_text("secret")
    agent = tmp_path / "home" / ".config" / "opencode-tui" / "agents" / "middle.md"
    agent.parent.mkdir(parents=True)
    agent.write_text("---\nmode: subagent\npermission:\n  task: allow\n  read: allow\n---\nYou pass it on.\n")
    answers = [
        Answer(calls=(Call("task", {**FIND, "subagent_type": "middle"}),)),
        Answer(calls=(TASK,)),
        Answer(calls=(Call("read", {"filePath": "a.txt"}),)),
        *[Answer(text="no")] * 3,
    ]
    async with opened(environ, tmp_path, *answers) as (_, client):
        rules = [Rule(permission="read", pattern="*a.txt", action="deny")]
        session = await prompt(client, "go", permission=rules)
        (child,) = await client.sessions.children(session.id)
        (grandchild,) = await client.sessions.children(child.id)
        (part,) = await tool_parts(client, grandchild.id)
        assert part.state.status == "error"
        assert "denies read" in part.state.error


async def test_an_unknown_agent_is_reported_with_the_known_ones(environ, tmp_path):
    wrong = Call("task", {**FIND, "subagent_type": "wizard"})
    async with opened(environ, tmp_path, Answer(calls=(wrong,)), Answer(text="ok")) as (_, client):
        (part,) = await tool_parts(client, (await prompt(client, "go")).id)
        assert "'wizard'" in part.state.error
        assert "explore" in part.state.error


async def test_aborting_the_parent_ends_the_child_first(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(TASK,)), Answer(text="slow " * 500, delay_ms=50)) as (_, client):
        session = await client.sessions.create(CreateSession())
        request = PromptInput(model=MODEL, parts=[TextInput(text="go")])
        running = asyncio.create_task(client.prompts.prompt(session.id, request))
        while len(await client.prompts.status()) < 2:
            await asyncio.sleep(0.01)
        await client.prompts.abort(session.id)
        with pytest.raises(Exception, match="interrupted"):
            await running
        assert await client.prompts.status() == {}
        (child,) = await client.sessions.children(session.id)
        for info in (session, child):
            last = (await client.messages.list(info.id))[-1].info
            assert isinstance(last, AssistantMessage)
            assert last.error is not None
            assert last.error.name == "MessageAbortedError"


async def test_what_an_agent_used_counts_for_its_parent(environ, tmp_path):
    answers = [
        Answer(calls=(TASK,), usage=(100, 10, 0)),
        Answer(text="one", usage=(1_000, 20, 0)),
        Answer(text="ok", usage=(200, 30, 0)),
    ]
    async with opened(environ, tmp_path, *answers) as (_, client):
        totals = await client.sessions.totals((await prompt(client, "go")).id)
        assert (totals.steps, totals.input, totals.output) == (3, 1_300, 60)
        assert totals.cost == pytest.approx((1_300 * 1 + 60 * 2) / 1_000_000)


async def test_subagents_do_not_get_tools_for_primary_agents(environ, tmp_path):
    work = Call("task", {**FIND, "subagent_type": "general"})
    answers = [Answer(calls=(work,)), Answer(text="x is in a.py"), Answer(text="Found.")]
    settings = {"primary_tools": ["bash", "write"]}
    async with opened(environ, tmp_path, *answers, experimental=settings) as (server, client):
        await prompt(client, "where is x?")
    available = [{tool["function"]["name"] for tool in body["tools"]} for body in server.bodies[:2]]
    assert available[0] >= {"bash", "write", "edit"} and available[1] & {"bash", "write", "edit"} == {"edit"}
