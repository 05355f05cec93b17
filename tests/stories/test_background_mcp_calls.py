"""Calls of MCP servers that last long: they go on in the background, where they are read, stopped and undone as commands are."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.permission.policy import AskPerson
from opencode_tui.schema.error import BusyError, RunAborted
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.tool import facts_of, is_bad_exit
from opencode_tui.tui.chrome.sections import background_state
from opencode_tui.tui.theme.look import UNICODE
from tests.engine.mcp.conftest import COMMAND
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened, while_reacting
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S, advance, until

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return repo.path


def settings(*, after_ms: int = 1_000, **more: Any) -> dict[str, Any]:
    return {
        "mcp": {"one": {"type": "local", "command": COMMAND, "environment": {"WAIT": "1"}}},
        "experimental": {"mcp_background": after_ms},
        **more,
    }


@pytest.fixture
async def world(environ: dict[str, str], folder: Path) -> AsyncGenerator[World]:
    async with opened(environ, folder, settings=settings()) as world:
        yield world


def put(path: Path, text: str) -> None:
    """Write the file that a call waits for, at once."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


async def start(world: World, path: Path) -> SessionInfo:
    """Return a session whose call of `wait` goes on in the background."""
    world.server.script(
        Answer(calls=(Call("mcp_call", {"tool": "one_wait", "arguments": {"path": str(path)}}),)), Answer(text="ok")
    )
    return await world.prompt("go")


async def read(world: World, session: SessionInfo, **more: Any) -> ToolStateCompleted:
    world.server.script(Answer(calls=(Call("bash_output", {"id": "bg1", **more}),)), Answer(text="ok"))
    await world.prompt("look", session=session)
    return (await world.calls(session))[-1].state


async def until_ended(world: World) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while (await world.client.background.output("bg1")).command.is_running:
            await asyncio.sleep(0.02)
    return (await world.client.background.output("bg1")).command


async def test_a_long_call_goes_on_and_its_result_is_read_later(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    [state] = [part.state for part in await world.calls(session)]
    assert "goes on in the background as bg1" in state.output
    assert [fact.text for fact in facts_of("one_wait", state)] == ["in the background as bg1"]
    [running] = await world.client.background.list(session.id)
    assert (running.tool, running.state, running.line) == ("one_wait", "running", "waiting")
    assert running.command.startswith('one_wait {"path": ')
    state = await read(world, session)
    assert ("bg1 still runs." in state.output, is_bad_exit(state)) == (True, False)
    put(folder / "file", "now")
    ended = await until_ended(world)
    assert (ended.state, ended.line, background_state(ended, UNICODE, 0)[2]) == ("exited", "it came: now", "done")
    await world.prompt("go on", session=session)
    assert "has ended; bash_output has its result" in str(world.server.bodies[-1]["messages"][-1])
    state = await read(world, session)
    assert state.output == "it came: now\n\n<bash_metadata>\nbg1 has ended.\n</bash_metadata>"
    assert ([fact.text for fact in facts_of("bash_output", state)], is_bad_exit(state)) == (["done"], False)
    assert str(world.server.bodies[-1]["messages"]).count("has ended; bash_output") == 1


async def test_a_picture_of_a_long_call_reaches_the_model(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    put(folder / "file", "picture")
    assert (await until_ended(world)).line == "(image/png)"
    state = await read(world, session)
    assert [one["mime"] for one in state.attachments or ()] == ["image/png"]
    assert not (await read(world, session)).attachments


async def test_a_long_call_that_fails_says_so(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    put(folder / "file", "fail")
    ended = await until_ended(world)
    assert (ended.failed, background_state(ended, UNICODE, 0)[2]) == (True, "failed")
    state = await read(world, session)
    assert state.output == "it came too late\n\n<bash_metadata>\nbg1 failed.\n</bash_metadata>"
    assert ([fact.text for fact in facts_of("bash_output", state)], is_bad_exit(state)) == (["failed"], True)


async def test_a_long_call_is_stopped_and_its_server_learns_that(environ: dict[str, str], folder: Path) -> None:
    given = settings()
    given["mcp"]["one"]["environment"]["LOG"] = str(folder / "log")
    async with opened(environ, folder, settings=given) as world:
        session = await start(world, folder / "file")
        assert "bg1 was stopped." in (await read(world, session, stop=True)).output
        await until(lambda: "notifications/cancelled" in (folder / "log").read_text())


async def test_undo_waits_for_a_long_call_and_reverts_what_it_changed(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    with pytest.raises(BusyError, match=r"background call bg1 .* still runs; stop it first"):
        await world.client.undo.revert(session.id)
    world.server.script(Answer(calls=(Call("bash_output", {"id": "bg1", "stop": True}),)), Answer(text="ok"))
    await world.client.background.stop("bg1")
    report = await world.client.undo.revert(session.id)
    assert (report.kept, sorted(os.listdir(folder))) == ([], [".git", "a.py"])


async def test_undo_reverts_what_a_long_call_changes_in_its_turn_after_it_went_on(world: World, folder: Path) -> None:
    path = folder / "file"
    world.server.script(
        Answer(calls=(Call("mcp_call", {"tool": "one_wait", "arguments": {"path": str(path)}}),)),
        Answer(
            calls=(
                Call("write", {"filePath": str(path), "content": "now"}),
                Call("bash_output", {"id": "bg1", "wait": 20}),
            )
        ),
        Answer(text="ok"),
    )
    session = await world.prompt("go")
    assert sorted(os.listdir(folder)) == [".git", "a.py", "file", "file.begun", "file.made"]
    report = await world.client.undo.revert(session.id)
    assert (report.kept, sorted(os.listdir(folder))) == ([], [".git", "a.py"])


async def test_an_interrupt_ends_a_call_that_has_not_gone_on(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings=settings(after_ms=600_000)) as world:
        session = await world.new_session()
        world.server.script(
            Answer(calls=(Call("mcp_call", {"tool": "one_wait", "arguments": {"path": str(folder / "file")}}),))
        )
        turn = asyncio.create_task(world.prompt("go", session=session))
        await until((folder / "file.begun").exists)
        await world.client.prompts.abort(session.id)
        with suppress(RunAborted):
            await turn
        assert list(await world.client.background.list()) == []


async def test_an_interrupt_after_that_leaves_the_call_running(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    await world.client.prompts.abort(session.id)
    put(folder / "file", "now")
    assert (await until_ended(world)).state == "exited"


async def test_deleting_the_session_ends_its_calls(world: World, folder: Path) -> None:
    session = await start(world, folder / "file")
    await world.client.sessions.remove(session.id)
    assert list(await world.client.background.list()) == []


async def test_a_call_is_waited_for_where_the_model_could_not_read_it(environ: dict[str, str], folder: Path) -> None:
    given = settings(permission={"bash": "deny"})
    async with opened(environ, folder, settings=given) as world:
        world.server.script(
            Answer(calls=(Call("mcp_call", {"tool": "one_slow", "arguments": {"seconds": 0.5, "steps": 1}}),)),
            Answer(text="ok"),
        )
        session = await world.prompt("go")
        assert [part.state.output for part in await world.calls(session)] == ["done"]


async def test_a_call_that_waits_for_the_user_does_not_go_on(
    environ: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(environ, folder, settings=settings(after_ms=20_000), policy=AskPerson()) as world:

        async def reply(event: QuestionAsked) -> None:
            await advance(monkeypatch, 25)
            await world.client.questions.reply(event.id, [["Grace"], ["3"], ["Yes"], ["green"]])

        world.server.script(Answer(calls=(Call("mcp_call", {"tool": "one_ask", "arguments": {}}),)), Answer(text="ok"))
        session, _ = await while_reacting(world, QuestionAsked, reply, world.prompt("go"))
        [state] = [part.state for part in await world.calls(session)]
        assert '"action": "accept"' in state.output


async def test_a_question_of_a_call_in_the_background_leaves_the_record_of_its_end(
    environ: dict[str, str], folder: Path
) -> None:
    async with opened(environ, folder, settings=settings(), policy=AskPerson()) as world:
        session = await start(world, folder / "file")

        async def reply(event: QuestionAsked) -> None:
            await asyncio.sleep(0.2)  # shorter waits are not recorded
            await world.client.questions.reply(event.id, [["Grace"], ["3"], ["Yes"], ["green"]])

        async def go() -> SessionInfo:
            put(folder / "file", "ask")
            await until_ended(world)
            return session

        await while_reacting(world, QuestionAsked, reply, go())
        [ended] = await world.client.background.list(session.id)
        assert (ended.state, '"action": "accept"' in ended.line) == ("exited", True)
        assert [part.state.status for part in await world.calls(session)] == ["completed"]
