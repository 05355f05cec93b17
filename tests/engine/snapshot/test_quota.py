"""A store stays within its size, and deletes what is not needed."""

import random

import pytest

from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.schema.error import SnapshotError
from tests.support.snapshot.worktree import World, patch_of

DAY_MS = 24 * 60 * 60 * 1000


async def test_above_the_quota_only_touched_paths_are_protected_and_it_is_said(world: World):
    world.settings = SnapshotSettings(bytes=20_000)
    world.reopen()
    for number in range(30):
        world.write(f"f{number}", str(number) * 1000)
    taken = await world.snapshots.track()
    assert [remark.path for remark in taken.unprotected] == ["."]
    assert (await world.snapshots.size()).bytes < 20_000
    recording = world.recording()
    await world.tool_write(recording, "f1", "2")
    await world.snapshots.revert([patch_of(recording)])
    assert world.facts()["f1"][2] == b"1" * 1000


async def test_cleaning_drops_old_snapshots_and_keeps_young_ones(world: World):
    world.write("a", "old" * 1000)
    old = await world.snapshots.track()
    world.clock.now += 31 * DAY_MS
    world.write("a", "young" * 1000)
    young = await world.snapshots.track()
    await world.snapshots.clean()
    assert (await world.snapshots.diff(young.id, young.id)) == []
    with pytest.raises(SnapshotError, match="has no object"):
        await world.snapshots.patch(old.id)
    assert (await world.snapshots.verify()).damaged == ()


async def test_a_dry_run_estimates_the_size_after_cleaning_and_deletes_nothing(world: World):
    world.write("a", random.Random(1).randbytes(200_000))
    old = await world.snapshots.track()
    world.clock.now += 31 * DAY_MS
    world.write("a", random.Random(2).randbytes(100_000))
    await world.snapshots.track()
    estimated = await world.snapshots.clean(is_dry_run=True)
    assert (await world.snapshots.patch(old.id)).hash == old.id
    world.clock.now += 1
    left = await world.snapshots.clean()
    assert estimated.bytes == pytest.approx(left.bytes, rel=0.1) and estimated.snapshots == 1


async def test_what_is_to_be_kept_is_kept_at_any_age(world: World):
    world.write("a", "old")
    old = await world.snapshots.track()
    world.clock.now += 31 * DAY_MS
    usage = await world.snapshots.clean(keep=[old.id])
    world.write("a", "new")
    assert world.inside((await world.snapshots.patch(old.id)).files) == ["a"]
    assert usage.snapshots == 1


async def test_a_scan_after_cleaning_finds_everything_again(world: World):
    world.write("a", "1")
    await world.snapshots.track()
    world.clock.now += 31 * DAY_MS
    await world.snapshots.clean()
    before = await world.snapshots.track()
    world.write("a", "2")
    await world.snapshots.revert([await world.snapshots.patch(before.id)])
    assert world.facts()["a"][2] == b"1"


async def test_many_small_packs_become_few(world: World):
    for number in range(12):
        world.write("a", str(number))
        await world.snapshots.track()
    await world.snapshots.clean()
    assert len(list(world.paths.snapshot.rglob("*.pack"))) == 1
    assert (await world.snapshots.verify()).damaged == ()


@pytest.mark.slow
async def test_packs_are_merged_when_they_become_many_and_lose_nothing(world: World):
    world.write("a", "0")
    first = await world.snapshots.track()
    for number in range(70):
        world.write("b", str(number))
        await world.snapshots.track()
    await world.snapshots.track()
    assert len(list(world.paths.snapshot.rglob("*.pack"))) < 40
    world.write("a", "1")
    await world.snapshots.revert([await world.snapshots.patch(first.id)])
    assert {path: fact[2] for path, fact in world.facts().items()} == {"a": b"0"}
