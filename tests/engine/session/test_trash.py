"""Deleting sessions into the trash and restoring them: with undo, forks, other processes, and runs."""

import asyncio
import os
import shutil

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.schema.api.request import CreateSession, ForkSession, UpdateSession
from opencode_tui.schema.error import BusyError, NotFoundError, OpencodeError, SessionError, StorageError
from opencode_tui.schema.event.event import SessionCreated, SessionDeleted
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.trash import DELETING
from tests.storage.load import fork, wait_for
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.families import files_in, misplaced, trashed_files, write_family
from tests.support.sessions.store import drain
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

WRITE = Answer(calls=(Call("write", {"filePath": "new.txt", "content": "n"}),))
AUTO = AutoApprove(AskPerson())
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def folder(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "a1\n"})
    return repo.path


@pytest.mark.slow
async def test_a_restored_session_is_listed_read_and_undone_as_before(environ, folder, paths):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        sessions = world.client.sessions
        session = await world.prompt("write")
        child = await sessions.create(CreateSession(parent_id=session.id, title="below"))
        before, listed = files_in(paths.storage), await sessions.list()
        messages = await world.messages(session)
        with world.client.events() as reader:
            await sessions.remove(session.id)
            gone = [event.info.id for event in drain(reader) if isinstance(event, SessionDeleted)]
            assert await sessions.list() == []
            restored = await world.client.trash.restore(session.id)
            back = [event.info.id for event in drain(reader) if isinstance(event, SessionCreated)]
        assert (gone, back) == ([child.id, session.id], [session.id, child.id])
        assert files_in(paths.storage) == before and trashed_files(paths) == {}
        assert (restored, await sessions.list()) == (await sessions.get(session.id), listed)
        assert await world.messages(session) == messages
        assert [one.id for one in await sessions.children(session.id)] == [child.id]
        assert (folder / "new.txt").exists()
        await world.client.undo.revert(session.id)
        assert not (folder / "new.txt").exists()
        await sessions.remove(session.id)
        await world.client.trash.restore(session.id)
        await world.client.undo.unrevert(session.id)
        assert (folder / "new.txt").exists()


async def test_a_deleted_session_leaves_no_lock_files_and_what_was_read_before_is_read_again(environ, folder, paths):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
        messages = await world.messages(session)
        await world.client.sessions.remove(session.id)
        assert [name for name in os.listdir(paths.lock) if name.startswith("ses_")] == []
        await world.client.trash.restore(session.id)
        assert await world.messages(session) == messages
        assert Locks(paths).read_owner(session.id) is not None


@pytest.mark.slow
async def test_a_restored_session_and_its_fork_stay_independent(environ, folder):
    async with opened(environ, folder, Answer(text="one"), Answer(text="two"), policy=AUTO) as world:
        session = await world.prompt("first")
        copy = await world.client.sessions.fork(session.id, ForkSession())
        await world.client.sessions.remove(session.id)
        assert len(await world.messages(copy)) == 2
        await world.client.sessions.remove(copy.id)
        for session_id in (copy.id, session.id):
            await world.client.trash.restore(session_id)
        await world.prompt("second", session=copy)
        assert [len(await world.messages(one)) for one in (session, copy)] == [2, 4]


async def test_a_running_session_or_one_with_a_running_child_is_not_deleted(environ, folder, paths):
    async with opened(environ, folder, policy=AUTO) as world:
        sessions = world.client.sessions
        parent = await world.new_session()
        child = await sessions.create(CreateSession(parent_id=parent.id))
        before = files_in(paths.storage)
        for busy in (parent, child):
            lock = Locks(paths).session_run(busy.id)
            lock.try_acquire()
            with pytest.raises(BusyError, match=busy.id):
                await sessions.remove(parent.id)
            lock.release()
        assert files_in(paths.storage) == before and trashed_files(paths) == {}
        await sessions.remove(parent.id)
        assert await sessions.list() == []


async def test_a_session_whose_folder_is_gone_stays_in_the_trash(environ, folder, tmp_path):
    other = make_repo(tmp_path / "other")
    other.commit(**{"b.txt": "b\n"})
    async with open_client(environ, other.path) as client:
        session = await client.sessions.create(CreateSession(title="lost"))
        await client.sessions.remove(session.id)
    shutil.rmtree(other.path)
    async with open_client(environ, folder) as client:
        with pytest.raises(SessionError, match="does not exist any more") as refused:
            await client.trash.restore(session.id)
        assert "\n" not in str(refused.value)
        assert [entry.title for entry in await client.trash.list()] == ["lost"]
        other.path.mkdir()
        assert (await client.trash.restore(session.id)).title == "lost"


async def test_an_unknown_session_is_not_restored(environ, folder):
    async with open_client(environ, folder) as client:
        with pytest.raises(NotFoundError, match="in the trash"):
            await client.trash.restore("ses_unknown")


async def test_a_killed_deletion_is_completed_when_a_folder_is_opened(environ, folder, paths):
    family = write_family(paths, directory=str(folder), project=await _project(environ, folder))
    async with open_client(environ, folder) as client:
        await client.sessions.remove(family.infos[0].id)
        [entry] = await client.trash.list()
    unfinished = paths.trash / f"{entry.name}{DELETING}"
    (paths.trash / entry.name).rename(unfinished)
    part = next(name for name in family.files if name.startswith("part/"))
    (paths.storage / part).parent.parent.mkdir(parents=True, exist_ok=True)
    (unfinished / part).parent.rename((paths.storage / part).parent)
    async with open_client(environ, folder) as client:
        assert [one.name for one in await client.trash.list()] == [entry.name]
        assert trashed_files(paths)[entry.name] == family.files


@pytest.mark.slow
def test_of_two_processes_one_moves_a_session(environ, folder, paths):
    family = write_family(paths, directory=str(folder), project=asyncio.run(_project(environ, folder)))
    others = {name: data for name, data in files_in(paths.storage).items() if name not in family.files}

    async def moves() -> None:
        async with open_client(environ, folder) as client:
            for _ in range(30):
                for move in (client.sessions.remove, client.trash.restore):
                    try:
                        await move(family.infos[0].id)
                    except (BusyError, NotFoundError, SessionError):
                        await asyncio.sleep(0.001)

    children = [fork(lambda: asyncio.run(moves())) for _ in range(3)]
    assert [wait_for(child) for child in children] == [0, 0, 0]
    assert misplaced(paths, family, others) is None


async def _project(environ, folder) -> str:
    async with open_client(environ, folder) as client:
        return (await client.project.current()).id


async def test_a_change_that_waits_for_a_deletion_does_not_bring_the_record_back(environ, folder, paths):
    async with open_client(environ, folder) as client, open_client(environ, folder) as other:
        session = await client.sessions.create(CreateSession(title="one"))
        renames = [other.sessions.update(session.id, UpdateSession(title=f"{number}")) for number in range(20)]
        done = await asyncio.gather(*renames, client.sessions.remove(session.id), return_exceptions=True)
        assert [one for one in done if isinstance(one, BaseException) and not isinstance(one, OpencodeError)] == []
        assert not list(paths.storage.glob(f"session/*/{session.id}.json"))


@pytest.mark.slow
async def test_the_trash_is_emptied_after_the_days_of_the_settings(environ, folder, paths, monkeypatch):
    settings = {"trash": {"days": 3}}
    async with opened(environ, folder, settings=settings) as world:
        sessions = [await world.new_session() for _ in range(2)]
        for session in sessions:
            await world.client.sessions.remove(session.id)
        old = next(entry for entry in await world.client.trash.list() if entry.session_id == sessions[0].id)
        manifest = paths.trash / old.name / "manifest.json"
    manifest.write_bytes(old.changed(deleted=system_clock() - 4 * DAY_MS).to_json())
    monkeypatch.setattr("opencode_tui.engine.instance.FIRST_EMPTYING_S", 0)
    async with opened(environ, folder, settings=settings) as world:
        with world.client.events():
            async with asyncio.timeout(PATIENCE_S):
                while len(await world.client.trash.list()) > 1:
                    await asyncio.sleep(0.02)
        assert [entry.session_id for entry in await world.client.trash.list()] == [sessions[1].id]


async def test_a_failing_disk_deletes_nothing(environ, folder, paths):
    family = write_family(paths, directory=str(folder))
    async with open_client(environ, folder) as client:
        before = files_in(paths.storage)
        paths.trash.write_text("in the way")
        with pytest.raises(StorageError, match="trash") as refused:
            await client.sessions.remove(family.infos[0].id)
        assert "\n" not in str(refused.value) and files_in(paths.storage) == before
