"""Lists and sums without an engine equal those of an engine, also where an engine would put the records in order first."""

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from opencode_tui.client.project_sessions import ProjectSessions, open_sessions
from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.storage.paths import Paths
from tests.storage.legacy_store import make_legacy_store, make_project
from tests.support.sessions.families import write_family
from tests.support.world.repo import make_repo


def opened(folder: Path, paths: Paths, environ: Mapping[str, str]) -> AbstractAsyncContextManager[ProjectSessions]:
    return open_sessions(environ, folder, paths=paths)


async def test_they_are_those_of_the_engine(api, paths: Paths, environ: dict[str, str]) -> None:
    first, second = await api.new_session(title="first"), await api.new_session(title="second")
    child = await api.new_session(parent_id=second.id)
    await api.say(first, "hello")
    archived = await api.new_session(title="archived")
    await api.client.sessions.update(archived.id, UpdateSession(archived=5))
    theirs = api.client.sessions
    async with opened(api.project.path, paths, environ) as ours:
        assert await ours.listed() == await theirs.listed()
        assert await ours.all() == await theirs.list()
        assert [info.id for info in await ours.recent(2)] == [info.id for info in await theirs.recent(2, False)]
        assert [info.id for info in await ours.recent(9, is_archived=True)] == [archived.id]
        assert {info.id for info in await ours.all()} == {first.id, second.id, child.id, archived.id}
        usage = await ours.usage()
        assert (usage.sessions, usage.messages) == (4, 2) and usage == await theirs.usage()


async def test_an_old_store_is_migrated_first(paths: Paths, environ: dict[str, str], tmp_path: Path) -> None:
    repo = make_project(tmp_path / "project")
    make_legacy_store(paths, repo)
    async with opened(repo.path, paths, environ) as ours:
        titles = [info.title for info in await ours.listed()]
    assert len(titles) == len(list((paths.storage / "session" / repo.git("rev-list", "--all")).iterdir())) > 0


async def test_sessions_that_are_older_than_their_repository_are_listed_in_it(
    paths: Paths, environ: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    family = write_family(paths, directory=str(folder))
    async with opened(folder, paths, environ) as ours:
        assert len(await ours.listed()) == len(family.infos)
    root = make_repo(folder).commit()
    async with opened(folder, paths, environ) as ours:
        assert {info.project_id for info in await ours.all()} == {root}
        assert len(await ours.listed()) == len(family.infos)


async def test_a_damaged_record_is_named_in_the_log_and_the_others_are_listed(
    paths: Paths, environ: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    family = write_family(paths, directory=str(tmp_path))
    damaged = paths.storage / "session" / "global" / f"{family.infos[1].id}.json"
    damaged.write_text("{half")
    with caplog.at_level(logging.WARNING):
        async with opened(tmp_path, paths, environ) as ours:
            listed = [info.id for info in await ours.listed()]
    assert sorted(listed) == sorted(info.id for info in family.infos if info.id != family.infos[1].id)
    assert str(damaged) in caplog.text
