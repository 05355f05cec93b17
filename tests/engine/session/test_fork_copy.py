"""A fork is a copy: whole or not there, after a kill, a full disk, a power cut; and those that version 0.3 left are completed."""

import asyncio
import errno
import json
import os
from collections.abc import Mapping

import pytest

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.engine import open_engine
from opencode_tui.engine.session.records import fork_copy
from opencode_tui.engine.session.records.fork_copy import ForkCopies, ForkSource
from opencode_tui.engine.session.records.stored_history import copied_id
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.session.session import RevertState, fork_origin
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.sessions.records import write_session
from tests.support.sessions.stored import read_store

pytestmark = pytest.mark.slow


WHOLE = ForkSession()
OLDER = "ses_ffffffffffff00000000000000"


@pytest.fixture
def folder(tmp_path):
    return tmp_path


async def texts(client, session_id):
    return [
        part.text for message in await client.messages.list(session_id) for part in message.parts if part.type == "text"
    ]


def copied(paths, fork_id):
    return len(list((paths.storage / "message" / fork_id).glob("*.json")))


def names_of(paths, session_id):
    return sorted(path.stem for path in (paths.storage / "message" / session_id).glob("*.json"))


def strays(paths: Paths) -> list[str]:
    """Return what belongs to no session, and the lists of unfinished copies."""
    lists = list((paths.data / "forks").glob("*")) if (paths.data / "forks").exists() else []
    return [*read_store(paths.storage).strays, *map(str, lists)]


async def test_a_fork_has_all_of_its_records_when_it_is_returned(environ, folder, paths):
    session_id = write_session(paths, turns=120, directory=str(folder))
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
        assert copied(paths, fork.id) == 240 and strays(paths) == []
        origin = fork_origin(fork)
        assert origin is not None and origin.copying is None
        assert await texts(client, fork.id) == await texts(client, session_id)


async def test_a_fork_of_a_fork_and_a_deleted_source(environ, folder, paths):
    session_id = write_session(paths, turns=40, directory=str(folder))
    async with open_client(environ, folder) as client:
        first = await client.sessions.fork(session_id, WHOLE)
        second = await client.sessions.fork(first.id, WHOLE)
        await client.sessions.remove(session_id)
        await client.sessions.remove(first.id)
        assert len(await texts(client, second.id)) == 80


async def test_an_edit_of_the_source_does_not_reach_a_fork_nor_the_other_way(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
        for one in (session_id, fork.id):
            first = (await client.messages.list(one))[0]
            await client.messages.update_part(first.parts[0].changed(text=f"edited in {one}"))
        assert [(await texts(client, one))[0] for one in (session_id, fork.id)] == [
            f"edited in {one}" for one in (session_id, fork.id)
        ]


async def test_a_damaged_record_of_the_source_costs_itself_alone(environ, folder, paths):
    session_id = write_session(paths, turns=5, directory=str(folder))
    messages = sorted((paths.storage / "message" / session_id).glob("*.json"))
    messages[2].write_text("{")
    messages[3].write_bytes(b"")
    next((paths.storage / "part" / messages[4].stem).glob("*.json")).write_text("[]")
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
        assert len(await client.messages.list(fork.id)) == copied(paths, fork.id) == 8


class Fails(FileSystem):
    """The n-th write of a record of the messages fails, as if the disk were full, or could not be read or written for a moment."""

    def __init__(self, n: int, number: int) -> None:
        self.left, self.number = n, number

    def write(self, descriptor: int, data: memoryview) -> int:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self.left -= "/message/" in path or "/part/" in path or "/forks/" in path
        if self.left == 0:
            os.write(descriptor, data[: len(data) // 2])
            raise OSError(self.number, os.strerror(self.number))
        return super().write(descriptor, data)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 20])
async def test_a_fork_that_cannot_be_written_leaves_nothing_and_can_be_made_again(environ, folder, paths, n, number):
    session_id = write_session(paths, turns=4, directory=str(folder))
    async with open_engine(environ, files=Fails(n, number)) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        with pytest.raises(StorageError, match="cannot write"):
            await client.sessions.fork(session_id, WHOLE)
        assert strays(paths) == [] and len(await client.sessions.list()) == 1
        fork = await client.sessions.fork(session_id, WHOLE)
        assert await texts(client, fork.id) == await texts(client, session_id)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
async def test_a_source_that_cannot_be_read_now_is_not_forked_in_part(environ, folder, paths, monkeypatch, number):
    session_id = write_session(paths, turns=4, directory=str(folder))
    unread = next((paths.storage / "part" / names_of(paths, session_id)[5]).glob("*.json"))
    real = FileSystem.open

    def refuse(self, path, *rest):
        if path == str(unread):
            raise OSError(number, os.strerror(number), path)
        return real(self, path, *rest)

    async with open_client(environ, folder) as client:
        with monkeypatch.context() as context:
            context.setattr(FileSystem, "open", refuse)
            with pytest.raises(StorageError, match="cannot read"):
                await client.sessions.fork(session_id, WHOLE)
        assert strays(paths) == [] and len(await client.sessions.list()) == 1


async def test_a_canceled_fork_leaves_nothing(environ, folder, paths, monkeypatch):
    session_id = write_session(paths, turns=40, directory=str(folder))
    begun, release = asyncio.Event(), asyncio.Event()
    loop, real = asyncio.get_running_loop(), ForkCopies._copy_batch

    def slow(self, fork_id, source, names):
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
        real(self, fork_id, source, names)

    async with open_client(environ, folder) as client:
        monkeypatch.setattr(ForkCopies, "_copy_batch", slow)
        forking = asyncio.create_task(client.sessions.fork(session_id, WHOLE))
        await begun.wait()
        forking.cancel()
        release.set()
        await asyncio.wait({forking})
        assert forking.cancelled() and strays(paths) == []


@pytest.mark.parametrize("after", ["the list", "a batch", "all"])
async def test_what_a_killed_process_left_is_removed_by_the_next_start(environ, folder, paths, monkeypatch, after):
    session_id = write_session(paths, turns=4, directory=str(folder))
    names = names_of(paths, session_id)
    monkeypatch.setattr(fork_copy, "_BATCH", 2)
    copies, source = ForkCopies(Storage(paths), Locks(paths)), ForkSource(session_id, names)
    copies._list(OLDER, names)
    copies._copy_batch(OLDER, source, {"the list": [], "a batch": names[:3], "all": names}[after])
    assert strays(paths)
    async with open_client(environ, folder) as client:
        assert strays(paths) == [] and len(await client.sessions.list()) == 1


async def test_a_fork_whose_process_was_killed_after_its_record_was_written_is_whole(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    async with open_client(environ, folder) as client:
        fork = await client.sessions.fork(session_id, WHOLE)
    copies = ForkCopies(Storage(paths), Locks(paths))
    copies._list(fork.id, names_of(paths, session_id))
    async with open_client(environ, folder) as client:
        assert len(await texts(client, fork.id)) == 8 and strays(paths) == []


async def test_a_copy_of_another_process_at_work_is_left_alone(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    names, locks = names_of(paths, session_id), Locks(paths)
    copies = ForkCopies(Storage(paths), locks)
    with locks.session_copy(OLDER):
        copies._list(OLDER, names)
        copies._copy_batch(OLDER, ForkSource(session_id, names), names)
        async with open_client(environ, folder):
            assert copied(paths, OLDER) == 8
    async with open_client(environ, folder):
        assert copied(paths, OLDER) == 0


async def test_a_list_that_was_cut_stops_no_start(environ, folder, paths):
    (paths.data / "forks").mkdir(parents=True)
    (paths.data / "forks" / OLDER).write_bytes(b'["msg_1", "ms')
    async with open_client(environ, folder):
        assert strays(paths) == []


def left_by_version_0_3(paths: Paths, session_id: str, copying: Mapping[str, object], *, count: int) -> None:
    """Write a fork of which this many messages were copied, as a program of version 0.3 left it when it was killed."""
    record = next((paths.storage / "session").rglob(f"{session_id}.json"))
    data = json.loads(record.read_text())
    data.update(id=OLDER, metadata={"forkedFrom": {"sessionID": session_id, "copying": copying}})
    (record.parent / f"{OLDER}.json").write_text(json.dumps(data))
    names = names_of(paths, session_id)[:count]
    ForkCopies(Storage(paths), Locks(paths))._copy_batch(OLDER, ForkSource(session_id, names), names)
    paths.lock.mkdir(exist_ok=True)
    (paths.lock / "forks").write_text(f"\n+ {session_id} {OLDER}\n\n+ ses_gone ses_gone2\n\n- ses_gone ses_gone2\n")


@pytest.mark.parametrize("count", [0, 3, 8])
@pytest.mark.parametrize("kind", ["whole", "before", "last"])
async def test_a_fork_that_version_0_3_left_is_completed(environ, folder, paths, kind: str, count: int):
    session_id = write_session(paths, turns=4, directory=str(folder))
    names = names_of(paths, session_id)
    copying = {"whole": {"whole": True}, "before": {"before": names[6]}, "last": {"last": names[7]}}[kind]
    wanted = names[:6] if kind == "before" else names
    left_by_version_0_3(paths, session_id, copying, count=min(count, len(wanted)))
    async with open_client(environ, folder) as client:
        await client.sessions.wait_copied(OLDER)
        assert names_of(paths, OLDER) == [copied_id(OLDER, name) for name in wanted]
        origin = fork_origin(await client.sessions.get(OLDER))
        assert origin is not None and origin.copying is None and not (paths.lock / "forks").exists()
        await client.sessions.remove(session_id)
        assert len(await texts(client, OLDER)) == len(wanted)


@pytest.mark.parametrize("content", [b"", b"\0" * 50, b'{"id": "ms'])
async def test_a_record_without_its_bytes_is_copied_again(environ, folder, paths, content: bytes):
    session_id = write_session(paths, turns=4, directory=str(folder))
    left_by_version_0_3(paths, session_id, {"whole": True}, count=8)
    for path in list((paths.storage / "message" / OLDER).glob("*.json"))[:2]:
        path.write_bytes(content)
        next((paths.storage / "part" / path.stem).glob("*.json")).write_bytes(content)
    async with open_client(environ, folder) as client:
        assert len(await texts(client, OLDER)) == 8


async def test_a_half_made_fork_without_its_source_keeps_what_it_has(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    left_by_version_0_3(paths, session_id, {"whole": True}, count=4)
    async with open_client(environ, folder) as client:
        await client.sessions.remove(session_id)
    (paths.lock / "forks").write_text(f"\n+ {session_id} {OLDER}\n")
    async with open_client(environ, folder) as client:
        assert len(await texts(client, OLDER)) in (4, 8)


async def test_what_an_active_revert_hides_is_not_copied(environ, folder, paths):
    session_id = write_session(paths, turns=4, directory=str(folder))
    ids = names_of(paths, session_id)
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
