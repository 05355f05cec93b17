"""Sessions with an active undo of OpenCode: shown, reverted and made final here."""

import os
import tarfile
from pathlib import Path

import pytest

from opencode_tui.engine.session.revert.range import visible
from opencode_tui.engine.session.revert.summary import FOREIGN
from opencode_tui.schema.session.session import SessionInfo
from tests.support.sessions.stored import read_store
from tests.support.undo.sessions import UndoWorld, undo_world

ARCHIVE = Path(__file__).parents[2] / "schema" / "data" / "opencode-fixtures.tar.gz"
INSIDE = "opencode-fixtures/data/opencode/storage/"


@pytest.fixture
async def world(environ, paths, tmp_path: Path):
    with tarfile.open(ARCHIVE) as archive:
        for member in archive.getmembers():
            _, found, name = member.name.partition(INSIDE)
            if found and member.isfile() and (file := archive.extractfile(member)):
                target = paths.storage / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())
    async with undo_world(environ, tmp_path / "project") as world:
        yield world


async def find(world: UndoWorld, title: str) -> SessionInfo:
    for key in await world.engine.core.storage.list(("session",)):
        info = await world.engine.store.get(key[-1])
        if info.title == title:
            return info
    raise AssertionError(title)


async def shape(world: UndoWorld, session: SessionInfo) -> list[tuple[str, list[str]]]:
    return [(message.info.role, [part.type for part in message.parts]) for message in await world.messages(session)]


async def test_what_is_undone_is_hidden_from_the_model_only(world: UndoWorld):
    session = await find(world, "Reverted session")
    messages = await world.messages(session)
    kept = visible(messages, session.revert)
    assert session.revert is not None and [message.info.id for message in kept] == [
        message.info.id for message in messages if message.info.id < session.revert.message_id
    ]
    assert len(kept) < len(messages)


async def test_a_part_that_is_undone_hides_what_follows_it_only(world: UndoWorld):
    session = await find(world, "Part reverted session")
    kept = visible(await world.messages(session), session.revert)
    assert session.revert is not None and kept[-1].info.id == session.revert.message_id
    assert [part.type for part in kept[-1].parts][-1] == "text"


@pytest.mark.fast_cases("Part reverted session")
@pytest.mark.parametrize("title", ["Reverted session", "Part reverted session"])
async def test_a_redo_shows_all_messages_and_reports_the_unchanged_files(world: UndoWorld, title):
    session = await find(world, title)
    before = await world.messages(session)
    preview = await world.undo.preview_unrevert(session.id)
    report = await world.undo.unrevert(session.id)
    assert await world.messages(session) == before and (await world.info(session)).revert is None
    assert report.unprotected != [] and report.unprotected == preview.unprotected
    assert all("another program" in (file.reason or "") for file in report.unprotected)
    assert (report.restored, report.deleted) == ([], [])


async def test_its_sum_is_that_of_all_turns_again(world: UndoWorld):
    session = await find(world, "Reverted session")
    await world.undo.unrevert(session.id)
    summary = (await world.info(session)).summary
    turns = [
        message.info.summary.diffs
        for message in await world.messages(session)
        if message.info.role == "user" and message.info.summary
    ]
    assert summary is not None and summary.files == len({diff.file for diffs in turns for diff in diffs})


@pytest.mark.fast_cases("Part reverted session")
@pytest.mark.parametrize("title", ["Reverted session", "Part reverted session"])
async def test_cleanup_deletes_what_is_undone_and_nothing_else(world: UndoWorld, paths, title):
    session = await find(world, title)
    kept = visible(await world.messages(session), session.revert)
    others = {path for path in paths.storage.rglob("*.json") if session.id not in path.read_text()}
    assert await world.clean_up(session)
    left = await world.messages(session)
    assert [message.info.id for message in left] == [message.info.id for message in kept]
    assert [part.id for message in left for part in message.parts] == [
        part.id for message in kept for part in message.parts
    ]
    assert (await world.info(session)).revert is None
    assert others <= set(paths.storage.rglob("*.json"))
    folders = {name for name in os.listdir(paths.storage / "part")}
    assert folders >= {message.info.id for message in left}


async def test_another_turn_can_be_undone_and_the_files_that_stay_are_named(world: UndoWorld):
    session = await find(world, "Reverted session")
    first = (await world.ids(session))[0]
    report = await world.undo.revert(session.id, first)
    info = await world.info(session)
    assert info.revert is not None and session.revert is not None
    assert (info.revert.message_id, info.revert.snapshot) == (first, session.revert.snapshot)
    assert {file.reason for file in report.unprotected} == {FOREIGN} and report.restored == []
    assert read_store(world.engine.core.paths.storage).damaged == []
