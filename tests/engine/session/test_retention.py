import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.engine.session.revert import retention
from opencode_tui.engine.session.revert.retention import clean_unneeded, needed_snapshots
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.ids import system_clock
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
