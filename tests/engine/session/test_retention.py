import errno
import json
import os
from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.engine.session.revert import retention
from opencode_tui.engine.session.revert.retention import clean_unneeded, needed_snapshots
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.error import SnapshotError, StorageError
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.files import FileSystem
from tests.support.provider.model_script import Answer, Call
from tests.support.undo.steps import open_snapshots, patches_in, undo
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

WRITE = Answer(calls=(Call("write", {"filePath": "new.txt", "content": "n"}),))
AUTO = AutoApprove(AskPerson())
MONTHS_MS = 90 * 24 * 60 * 60 * 1000


@pytest.fixture
def folder(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "a1\n"})
    return repo.path


def much_later(environ, folder):
    """Return the snapshots with a clock some months later."""
    return open_snapshots(environ, folder, clock=lambda: system_clock() + MONTHS_MS)


@pytest.mark.slow
async def test_a_snapshot_that_a_session_needs_is_kept_at_any_age(environ, folder):
    loose = await open_snapshots(environ, folder).track()
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        parts = await world.parts(await world.prompt("write"))
    await clean_unneeded(much_later(environ, folder))
    with pytest.raises(SnapshotError):
        await open_snapshots(environ, folder).revert(
            [Patch(hash=loose.id, after=loose.id, files=[str(folder / "a.txt")])]
        )
    report = await undo(environ, folder, parts)
    assert [path.path.endswith("new.txt") for path in report.deleted] == [True]


@pytest.mark.slow
async def test_what_a_deleted_session_needed_is_dropped_when_the_trash_is_emptied(environ, folder):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
        parts = await world.parts(session)
        await world.client.sessions.remove(session.id)
        kept = await clean_unneeded(much_later(environ, folder))
        assert kept.snapshots > 0
        trashed = await world.client.trash.list()
        await world.client.trash.empty([entry.name for entry in trashed])
    left = await clean_unneeded(much_later(environ, folder))
    assert left.snapshots == 0
    with pytest.raises(SnapshotError):
        await undo(environ, folder, parts)


async def test_the_ids_of_an_undo_in_force_are_needed(environ, folder, paths):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
        patch = patches_in(await world.parts(session))[0]
        await world.client.undo.revert(session.id)
        record = await world.client.sessions.get(session.id)
        project = session.project_id
    assert record.revert is not None
    needed = needed_snapshots(paths, folder, project)
    wanted = {patch.hash, patch.after, record.revert.snapshot, record.revert.after}
    assert wanted - {None} <= needed


async def test_another_folders_sessions_need_nothing_here(environ, folder, paths):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        await world.prompt("write")
    assert needed_snapshots(paths, folder / "elsewhere", "other") == set()


@pytest.mark.slow
async def test_the_first_change_has_the_store_cleaned_in_the_background(environ, folder, monkeypatch):
    monkeypatch.setattr(retention, "PAUSE_S", 0.01)
    long_ago = open_snapshots(environ, folder, clock=lambda: system_clock() - MONTHS_MS)
    old = await long_ago.track()
    (folder / "a.txt").write_text("a2\n")
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        await world.prompt("write")
        instance = await world.client._engine.instance(folder)
        await instance.folder.background.wait_until_idle()
    with pytest.raises(SnapshotError):
        await open_snapshots(environ, folder).patch(old.id)


UNKNOWN = pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.EACCES], ids=["EMFILE", "EIO", "EACCES"])


def fail_on(monkeypatch: pytest.MonkeyPatch, pattern: str, number: int, *, names: bool = False) -> None:
    """Let the system refuse to open files, or to list folders, whose path contains a text."""
    refused = FileSystem.names if names else FileSystem.open

    def refuse(self: FileSystem, path: str, *rest: int):
        if pattern in path:
            raise OSError(number, os.strerror(number), path)
        return refused(self, path, *rest)

    monkeypatch.setattr(FileSystem, "names" if names else "open", refuse)


@UNKNOWN
@pytest.mark.parametrize("place", ["/session/", "/part/", ".pack", ".idx"])
async def test_nothing_is_deleted_while_something_cannot_be_read(environ, folder, monkeypatch, number: int, place: str):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
        patch = patches_in(await world.parts(session))[0]
    with monkeypatch.context() as context:
        fail_on(context, place, number)
        with pytest.raises((SnapshotError, StorageError), match=r"cannot (read|list)"):
            await clean_unneeded(much_later(environ, folder))
    assert not await open_snapshots(environ, folder).missing([patch.hash, str(patch.after)])


@UNKNOWN
async def test_nothing_is_deleted_while_a_folder_of_parts_cannot_be_listed(environ, folder, monkeypatch, number: int):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        patch = patches_in(await world.parts(await world.prompt("write")))[0]
    with monkeypatch.context() as context:
        fail_on(context, "/part/", number, names=True)
        with pytest.raises(StorageError, match="cannot list"):
            await clean_unneeded(much_later(environ, folder))
    assert not await open_snapshots(environ, folder).missing([patch.hash, str(patch.after)])


@UNKNOWN
async def test_an_undo_that_cannot_read_its_snapshots_says_so_and_does_not_call_them_cleaned_up(
    environ, folder, monkeypatch, number: int
):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
    async with opened(environ, folder, policy=AUTO) as world:
        with monkeypatch.context() as context:
            fail_on(context, ".pack", number)
            with pytest.raises(SnapshotError, match="cannot read"):
                await world.client.undo.revert(session.id)
        assert [path.path.endswith("new.txt") for path in (await world.client.undo.revert(session.id)).deleted] == [
            True
        ]


@pytest.mark.parametrize("content", ["[]", "3", '{"directory": 5}', '{"directory": "/e', ""])
async def test_a_foreign_record_that_is_no_session_does_not_stop_the_cleaning(environ, folder, paths, content: str):
    old = open_snapshots(environ, folder, clock=lambda: system_clock() - MONTHS_MS)
    lost = await old.track()
    record = paths.storage / "session" / "other" / "ses_other.json"
    record.parent.mkdir(parents=True)
    record.write_text(content)
    await clean_unneeded(open_snapshots(environ, folder))
    assert await open_snapshots(environ, folder).missing([lost.id]) == {lost.id}


async def test_a_damaged_record_of_a_session_keeps_its_snapshots(environ, folder, paths):
    async with opened(environ, folder, WRITE, Answer(text="done"), policy=AUTO) as world:
        session = await world.prompt("write")
        patch = patches_in(await world.parts(session))[0]
    record = next(Path(paths.storage).glob(f"session/*/{session.id}.json"))
    other = record.parent.with_name("other")
    other.mkdir()
    (other / record.name).write_text(json.dumps(json.loads(record.read_text()))[:-10])
    record.unlink()
    await clean_unneeded(much_later(environ, folder))
    assert not await open_snapshots(environ, folder).missing([patch.hash, str(patch.after)])
