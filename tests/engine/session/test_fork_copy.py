"""Interrupted copies, forks of forks, and sources that change or are deleted."""

import asyncio
import errno
import json

import pytest

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.engine import open_engine
from opencode_tui.engine.session.records.fork_copy import PendingCopies
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.session.session import RevertState, fork_origin
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from tests.support.sessions.records import write_session
from tests.support.world.waiting import PATIENCE_S

WHOLE = ForkSession()


@pytest.fixture
def folder(tmp_path):
    return tmp_path


async def broken_off(environ, folder, session_id, *, after_s=0.0):
    """Fork in an engine that ends before the copy does, and return the fork's id."""
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
        await asyncio.sleep(after_s)
    return fork.id


def noted_forks(paths):
    return (paths.lock / "forks").read_text()


async def texts(client, session_id):
    return [
        part.text for message in await client.messages.list(session_id) for part in message.parts if part.type == "text"
    ]


def copied(paths, fork_id):
    return len(list((paths.storage / "message" / fork_id).glob("*.json")))


async def is_whole(client, session_id):
    origin = fork_origin(await client.sessions.get(session_id))
    return origin is not None and origin.copying is None


async def test_an_interrupted_copy_resumes_when_the_fork_is_opened(environ, folder, paths):
    session_id = write_session(paths, turns=120, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id, after_s=0.05)
    assert copied(paths, fork_id) < 240
    async with open_client(environ, folder) as client:
        assert not await is_whole(client, fork_id)
        before = await texts(client, fork_id)
        await client.sessions.wait_copied(fork_id)
        assert await is_whole(client, fork_id) and copied(paths, fork_id) == 240
    async with open_client(environ, folder) as client:
        assert await texts(client, fork_id) == before == await texts(client, session_id)


async def test_reading_resumes_the_copy(environ, folder, paths):
    session_id = write_session(paths, turns=20, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as client:
        await client.messages.list(fork_id, 2)
        async with asyncio.timeout(PATIENCE_S):
            while not await is_whole(client, fork_id):
                await asyncio.sleep(0.01)


async def test_deleting_the_source_completes_its_forks_first(environ, folder, paths):
    session_id = write_session(paths, turns=60, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as client:
        wanted = await texts(client, session_id)
    async with open_client(environ, folder) as client:
        await client.sessions.remove(session_id)
        assert await is_whole(client, fork_id) and await texts(client, fork_id) == wanted
    assert noted_forks(paths) == "" and copied(paths, session_id) == 0


async def test_a_fork_of_an_unfinished_fork_reads_through_both(environ, folder, paths):
    session_id = write_session(paths, turns=40, directory=str(folder))
    first = await broken_off(environ, folder, session_id)
    second = await broken_off(environ, folder, first)
    async with open_client(environ, folder) as client:
        assert await texts(client, second) == await texts(client, session_id)
        await client.sessions.remove(session_id)
        await client.sessions.remove(first)
        assert len(await texts(client, second)) == 80 and await is_whole(client, second)


async def test_a_fork_is_copied_completely_before_it_is_deleted(environ, folder, paths):
    session_id = write_session(paths, turns=100, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as client:
        whole = await texts(client, fork_id)
        await client.sessions.remove(fork_id)
        await client.sessions.wait_copied(session_id)
        await client.sessions.remove(session_id)
        await client.trash.restore(fork_id)
        assert await texts(client, fork_id) == whole
        await client.sessions.remove(fork_id)
        await client.trash.restore(session_id)
    assert copied(paths, fork_id) == 0 and noted_forks(paths) == ""
    left = [path.name for path in (paths.storage / "part").iterdir()]
    assert set(left) == {path.stem for path in (paths.storage / "message" / session_id).glob("*.json")}


async def test_an_edit_of_the_source_does_not_reach_a_fork(environ, folder, paths):
    session_id = write_session(paths, turns=40, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as client:
        first = (await client.messages.list(session_id))[0]
        await client.messages.update_part(first.parts[0].changed(text="edited"))
        assert (await texts(client, fork_id))[0] == "request 0"


async def test_an_edit_of_the_fork_is_not_copied_over(environ, folder, paths):
    session_id = write_session(paths, turns=40, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as client:
        last = (await client.messages.list(fork_id))[-2]
        await client.messages.remove_part(fork_id, last.info.id, last.parts[0].id)
        await client.sessions.wait_copied(fork_id)
    async with open_client(environ, folder) as client:
        assert "request 39" not in await texts(client, fork_id)


async def test_two_engines_copy_one_fork_once(environ, folder, paths):
    session_id = write_session(paths, turns=60, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_client(environ, folder) as one, open_client(environ, folder) as other:
        await asyncio.gather(one.sessions.wait_copied(fork_id), other.sessions.wait_copied(fork_id))
        assert await texts(one, fork_id) == await texts(other, session_id)


async def test_a_damaged_record_of_the_source_costs_itself_alone(environ, folder, paths):
    session_id = write_session(paths, turns=5, directory=str(folder))
    broken = sorted((paths.storage / "message" / session_id).glob("*.json"))[2]
    broken.write_text("{")
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
        assert len(await client.messages.list(fork.id)) == 9
        await client.sessions.wait_copied(fork.id)
        assert copied(paths, fork.id) == 9


class FullDisk(FileSystem):
    """A store without space for more messages."""

    def replace(self, source, target):
        if "/message/" in target:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().replace(source, target)


async def test_a_full_disk_refuses_the_change_and_loses_nothing(environ, folder, paths):
    session_id = write_session(paths, turns=20, directory=str(folder))
    fork_id = await broken_off(environ, folder, session_id)
    async with open_engine(environ, files=FullDisk()) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        with pytest.raises(StorageError, match="cannot write"):
            await client.sessions.remove(session_id)
        assert len(await texts(client, fork_id)) == len(await texts(client, session_id)) == 40
    async with open_client(environ, folder) as client:
        await client.sessions.remove(session_id)
        assert len(await texts(client, fork_id)) == 40


async def test_what_an_active_revert_hides_is_not_copied(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    ids = sorted(path.stem for path in (paths.storage / "message" / session_id).glob("*.json"))
    async with open_client(environ, folder) as client:
        parts = (await client.messages.list(session_id))[3].parts
    cases = [
        (RevertState(message_id=ids[4]), None, 4),
        (RevertState(message_id=ids[4]), ids[6], 4),
        (RevertState(message_id=ids[4]), ids[2], 2),
        (RevertState(message_id=ids[3], part_id=parts[1].id), None, 4),
    ]
    messages = []
    for revert, boundary, count in cases:
        set_revert(paths, session_id, revert)
        async with open_client(environ, folder) as client:
            fork = await client.sessions.fork(session_id, ForkSession(message_id=boundary))
            messages = list(await client.messages.list(fork.id))
            await client.sessions.wait_copied(fork.id)
        assert len(messages) == copied(paths, fork.id) == count and fork.revert is None
    assert [part.type for part in messages[-1].parts] == ["step-start"]


def set_revert(paths, session_id, revert):
    path = paths.storage / "session" / "global" / f"{session_id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "revert": revert.to_dict()}))


async def test_snapshots_are_not_copied_into_another_worktree(environ, tmp_path, paths):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    session_id = write_session(paths, turns=1, directory=str(there))
    kinds = {}
    for folder in (here, there):
        async with open_client(environ, folder) as client:
            fork = await client.sessions.fork(session_id, WHOLE)
            answer = (await client.messages.list(fork.id))[1]
            kinds[folder.name] = [(part.type, getattr(part, "snapshot", None) is not None) for part in answer.parts]
    assert kinds["here"] == [("step-start", False), ("text", False)]
    assert kinds["there"] == [("step-start", True), ("text", False), ("patch", False)]


def test_a_registration_without_a_fork_blocks_no_change(environ, folder, paths):
    session_id = write_session(paths, turns=1, directory=str(folder))
    PendingCopies(paths, locks=Locks(paths)).add(session_id, "ses_000000000000neverwritten00")

    async def work():
        async with open_client(environ, folder) as client:
            await client.sessions.remove(session_id)

    asyncio.run(work())
    assert noted_forks(paths) == ""


class NthFails(FileSystem):
    """Its n-th replacement of a record fails, as if the disk had been unavailable for a moment."""

    def __init__(self, n):
        self.left = n

    def replace(self, source, target):
        self.left -= "/message/" in target or "/part/" in target
        if self.left == 0:
            raise OSError(errno.EIO, "Input/output error")
        super().replace(source, target)


@pytest.mark.parametrize("n", range(1, 25, 3))
async def test_a_write_that_fails_is_done_by_the_next_attempt(environ, folder, paths, n):
    session_id = write_session(paths, turns=4, directory=str(folder))
    async with open_engine(environ, files=NthFails(n)) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        fork = await client.sessions.fork(session_id, WHOLE)
        with pytest.raises(StorageError, match="cannot write"):
            await client.sessions.wait_copied(fork.id)
        assert len(await texts(client, fork.id)) == 8
        await client.sessions.remove(session_id)
        assert await is_whole(client, fork.id) and len(await texts(client, fork.id)) == 8
