"""What runs and what waits for the user, over the engines of all folders."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client.client import Client
from opencode_tui.client.inbox import Inbox, open_inbox
from opencode_tui.client.local import open_client
from opencode_tui.client.shared import open_shared
from opencode_tui.schema.api.inbox import AskedSubject, InboxView, Running
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput, UpdateSession
from opencode_tui.schema.error import BusyError, NotFoundError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.storage.engine_claim import EngineClaim, EngineRecord, open_terminal_socket
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.process_identity import ProcessIdentity, current_process
from opencode_tui.storage.process_lock import OWNER_SUFFIX, RUNNING
from opencode_tui.text.inbox import done_line, silent_line
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.waiting import until

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
ASKING = {"bash": {"*": "ask"}}


def inbox_of(environ: dict[str, str]) -> AbstractAsyncContextManager[Inbox]:
    """Open the inbox as a command without an engine does."""
    return open_inbox(environ, lambda: open_client(environ, Path.cwd()))


@dataclass
class Desk:
    """Folders with an engine each, and what was sent to them."""

    environ: dict[str, str]
    stack: AsyncExitStack
    sent: list["asyncio.Task[object]"] = field(default_factory=list["asyncio.Task[object]"])

    async def open(self, folder: Path) -> Client:
        folder.mkdir()
        return await self.stack.enter_async_context(open_shared(self.environ, folder, serve=serve_terminals))

    async def send(self, client: Client, text: str) -> str:
        """Send a prompt in a new session; return the session's id."""
        info = await client.sessions.create(CreateSession(title=text.split("<<")[0].strip()))
        request = PromptInput(model=MODEL, parts=[TextInput(text=text)])
        self.sent.append(asyncio.create_task(client.prompts.prompt(info.id, request)))
        return info.id

    async def rows(self, is_so: Callable[[list[Running]], object]) -> list[Running]:
        """Return what the inbox shows, when that is so."""
        while True:
            async with inbox_of(self.environ) as inbox:
                rows = (await inbox.view()).rows
            if is_so(rows):
                return rows


@pytest.fixture
async def desk(environ: dict[str, str], model: ModelServer) -> AsyncGenerator[Desk]:
    content = {"provider": model.config(), "enabled_providers": ["fake"], "permission": ASKING, "snapshot": False}
    async with _opened({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}) as opened:
        yield opened


@asynccontextmanager
async def _opened(environ: dict[str, str]) -> AsyncGenerator[Desk]:
    async with AsyncExitStack() as stack:
        desk = Desk(environ, stack)
        yield desk
        for task in desk.sent:
            task.cancel()
        await asyncio.gather(*desk.sent, return_exceptions=True)


@pytest.mark.slow
async def test_what_asks_comes_before_what_works_and_an_answer_reaches_it(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    ended = threading.Event()
    first, second = await desk.open(tmp_path / "one"), await desk.open(tmp_path / "two")
    asking = await desk.send(first, 'clean up <<tool bash {"command": "rm notes.txt"}>>')
    await desk.rows(lambda rows: any(row.waiting for row in rows))
    model.script(Answer(text="begun and done", holds=(("done", ended),)))
    working = await desk.send(second, "write a letter")
    rows = await desk.rows(lambda rows: len(rows) == 2 and rows[1].said)
    assert [(row.info.id, row.state, row.is_reachable) for row in rows] == [
        (asking, "asks", True),
        (working, "works", True),
    ]
    [waiting] = rows[0].waiting
    asked, call = waiting.asked, waiting.call
    assert isinstance(asked, PermissionRequest) and call is not None
    assert call.state.input["command"] == "rm notes.txt"
    assert first.terminals == 0  # a look is not another terminal
    async with inbox_of(desk.environ) as inbox:
        client, found = await inbox.find(asked.id)
        assert await client.permissions.reply(found.id, "reject", "keep them")
    ended.set()
    assert await desk.rows(lambda rows: not rows) == []
    async with inbox_of(desk.environ) as inbox:
        with pytest.raises(NotFoundError, match="was answered"):
            await inbox.find(asked.id)
    assert any("keep them" in json.dumps(one.body) for one in model.requests)


@pytest.mark.slow
async def test_each_engine_lists_answers_and_stops_what_runs_in_the_folders_of_the_others(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    here, there = await desk.open(tmp_path / "one"), await desk.open(tmp_path / "two")
    command = "sleep 9999"
    session_id = await desk.send(there, f'clean up <<tool bash {{"command": "{command}"}}>>')
    [row] = await desk.rows(lambda rows: any(row.waiting for row in rows))
    assert (await here.inbox.list()).rows == [row] == (await there.inbox.list()).rows
    asked = row.waiting[0].asked
    reasons = await here.inbox.reasons(asked.id, AskedSubject(permission="bash", subject=command))
    assert reasons.places.directory == str(tmp_path / "two") and reasons.agent == "build"
    assert reasons.report is not None and reasons.report.action == "ask"
    assert await here.inbox.reply(asked.id, "once")
    assert not await here.inbox.reply(asked.id, "once")
    [row] = await desk.rows(lambda rows: any(row.doing and row.doing.state.status == "running" for row in rows))
    await here.inbox.stop(session_id)
    assert await desk.rows(lambda rows: not rows) == []
    with pytest.raises(NotFoundError, match="does not run"):
        await here.inbox.stop(session_id)


async def test_a_look_that_began_before_a_run_shows_it_as_a_later_look_does(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client = await desk.open(tmp_path / "one")
    async with inbox_of(desk.environ) as early:
        await desk.send(client, 'clean up <<tool bash {"command": "sleep 9999"}>>')
        [row] = await desk.rows(lambda rows: any(row.waiting for row in rows))
        assert await early.rows() == [row]
    assert row.status.type == "busy"


@pytest.mark.slow
async def test_of_three_answers_at_the_same_moment_one_counts_and_the_others_learn_that(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    here, there = await desk.open(tmp_path / "one"), await desk.open(tmp_path / "two")
    beside = await desk.stack.enter_async_context(open_shared(desk.environ, tmp_path / "one", serve=serve_terminals))

    async def by_command(request_id: str) -> bool:
        async with inbox_of(desk.environ) as inbox:
            try:
                client, found = await inbox.find(request_id)
            except NotFoundError:
                return False
            return await client.permissions.reply(found.id, "once")

    await desk.send(here, 'work <<tool bash {"command": "echo x | tee -a log"}>>')
    [row] = await desk.rows(lambda rows: any(row.waiting for row in rows))
    asked = row.waiting[0].asked.id
    answers = await asyncio.gather(
        by_command(asked), beside.permissions.reply(asked, "once"), there.inbox.reply(asked, "once")
    )
    assert sorted(answers) == [False, False, True]
    await desk.rows(lambda rows: not rows)
    assert (tmp_path / "one" / "log").read_text() == "x\n"


@pytest.mark.slow
async def test_a_question_of_a_subagent_belongs_to_the_session_that_started_it(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client = await desk.open(tmp_path / "one")
    task = {"description": "look", "prompt": 'look <<tool bash {"command": "rm a"}>>', "subagent_type": "general"}
    model.script(Answer(calls=(Call("task", task),)))
    session_id = await desk.send(client, "send somebody")
    [row] = await desk.rows(lambda rows: any(row.waiting for row in rows))
    assert (row.info.id, row.state) == (session_id, "asks")
    assert row.waiting[0].asked.session_id != session_id


@pytest.mark.slow
async def test_a_session_of_a_process_that_was_killed_is_stopped_and_one_of_another_program_works(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client = await desk.open(tmp_path / "one")
    killed, theirs = await desk.send(client, "first"), await desk.send(client, "second")
    await asyncio.gather(*desk.sent)
    await desk.stack.aclose()  # this process is now one without an engine
    folder = find_paths(desk.environ).lock
    mine = current_process()
    for session_id, process in ((killed, ProcessIdentity(mine.pid, "long ago", mine.host)), (theirs, mine)):
        path = folder / f"{session_id}{OWNER_SUFFIX}"
        await until(lambda path=path: json.loads(path.read_text())["pid"] == 0)
        fields = {"pid": process.pid, "started": process.started, "host": process.host, "generation": 9}
        path.write_text(json.dumps(fields))
        (folder / RUNNING / session_id).touch()
    rows = await desk.rows(lambda rows: len(rows) == 2)
    assert [(row.info.id, row.state, row.is_reachable) for row in rows] == [
        (killed, "stopped", False),
        (theirs, "works", False),
    ]
    assert Locks(find_paths(desk.environ)).killed_runs() == [killed]
    async with inbox_of(desk.environ) as inbox:
        with pytest.raises(BusyError, match="takes no requests"):
            await inbox.stop(theirs, background=True)
        with pytest.raises(NotFoundError, match="does not run"):
            await inbox.stop(killed, background=True)


async def test_a_session_whose_run_ended_is_listed_until_its_owner_file_says_so(desk: Desk, tmp_path: Path):
    """On a slow disk that is later, and until then the session is not among those that ended."""
    client = await desk.open(tmp_path / "one")
    name = await desk.send(client, 'clean up <<tool bash {"command": "sleep 9999"}>>')
    await desk.rows(lambda rows: any(row.waiting for row in rows))
    async with inbox_of(desk.environ) as early:  # the engine runs it when it responds
        await client.prompts.abort(name)
        await asyncio.gather(*desk.sent, return_exceptions=True)
        path, mine = find_paths(desk.environ).lock / f"{name}{OWNER_SUFFIX}", current_process()
        await until(lambda: json.loads(path.read_text())["pid"] == 0)
        ended = path.read_text()
        path.write_text(json.dumps({"pid": mine.pid, "started": mine.started, "host": mine.host, "generation": 9}))
        (path.parent / RUNNING / name).touch()
        for inbox in (early.view, client.inbox.list):
            view = await inbox()
            assert [(row.info.id, row.state, row.is_reachable) for row in view.rows] == [(name, "works", True)]
            assert view.ended == []
        path.write_text(ended)
        view = await early.view()
        assert ([row.info.id for row in view.rows], [one.info.id for one in view.ended]) == ([], [name])


@pytest.mark.slow
async def test_an_engine_that_is_killed_after_it_responded_does_not_end_the_look_at_the_others(
    desk: Desk, tmp_path: Path
):
    """The error of its connection reached the page of what runs, which waited for its own engine to change, for ever."""
    here = await desk.open(tmp_path / "one")
    working = await desk.send(here, 'clean up <<tool bash {"command": "rm notes.txt"}>>')
    (tmp_path / "two").mkdir()
    with ScreenTerminal(["-m", "opencode_tui"], folder=tmp_path / "two", environ=desk.environ) as terminal:
        await asyncio.to_thread(terminal.sees, "Ask anything")
        terminal.paste('clean up <<tool bash {"command": "rm more.txt"}>>')
        terminal.press("enter")
        await asyncio.to_thread(terminal.sees, "run once")
        async with inbox_of(desk.environ) as inbox:
            before = {row.pid: row for row in await inbox.rows()}
            killed = before[terminal.process.pid]
            terminal.process.kill()
            terminal.process.wait()
            with pytest.raises(NotFoundError, match="its run ended"):
                await inbox.find(killed.waiting[0].asked.id)
            after = {row.info.id: (row.state, row.is_reachable) for row in await inbox.rows()}
            assert after == {working: ("asks", True), killed.info.id: ("stopped", False)}


@pytest.mark.slow
async def test_what_sessions_did_since_a_moment_is_read_from_their_records(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client, other = await desk.open(tmp_path / "one"), await desk.open(tmp_path / "two")
    before = await desk.send(client, "first")
    await asyncio.gather(*desk.sent)
    await desk.rows(lambda rows: not rows)
    since = (await client.sessions.get(before)).time.updated
    worked = await desk.send(other, "second")
    await asyncio.gather(*desk.sent)
    failed = await desk.send(client, "third <<error 400 no>>")
    await asyncio.gather(*desk.sent, return_exceptions=True)
    asking = await desk.send(other, 'clean up <<tool bash {"command": "rm a"}>>')
    await desk.rows(lambda rows: any(row.waiting for row in rows))
    done = await client.inbox.done(since)
    assert [(one.info.id, one.state, one.turns) for one in done] == [
        (asking, "asks", 1),
        (failed, "failed", 1),
        (worked, "done", 1),
    ]
    assert await client.inbox.done(done[0].info.time.updated + 60_000) == []


@pytest.mark.slow
async def test_what_ended_is_listed_until_the_user_looks_the_newest_first(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client, other = await desk.open(tmp_path / "one"), await desk.open(tmp_path / "two")

    async def ended() -> list[tuple[str, str, str]]:
        await desk.rows(lambda rows: not rows)
        return [(one.info.id, one.state, one.said) for one in (await client.inbox.list()).ended]

    first = await desk.send(client, "first")
    await asyncio.gather(*desk.sent)
    failed = await desk.send(other, "second <<error 400 no>>")
    await asyncio.gather(*desk.sent, return_exceptions=True)
    [(newest, state, said), (older, was, words)] = await ended()
    assert (newest, state, older, was, words) == (failed, "failed", first, "done", "Echo: first")
    assert "no" in said
    await client.inbox.look(first)
    assert [name for name, *_ in await ended()] == [failed]
    await other.sessions.create(CreateSession(title="nothing was sent"))
    model.script(Answer(text="It prints:\n```\nhello\n```"))
    await client.prompts.prompt(first, PromptInput(model=MODEL, parts=[TextInput(text="again")]))
    [(newest, _, said), (older, *_)] = await ended()
    assert (newest, older) == (first, failed)
    assert said == "hello", "a code fence alone says nothing"
    shown = (await client.inbox.list()).ended
    await client.inbox.look(until=shown[1].at)
    assert [name for name, *_ in await ended()] == [first]
    await client.inbox.look(until=shown[0].at)
    await client.inbox.look(until=shown[1].at)  # a list that was read before
    assert await ended() == []
    with pytest.raises(NotFoundError, match="no session"):
        await client.inbox.look("../../elsewhere")
    folder = find_paths(desk.environ).state / "looked"
    assert [path.name for path in folder.iterdir()] == ["all"]


@pytest.mark.fast_cases("while it asks")
@pytest.mark.parametrize("moment", ["while it asks", "while a command runs", "while it writes"])
async def test_a_turn_that_the_user_interrupts_ended_interrupted(
    desk: Desk, model: ModelServer, tmp_path: Path, moment: str
):
    client = await desk.open(tmp_path / "one")
    asks = 'clean up <<tool bash {"command": "sleep 9999"}>>'
    name = await desk.send(client, "<<words 200>> <<slow 30>>" if moment == "while it writes" else asks)
    if moment == "while it writes":
        await desk.rows(lambda rows: any("word" in row.said for row in rows))
    else:
        [row] = await desk.rows(lambda rows: any(row.waiting for row in rows))
        if moment == "while a command runs":
            await client.permissions.reply(row.waiting[0].asked.id, "once")
            await desk.rows(lambda rows: any(row.state == "works" and row.doing is not None for row in rows))
    await client.prompts.abort(name)
    await asyncio.gather(*desk.sent, return_exceptions=True)
    await desk.rows(lambda rows: not rows)
    since = (await client.sessions.get(name)).time.created - 1
    ended, done = (await client.inbox.list()).ended, await client.inbox.done(since)
    assert [(one.info.id, one.state) for one in ended] == [(name, "interrupted")]
    assert [(one.info.id, one.state) for one in done] == [(name, "interrupted")]
    assert "interrupted" in done_line(done[0])


async def test_what_ended_has_no_subagents_no_archived_sessions_and_none_that_was_deleted(
    desk: Desk, model: ModelServer, tmp_path: Path
):
    client = await desk.open(tmp_path / "one")
    work = {"description": "look", "prompt": "look around", "subagent_type": "general"}
    parent = await desk.send(client, f"delegate <<tool task {json.dumps(work)}>>")
    archived, deleted = await desk.send(client, "put away"), await desk.send(client, "delete")
    await asyncio.gather(*desk.sent)
    assert await client.sessions.children(parent)
    await client.sessions.update(archived, UpdateSession(archived=1))
    await client.sessions.remove(deleted)
    await desk.rows(lambda rows: not rows)
    assert [one.info.id for one in (await client.inbox.list()).ended] == [parent]


async def test_an_engine_that_does_not_respond_is_named_while_it_is_waited_for_and_then_listed(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    paths, named = find_paths(environ), list[int | None]()
    monkeypatch.setattr("opencode_tui.client.join.NAMED_AFTER_S", 0.01)
    monkeypatch.setattr("opencode_tui.client.inbox.PATIENCE_S", 0.2)
    claim = EngineClaim(paths, "0123abcd")
    assert claim.try_acquire()
    opened, path = open_terminal_socket(paths, "silent")
    with opened:
        claim.publish(EngineRecord(current_process(), "/src", path, "secret"))
        async with open_inbox(environ, lambda: open_client(environ, Path.cwd()), waits=named.append) as inbox:
            view = await inbox.view()
        claim.release()
    assert named == view.silent == [os.getpid()]
    assert f"`kill {os.getpid()}`" in silent_line(view.silent[0])


async def test_without_a_terminal_nothing_is_opened_and_nothing_runs(environ: dict[str, str]):
    async with inbox_of(environ) as inbox:
        assert await inbox.view() == InboxView(rows=[], silent=[])
    assert not find_paths(environ).data.exists()
