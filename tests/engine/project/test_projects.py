import json
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.project.projects import REFRESH_MS, OpenedProject, Projects
from opencode_tui.schema.api.project import ProjectInfo, ProjectTime
from opencode_tui.schema.event.event import ProjectUpdated
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.world.repo import Repo, make_repo


@dataclass
class World:
    """A store with a clock that a test can move."""

    paths: Paths
    storage: Storage
    locks: Locks
    now: int = 1_000
    published: list[ProjectUpdated] = field(default_factory=list[ProjectUpdated])

    async def open(self, directory: Path) -> OpenedProject:
        return await self.projects.open(self.project(directory))

    @property
    def projects(self) -> Projects:
        return Projects(
            storage=self.storage,
            locks=self.locks,
            clock=lambda: self.now,
            publish=self.published.append,
            hold=lambda session_id: self.locks.session_run(session_id).hold(),
        )

    def project(self, directory: Path) -> Project:
        return discover(directory, paths=self.paths, environ=os.environ)

    def file(self, *key: str) -> Path:
        return self.paths.storage.joinpath(*key[:-1], f"{key[-1]}.json")

    async def put_session(self, project: str, session: str, **fields: Any) -> dict[str, Any]:
        record = {"id": session, "projectID": project, "time": {"created": 1, "updated": 2}, "extra": [1], **fields}
        await self.storage.write(("session", project, session), json.dumps(record).encode())
        return record


@pytest.fixture
async def world(paths: Paths) -> AsyncIterator[World]:
    storage = Storage(paths)
    yield World(paths, storage, Locks(paths))
    await storage.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.commit()
    return repo


async def test_first_opening_writes_the_record(world: World, repo: Repo) -> None:
    root = repo.git("rev-parse", "HEAD")
    time = ProjectTime(created=1_000, updated=1_000)
    expected = ProjectInfo(id=root, worktree=str(repo.path), vcs="git", time=time)
    assert await world.open(repo.path) == OpenedProject(expected)
    assert json.loads(world.file("project", root).read_bytes()) == expected.to_dict()


async def test_opening_again_within_a_day_writes_nothing(world: World, repo: Repo) -> None:
    first = await world.open(repo.path)
    before = world.file("project", first.info.id).stat()
    world.now += REFRESH_MS - 1
    assert (await world.open(repo.path)).info == first.info
    assert world.file("project", first.info.id).stat().st_mtime_ns == before.st_mtime_ns


async def test_after_a_day_only_the_time_is_refreshed(world: World, repo: Repo) -> None:
    first = await world.open(repo.path)
    world.now += REFRESH_MS
    expected = first.info.changed(time=ProjectTime(created=1_000, updated=world.now))
    assert (await world.open(repo.path)).info == expected


async def test_foreign_fields_and_name_survive_a_refresh(world: World, repo: Repo) -> None:
    first = await world.open(repo.path)
    file = world.file("project", first.info.id)
    file.write_text(json.dumps({**json.loads(file.read_text()), "name": "mine", "future": {"a": None}}))
    world.now += REFRESH_MS
    await world.open(repo.path)
    kept = json.loads(file.read_text())
    assert (kept["name"], kept["future"], kept["time"]["updated"]) == ("mine", {"a": None}, world.now)


async def test_linked_worktrees_are_noted_and_dropped_when_gone(world: World, repo: Repo, tmp_path: Path) -> None:
    one, two = repo.link(tmp_path / "one", "one"), repo.link(tmp_path / "two", "two")
    await world.open(one.path)
    assert (await world.open(two.path)).info.sandboxes == [str(one.path), str(two.path)]
    shutil.rmtree(one.path)
    opened = await world.open(repo.path)
    assert (opened.info.worktree, opened.info.sandboxes) == (str(repo.path), [str(two.path)])


async def test_folder_without_repository_has_the_global_record(world: World, tmp_path: Path) -> None:
    time = ProjectTime(created=1_000, updated=1_000)
    assert await world.open(tmp_path) == OpenedProject(ProjectInfo(id="global", worktree="/", time=time))


async def test_damaged_record_is_reported_and_unchanged(world: World, repo: Repo) -> None:
    opened = await world.open(repo.path)
    file = world.file("project", opened.info.id)
    for damage in (b"", b'{"id": 5}'):
        file.write_bytes(damage)
        again = await world.open(repo.path)
        assert (again.info.id, ["doctor" in warning for warning in again.warnings]) == (opened.info.id, [True])
        assert file.read_bytes() == damage


async def test_sessions_of_the_folder_move_into_its_new_project(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (folder / "sub").mkdir(parents=True)
    mine = await world.put_session("global", "ses_mine", directory=str(folder))
    below = await world.put_session("global", "ses_sub", directory=str(folder / "sub"))
    legacy = await world.put_session("global", "ses_none")
    await world.put_session("global", "ses_other", directory=str(tmp_path))
    root = make_repo(folder).commit()
    opened = await world.open(folder)
    assert set(opened.adopted) == {"ses_mine", "ses_sub", "ses_none"}
    moved = {file.stem: json.loads(file.read_text()) for file in world.file("session", root, "x").parent.iterdir()}
    assert moved == {
        "ses_mine": {**mine, "projectID": root},
        "ses_sub": {**below, "projectID": root},
        "ses_none": {**legacy, "projectID": root, "directory": str(folder)},
    }
    assert [file.stem for file in world.file("session", "global", "x").parent.iterdir()] == ["ses_other"]


async def test_session_of_a_repository_inside_is_not_taken(world: World, repo: Repo) -> None:
    inner = make_repo(repo.path / "inner")
    await world.put_session("global", "ses_inner", directory=str(inner.path))
    assert (await world.open(repo.path)).adopted == ()


async def test_running_session_stays_and_follows_later(world: World, repo: Repo) -> None:
    await world.put_session("global", "ses_a", directory=str(repo.path))
    other = Locks(world.paths)
    other.session_run("ses_a").try_acquire()
    opened = await world.open(repo.path)
    assert (opened.adopted, len(opened.warnings)) == ((), 1)
    other.session_run("ses_a").release()
    world.now += REFRESH_MS
    assert (await world.open(repo.path)).adopted == ("ses_a",)


@pytest.mark.parametrize(("old_time", "kept"), [(2, "new"), (9, "old")])
async def test_session_in_both_locations_keeps_its_newer_state(
    world: World, repo: Repo, old_time: int, kept: str
) -> None:
    root = repo.git("rev-parse", "HEAD")
    await world.put_session("global", "ses_a", directory=str(repo.path), title="old", time={"updated": old_time})
    await world.put_session(root, "ses_a", directory=str(repo.path), title="new", time={"updated": 5})
    await world.open(repo.path)
    assert json.loads(world.file("session", root, "ses_a").read_text())["title"] == kept
    assert not world.file("session", "global", "ses_a").exists()


async def test_damaged_session_stays_and_hides_no_other(world: World, repo: Repo) -> None:
    await world.put_session("global", "ses_a", directory=str(repo.path))
    world.file("session", "global", "ses_b").write_bytes(b"")
    assert (await world.open(repo.path)).adopted == ("ses_a",)
    assert world.file("session", "global", "ses_b").exists()


async def test_a_record_is_published_when_it_is_written_and_not_when_it_is_read(world: World, repo: Repo) -> None:
    first = (await world.open(repo.path)).info
    await world.open(repo.path)
    assert [one.to_dict() for one in world.published] == [{**first.to_dict(), "type": "project.updated"}]


async def test_init_leaves_its_time_in_the_record(world: World, repo: Repo) -> None:
    await world.open(repo.path)
    world.now += 5
    await world.projects.mark_initialized(world.project(repo.path))
    info = (await world.open(repo.path)).info
    assert info.time == ProjectTime(created=1_000, updated=1_000, initialized=1_005)
    assert world.published[-1].time == info.time
