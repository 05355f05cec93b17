"""Whatever changes in a folder that three scans found alike is found by the next: a folder is taken over only as a whole."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.snapshot.folder_changes import CHANGES
from tests.support.snapshot.worktree import World
from tests.support.world.repo import make_repo

OLD_NS = 1_700_000_000_000_000_000


async def looked_at(world: World, name: str) -> None:
    """Fill a folder, and scan it until nothing in it is read again."""
    for file in ("a", "b", "sub/x", "sub/deep/y"):
        os.utime(world.write(f"{name}/{file}", f"old {file}\n"), ns=(OLD_NS, OLD_NS))
    known = taken = (await world.snapshots.track()).id
    for _ in range(200):
        taken = (await world.snapshots.track()).id
        if _is_listed(world, name) and _is_listed(world, f"{name}/sub"):
            break
    assert taken == known and _is_listed(world, name) and _is_listed(world, f"{name}/sub")


def _is_listed(world: World, name: str) -> bool:
    opened = world.snapshots.lock._opened
    assert opened is not None and opened.worktree._cache is not None
    return opened.worktree._cache.folders[name].listing is not None


@pytest.mark.fast_cases(
    "the mode of a folder-plain",
    "the mode of the folder itself-plain",
    "the mode of a file-plain",
    "a link for a file-plain",
    "a folder is removed-plain",
    "a file further down-plain",
    "a pipe-plain",
    "a file that many names have-plain",
    "a file of the same size and time-plain",
    "a file is added-plain",
    "a file is renamed-plain",
    "a folder for a file-plain",
)
@pytest.mark.parametrize("rules", ["", "top/\n"], ids=["plain", "ignored"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
async def test_every_change_is_found_and_undone(world: World, change: Callable[[Path], object], rules: str):
    world.write(".gitignore", rules)
    await looked_at(world, "top")
    before = world.facts()
    patch = await world.step(lambda: change(world.root / "top"))
    fresh = (await world.snapshots.track()).id
    world.reopen()  # without what is in memory
    assert (await world.snapshots.track()).id == fresh
    changed = world.facts()
    report = await world.snapshots.revert([patch])
    left = {path for path, fact in world.facts().items() if before.get(path) != fact}
    assert (changed != before, left - {"aside", "aside/x", "aside/deep", "aside/deep/y"}) == (True, set())
    assert report.kept == []


@pytest.mark.parametrize("name", ["top/.gitignore", "top/sub/.gitignore", ".gitignore"])
async def test_new_ignore_rules_hold_in_folders_that_are_unchanged(world: World, name: str):
    await looked_at(world, "top")
    world.write("top/sub/build/x")
    await world.snapshots.track()
    await world.snapshots.track()
    world.write(name, "build\n")
    taken = await world.snapshots.track()
    assert [one.path for one in taken.unprotected] == ["top/sub/build"]


async def test_a_folder_that_becomes_a_repository_has_rules_of_its_own(world: World):
    world.write(".gitignore", "*.log\n")
    await looked_at(world, "top")
    make_repo(world.root / "top/sub")
    world.write("top/sub/x.log")
    taken = await world.snapshots.track()
    assert [one.path for one in taken.unprotected] == ["top/sub/.git"]
    assert "x.log" in _files_of(world, "top/sub")


async def test_a_marker_of_a_tool_leaves_an_ignored_folder_out_again(world: World):
    world.write(".gitignore", "top/\n")
    await looked_at(world, "top")
    world.write("top/sub/CACHEDIR.TAG")
    taken = await world.snapshots.track()
    assert [one.path for one in taken.unprotected] == ["top/sub"]


def _files_of(world: World, name: str) -> set[str]:
    opened = world.snapshots.lock._opened
    assert opened is not None and opened.worktree._cache is not None
    return set(opened.worktree._cache.folders[name].files)
