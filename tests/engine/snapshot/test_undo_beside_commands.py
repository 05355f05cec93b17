"""What an undo or a redo of one session changes while a command of another one runs is not recorded as the command's change."""

import os
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.change_log import ChangeLog
from opencode_tui.engine.snapshot.entry import Entry
from opencode_tui.engine.snapshot.record.recording import (
    BackgroundWindow,
    StepRecording,
    collect_orphaned_steps,
)
from opencode_tui.engine.snapshot.record.write import BackgroundProgram
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.session.undo import RevertReport
from tests.support.snapshot.worktree import Fault, FaultyDisk, World, patch_of

BEFORE = {"f": "f0", "g": "g0", "d/gone": "gone"}
AFTER = {"f": "by B", "g": "g0", "made": "by B"}


def texts(world: World) -> dict[str, str]:
    return {path: fact[2].decode() for path, fact in world.facts().items() if fact[0] == "file"}


async def turn_of_b(world: World) -> Patch:
    """Session B edits a file, makes one, and removes one with its folder."""
    for name, text in BEFORE.items():
        world.write(name, text)

    def act() -> None:
        world.write("f", "by B")
        world.write("made", "by B")
        (world.root / "d/gone").unlink()
        (world.root / "d").rmdir()

    return await world.step(act)


async def change(snapshots: Snapshots, patch: Patch, undone: RevertReport | None) -> RevertReport:
    """Undo B's turn, or redo it."""
    return await (snapshots.revert([patch]) if undone is None else snapshots.unrevert(undone))


class Command:
    """A command of session A, in the foreground or the background."""

    def __init__(self, world: World, *, is_background: bool) -> None:
        self._is_background = is_background
        self._window: BackgroundWindow | None = None
        self.step: StepRecording = world.recording(session="ses_A", message="msg_A")

    async def begin(self) -> None:
        if self._is_background:
            self._window = await self.step.begin_background(BackgroundProgram("server", lambda: ()))
        else:
            await self.step.begin_command()

    async def end(self) -> None:
        if self._window is None:
            await self.step.end_command()
        else:
            await self.step.end_background(self._window)


@pytest.mark.fast_cases("redo-foreground-two processes", "redo-background-one process")
@pytest.mark.parametrize("is_elsewhere", [False, True], ids=["one process", "two processes"])
@pytest.mark.parametrize("is_background", [False, True], ids=["foreground", "background"])
@pytest.mark.parametrize("is_redo", [False, True], ids=["undo", "redo"])
async def test_the_command_gets_its_own_changes_only(
    world: World, *, is_redo: bool, is_background: bool, is_elsewhere: bool
):
    patch = await turn_of_b(world)
    undone = await world.snapshots.revert([patch]) if is_redo else None
    command = Command(world, is_background=is_background)
    await command.begin()
    world.write("g", "by A")
    report = await change(world.service() if is_elsewhere else world.snapshots, patch, undone)
    assert report.kept == []
    world.write("own", "by A")
    await command.end()
    assert world.inside(patch_of(command.step).files) == ["g", "own"]
    await world.snapshots.revert([patch_of(command.step)])
    assert texts(world) == (AFTER if is_redo else BEFORE)


async def test_a_file_that_the_undo_kept_is_the_commands_own(world: World):
    patch = await turn_of_b(world)
    command = Command(world, is_background=False)
    await command.begin()
    world.write("f", "by A")
    report = await world.snapshots.revert([patch])
    assert world.inside(report.kept) == ["f"]
    await command.end()
    assert world.inside(patch_of(command.step).files) == ["f"]


@pytest.mark.parametrize("at", [4, 12, 20, 30])
async def test_an_undo_that_failed_and_was_rolled_back_takes_nothing_from_the_command(world: World, at: int):
    patch = await turn_of_b(world)
    command = Command(world, is_background=False)
    await command.begin()
    failing = world.service(FaultyDisk(os.path.realpath(world.root), Fault(at, SnapshotError("damaged"))))
    with pytest.raises(SnapshotError, match="damaged"):
        await failing.revert([patch])
    world.write("f", "by A")
    await command.end()
    assert world.inside(patch_of(command.step).files) == ["f"]


async def test_a_command_that_starts_after_the_undo_gets_all_that_it_changes(world: World):
    patch = await turn_of_b(world)
    await world.snapshots.revert([patch])
    command = Command(world, is_background=False)
    await command.begin()
    world.write("f", "by A")
    await command.end()
    assert world.inside(patch_of(command.step).files) == ["f"]


async def test_a_command_whose_process_died_does_not_get_what_an_undo_changed(world: World):
    patch = await turn_of_b(world)
    command = Command(world, is_background=False)
    await command.begin()
    world.write("g", "by A")
    await world.snapshots.revert([patch])
    world.reopen()
    [orphan] = await collect_orphaned_steps(world.snapshots.lock, {"ses_A"})
    assert world.inside(orphan.files) == ["g"]


def test_a_write_may_end_with_some_of_its_paths(tmp_path: Path):
    log, state = ChangeLog(str(tmp_path / "log")), Entry("file", 0o644, "a" * 40)
    for number, paths in enumerate((None, ["p"], [])):
        key = log.begin_write(f"s{number}", {"p": (None, state), "q": (None, state)}, time=1)
        log.end_write(key, done=True, time=2, paths=paths)
    assert [(one.session, one.path) for one in log.read().writes] == [("s0", "p"), ("s0", "q"), ("s1", "p")]
