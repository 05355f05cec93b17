from pathlib import Path

import pytest

from opencode_tui.schema.error import NoSuchMessageError, NothingToRevertError
from opencode_tui.schema.part import TextPart, ToolPart
from tests.support.undo import UndoWorld, undo_world


@pytest.fixture
async def world(environ, tmp_path: Path):
    async with undo_world(environ, tmp_path / "project") as world:
        yield world


async def three_turns(world: UndoWorld):
    """Files a, b and c, each changed by a turn of its own."""
    for name in "abc":
        world.write(name, f"{name}0")()
    session = await world.session()
    turns = [
        await world.turn(session, world.write("a", "a1")),
        await world.turn(session, world.write("b", "b2")),
        await world.turn(session, world.write("c", "c3")),
    ]
    return session, turns


def contents(world: UndoWorld) -> list[str | None]:
    return [world.read(name) for name in "abc"]


async def test_going_forward_brings_the_files_in_between_back(world: UndoWorld):
    session, turns = await three_turns(world)
    await world.undo.revert(session.id, turns[0])
    assert contents(world) == ["a0", "b0", "c0"]
    await world.undo.revert(session.id, turns[1])
    assert contents(world) == ["a1", "b0", "c0"]
    await world.undo.revert(session.id, turns[2])
    assert contents(world) == ["a1", "b2", "c0"]
    await world.undo.unrevert(session.id)
    assert contents(world) == ["a1", "b2", "c3"]
    assert (await world.info(session)).revert is None


async def test_one_file_goes_back_turn_by_turn(world: UndoWorld):
    world.write("a", "a0")()
    session = await world.session()
    turns = [await world.turn(session, world.write("a", f"a{number}")) for number in (1, 2, 3)]
    seen: list[str | None] = []
    for turn in turns:
        await world.undo.revert(session.id, turn)
        seen.append(world.read("a"))
    assert seen == ["a0", "a1", "a2"]
    await world.undo.unrevert(session.id)
    assert world.read("a") == "a3"


async def test_messages_stay_until_the_cleanup(world: UndoWorld):
    session, turns = await three_turns(world)
    before = await world.ids(session)
    await world.undo.revert(session.id, turns[1])
    info = await world.info(session)
    assert info.revert is not None and info.revert.message_id == turns[1]
    assert await world.ids(session) == before
    assert await world.clean_up(session)
    assert await world.ids(session) == before[:2]
    assert (await world.info(session)).revert is None and (await world.info(session)).metadata is None
