"""What a scan leaves out is kept before a command that discards it: within a budget, once, of any size, and private if ignored."""

import os

import pytest

from opencode_tui.engine.snapshot.entry import NOT_KEPT
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.scan.lost_files import LostPath
from opencode_tui.schema.error import SnapshotError
from tests.support.snapshot.worktree import World, patch_of

LARGE = b"\0large" * 500_000


@pytest.fixture
def limited(tmp_path, paths) -> World:
    """A worktree in which 4 MB are kept."""
    return World(tmp_path / "project", paths, settings=SnapshotSettings(keep_bytes=4_000_000))


async def discarding(world: World, *lost: str, act):
    """Run a step whose command discards these paths, and return its patch."""
    recording = world.recording()
    await recording.begin_command([LostPath(path) for path in lost])
    act()
    await recording.end_command()
    return patch_of(recording)


async def usage(world: World) -> tuple[int, int]:
    found = await world.snapshots.size()
    return found.kept_files, found.kept


async def test_a_large_file_is_kept_and_restored_and_removed_again_by_a_redo(world):
    path = world.write("video", LARGE, mode=0o640)
    patch = await discarding(world, "video", act=path.unlink)
    report = await world.snapshots.revert([patch])
    assert path.read_bytes() == LARGE and path.stat().st_mode & 0o777 == 0o640 and not report.unprotected
    await world.snapshots.unrevert(report)
    assert not path.exists()
    assert await usage(world) == (1, len(LARGE))


async def test_an_unchanged_file_is_kept_once(world):
    path = world.write("video", LARGE)
    os.utime(path, ns=(1, 1))
    for name in "abc":
        await discarding(world, "video", act=lambda name=name: world.write(name))
    world.reopen()
    await discarding(world, "video", act=lambda: world.write("d"))
    assert await usage(world) == (1, len(LARGE))


async def test_of_several_files_the_smallest_fit_and_the_others_are_named(limited):
    for name in "abc":
        limited.write(name, LARGE[: 2_100_000 + ord(name)])

    def remove() -> None:
        for name in "abc":
            (limited.root / name).unlink()

    report = await limited.snapshots.revert([await discarding(limited, "a", "b", "c", act=remove)])
    assert {file.path[-1]: file.reason for file in report.unprotected} == {"b": NOT_KEPT, "c": NOT_KEPT}
    assert sorted(path.name for path in limited.root.iterdir()) == ["a"]


async def test_the_other_commands_of_the_step_do_not_lose_what_one_keeps(world):
    path = world.write("video", LARGE)
    recording = world.recording()
    await recording.begin_command()
    world.write("made")
    await recording.begin_command([LostPath("video")])
    path.unlink()
    await recording.end_command()
    await recording.end_command()
    await world.snapshots.revert([patch_of(recording)])
    assert path.read_bytes() == LARGE and not (world.root / "made").exists()


async def test_a_kept_file_that_git_ignores_is_in_no_diff(world):
    world.write(".gitignore", "*.db\n")
    path = world.write("a.db", LARGE)
    patch = await discarding(world, "a.db", act=path.unlink)
    assert patch.after is not None
    assert await world.snapshots.diff(patch.hash, patch.after) == []


async def test_of_a_kept_file_a_diff_has_no_text(world):
    path = world.write("a.txt", "text\n" * 500_000)
    patch = await discarding(world, "a.txt", act=path.unlink)
    assert patch.after is not None
    [diff] = await world.snapshots.diff(patch.hash, patch.after)
    assert diff.before == diff.after == "" and diff.status == "deleted" and diff.note == "binary"


async def test_a_damaged_kept_file_stops_the_undo_before_it_changes_anything(world):
    path = world.write("video", LARGE)
    patch = await discarding(world, "video", act=lambda: (path.unlink(), world.write("made")))
    [kept] = world.snapshots.lock.paths.snapshot.glob("*/*/git/kept/*")
    kept.write_bytes(LARGE[:-1] + b"?")
    with pytest.raises(SnapshotError, match="has changed since it was kept"):
        await world.snapshots.revert([patch])
    assert (world.root / "made").exists() and not path.exists()
    assert len((await world.snapshots.verify()).damaged) == 1


async def test_a_clean_deletes_what_only_deleted_snapshots_need(world):
    world.clock.now = 0
    path = world.write("video", LARGE)
    await discarding(world, "video", act=path.unlink)
    world.clock.now = 10**12
    preview = await world.snapshots.clean(is_dry_run=True)
    assert (preview.kept_files, await usage(world)) == (0, (1, len(LARGE)))
    await world.snapshots.clean()
    assert await usage(world) == (0, 0)


async def test_a_file_without_its_kept_content_is_read_again_by_the_next_scan(world):
    path = world.write("video", LARGE)
    os.utime(path, ns=(1, 1))
    patch = await discarding(world, "video", act=lambda: world.write("made"))
    await world.snapshots.patch(patch.hash)
    for kept in world.snapshots.lock.paths.snapshot.glob("*/*/git/kept/*"):
        kept.unlink()
    again = await discarding(world, "video", act=path.unlink)
    await world.snapshots.revert([again])
    assert path.read_bytes() == LARGE
