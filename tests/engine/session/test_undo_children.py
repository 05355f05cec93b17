"""The work of subagents belongs to the turn that started them, once."""

from pathlib import Path

import pytest

from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.session.session import SessionInfo
from tests.support.sessions.stored import read_store
from tests.support.undo.sessions import UndoWorld, undo_world


@pytest.fixture
async def world(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "project") as world:
        yield world


async def delegate(world: UndoWorld, session: SessionInfo, request: str, child: SessionInfo, *names: str) -> str:
    """Let a child session write files for a call of an answer; returns the answer."""
    message = await world.answer(session, request)
    started = world.engine.core.clock()
    await world.turn(child, *(world.write(name, f"{child.title} {name}") for name in names), text="work")
    await world.tool(session, message, started, task=child)
    world.wait()
    return message


async def send(world: UndoWorld, session: SessionInfo, request: str, child: SessionInfo, *names: str) -> str:
    """Let a child session write files in the background, after the call of an answer has ended; returns its request."""
    message = await world.answer(session, request)
    started = world.engine.core.clock()
    await world.tool(session, message, started, task=child, background="bg1")
    world.wait()
    own = await world.turn(child, *(world.write(name, f"{child.title} {name}") for name in names), text="work")
    world.wait()
    return own


async def delegate_by_position(world: UndoWorld, session: SessionInfo, request: str, child: SessionInfo, *names: str):
    """Do as `delegate`, recorded by this version, while the clock goes back and forth: only positions say what belongs to it."""
    message = await world.answer(session, request)
    after = ["", *await world.ids(child)][-1]
    await world.turn(child, *(world.write(name, f"{child.title} {name}") for name in names), text="work")
    work = {"after": after, "last": (await world.ids(child))[-1]}
    await world.tool(session, message, 10**15, task=child, work=work)
    return message


async def send_by_position(world: UndoWorld, session: SessionInfo, request: str, child: SessionInfo, *names: str):
    """Do as `send`, recorded by this version, with times that say nothing."""
    message = await world.answer(session, request)
    after = ["", *await world.ids(child)][-1]
    await world.tool(session, message, 10**15, task=child, background="bg1", work={"after": after})
    return await world.turn(child, *(world.write(name, f"{child.title} {name}") for name in names), text="work")


START = pytest.mark.parametrize(
    "start",
    [delegate, send, delegate_by_position, send_by_position],
    ids=["awaited", "in the background", "awaited, by position", "in the background, by position"],
)


@pytest.mark.fast_cases("in the background")
@START
async def test_the_files_of_a_child_session_are_undone_with_the_turn_that_started_it(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await start(world, session, request, child, "x", "y")
    report = await world.undo.revert(session.id, request)
    assert [file.path for file in report.deleted] == [str(world.root / name) for name in "xy"]
    assert world.read("x") is None
    await world.undo.unrevert(session.id)
    assert world.read("x") == "one x"


async def test_the_cleanup_deletes_children_that_worked_for_nothing_else(world: UndoWorld, paths):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    grandchild = await world.session(parent=child, title="two")
    request = await world.request(session, "delegate")
    answer = await world.answer(session, request)
    started = world.engine.core.clock()
    inner = await world.request(child, "delegate on")
    await delegate(world, child, inner, grandchild, "z")
    await world.tool(session, answer, started, task=child)
    report = await world.undo.revert(session.id, request)
    assert [file.path for file in report.deleted] == [str(world.root / "z")]
    await world.clean_up(session)
    stored = read_store(paths.storage)
    assert [record["id"] for record in stored.of_kind("session")] == [session.id]
    assert stored.strays == [] and stored.of_kind("message") == []


@START
async def test_a_child_that_was_called_twice_loses_only_the_later_work(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    first = await world.request(session, "delegate")
    await start(world, session, first, child, "x")
    second = await world.request(session, "go on there")
    await start(world, session, second, child, "y")
    kept = (await world.ids(child))[:2]
    report = await world.undo.revert(session.id, second)
    assert [file.path for file in report.deleted] == [str(world.root / "y")] and world.read("x") == "one x"
    await world.clean_up(session)
    assert await world.ids(child) == kept


@pytest.mark.fast_cases("in the background")
@START
async def test_a_request_of_the_user_to_a_child_session_is_not_part_of_the_turn(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await start(world, session, request, child, "x")
    own = await world.turn(child, world.write("mine", "by the person's request"))
    report = await world.undo.revert(session.id, request)
    assert [file.path for file in report.deleted] == [str(world.root / "x")]
    await world.clean_up(session)
    assert (await world.ids(child))[0] == own and world.read("mine") is not None


@START
async def test_a_childs_work_counts_in_the_turn_once(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await start(world, session, request, child, "x")
    await world.step(session, request, world.write("own", "1\n2\n"))
    await world.summarize(session.id)
    assert [diff.file for diff in await world.summaries.turn(session.id, request)] == ["own", "x"]
    summary = (await world.info(session)).summary
    assert summary is not None and (summary.additions, summary.files) == (3, 2)


@START
async def test_a_session_of_which_a_copied_call_speaks_is_not_deleted(world: UndoWorld, start):
    session, fork = await world.session(), await world.session(title="a fork")
    child = await world.session(parent=session, title="one")
    request = await world.request(fork, "delegate")
    await start(world, fork, request, child, "x")
    await world.undo.revert(fork.id, request)
    await world.clean_up(fork)
    assert len(await world.ids(child)) == 2 and world.read("x") is None


@START
async def test_the_work_of_a_deleted_child_session_stays_and_is_named(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await start(world, session, request, child, "x")
    await world.engine.store.remove(child.id)
    preview = await world.undo.preview(session.id, request)
    report = await world.undo.revert(session.id, request)
    assert report.deleted == [] and world.read("x") == "one x"
    for found in (preview, report):
        [said] = found.unprotected
        assert (said.path, said.reason) == (
            str(world.root),
            f"what an agent changed is not known: its session {child.id} was deleted",
        )
    assert await world.summaries.turn(session.id, request) == []
    await world.clean_up(session)
    assert await world.ids(session) == []


@pytest.mark.fast_cases("awaited")
@START
async def test_a_fork_names_the_work_of_agents_whose_sessions_went_with_its_source(world: UndoWorld, start):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await start(world, session, request, child, "x")
    fork = await world.fork(session, ForkSession())
    assert (await world.undo.preview(fork.id)).unprotected == []
    await world.delete(session)
    report = await world.undo.revert(fork.id)
    assert [file.path for file in report.unprotected] == [str(world.root)] and world.read("x") == "one x"


async def test_the_cleanup_deletes_what_a_background_agent_did_for_the_turn(world: UndoWorld):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    request = await world.request(session, "delegate")
    await send(world, session, request, child, "x")
    await world.undo.revert(session.id, request)
    await world.clean_up(session)
    with pytest.raises(NotFoundError):
        await world.engine.store.get(child.id)


async def test_a_turn_does_not_get_the_work_of_a_background_agent_of_an_earlier_one(world: UndoWorld):
    session = await world.session()
    child = await world.session(parent=session, title="one")
    first = await world.request(session, "delegate")
    message = await world.answer(session, first)
    await world.tool(session, message, world.engine.core.clock(), task=child, background="bg1")
    world.wait()
    second = await world.turn(session, world.write("own", "1"))
    await world.turn(child, world.write("x", "late"), text="work")
    report = await world.undo.revert(session.id, second)
    assert [file.path for file in report.deleted] == [str(world.root / "own")] and world.read("x") == "late"
    report = await world.undo.revert(session.id, first)
    assert (world.read("own"), world.read("x"), report.kept) == (None, None, [])
    await world.undo.unrevert(session.id)
    assert (world.read("own"), world.read("x")) == ("1", "late")
