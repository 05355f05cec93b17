"""A killed or failing undo leaves nothing half done, and reports what it did not do."""

import errno
import json
import os
import random
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.revert.journal import Journal
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.session.undo import UndoFile
from opencode_tui.storage.paths import Paths
from tests.support.snapshot.worktree import Death, Fact, Fault, FaultyDisk, World

Scene = tuple[Patch, dict[str, Fact], dict[str, Fact]]


async def play(world: World) -> Scene:
    """Let a step change everything there is; return its patch with the states before and after."""
    world.write("a", "a0")
    world.write("gone/x", "x0")
    world.write("mode")
    (world.root / "link").symlink_to("a")
    (world.root / "empty").mkdir()
    before = world.facts()

    def work() -> None:
        world.write("a", "a1")
        (world.root / "gone" / "x").unlink()
        (world.root / "gone").rmdir()
        world.write("gone", "a file now")
        world.write("made/deep/file", "new")
        (world.root / "mode").chmod(0o600)
        (world.root / "link").unlink()
        (world.root / "empty").rmdir()

    patch = await world.step(work)
    return patch, before, world.facts()


def with_fault(world: World, fault: Fault):
    return world.service(FaultyDisk(os.path.realpath(world.root), fault))


async def count_calls(world: World, patch: Patch) -> int:
    """Return how many calls an undo makes, and redo what it undid."""
    fault = Fault(0, Death())
    report = await with_fault(world, fault).revert([patch])
    await world.snapshots.unrevert(report)
    return fault.calls


def temporaries(world: World) -> list[str]:
    return [name for _, _, names in os.walk(world.root) for name in names if name.endswith(".tmp")]


@pytest.mark.slow
async def test_an_undo_killed_at_any_call_is_rolled_back(world: World):
    patch, _, after = await play(world)
    calls = await count_calls(world, patch)
    for at in random.Random(5).sample(range(1, calls + 1), 40):
        with pytest.raises(Death):
            await with_fault(world, Fault(at, Death(), lasting=True)).revert([patch])
        assert len(temporaries(world)) <= 1
        world.reopen()
        await world.snapshots.preview([])
        assert (at, world.facts()) == (at, after)
    report = await world.snapshots.revert([patch])
    assert (report.kept, report.failed) == ([], [])


async def test_the_rollback_can_be_killed_as_well(world: World):
    patch, _, after = await play(world)
    calls = await count_calls(world, patch)
    for at in (calls // 2, calls - 5):
        with pytest.raises(Death):
            await with_fault(world, Fault(at, Death(), lasting=True)).revert([patch])
        for second in (3, 9, 20):
            with pytest.raises(Death):
                await with_fault(world, Fault(second, Death(), lasting=True)).preview([])
        await world.service().preview([])
        assert world.facts() == after


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
async def test_every_failed_call_is_reported_and_a_second_undo_completes(world: World, code: int):
    patch, before, _ = await play(world)
    calls = await count_calls(world, patch)
    for at in range(1, calls + 1, 9):
        try:
            report = await with_fault(world, Fault(at, OSError(code, os.strerror(code)))).revert([patch])
        except (OSError, SnapshotError):
            report = None
        assert temporaries(world) == []
        second = await world.snapshots.revert([patch])
        assert (at, world.facts(), second.failed, second.kept) == (at, before, [], [])
        active = second if report is None else second.changed(before=report.before)
        assert active.failed == []
        await restore_all(world, patch)


async def restore_all(world: World, patch: Patch) -> None:
    """Put the state after the step back, for the next round."""
    assert patch.after is not None
    await world.snapshots.revert([Patch(hash=patch.after, after=patch.hash, files=patch.files)])


async def test_a_disk_that_stays_full_leaves_files_as_they_were_and_says_so(world: World):
    patch, _, _ = await play(world)
    report = await with_fault(world, WriteFault(1, OSError(errno.ENOSPC, "No space left on device"))).revert([patch])
    assert {reason for _, reason in [(remark.path, remark.reason) for remark in report.failed]} == {
        "No space left on device"
    }
    assert world.facts()["a"][2] == b"a1"


class WriteFault(Fault):
    """Fails every call that needs room."""

    def step(self) -> None:
        import inspect

        frame = inspect.currentframe()
        caller = frame.f_back.f_code.co_name if frame is not None and frame.f_back is not None else ""
        if caller in ("write", "make_link", "make_folder"):
            raise self.error


async def test_a_damaged_note_of_an_undo_stops_everything(world: World, paths: Paths):
    patch, _, after = await play(world)
    (folder,) = paths.snapshot.glob("*/*")
    Path(folder, "revert.json").write_bytes(b"\0" * 10)
    with pytest.raises(SnapshotError, match=r"revert\.json"):
        await world.service().revert([patch])
    assert world.facts() == after


async def test_a_file_that_the_user_edits_after_an_undo_was_killed_stays(world: World):
    patch, _, after = await play(world)
    with pytest.raises(Death):
        await with_fault(world, Fault(await count_calls(world, patch) - 3, Death(), lasting=True)).revert([patch])
    world.write("a", "mine")
    await world.service().preview([])
    assert {**world.facts(), "a": after["a"]} == after
    assert world.facts()["a"][2] == b"mine"


async def test_a_finished_revert_that_nobody_wrote_down_is_not_taken_back(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    patch = await world.step(lambda: world.write("new", "by the agent\n"))

    def die(journal: Journal) -> None:
        raise Death

    with monkeypatch.context() as dying:
        dying.setattr(Journal, "end", die)
        with pytest.raises(Death):
            await world.service().revert([patch], key="k1")
    world.reopen()
    report = await world.snapshots.completed_revert("k1")
    assert report is not None and world.inside(report.deleted) == ["new"] and "new" not in world.facts()
    await world.snapshots.delete_completed("k1")
    assert await world.snapshots.completed_revert("k1") is None


async def test_a_report_that_waits_for_its_session_has_names_that_are_not_utf_8(world: World):
    name = os.fsdecode(b"caf\xe9")
    patch = await world.step(lambda: world.write(name, "by the agent\n"))
    done = await world.snapshots.revert([patch], key="k1")
    assert world.inside(done.deleted) == [name] and await world.service().completed_revert("k1") == done


async def test_the_report_that_an_older_version_left_for_its_session_is_read(world: World):
    await world.snapshots.track()
    note = {"path": "/p/b", "reason": "it was changed since"}
    older = {"before": "1", "after": "2", "restored": ["/p/a"], "deleted": [], "conflicts": [note], "failed": []}
    folder = await world.snapshots.lock.run(lambda opened, stop: Path(opened.paths.completed))
    folder.mkdir(exist_ok=True)
    (folder / "k1.json").write_text(json.dumps(older))
    report = await world.snapshots.completed_revert("k1")
    assert report is not None and report.before == "1" and report.kept == [UndoFile.model_validate(note)]
    assert report.restored == [UndoFile(path="/p/a")]
