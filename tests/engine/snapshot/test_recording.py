import asyncio

import pytest

from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.record.recording import CommandWindow
from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.engine.snapshot.scan.lost_files import LostPath
from opencode_tui.schema.error import SnapshotError
from tests.support.snapshot.worktree import World, patch_of


async def undo(world, *recordings):
    return await world.snapshots.revert([patch_of(one) for one in recordings if one.result is not None])


def history(world):
    return world.snapshots.lock._opened.change_log.read()


async def test_a_write_is_recorded_before_it_happens(world):
    world.write("a", "1")
    recording = world.recording()
    await recording.before_write([FileWrite(world.root / "a", b"2", 0o644)], [])
    assert recording.result is not None and world.inside(recording.result.files) == ["a"]
    assert (world.root / "a").read_text() == "1"


async def test_a_write_that_did_not_happen_leaves_no_record(world):
    world.write("a", "1")
    recording = world.recording()
    number, _ = await recording.before_write([FileWrite(world.root / "a", b"2", 0o644)], [])
    await recording.cancel_write(number)
    assert (recording.result, history(world).writes) == (None, [])


async def test_an_abandoned_write_is_removed_when_the_step_is_finalized(world):
    recording = world.recording()
    number, _ = await recording.before_write([FileWrite(world.root / "a", b"2", 0o644)], [])
    recording.abandon(number)
    assert recording.is_open
    await recording.finalize()
    assert (recording.result, recording.is_open) == (None, False)


async def test_the_users_change_between_two_writes_of_a_step_is_a_conflict(world):
    world.write("a", "1", mode=0o644)
    recording = world.recording()
    await world.tool_write(recording, "a", "2")
    world.write("a", "the user's")
    await world.tool_write(recording, "a", "3")
    report = await undo(world, recording)
    assert (world.inside([one.path for one in report.kept]), (world.root / "a").read_text()) == (["a"], "3")


async def test_a_write_in_progress_is_left_out_of_other_steps(world):
    busy, other = world.recording(session="ses_1"), world.recording(session="ses_2", message="msg_2")
    number, _ = await busy.before_write([FileWrite(world.root / "a", b"2", 0o644)], [])
    await other.begin_command()
    world.write("a", "2")
    world.write("b", "2")
    await other.end_command()
    await busy.after_write(number)
    assert other.result is not None and world.inside(other.result.files) == ["b"]


async def test_a_large_file_that_a_tool_writes_over_is_brought_back(world):
    content = b"x" * (3 * 1024 * 1024)
    world.write("large", content, mode=0o640)
    recording = world.recording()
    await recording.before_write([FileWrite(world.root / "large", b"small", 0o640)], [])
    world.write("large", b"small")
    await undo(world, recording)
    assert (world.root / "large").read_bytes() == content


@pytest.mark.parametrize("kind", ["new", "kept", "not kept"])
async def test_a_large_file_that_a_command_left_is_not_what_the_write_after_it_is_undone_to(world, kind):
    path, old, new = world.root / "large", b"old" * (1024 * 1024), b"new" * (1024 * 1024)
    if kind != "new":
        world.write("large", old)
    recording = world.recording()
    await recording.begin_command([LostPath("large")] if kind == "kept" else [])
    world.write("large", new)
    await recording.end_command()
    number, _ = await recording.before_write([FileWrite(path, b"small", 0o644)], [])
    world.write("large", b"small")
    await recording.after_write(number)
    report = await undo(world, recording)
    left = path.read_bytes() if path.exists() else None
    named = world.inside([one.path for one in report.unprotected])
    assert (left, named) == {"new": (None, []), "kept": (old, []), "not kept": (b"small", ["large"])}[kind]


async def test_a_canceled_scan_before_a_command_leaves_nothing_open(world):
    for number in range(300):
        world.write(f"d{number}/f")
    recording = world.recording()
    joining = asyncio.create_task(recording.begin_command())
    await asyncio.sleep(0.005)
    joining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await joining
    later = world.recording(session="ses_2", message="msg_2")
    await later.begin_command()
    world.write("made")
    await later.end_command()
    assert (recording.is_open, later.result is not None, history(world).steps) == (False, True, {})
    assert history(world).contested == {}


async def test_a_canceled_scan_after_a_command_is_repeated_when_the_step_is_finalized(world):
    recording = world.recording()
    await recording.begin_command()
    for number in range(300):
        world.write(f"d{number}/f")
    leaving = asyncio.create_task(recording.end_command())
    await asyncio.sleep(0.005)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert recording.is_open
    await recording.finalize()
    assert recording.result is not None and len(recording.result.files) == 300 and history(world).steps == {}


async def test_agents_of_one_request_share_one_command_window(world):
    window = CommandWindow("ses_0")
    one, two = (world.recording(session=f"ses_{n}", message=f"msg_{n}", window=window) for n in (1, 2))
    before = world.facts()
    await one.begin_command()
    world.write("a", "1")
    await two.begin_command()
    world.write("b", "2")
    await one.end_command()
    world.write("a", "3")
    await two.end_command()
    assert [world.inside(each.result.files) for each in (one, two) if each.result] == [["a", "b"], ["a"]]
    report = await undo(world, one, two)
    assert (world.facts(), report.kept) == (before, [])


async def test_without_room_a_command_is_refused_a_record_and_a_write_is_not(tmp_path, paths):
    world = World(tmp_path / "project", paths, settings=SnapshotSettings(bytes=2000))
    for number in range(50):
        world.write(f"f{number}", f"{number}" * 500)
    recording = world.recording()
    with pytest.raises(SnapshotError, match="store is full"):
        await recording.begin_command()
    await world.tool_write(recording, "f1", "new")
    assert recording.result is not None and world.inside(recording.result.files) == ["f1"]
    assert history(world).shells[0].ended is not None


async def run(recording, *acts):
    for act in acts:
        await recording.begin_command()
        act()
        await recording.end_command()


async def test_a_folder_that_a_write_made_and_a_command_changed_goes_with_the_step(world):
    before = world.facts()
    recording = world.recording()
    number, _ = await recording.before_write([FileWrite(world.root / "d/x", b"1", 0o644)], [world.root / "d"])
    world.write("d/x", "1", mode=0o644)
    await recording.after_write(number)
    await run(recording, lambda: (world.root / "d").chmod(0o700))
    report = await undo(world, recording)
    assert (world.facts(), report.kept, report.failed) == (before, [], [])


async def test_what_is_not_recorded_is_named_even_when_nothing_else_was_done(world):
    world.write(".gitignore", "target\n")
    world.write("a", "1")
    alone, second = world.recording(), world.recording(message="msg_2")
    await run(alone, lambda: world.write("target/one"))
    await run(second, (world.root / "a").unlink, lambda: world.write("target/two"))
    for recording in (alone, second):
        report = await undo(world, recording)
        assert world.inside([remark.path for remark in report.unprotected]) == ["target"]


async def test_a_command_that_changes_only_a_large_ignored_file_names_it_alone(world):
    world.write(".gitignore", "*.log\n")
    world.write("old.log", b"x" * (1024 * 1024 + 1))
    world.write("other.log", b"x" * (1024 * 1024 + 1))
    recording = world.recording()
    await run(recording, lambda: (world.root / "old.log").chmod(0o600))
    report = await undo(world, recording)
    assert [(world.inside([one.path]), one.reason) for one in report.unprotected] == [
        (["old.log"], "ignored and over 1 MiB")
    ]
    assert report.kept == report.restored == report.deleted == []


async def test_a_command_that_changes_nothing_leaves_no_record(world):
    world.write(".gitignore", "*.log\n")
    world.write("old.log")
    recording = world.recording()
    await run(recording, lambda: (world.root / "old.log").read_text())
    assert recording.result is None


async def test_what_else_a_command_did_in_a_folder_that_it_hid_is_undone(world):
    before = world.facts()
    recording = world.recording()
    number, _ = await recording.before_write([FileWrite(world.root / "d/x", b"1", 0o644)], [world.root / "d"])
    world.write("d/x", "1", mode=0o644)
    await recording.after_write(number)
    await run(recording, lambda: world.write(".gitignore", "d\n"), lambda: (world.root / "d" / "y").mkdir())
    report = await undo(world, recording)
    assert (world.facts(), report.unprotected, report.kept) == (before, [], [])
