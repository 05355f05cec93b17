"""The order of a session's messages is that in which they were said, whatever the clocks of its processes showed."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import open_engine
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.importing import ImportRequest
from opencode_tui.schema.api.request import CommandInput, CreateSession, ForkSession, PromptInput, ShellInput, TextInput
from opencode_tui.schema.api.until import RunCheck, SetCheck
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.sessions.records import assistant, session_info, user, write_records
from tests.support.world.waiting import until

HOUR, DAY = 3_600_000, 86_400_000
AHEAD = {"two minutes": 120_000, "two hours": 2 * HOUR, "a day": DAY, "a month": 30 * DAY, "a year": 365 * DAY}


@dataclass
class Machine:
    """A data folder with the model that its processes call."""

    environ: dict[str, str]
    folder: Path
    model: ModelServer

    @asynccontextmanager
    async def process(self, ahead: int = 0) -> AsyncGenerator[LocalClient]:
        """Open the engine as a process does whose clock is so many ms ahead."""
        content = {"provider": provider_config(self.model.base_url), "model": "fake/fake-model", "command": COMMANDS}
        environ = {**self.environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
        async with open_engine(environ, clock=lambda: system_clock() + ahead) as engine:
            yield LocalClient(engine, await engine.instance(self.folder), None)


COMMANDS = {"greet": {"template": "greet", "description": "greets"}}


@pytest.fixture
def machine(environ: dict[str, str], tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    with ModelServer() as model:
        yield Machine(environ, folder, model)


def prompt(text: str, **fields: Any) -> PromptInput:
    return PromptInput(parts=[TextInput(text=text)], **fields)


async def said(client: LocalClient, session_id: str) -> list[str]:
    """Return the requests, and the answers by the requests that they are for, in order."""
    texts: dict[str, str] = {}
    for one in await client.messages.list(session_id):
        if isinstance(one.info, UserMessage):
            found = [part.text for part in one.parts if isinstance(part, TextPart) and not part.synthetic]
            texts[one.info.id] = " ".join(found) or f"({one.parts[0].type})"
        else:
            texts[one.info.id] = f"to {texts.get(one.info.parent_id, 'what comes later')}"
    return list(texts.values())


async def _prompt(client: LocalClient, session_id: str) -> None:
    await client.prompts.prompt(session_id, prompt("after"))


async def _shell(client: LocalClient, session_id: str) -> None:
    await client.prompts.shell(session_id, ShellInput(command="true"))


async def _command(client: LocalClient, session_id: str) -> None:
    await client.prompts.command(session_id, CommandInput(command="greet", arguments=""))


async def _without_reply(client: LocalClient, session_id: str) -> None:
    await client.prompts.prompt(session_id, prompt("after", no_reply=True))


async def _queued(client: LocalClient, session_id: str) -> None:
    stored = asyncio.Event()
    first = asyncio.create_task(
        client.prompts.prompt(session_id, prompt("<<slow 20>> first"), stored=lambda _: stored.set())
    )
    await stored.wait()
    await client.prompts.prompt(session_id, prompt("queued", delivery="queue"))
    await first


async def _check(client: LocalClient, session_id: str) -> None:
    await client.prompts.set_check(session_id, SetCheck(command="true"))
    await client.prompts.run_check(session_id, RunCheck())


async def _compact(client: LocalClient, session_id: str) -> None:
    await client.context.compact(session_id, CompactSession())


async def _undone(client: LocalClient, session_id: str) -> None:
    await client.prompts.prompt(session_id, prompt("undone"))
    await client.undo.revert(session_id)
    await client.prompts.prompt(session_id, prompt("after"))


async def _undone_files(client: LocalClient, session_id: str) -> None:
    await client.prompts.prompt(session_id, prompt('<<tool write {"filePath": "a.txt", "content": "a"}>> file'))
    await client.undo.revert(session_id, only="files")
    await client.prompts.prompt(session_id, prompt("after"))


ACTS = [_prompt, _shell, _command, _without_reply, _queued, _check, _compact, _undone, _undone_files]
Act = Callable[[LocalClient, str], Awaitable[None]]


@pytest.mark.fast_cases("prompt", "compact")
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__.strip("_"))
async def test_what_a_process_adds_follows_what_one_with_a_clock_ahead_has_left(machine: Machine, act: Act) -> None:
    async with machine.process(2 * HOUR) as client:
        session = await client.sessions.create(CreateSession(title="one"))
        await client.prompts.prompt(session.id, prompt("before"))
    async with machine.process() as client:
        await act(client, session.id)
        live = await said(client, session.id)
    assert live[:2] == ["before", "to before"] and len(live) > 2
    async with machine.process() as client:
        assert await said(client, session.id) == live
        assert (await client.messages.ids(session.id))[-1] == (await client.messages.list(session.id))[-1].info.id


@pytest.mark.fast_cases("a day")
@pytest.mark.parametrize("ahead", AHEAD.values(), ids=AHEAD.keys())
async def test_a_clock_may_be_ahead_by_any_time_up_to_a_year_and_go_to_and_fro(machine: Machine, ahead: int) -> None:
    offsets = (0, ahead, 0, ahead // 2, -HOUR)
    async with machine.process() as client:
        session = await client.sessions.create(CreateSession(title="one"))
    for number, offset in enumerate(offsets):
        async with machine.process(offset) as client:
            await client.prompts.prompt(session.id, prompt(f"{number}"))
    expected = [text for number in range(len(offsets)) for text in (f"{number}", f"to {number}")]
    async with machine.process() as client:
        assert await said(client, session.id) == expected
        preview = await client.undo.preview(session.id)
        last = (await client.messages.list(session.id))[-2:]
        assert preview.scope is not None and preview.scope.messages == [one.info.id for one in last]


@pytest.mark.slow
async def test_an_undo_after_a_clock_was_corrected_deletes_the_file_of_the_last_turn(machine: Machine) -> None:
    async with machine.process(2 * HOUR) as client:
        session = await client.sessions.create(CreateSession(title="one"))
        await client.prompts.prompt(session.id, prompt('<<tool write {"filePath": "a.txt", "content": "a"}>> make a'))
    async with machine.process() as client:
        await client.prompts.prompt(session.id, prompt('<<tool write {"filePath": "b.txt", "content": "b"}>> make b'))
    async with machine.process() as client:
        await client.undo.revert(session.id)
    assert [path.name for path in machine.folder.glob("*.txt")] == ["a.txt"]


@pytest.mark.slow
async def test_turns_after_a_compaction_by_a_clock_ahead_are_sent_to_the_model(machine: Machine) -> None:
    async with machine.process(DAY) as client:
        session = await client.sessions.create(CreateSession(title="one"))
        await client.prompts.prompt(session.id, prompt("one"))
        await client.prompts.prompt(session.id, prompt("two"))
        await client.context.compact(session.id, CompactSession())
    for text in ("three", "four"):
        async with machine.process() as client:
            await client.prompts.prompt(session.id, prompt(text))
    sent = json.dumps(machine.model.bodies[-1]["messages"])
    assert re.search(r"three.*Echo: three.*four", sent)


async def test_the_turns_of_a_fork_follow_those_of_its_source(machine: Machine) -> None:
    async with machine.process(2 * HOUR) as client:
        session = await client.sessions.create(CreateSession(title="one"))
        await client.prompts.prompt(session.id, prompt("before"))
    async with machine.process() as client:
        fork = await client.sessions.fork(session.id, ForkSession())
        await client.prompts.prompt(fork.id, prompt("in the fork"))
        await client.sessions.wait_copied(fork.id)
    async with machine.process() as client:
        assert await said(client, fork.id) == ["before", "to before", "in the fork", "to in the fork"]


async def test_an_imported_session_of_a_clock_ahead_goes_on_behind_its_last_turn(machine: Machine, tmp_path) -> None:
    ids = Identifier(lambda: system_clock() + DAY)
    request = user("imported", id=ids.ascending("msg"), session_id="ses_imported")
    parts = [part.changed(message_id=request.info.id) for part in request.parts]
    answer = assistant("done", parent=request, id=ids.ascending("msg"), session_id="ses_imported")
    export = {
        "info": session_info("ses_imported", created=system_clock()).to_dict(),
        "messages": [
            {"info": request.info.to_dict(), "parts": [part.to_dict() for part in parts]},
            {"info": answer.info.to_dict(), "parts": [part.to_dict() for part in answer.parts]},
        ],
    }
    (tmp_path / "export.json").write_text(json.dumps(export))
    async with machine.process() as client:
        report = await client.imports.run(ImportRequest(source=str(tmp_path / "export.json")))
        assert report.new == 1
        await client.prompts.prompt("ses_imported", prompt("after"))
    async with machine.process() as client:
        assert await said(client, "ses_imported") == ["imported", "to imported", "after", "to after"]


async def test_an_answer_follows_a_request_whose_client_has_a_clock_ahead(machine: Machine) -> None:
    async with machine.process() as client:
        session = await client.sessions.create(CreateSession(title="one"))
        for ahead in (0, 10 * 60_000, DAY, -DAY):
            chosen = Identifier(lambda ahead=ahead: system_clock() + ahead).ascending("msg") if ahead >= 0 else None
            await client.prompts.prompt(session.id, prompt(f"{ahead}", message_id=chosen))
        live = await said(client, session.id)
    async with machine.process() as client:
        assert await said(client, session.id) == live


async def test_a_part_of_a_client_with_a_clock_ahead_stays_before_those_that_follow_it(machine: Machine) -> None:
    part_id = Identifier(lambda: system_clock() + HOUR).ascending("prt")
    (machine.folder / "a.txt").write_text("content")
    async with machine.process() as client:
        session = await client.sessions.create(CreateSession(title="one"))
        given = PromptInput(parts=[TextInput(id=part_id, text="first"), TextInput(text="second")])
        await client.prompts.prompt(session.id, given)
    async with machine.process() as client:
        assert (await said(client, session.id))[0] == "first second"


# Sessions whose ids are on both sides of the wrap of 2026-08-14.

WRAP_MS = 26 << 36


def stored_turns(machine: Machine, paths, times: list[int]) -> None:
    """Write a session with a turn at each of these times, with ids of then."""
    turns: list[Any] = []
    for number, time in enumerate(times):
        ids = Identifier(lambda time=time: time)
        request = user(f"stored {number}", id=ids.ascending("msg"), session_id="ses_stored")
        request = request.changed(info=request.info.changed(time=request.info.time.changed(created=time)))
        answer = assistant("done", parent=request, id=ids.ascending("msg"), session_id="ses_stored")
        answer = answer.changed(info=answer.info.changed(time=answer.info.time.changed(created=time, completed=time)))
        turns += [request, answer]
    info = session_info("ses_stored", created=times[0], updated=times[-1], directory=str(machine.folder))
    write_records(paths, info, turns)


@pytest.mark.fast_cases("before")
@pytest.mark.parametrize(
    ("times", "ahead"),
    [
        ([-13 * DAY], [0]),
        ([-13 * DAY, 2 * DAY], [0]),
        ([-13 * DAY], [2 * HOUR, 0]),
        ([-13 * DAY], [30 * DAY, 0, 0]),
        ([-300 * DAY, -DAY, DAY], [DAY, 0, HOUR]),
    ],
    ids=["before", "on both sides", "two hours ahead", "a month ahead", "long before"],
)
async def test_a_session_goes_on_across_the_wrap_in_the_order_of_its_turns(
    machine: Machine, paths, times: list[int], ahead: list[int]
) -> None:
    stored_turns(machine, paths, [WRAP_MS + time for time in times])
    expected = [f"stored {number}" for number in range(len(times))]
    for number, offset in enumerate(ahead):
        async with machine.process(offset) as client:
            await client.prompts.prompt("ses_stored", prompt(f"new {number}"))
            expected.append(f"new {number}")
            live = await said(client, "ses_stored")
            assert [text for text in live if not text.startswith("to ")] == expected
        async with machine.process() as client:
            assert await said(client, "ses_stored") == live


@pytest.mark.slow
@pytest.mark.parametrize("is_sent", [False, True], ids=["withdrawn", "sent at once"])
async def test_a_request_that_waits_in_a_session_across_the_wrap_is_withdrawn_or_sent_at_once(
    machine: Machine, paths, is_sent: bool
) -> None:
    stored_turns(machine, paths, [WRAP_MS - 13 * DAY])
    machine.model.script(Answer(text="one two three four five six", delay_ms=100))
    async with machine.process() as client:
        begun = asyncio.create_task(client.prompts.prompt("ses_stored", prompt("long")))
        while not machine.model.bodies:
            await asyncio.sleep(0.005)
        stored: list[str] = []
        second = asyncio.create_task(
            client.prompts.prompt("ses_stored", prompt("typed by mistake"), stored=stored.append)
        )
        while not stored:
            await asyncio.sleep(0.005)
        act = client.prompts.send_now if is_sent else client.prompts.withdraw
        assert await act("ses_stored", stored[0])
        await asyncio.gather(begun, second, return_exceptions=True)
        if is_sent:
            await until(lambda: "typed by mistake" in json.dumps(machine.model.bodies))
        assert ("typed by mistake" in json.dumps(machine.model.bodies)) is is_sent
        assert not await act("ses_stored", stored[0])
