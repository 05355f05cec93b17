"""The disk of the store fails in the middle of the work: one line says so, nothing stored is lost, and it goes on after."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from opencode_tui.cancellation import MOST_THREADS
from opencode_tui.client.client import EventReader
from opencode_tui.schema.api.request import ForkSession, UpdateSession
from opencode_tui.schema.error import BusyError, SessionError
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import AnyPart
from opencode_tui.schema.session.session import BusyStatus
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.storage.locks import Locks
from opencode_tui.text.wait import wait_words
from tests.faults.conftest import ATTEMPTS, CANCEL_S
from tests.support.faults.engine_process import EngineProcess, engine_process
from tests.support.faults.failing_disk import FailingDisk, Fault
from tests.support.provider.model_script import Answer, Call
from tests.support.world.stopwatch import OWN, Stopwatch
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


FAULTS: dict[Fault, str] = {
    "full": "the disk is full; free some space",
    "quota": "your disk quota is used up; free some space",
    "broken": "the disk reports an error; check the disk",
    "read-only": "the file system is read-only; set XDG_DATA_HOME to a folder that can be written",
    "forbidden": "permission denied; try chmod u+rwX",
}
MADE = '<<tool write {"filePath":"made.txt","content":"by the agent\\n"}>>'


@pytest.fixture
async def engine(folder: Path, environ: dict[str, str], disk: FailingDisk) -> AsyncGenerator[EngineProcess]:
    async with engine_process(folder, environ, disk=disk) as opened:
        yield opened


def hold_an_answer(engine: EngineProcess) -> threading.Event:
    """Let the next answer be `begun the-end`, whose end waits for the event."""
    go_on = threading.Event()
    engine.server.script(Answer(text="begun the-end", holds=(("the-end", go_on),)))
    return go_on


async def until_it_streams(engine: EngineProcess, session: str) -> None:
    while not (texts := await engine.texts(session)) or texts[-1].strip() != "begun":
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_prompt_that_cannot_be_stored_says_why_and_leaves_nothing(engine: EngineProcess, fault: Fault) -> None:
    session = await engine.new_session()
    await engine.prompt(session, "first")
    before = engine.stored(session)
    engine.disk.fail(engine.paths.data, fault)
    error = await engine.failure_of(session, "second")
    assert (
        error.startswith("cannot ") and str(engine.paths.data) in error and FAULTS[fault] in error and "\n" not in error
    )
    assert await engine.is_idle(session)
    engine.disk.heal()
    assert parts_of(engine.stored(session)) == parts_of(before)
    await engine.prompt(session, "third")
    assert (await engine.texts(session))[-2:] == ["third", "Echo: third"]


def parts_of(messages: list[MessageWithParts]) -> list[tuple[str, list[AnyPart]]]:
    """Return the IDs of messages and their parts: the summary of a prompt may be stored after its turn has ended."""
    return [(one.info.id, list(one.parts)) for one in messages]


async def test_an_answer_that_cannot_be_stored_ends_the_turn_and_is_stored_later(engine: EngineProcess) -> None:
    session = await engine.new_session()
    for fault, words in FAULTS.items():
        before = engine.stored(session)
        go_on = hold_an_answer(engine)
        turn = asyncio.create_task(engine.failure_of(session, f"during {fault}"))
        await until_it_streams(engine, session)
        engine.disk.fail(engine.paths.data, fault)
        go_on.set()
        error = await turn
        assert error.startswith("cannot ") and words in error and "\n" not in error
        assert await engine.is_idle(session) and (await engine.texts(session))[-1] == "begun the-end"
        engine.disk.heal()
        async with asyncio.timeout(PATIENCE_S):
            await engine.until_stored(session)
        assert parts_of(engine.stored(session))[: len(before)] == parts_of(before)
        await engine.prompt(session, f"after {fault}")
        assert "Echo: " in (await engine.texts(session))[-1]


@pytest.mark.parametrize("fault", ["full", "read-only"])
async def test_what_a_command_did_while_the_disk_was_full_is_known_and_undone_later(
    engine: EngineProcess, folder: Path, fault: Fault
) -> None:
    session = await engine.new_session()
    command = "echo more | tee -a a.txt; touch started; until test -e go; do sleep 0.05; done; echo the-end"
    turn = asyncio.create_task(
        engine.failure_of(session, f'run <<tool bash {{"command":"{command}","description":"d"}}>>')
    )
    while not (folder / "started").exists():
        await asyncio.sleep(0.01)
    engine.disk.fail(engine.paths.storage, fault)
    (folder / "go").touch()
    assert FAULTS[fault] in await turn
    (call,) = await engine.calls(session)
    assert isinstance(call.state, ToolStateCompleted) and "the-end" in call.state.output
    assert await engine.is_idle(session)
    engine.disk.heal()
    async with asyncio.timeout(PATIENCE_S):
        await engine.until_stored(session)
    await engine.client.undo.revert(session)
    assert (folder / "a.txt").read_text() == "the user's\n"


async def until_it_waits_for_the_disk(engine: EngineProcess, session: str) -> str:
    """Wait until the status of a session says that, and return its words."""
    async with asyncio.timeout(PATIENCE_S):
        while not isinstance(status := (await engine.client.prompts.status()).get(session), BusyStatus) or (
            status.wait is None or status.wait.on != "disk"
        ):
            await asyncio.sleep(0.05)
    assert status.wait.limit is None
    return wait_words(status.wait)


async def time_of_abort(engine: EngineProcess, session: str, turn: "asyncio.Task[None]") -> float:
    watch = Stopwatch(OWN, f"{engine.process.pid}/task/*")
    assert await engine.client.prompts.abort(session)
    with pytest.raises(SessionError, match=r"interrupted|aborted"):
        await turn
    return watch.seconds


async def line_about_the_disk(events: EventReader) -> str:
    async with asyncio.timeout(PATIENCE_S):
        async for envelope in events:
            if isinstance(envelope.event, ScreenToastShown):
                return envelope.event.message
    raise AssertionError


async def test_an_interruption_does_not_wait_for_a_write_that_the_disk_does_not_end(engine: EngineProcess) -> None:
    session = await engine.new_session()
    took = CANCEL_S
    for number in range(ATTEMPTS):
        go_on = hold_an_answer(engine)
        turn = asyncio.create_task(engine.prompt(session, f"first {number}"))
        await until_it_streams(engine, session)
        engine.disk.slow(engine.paths.data, 600)
        go_on.set()
        words = await until_it_waits_for_the_disk(engine, session)
        assert words.startswith(f"Waiting for the disk to write {engine.paths.storage}/")
        with engine.client.events() as events:
            took = await time_of_abort(engine, session, turn)
            line = await line_about_the_disk(events)
            assert line.startswith(f"Interrupted. Still writing {engine.paths.storage}/")
            assert line.endswith(": the disk is not responding. It will be saved when the disk recovers")
        assert await engine.is_idle(session) and (await engine.texts(session))[-1] == "begun the-end"

        # the session stays with this process, which may use it: that waits for the disk too, by name, until it is interrupted
        with pytest.raises(BusyError, match=f"in use by process {engine.process.pid}"):
            Locks(engine.paths).session_run(session).try_acquire()
        turn = asyncio.create_task(engine.prompt(session, f"second {number}"))
        words = await until_it_waits_for_the_disk(engine, session)
        assert words.startswith(f"Waiting for the disk to write {engine.paths.storage}/")
        took = max(took, await time_of_abort(engine, session, turn))
        engine.disk.heal()
        async with asyncio.timeout(PATIENCE_S):
            await engine.until_stored(session)
        await engine.prompt(session, "third")
        assert (await engine.texts(session))[-1] == "Echo: third"
        if took < CANCEL_S:
            return
    raise AssertionError(took)


async def test_an_interruption_does_not_wait_for_a_file_of_the_user_that_the_disk_does_not_end(
    engine: EngineProcess, folder: Path
) -> None:
    session = await engine.new_session()
    engine.disk.slow(folder, 600)
    turn = asyncio.create_task(engine.prompt(session, MADE))
    async with asyncio.timeout(PATIENCE_S):
        while not engine.disk.count:
            await asyncio.sleep(0.01)
        with engine.client.events() as events:
            await time_of_abort(engine, session, turn)
            assert f"Still writing {folder}/made.txt: the disk is not responding" in await line_about_the_disk(events)
        assert not await engine.client.prompts.status()
        turn = asyncio.create_task(engine.prompt(session, "meanwhile"))
        assert await until_it_waits_for_the_disk(engine, session) == f"Waiting for the disk to write {folder}/made.txt"
        await time_of_abort(engine, session, turn)
        engine.disk.heal()
        await engine.prompt(session, "after")
    assert await engine.is_idle(session)
    await engine.client.undo.revert(session, (await engine.messages(session))[0].info.id)
    assert not (folder / "made.txt").exists()


async def test_the_lock_of_a_session_stays_while_its_records_wait_for_the_disk(engine: EngineProcess) -> None:
    session = await engine.new_session()
    go_on = hold_an_answer(engine)
    turn = asyncio.create_task(engine.failure_of(session, "first"))
    await until_it_streams(engine, session)
    engine.disk.fail(engine.paths.data, "full")
    go_on.set()
    assert FAULTS["full"] in await turn
    elsewhere = Locks(engine.paths).session_run(session)
    with pytest.raises(BusyError, match=f"in use by process {engine.process.pid}"):
        elsewhere.try_acquire()
    assert FAULTS["full"] in await engine.failure_of(session, "again")
    with pytest.raises(BusyError):
        elsewhere.try_acquire()
    engine.disk.heal()
    await elsewhere.acquire(30_000)
    assert engine.stored(session) == await engine.messages(session)
    assert (await engine.texts(session))[-1] == "begun the-end"
    elsewhere.release()


async def test_an_engine_ends_while_a_lock_waits_for_a_disk_that_hangs(engine: EngineProcess) -> None:
    session = await engine.new_session()
    go_on = hold_an_answer(engine)
    turn = asyncio.create_task(engine.prompt(session, "first"))
    await until_it_streams(engine, session)
    engine.disk.slow(engine.paths.data, 600)
    go_on.set()
    await until_it_waits_for_the_disk(engine, session)
    await time_of_abort(engine, session, turn)
    with pytest.raises(BusyError, match=f"in use by process {engine.process.pid}"):
        Locks(engine.paths).session_run(session).try_acquire()
    engine.process.terminate()
    await asyncio.to_thread(engine.process.wait, PATIENCE_S)


@pytest.mark.parametrize("change", ["title", "undo", "fork", "delete"])
async def test_the_engine_answers_while_a_change_waits_for_a_disk_that_does_not_open_its_lock(
    engine: EngineProcess, change: str
) -> None:
    session = await engine.new_session()
    await engine.prompt(session, "first")
    engine.disk.slow(engine.paths.lock, 600)
    changes = {
        "title": lambda: engine.client.sessions.update(session, UpdateSession(title="another")),
        "undo": lambda: engine.client.undo.revert(session),
        "fork": lambda: engine.client.sessions.fork(session, ForkSession()),
        "delete": lambda: engine.client.sessions.remove(session),
    }
    async with asyncio.timeout(PATIENCE_S):
        task = asyncio.ensure_future(changes[change]())
        while not engine.disk.count:
            await asyncio.sleep(0.01)
        assert (await engine.texts(session))[-1] == "Echo: first"
        assert not task.done()
        engine.disk.heal()
        await task
        other = await engine.new_session()
        await engine.prompt(other, "second")
        assert (await engine.texts(other))[-1] == "Echo: second"


async def test_a_file_is_not_changed_where_undo_could_not_know_it(engine: EngineProcess, folder: Path) -> None:
    session = await engine.new_session()
    await engine.prompt(session, "first")
    go_on = threading.Event()
    engine.server.script(
        Answer(
            text="begun", calls=(Call("write", {"filePath": "made.txt", "content": "x"}),), holds=(("begun", go_on),)
        )
    )
    turn = asyncio.create_task(engine.failure_of(session, "second"))
    while len(await engine.messages(session)) < 4:
        await asyncio.sleep(0.01)
    engine.disk.fail(engine.paths.storage, "full")
    go_on.set()
    assert FAULTS["full"] in await turn
    engine.disk.heal()
    assert await engine.is_idle(session)
    assert not (folder / "made.txt").exists()


async def test_a_turn_does_not_wait_for_a_disk_that_does_not_take_its_cost(engine: EngineProcess) -> None:
    session = await engine.new_session()
    engine.disk.slow(engine.paths.state / "spending", 600)
    for number in range(MOST_THREADS + 2):  # one thread waits for the disk, not one for each call
        async with asyncio.timeout(PATIENCE_S):
            await engine.prompt(session, f"say {number}")
        assert (await engine.texts(session))[-1] == f"Echo: say {number}"
    assert engine.disk.count
    engine.disk.heal()
    async with asyncio.timeout(PATIENCE_S):
        while sum(one.read_text().count("\n\n") for one in engine.paths.state.glob("spending/*")) < MOST_THREADS:
            await asyncio.sleep(0.01)


async def test_what_is_only_convenient_fails_without_a_word(engine: EngineProcess) -> None:
    session = await engine.new_session()
    for folder in (engine.paths.log, engine.paths.state, engine.paths.cache):
        for fault in FAULTS:
            engine.disk.fail(folder, fault)
            await engine.prompt(session, f"{folder.name} {fault}")
            assert (await engine.texts(session))[-1] == f"Echo: {folder.name} {fault}"
            engine.disk.heal()
