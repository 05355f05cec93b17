"""A crash anywhere in an undo, a redo or a cleanup leaves record and files consistent, or the next process repairs them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.records.writer import SessionWriter
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.schema.error import NothingToRevertError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.storage import Storage
from tests.support.sessions.stored import read_store
from tests.support.snapshot.worktree import Death
from tests.support.undo.sessions import UndoWorld, undo_world

pytestmark = pytest.mark.slow


async def play(world: UndoWorld) -> SessionInfo:
    world.write("a", "a0")()
    session = await world.session()
    await world.turn(session, world.write("a", "a1"))
    await world.turn(session, world.write("a", "a2"), world.write("b", "b2"))
    return session


async def die_at(owner: type, name: str, at: int, act: Callable[[], Awaitable[object]]) -> bool:
    """Run an action that dies at call number `at` of a method; return whether it got that far."""
    with pytest.MonkeyPatch.context() as dying:
        whole = getattr(owner, name)
        calls = 0

        async def call(*arguments: object, **fields: object) -> object:
            nonlocal calls
            calls += 1
            if calls >= at:
                raise Death
            return await whole(*arguments, **fields)

        dying.setattr(owner, name, call)
        try:
            await act()
        except Death:
            return True
    return False


def state(world: UndoWorld) -> tuple[str | None, str | None]:
    return world.read("a"), world.read("b")


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize(("owner", "name"), [(SessionStore, "update"), (SessionStore, "sync"), (Snapshots, "revert")])
async def test_an_undo_that_dies_is_done_or_was_never_begun(environ, tmp_path: Path, owner, name, at):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await die_at(owner, name, at, lambda: world.undo.revert(session.id))
    async with undo_world(environ, tmp_path / "p") as world:
        await world.undo.preview(session.id)
        info = await world.info(session)
        assert state(world) == (("a1", None) if info.revert is not None else ("a2", "b2"))
        if info.revert is not None:
            await world.undo.unrevert(session.id)
            assert state(world) == ("a2", "b2")
        await world.undo.revert(session.id)
        assert state(world) == ("a1", None)


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("name", ["update", "sync"])
async def test_taking_back_that_dies_is_done_or_was_never_begun(environ, tmp_path: Path, name, at):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.undo.revert(session.id)
        await die_at(SessionStore, name, at, lambda: world.undo.unrevert(session.id))
    async with undo_world(environ, tmp_path / "p") as world:
        await world.undo.preview(session.id)
        info = await world.info(session)
        assert state(world) == (("a1", None) if info.revert is not None else ("a2", "b2"))


async def test_a_redo_that_completes_one_that_died_reports_what_that_restored(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.undo.revert(session.id)
        assert await die_at(SessionStore, "update", 2, lambda: world.undo.unrevert(session.id))
    async with undo_world(environ, tmp_path / "p") as world:
        report = await world.undo.unrevert(session.id)
        assert {Path(file.path).name for file in report.restored} == {"a", "b"}
        assert state(world) == ("a2", "b2") and (await world.info(session)).revert is None
        with pytest.raises(NothingToRevertError):
            await world.undo.unrevert(session.id)


async def test_the_next_request_completes_an_undo_that_died(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        before = await world.ids(session)
        assert await die_at(SessionStore, "update", 2, lambda: world.undo.revert(session.id))
    async with undo_world(environ, tmp_path / "p") as world:
        assert state(world) == ("a1", None)
        assert await world.clean_up(session)
        assert await world.ids(session) == before[:2]
        assert (await world.info(session)).metadata is None


CALLS_OF_A_CLEANUP = {
    "messages": {
        (SessionWriter, "remove_message"): 4,
        (SessionStore, "update"): 2,
        (SessionStore, "sync"): 2,
        (Storage, "write"): 2,
        (Storage, "remove"): 4,
        (Storage, "remove_tree"): 4,
    },
    "parts": {
        (SessionWriter, "remove_message"): 2,
        (SessionWriter, "remove_part"): 2,
        (SessionStore, "update"): 2,
        (SessionStore, "sync"): 2,
        (Storage, "write"): 3,
        (Storage, "remove"): 4,
        (Storage, "remove_tree"): 2,
    },
}
"""How often a cleanup of each kind calls what writes and removes, at least."""

CLEANUP_DEATHS = [
    (kind, owner, name, at)
    for kind, calls in CALLS_OF_A_CLEANUP.items()
    for (owner, name), most in calls.items()
    for at in (1, 2, 4)
    if at <= most
]


@pytest.mark.parametrize(("kind", "owner", "name", "at"), CLEANUP_DEATHS)
async def test_a_cleanup_that_dies_is_completed_by_the_next(environ, tmp_path: Path, paths, kind, owner, name, at):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        messages = await world.messages(session)
        target = messages[1]
        await world.undo.revert(session.id, target.info.id, target.parts[2].id if kind == "parts" else None)
        assert await die_at(owner, name, at, lambda: world.clean_up(session))
    async with undo_world(environ, tmp_path / "p") as world:
        await world.clean_up(session)
        left = await world.messages(session)
        kinds = [[part.type for part in message.parts] for message in left]
        assert kinds == ([["text"], ["step-start", "text"]] if kind == "parts" else [])
        assert (await world.info(session)).revert is None and state(world) == ("a0", None)
    assert read_store(paths.storage).strays == []


async def test_what_a_cleanup_has_begun_to_delete_is_not_redone(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        messages = await world.ids(session)
        await world.undo.revert(session.id)
        assert await die_at(SessionWriter, "remove_message", 2, lambda: world.clean_up(session))
    async with undo_world(environ, tmp_path / "p") as world:
        with pytest.raises(NothingToRevertError):
            await world.undo.unrevert(session.id)
        assert (await world.ids(session), state(world)) == (messages[:2], ("a1", None))


@pytest.mark.parametrize("at", [1, 2])
async def test_an_undo_that_dies_with_its_summary_is_done_or_was_never_begun(environ, tmp_path: Path, at):
    async with undo_world(environ, tmp_path / "p") as world:
        session = await play(world)
        await world.summarize(session.id)
        before = await world.engine.store.diff(session.id)
        assert before and await die_at(SessionWriter, "write_diff", at, lambda: world.undo.revert(session.id)) == (
            at == 1
        )
    async with undo_world(environ, tmp_path / "p") as world:
        await world.undo.recover(session.id)
        info = await world.info(session)
        assert state(world) == (("a1", None) if info.revert is not None else ("a2", "b2"))
        if info.revert is not None:
            await world.undo.unrevert(session.id)
        assert (state(world), await world.engine.store.diff(session.id)) == (("a2", "b2"), before)
