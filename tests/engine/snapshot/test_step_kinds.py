"""What steps commonly do, undone. Source: the tests of OpenCode 1.1.65, restated."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.support.snapshot.worktree import World
from tests.support.world.repo import make_repo


@pytest.fixture
def project(world: World) -> World:
    repo = make_repo(world.root)
    repo.commit(**{"a.txt": "a\n", "b.txt": "b\n"})
    return world


async def undone(world: World, *acts: Callable[[], object]) -> list[str]:
    """Do a step, undo it, check that everything is as before; returns the files that it was said to change."""
    before = world.facts()
    patch = await world.step(*acts)
    report = await world.snapshots.revert([patch])
    assert (world.facts(), report.kept, report.failed) == (before, [], [])
    return world.inside(patch.files)


@pytest.mark.parametrize("name", ["deep/er/and/deeper", "文件/名.txt", "🦀/é", "n" * 200])
async def test_a_new_file_goes_whatever_its_name_and_depth(project: World, name: str):
    assert await undone(project, lambda: project.write(name, b"\0\1\2")) == [name]


async def test_a_file_of_a_megabyte_is_recorded(project: World):
    assert await undone(project, lambda: project.write("big", os.urandom(1024 * 1024))) == ["big"]


async def test_links_to_files_folders_and_themselves_go(project: World):
    def work() -> None:
        for name, target in (("file", "a.txt"), ("folder", "."), ("circle", "circle")):
            (project.root / name).symlink_to(target)

    assert await undone(project, work) == ["circle", "file", "folder"]


async def test_a_file_deleted_and_made_anew_has_its_first_content_again(project: World):
    def work() -> None:
        (project.root / "a.txt").unlink()
        project.write("a.txt", "anew")
        project.write("c.txt", "c")

    assert await undone(project, work) == ["a.txt", "c.txt"]


async def test_a_file_that_was_gone_before_the_step_is_gone_again(project: World):
    (project.root / "a.txt").unlink()
    assert await undone(project, lambda: project.write("a.txt", "anew")) == ["a.txt"]


async def test_what_came_after_the_step_stays(project: World):
    def work() -> None:
        (project.root / "a.txt").unlink()
        project.write("b.txt", "other")

    patch = await project.step(work)
    project.write("new", "mine")
    await project.snapshots.revert([patch])
    assert {name: fact[2] for name, fact in project.facts().items()} == {
        "a.txt": b"a\n",
        "b.txt": b"b\n",
        "new": b"mine",
    }


async def test_files_written_while_a_patch_is_made_do_no_harm(project: World):
    before = await project.snapshots.track()
    is_over = threading.Event()

    def write() -> None:
        number = 0
        while not is_over.is_set():
            project.write(f"w/{number % 50}", f"{number}")
            number += 1

    writing = asyncio.create_task(asyncio.to_thread(write))
    for _ in range(5):
        await project.snapshots.patch(before.id)
    is_over.set()
    await writing
    patch = await project.snapshots.patch(before.id)
    await project.snapshots.revert([patch])
    assert sorted(project.facts()) == ["a.txt", "b.txt"]


async def test_the_diff_of_a_linked_worktree_is_of_its_own_files(project: World, tmp_path: Path, paths: Paths):
    make_repo(project.root).link(tmp_path / "linked")
    linked = World(tmp_path / "linked", paths)
    before = await linked.snapshots.track()
    linked.write("a.txt", "changed")
    linked.write("here")
    project.write("there")
    after = await linked.snapshots.track()
    assert [diff.file for diff in await linked.snapshots.diff(before.id, after.id)] == ["a.txt", "here"]
