"""Failure of the n-th file call of an undo: the report lists what was done and what was not, and a second undo completes it."""

import errno
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.session.undo import RevertReport
from tests.support.faults.file_system import FaultyFiles
from tests.support.snapshot.worktree import Fact, Fault, FaultyDisk
from tests.support.undo.sessions import UndoWorld, undo_world

Facts = dict[str, Fact]
CODES = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS]


@dataclass(frozen=True)
class Turn:
    """A turn of a session, and the files before and after it."""

    world: UndoWorld
    session: SessionInfo
    request: str
    before: Facts
    after: Facts

    async def revert(self) -> RevertReport:
        return await self.world.undo.revert(self.session.id, self.request)

    async def unrevert(self) -> RevertReport:
        return await self.world.undo.unrevert(self.session.id)

    async def is_undone(self) -> bool:
        return (await self.world.info(self.session)).revert is not None


async def play(world: UndoWorld) -> Turn:
    """Return a turn that did something of each kind."""
    for name in ("a", "b", "gone/x"):
        world.write(name, f"{name} before")()
    (world.root / "link").symlink_to("a")
    before = world.files()

    def work() -> None:
        world.write("a", "a after")()
        world.write("made/deep/file", "new")()
        (world.root / "b").chmod(0o600)
        (world.root / "gone" / "x").unlink()
        (world.root / "gone").rmdir()
        (world.root / "link").unlink()

    session = await world.session()
    request = await world.turn(session, work)
    return Turn(world, session, request, before, world.files())


async def attempt(verb: Callable[[], Awaitable[RevertReport]]) -> RevertReport | None:
    try:
        return await verb()
    except (OSError, OpencodeError):
        return None


def leaves(facts: Facts) -> Facts:
    return {name: fact for name, fact in facts.items() if fact[0] != "folder"}


def check_told(world: UndoWorld, report: RevertReport | None, *, begun: Facts, wanted: Facts) -> None:
    """Check that each file is reverted, or unchanged and, with a report, listed with the reason; folders are not listed."""
    files = world.files()
    left = [] if report is None else [*report.failed, *report.kept, *report.unprotected]
    named = begun | wanted if report is None else {str(Path(file.path).relative_to(world.root)) for file in left}
    for name in leaves(begun).keys() | leaves(wanted).keys():
        if files.get(name) != wanted.get(name):
            assert name in named and files.get(name) == begun.get(name), name


@pytest.mark.slow
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("is_undo", [True, False])
async def test_a_call_on_the_files_that_fails_costs_its_path_and_the_next_undo_completes(
    environ, tmp_path: Path, code: int, is_undo: bool
):
    fault = Fault(0, OSError(code, os.strerror(code)))
    disk = FaultyDisk(os.path.realpath(tmp_path / "p"), fault)
    async with undo_world(environ, tmp_path / "p", disk=disk) as world:
        turn = await play(world)
        begun, wanted = (turn.after, turn.before) if is_undo else (turn.before, turn.after)
        act, back = (turn.revert, turn.unrevert) if is_undo else (turn.unrevert, turn.revert)
        if not is_undo:
            await turn.revert()
        at = calls = 1
        while at <= calls:
            # A folder that could not be looked at for a moment may stay, empty.
            assert (at, leaves(world.files())) == (at, leaves(begun))
            fault.calls, fault.at = 0, at
            report = await attempt(act)
            calls, fault.at = fault.calls, 0
            check_told(world, report, begun=begun, wanted=wanted)
            if await turn.is_undone() or is_undo:
                assert (await act()).failed == []
            assert (at, leaves(world.files())) == (at, leaves(wanted))
            assert (await back()).failed == []
            at += 7


@pytest.mark.fast_cases("5")
@pytest.mark.parametrize("code", CODES)
async def test_a_call_on_the_records_that_fails_leaves_files_and_record_in_step(environ, tmp_path: Path, code: int):
    files = FaultyFiles()
    async with undo_world(environ, tmp_path / "p", files=files) as world:
        turn = await play(world)
        at = calls = 1
        while at <= calls:
            files.log.clear()
            files.calls = 0
            files.at, files.error = at, code
            await attempt(turn.revert)
            calls = files.calls
            files.heal()
            await world.undo.preview(turn.session.id, turn.request)
            assert (at, world.files()) == (at, turn.before if await turn.is_undone() else turn.after)
            await turn.revert()
            assert (at, world.files()) == (at, turn.before)
            await turn.unrevert()
            assert (at, world.files()) == (at, turn.after)
            at += 3
