"""Which ignored files a snapshot has: within which limits, and what stays outside with which reason."""

import pytest

from opencode_tui.engine.snapshot.entry import IGNORED_MANY, MADE_AGAIN
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.scan.kept import MADE_BY, KeptLimits
from tests.support.snapshot.worktree import World


def reasons(taken) -> dict[str, str]:
    return {remark.path: remark.reason for remark in taken.unprotected}


async def undone(world: World, *acts) -> list[str]:
    """Return what an undo of these acts names, and check that it restores all else."""
    before = world.facts()
    patch = await world.step(*acts)
    report = await world.snapshots.revert([patch])
    named = world.inside([one.path for one in [*report.kept, *report.unprotected]])
    after = world.facts()
    inside = {path for path in before.keys() | after.keys() if any(f"{path}/".startswith(f"{one}/") for one in named)}
    assert {path: fact for path, fact in after.items() if path not in inside} == {
        path: fact for path, fact in before.items() if path not in inside
    }
    return named


@pytest.mark.fast_cases(".gradle", ".output", ".angular", ".dart_tool")
@pytest.mark.parametrize("name", sorted(MADE_BY))
async def test_an_ignored_folder_that_tools_make_again_is_left_out(world, name):
    world.write(".gitignore", f"{name}\n")
    world.write(f"{name}/x")
    assert reasons(await world.snapshots.track()) == {name: MADE_AGAIN}


@pytest.mark.parametrize("marker", ["CACHEDIR.TAG", "pyvenv.cfg"])
@pytest.mark.parametrize("rules", [".gitignore", "made/.gitignore"])
async def test_a_folder_that_its_marker_shows_to_be_made_by_a_tool_is_left_out(world, marker, rules):
    world.write(rules, "made\n" if rules == ".gitignore" else "*\n")
    world.write(f"made/{marker}")
    world.write("made/lib/x")
    assert set(reasons(await world.snapshots.track()).values()) == {MADE_AGAIN}


async def test_a_folder_of_such_a_name_that_is_not_ignored_counts(world):
    assert await undone(world, lambda: world.write("build/x")) == []


async def test_a_file_over_the_limit_is_named_and_one_below_it_is_restored(tmp_path, paths):
    world = World(tmp_path / "project", paths, settings=SnapshotSettings(ignored_bytes=10))
    world.write(".gitignore", "data\n")
    world.write("data/small", "1234567890")
    world.write("data/large", "12345678901")
    assert reasons(await world.snapshots.track()) == {"data/large": KeptLimits(10).too_large}
    acts = (lambda: world.write("data/small", "2"), lambda: world.write("data/large", "2"))
    assert await undone(world, *acts) == ["data/large"]


async def test_a_file_that_a_command_makes_too_large_is_restored(tmp_path, paths):
    world = World(tmp_path / "project", paths, settings=SnapshotSettings(ignored_bytes=10))
    world.write(".gitignore", "data\n")
    world.write("data/log", "1")
    assert await undone(world, lambda: world.write("data/log", "1" * 5000)) == []


async def test_without_a_limit_no_ignored_file_counts(tmp_path, paths):
    world = World(tmp_path / "project", paths, settings=SnapshotSettings(ignored_bytes=0))
    world.write(".gitignore", "data\n*.log\n")
    world.write("data/x")
    world.write("a.log")
    assert reasons(await world.snapshots.track()) == dict.fromkeys(("data", "a.log"), "ignored by .gitignore")


async def test_more_bytes_than_the_limit_of_all_are_named(world, monkeypatch):
    limits = KeptLimits(10, total_bytes=25)
    monkeypatch.setattr("opencode_tui.engine.snapshot.snapshot.KeptLimits", lambda file_bytes: limits)
    world.write(".gitignore", "data\n")
    for name in "abcd":
        world.write(f"data/{name}", "1234567890")
    first = reasons(await world.snapshots.track())
    assert len(first) == 2 and set(first.values()) == {IGNORED_MANY}
    assert reasons(await world.snapshots.track()) == first, "the next scan keeps the same ones"


async def test_a_folder_with_more_entries_than_the_limit_is_left_out_whole(world, monkeypatch):
    limits = KeptLimits(entries=10)
    monkeypatch.setattr("opencode_tui.engine.snapshot.snapshot.KeptLimits", lambda file_bytes: limits)
    world.write(".gitignore", "data\nnotes\n")
    for number in range(11):
        world.write(f"data/{number}")
    world.write("notes/x")
    assert reasons(await world.snapshots.track()) == {"data": IGNORED_MANY}
    assert await undone(world, *((world.root / "data" / str(number)).unlink for number in range(5))) == ["data"]
    assert await undone(world, (world.root / "notes/x").unlink) == []


async def test_ignored_files_never_cost_the_others_their_undo(tmp_path, paths):
    world = World(tmp_path / "project", paths, settings=SnapshotSettings(bytes=200_000))
    world.write(".gitignore", "data\n")
    world.write("a", "1")
    noise = bytes(range(256)) * 400
    for number in range(4):
        world.write(f"data/{number}", bytes((one * (number + 3) + one // 7) % 256 for one in noise))
    taken = reasons(await world.snapshots.track())
    assert taken == {"data": "ignored by .gitignore"}
    assert "a" in world.inside((await world.step(lambda: world.write("a", "2"))).files)


async def test_tracked_files_of_an_ignored_folder_have_diffs_and_the_others_have_none(world):
    from tests.support.world.repo import make_repo

    repo = make_repo(world.root)
    world.write("data/tracked", "1\n")
    repo.commit("begin")
    world.write(".gitignore", "data\n")
    world.write("data/own", "secret\n")
    patch = await world.step(lambda: world.write("data/own", "s\n"), lambda: world.write("data/tracked", "2\n"))
    assert world.inside(patch.files) == ["data/own", "data/tracked"] and patch.after is not None
    assert [diff.file for diff in await world.snapshots.diff(patch.hash, patch.after)] == ["data/tracked"]


async def test_the_report_of_an_undo_has_no_diff_of_an_ignored_file_nor_has_its_redo(world):
    world.write(".gitignore", "*.log\n")
    world.write("a.log", "1\n")
    patch = await world.step(lambda: world.write("a.log", "2\n"), lambda: world.write("b", "2\n"))
    report = await world.snapshots.revert([patch])
    assert report.before is not None and report.after is not None
    assert [diff.file for diff in await world.snapshots.diff(report.before, report.after)] == ["b"]
    again = await world.snapshots.unrevert(report)
    assert again.before is not None and again.after is not None
    assert [diff.file for diff in await world.snapshots.diff(again.before, again.after)] == ["b"]
    assert (world.root / "a.log").read_text() == "2\n"
